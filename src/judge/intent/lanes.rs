//! Keys that all lanes of a mapped function share on purpose.
//!
//! **Invariant:** a single lane is considered only if every read of the mapped result selects one element; a lane has
//! its own key only if a value of the lane is folded in.

use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::record::{Activation, Consumption, Derivation, LoggedBroadcast, Recording};
use crate::finding::{Intent, IntentKind};
use crate::ir::{Argument, OpKind, Temp, Variable};
use crate::judge::facts::Role;
use crate::judge::intent::pair::{STEPS, because, intent};

/// Why the lanes of a mapped function probably share a key on purpose, if they do. `made` is the place where the mapped
/// function itself makes the key from a seed, if it does, and the activation of a lane.
pub fn of(
    run: &Recording<'_>,
    broadcast: &LoggedBroadcast,
    made: Option<(&Derivation, &Activation)>,
) -> Option<Intent> {
    one_lane(run, broadcast)
        .or_else(|| per_lane(run, broadcast))
        .or_else(|| split_alike(run, broadcast))
        .or_else(|| same_start(run, broadcast))
        .or_else(|| made.and_then(|(made, lane)| starts_alike(made, lane)))
}

/// A function that the mapped one calls makes the key from a seed: it starts from the same key in every call, mapped or not.
fn starts_alike(made: &Derivation, lane: &Activation) -> Option<Intent> {
    let reason = "the function that draws makes its key from a seed, the same in every call";
    (made.activation.id != lane.id).then(|| because(IntentKind::SeparateRuns, reason, made.place))
}

/// All lanes pass one key to a function that splits it, and also use their own element: each runs a whole computation
/// from the same start, so that settings are compared on the same random numbers. Lanes that do not use their own
/// element would all be equal.
fn same_start(run: &Recording<'_>, broadcast: &LoggedBroadcast) -> Option<Intent> {
    let event = &run.log.consumptions[broadcast.event];
    let chain = event.chain();
    let mapper = chain.iter().position(|(activation, _)| activation.id == broadcast.activation.id)?;
    let (lane, place) = chain.get(mapper + 1)?;
    // The mapped function passes the key on as an argument; a key in an object does not count.
    let is_passed_on = *place != event.place && event.written.as_deref().is_some_and(|written| !written.contains('.'));
    let (code, uses) = (run.code(lane), run.uses_of(lane.module, lane.function));
    let environment = &run.environments[lane.environment.0 as usize];
    let is_shared = |value: &Value| match value.single() {
        Some(Val::Key(key)) => key.term == event.target.term,
        Some(Val::Term(term)) => *term == event.target.term,
        _ => false,
    };
    let mut parameters = (0u32..).zip(environment.slots.iter().take(code.parameters.len()));
    let differ = parameters.any(|(slot, given)| !is_shared(given) && uses.reads_slot(slot));
    let reason = "each lane runs a computation of its own from the same key";
    (event.role == Role::Split && is_passed_on && differ)
        .then(|| because(IntentKind::SeparateRuns, reason, event.place))
}

/// Only one lane of the result is used: `vmap(lambda row: categorical(key, row))(rows)[state]`.
fn one_lane(run: &Recording<'_>, broadcast: &LoggedBroadcast) -> Option<Intent> {
    let code = run.code(&broadcast.activation);
    let uses = run.uses_of(broadcast.activation.module, broadcast.activation.function);
    let mapped = run.call_at(&broadcast.activation, broadcast.mapped_at)?;
    let mut work = vec![mapped];
    let mut selected = None;
    for _ in 0..STEPS {
        let Some(temp) = work.pop() else { break };
        for reader in uses.readers(temp) {
            match &code.ops[*reader as usize].kind {
                OpKind::Store(Variable::Local(slot), _)
                    if uses.stores_of(*slot).len() == 1 && !uses.is_captured(*slot) =>
                {
                    work.extend(uses.loads_of(*slot));
                }
                OpKind::Item(of, index) if *of == temp && selects_one(run, broadcast, *index) => {
                    if selected.replace(*index).is_some() {
                        return None;
                    }
                }
                _ => return None,
            }
        }
    }
    let selected = selected.filter(|_| work.is_empty() && !combines_lanes(run, broadcast))?;
    let place = crate::finding::Place { file: broadcast.mapped_at.file, span: code.ops[selected as usize].span };
    Some(because(IntentKind::DisjointParts, "only one lane of the mapped result is used", place))
}

