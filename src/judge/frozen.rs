//! Keys that a function reads from outside, and of which its trace keeps the first: `jit` reads a variable while it records the first call, and
//! later calls repeat the record although the variable holds another key by then.
//!
//! **Invariant:** two calls of one function object read different keys at one place, which the function does not write itself. Whether a
//! transform keeps its trace is decided by [`traced::reconcile`](crate::judge::traced::reconcile()), when all modules are known.

use rustc_hash::FxHashMap;

use crate::analysis::domain::value::EnvironmentId;
use crate::analysis::record::{Activation, Holder, LoggedRead, Recording};
use crate::finding::Place;
use crate::ir::{FunctionId, OpKind};
use crate::judge::consequence::Flows;
use crate::judge::facts::{Facts, FrozenKey, Role};
use crate::judge::naming::leaf_use;
use crate::judge::paths::PathQueries;
use crate::judge::traced::{STEPS, is_within, object_outlives, steps};
use crate::text::FileId;

/// Most pairs of reads of different keys that are searched for writes and draws.
const PAIRS: usize = 256;

/// The reads of one variable at one place by one function object.
#[derive(PartialEq, Eq, Hash)]
struct Site {
    place: Place,
    holder: Holder,
    function: (usize, FunctionId),
    /// The variables around the function's definition.
    around: Option<EnvironmentId>,
}

/// A read, in one call of the function.
#[derive(Clone, Copy)]
struct InCall<'r> {
    read: &'r LoggedRead,
    call: &'r Activation,
}

/// Reads of one place that give different keys in different calls of a function.
pub fn extract_frozen_keys(
    run: &Recording<'_>,
    (flows, paths): (&Flows<'_>, &mut PathQueries<'_>),
    facts: &mut Facts,
    file: FileId,
) {
    let mut first: FxHashMap<Site, InCall<'_>> = FxHashMap::default();
    let mut left = PAIRS;
    for read in &run.log.reads {
        for call in read.activation.outwards().take(STEPS).filter(|call| call.caller.is_some()) {
            let Some(needed) = older(run, read, call) else { continue };
            let site = Site {
                place: read.place,
                holder: read.holder,
                function: (call.module, call.function),
                around: run.environments[call.environment.0 as usize].parent,
            };
            let later = InCall { read, call };
            let earlier = *first.entry(site).or_insert(later);
            if earlier.call.id == call.id || earlier.read.key.term == read.key.term || is_made_in_loop(run, call) {
                continue;
            }
            let Some(others) = left.checked_sub(1) else { return };
            left = others;
            let both = paths.and(earlier.read.guard, read.guard);
            let is_written = [earlier, later].iter().any(|one| writes(run, one));
            if !is_written && paths.feasible(both) {
                facts.frozen.extend(frozen(run, flows, file, (earlier, later), needed));
            }
        }
    }
}

/// The fact, if the call draws from the key.
fn frozen(
    run: &Recording<'_>,
    flows: &Flows<'_>,
    file: FileId,
    (earlier, later): (InCall<'_>, InCall<'_>),
    needed: u32,
) -> Option<FrozenKey> {
    let InCall { read, call } = later;
    let comes_from = |key| key == read.key.term || run.terms.ancestors(key).contains(&read.key.term);
    let mut events = run.log.consumptions.iter().enumerate();
    let (index, event) = events.find(|(_, event)| {
        let consumes = matches!(event.role, Role::Sample | Role::Split | Role::Fold | Role::Library | Role::Protocol);
        consumes && is_within(&event.activation, call) && comes_from(event.target.term)
    })?;
    if flows.unseen(index).is_some() {
        return None;
    }
    let reader = (&read.activation, read.place);
    let steps = steps(run, reader, None, file, |activation| (activation.id == call.id).then_some(needed));
    let (before, again) = (earlier.call.caller.as_ref()?.1, call.caller.as_ref()?.1);
    Some(FrozenKey {
        name: read.name.to_string(),
        read_at: read.place,
        used: leaf_use(run, event),
        before,
        again,
        made_at: run.derivation(read.key.derivation).map(|derivation| derivation.place),
        steps,
        callers: [earlier, later].iter().flat_map(|one| callers(run, one.call)).collect(),
        trace: None,
    })
}

/// The functions that lead to a call.
fn callers(run: &Recording<'_>, call: &Activation) -> impl Iterator<Item = Place> {
    call.outwards().skip(1).take(STEPS).map(|caller| run.definition(caller.module, caller.function))
}

/// The number of leading arguments that must be the caller's own objects for a read to see what is older than a call; `None` if it sees what
/// the call passes or makes.
fn older(run: &Recording<'_>, read: &LoggedRead, call: &Activation) -> Option<u32> {
    match read.holder {
        Holder::Global => Some(0),
        Holder::Variable(environment) => (environment < call.environment).then_some(0),
        Holder::Object(object) => object_outlives(run, object, call),
        Holder::Class | Holder::Iterator(_) => None,
    }
}

/// Whether a call writes the variable that it reads.
fn writes(run: &Recording<'_>, one: &InCall<'_>) -> bool {
    let is_it = |name: &str| name.rsplit('.').next() == one.read.name.rsplit('.').next();
    let mut writes = run.log.writes.iter();
    writes.any(|write| write.holder == one.read.holder && is_it(&write.name) && is_within(&write.activation, one.call))
}

/// Whether each iteration of a loop makes the function anew, and so has a trace of its own.
fn is_made_in_loop(run: &Recording<'_>, call: &Activation) -> bool {
    let module = run.module(call.module);
    let Some(outer) = module.function(call.function).parent else { return false };
    let (code, uses) = (module.function(outer), run.uses_of(call.module, outer));
    let made = code.ops.iter().zip(0..).find_map(|(op, temp)| match op.kind {
        OpKind::Function(function, _) if function == call.function => Some(temp),
        _ => None,
    });
    made.is_some_and(|temp| uses.is_in_loop(code, temp))
}