/// Whether a mapped function combines the results of its lanes, `jax.lax.pmean(x, "batch")`, so that each holds something of all.
fn combines_lanes(run: &Recording<'_>, broadcast: &LoggedBroadcast) -> bool {
    let words = &run.program.models.words;
    let chain = run.log.consumptions[broadcast.event].chain();
    let lanes = chain.iter().skip_while(|(activation, _)| activation.id != broadcast.activation.id).skip(1);
    lanes.map(|(activation, _)| run.code(activation)).any(|code| {
        let is_collective = |callee: Temp| match &code.ops[callee as usize].kind {
            OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name)) => words.is_collective(name),
            _ => false,
        };
        // `psum(1, "batch")` is the number of lanes.
        let is_number = |of: &Argument| matches!(code.ops[of.value() as usize].kind, OpKind::Constant(_));
        code.ops.iter().any(|op| match &op.kind {
            OpKind::Call(callee, given) => is_collective(*callee) && !given.first().is_some_and(is_number),
            _ => false,
        })
    })
}

/// Whether an index certainly selects no slice: a number, or a plain variable or attribute.
fn selects_one(run: &Recording<'_>, broadcast: &LoggedBroadcast, index: Temp) -> bool {
    let index = &run.code(&broadcast.activation).ops[index as usize].kind;
    matches!(index, OpKind::Constant(crate::ir::Constant::Int(_)) | OpKind::Load(_) | OpKind::Attribute(..))
}

/// A child of the shared key is used only to derive keys for the lanes: `fold_in(noise_key, axis_index("batch"))` next
/// to shared draws. If the child is also carried on, folding it may be a mistake.
fn per_lane(run: &Recording<'_>, broadcast: &LoggedBroadcast) -> Option<Intent> {
    let root = run.terms.root(run.log.consumptions[broadcast.event].target.term);
    let in_lanes = || run.log.consumptions.iter().filter(|other| other.lanes > 0);
    let serves_lanes = |fold: &&Consumption| {
        let child = fold.target.term;
        matches!(run.terms.get(child), Term::Child(..))
            && run.terms.root(child) == root
            && !run.log.exits.iter().any(|exit| exit.term == child)
            && in_lanes().filter(|other| run.terms.mentions(other.target.term, &|part| part == child)).all(|other| {
                other.role == Role::Fold || run.terms.mentions(other.target.term, &|part| is_own(run, broadcast, part))
            })
    };
    let fold = in_lanes().filter(|other| other.role == Role::Fold).find(serves_lanes)?;
    Some(intent(IntentKind::PerLane, fold.place))
}

/// All lanes split the key in the same way, because they carry one key on, while every draw uses a key with the lane's own index folded in:
/// `_, new_rng = split(rng)` beside `fold_in(rng, axis_index("batch"))`.
fn split_alike(run: &Recording<'_>, broadcast: &LoggedBroadcast) -> Option<Intent> {
    let event = &run.log.consumptions[broadcast.event];
    let parent = event.target.term;
    let (mut fold, mut is_drawn_alike) = (None, false);
    for other in &run.log.consumptions {
        let term = other.target.term;
        if !run.terms.mentions(term, &|part| part == parent) {
            continue;
        }
        if other.role == Role::Fold {
            fold.get_or_insert(other.place);
        }
        is_drawn_alike |= !matches!(other.role, Role::Split | Role::Fold)
            && !run.terms.mentions(term, &|part| is_own(run, broadcast, part));
    }
    let fold = fold.filter(|_| event.role == Role::Split && !is_drawn_alike)?;
    Some(intent(IntentKind::PerLane, fold))
}

/// Whether a part of a term belongs to one lane; values that are unknown in the body may.
fn is_own(run: &Recording<'_>, broadcast: &LoggedBroadcast, part: TermId) -> bool {
    let is_unknown =
        || run.terms.symbol(part).is_some_and(|info| matches!(info.symbol, Symbol::Opaque | Symbol::Deleted));
    let is_by_lane = || matches!(run.terms.get(part), Term::Apply(path, _) if run.program.models.is_by_lane(path));
    broadcast.symbols.contains(&part) || part.0 >= broadcast.born.0 && is_unknown() || is_by_lane()
}
