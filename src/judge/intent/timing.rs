//! Draws that are only timed: a warm-up and a measured run, or several ways to do the same work between two readings of a clock.
//!
//! **Invariant:** a function measures only what comes to it as a parameter, and is called between two readings of a clock.

use rustc_hash::FxHashSet;

use crate::analysis::domain::value::{ModuleIndex, Val, Value};
use crate::analysis::record::{Consumption, Recording};
use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{Argument, Function, FunctionId, OpKind, Temp, Uses, Variable};
use crate::judge::intent::{Calls, Pair, because, bound_to, calls_apart, intent, is_written_alike};
use crate::models::{BuiltinOp, Effect, Models};

/// Two draws happen within the same call written twice, the first time for nothing and the second time not: a run that warms up and
/// one that is measured.
pub fn warm_up(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    made_again(run, pair, true)
}

/// Two draws happen within the same call written twice, the first time for nothing.
pub fn run_again(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    made_again(run, pair, false)
}

fn made_again(run: &Recording<'_>, pair: &Pair<'_>, serves: bool) -> Option<Intent> {
    let calls = calls_apart(run, pair, 1)?;
    let Calls { code, uses, once, again, .. } = &calls;
    let is_again = once != again
        && is_for_nothing(code, uses, *once)
        && !(serves && is_for_nothing(code, uses, *again))
        && is_written_alike(code, *once, *again);
    is_again.then(|| intent(IntentKind::WarmUp, calls.place(*once)))
}

/// Two draws happen within the same call, written twice or run by a loop, of which the program only waits for the first result: it
/// is timed, or run once for the compiler's sake.
pub fn timed(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let calls = calls_apart(run, pair, 0)?;
    let Calls { code, uses, once, again, .. } = &calls;
    let models = run.program.models;
    let is_timed = (is_only_awaited(code, models, uses, *once) || is_awaited_until(code, models, uses, *once, *again))
        && (once == again || is_written_alike(code, *once, *again));
    is_timed.then(|| {
        because(
            IntentKind::WarmUp,
            "the first of two identical calls is only timed, or warms up the compiler",
            calls.place(*once),
        )
    })
}

/// Most results that a rehearsal is followed through.
const REHEARSED: usize = 64;

/// What is made of one of the keys goes only into calls of functions that the code calls again below, and what the last of them gives is
/// dropped: a step is run once for the compiler's sake before the loop that runs it again.
pub fn rehearsed(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let dropped = [pair.first, pair.second].into_iter().find_map(|event| dropped_below(run, event))?;
    let reason = "what this call gives is dropped, and the code calls the function again below";
    Some(because(IntentKind::WarmUp, reason, dropped))
}

/// The call that drops what is made of a key, where nothing else is done with it than to call functions that are called again below.
fn dropped_below(run: &Recording<'_>, event: &Consumption) -> Option<Place> {
    let activation = &event.activation;
    let (code, uses) = (run.code(activation), run.uses_of(activation.module, activation.function));
    let made = run.call_at(activation, event.place)?;
    let mut work = vec![made];
    let mut seen = FxHashSet::from_iter([made]);
    let mut dropped = None;
    while let Some(temp) = work.pop() {
        let readers = uses.readers(temp);
        if readers.is_empty() && temp != made && matches!(code.ops[temp as usize].kind, OpKind::Call(..)) {
            dropped.get_or_insert(temp);
        }
        for reader in readers {
            let next = match &code.ops[*reader as usize].kind {
                OpKind::Store(variable @ Variable::Local(slot), _) if !uses.is_captured(*slot) => {
                    uses.reaching(code, variable).loads_of(*reader).to_vec()
                }
                OpKind::Unpack { .. } | OpKind::Project(..) | OpKind::Build(..) | OpKind::Operate(..) => vec![*reader],
                OpKind::Item(of, _) if *of == temp => vec![*reader],
                OpKind::Call(callee, _) if *callee != temp && is_called_again(code, &uses, *reader, *callee) => {
                    vec![*reader]
                }
                _ => return None,
            };
            work.extend(next.into_iter().filter(|temp| seen.insert(*temp)));
        }
        if seen.len() > REHEARSED {
            return None;
        }
    }
    Some(Place { file: event.place.file, span: code.ops[dropped? as usize].span })
}

/// Whether a function that is called by its name is called by it again below, for a result that is used.
fn is_called_again(code: &Function, uses: &Uses, call: Temp, callee: Temp) -> bool {
    let OpKind::Load(name) = &code.ops[callee as usize].kind else { return false };
    let calls_it = |temp: &Temp| match &code.ops[*temp as usize].kind {
        OpKind::Call(callee, _) => matches!(&code.ops[*callee as usize].kind, OpKind::Load(other) if other == name),
        _ => false,
    };
    let count = u32::try_from(code.ops.len()).unwrap_or(u32::MAX);
    (call + 1..count).any(|temp| calls_it(&temp) && !uses.readers(temp).is_empty())
}

/// Whether nothing is done with a result but to wait until it is there: `draw(key).block_until_ready()`.
fn is_only_awaited(code: &Function, models: &Models, uses: &Uses, temp: Temp) -> bool {
    let waits = |op: Temp| matches!(&code.ops[op as usize].kind, OpKind::Attribute(_, name) if models.awaits(name));
    let is_dropped = |temp: Temp| {
        uses.readers(temp).iter().all(|reader| match &code.ops[*reader as usize].kind {
            OpKind::Store(Variable::Local(slot), _) => uses.loads_of(*slot).is_empty() && !uses.is_captured(*slot),
            OpKind::Store(Variable::Global(name), _) => &**name == "_",
            _ => false,
        })
    };
    let readers = uses.readers(temp);
    !readers.is_empty()
        && readers.iter().all(|reader| match &code.ops[*reader as usize].kind {
            OpKind::Attribute(..) if waits(*reader) => uses.readers(*reader).iter().all(|call| is_dropped(*call)),
            OpKind::Call(callee, given) => {
                waits(*callee)
                    && matches!(&given[..], [Argument::Positional(only)] if *only == temp)
                    && is_dropped(*reader)
            }
            _ => false,
        })
}

/// Whether what a call gives is only waited for until another call takes its place:
/// `out = f(key)`, `out.block_until_ready()`, `out = f(key)`.
fn is_awaited_until(code: &Function, models: &Models, uses: &Uses, once: Temp, again: Temp) -> bool {
    let (Some(names), Some(others)) = (bound_to(code, uses, once), bound_to(code, uses, again)) else { return false };
    let is_kept = |variable: &&Variable| {
        let is_captured = matches!(variable, Variable::Local(slot) if uses.is_captured(*slot));
        is_captured || !others.contains(variable)
    };
    if names.iter().any(is_kept) {
        return false;
    }
    let mut between = (once..again).filter(|temp| match code.ops.get(*temp as usize).map(|op| &op.kind) {
        Some(OpKind::Load(variable)) => names.contains(&variable),
        _ => false,
    });
    let mut waits = false;
    between.all(|load| {
        waits = true;
        is_only_awaited(code, models, uses, load)
    }) && waits
}

/// Whether nothing is done with a result, or it is thrown away by name: `_, _ = step(state)`.
fn is_for_nothing(code: &Function, uses: &Uses, temp: Temp) -> bool {
    let is_thrown_away = |variable: &&Variable| match variable {
        Variable::Local(slot) => code.slots.get(*slot as usize).is_some_and(|name| &**name == "_"),
        Variable::Global(name) => &**name == "_",
        Variable::Outer(..) => false,
    };
    bound_to(code, uses, temp).is_some_and(|names| names.iter().all(is_thrown_away))
}

/// Most operations of a function that measures what it is given.
const LONGEST: usize = 2_000;

/// A run of something by a function that measures it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Run {
    module: ModuleIndex,
    function: FunctionId,
    activation: u32,
    call: Temp,
    place: Place,
}

/// Two draws happen in different runs that one function measures: ways to do the same work are compared.
pub fn measured(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let (one, other) = (measured_runs(run, pair.first), measured_runs(run, pair.second));
    let is_another = |a: &Run, b: &Run| {
        (a.module, a.function) == (b.module, b.function) && (a.activation, a.call) != (b.activation, b.call)
    };
    let found = one.iter().find(|a| other.iter().any(|b| is_another(a, b)))?;
    Some(because(IntentKind::Comparison, "a function measures how long each of these runs takes", found.place))
}

/// The runs of measured functions that an event happened in.
fn measured_runs(run: &Recording<'_>, event: &Consumption) -> Vec<Run> {
    let mut runs = Vec::new();
    for (activation, place) in event.chain() {
        let (module, function) = (activation.module, activation.function);
        let Some(call) = run.uses_of(module, function).call_at(place.span) else { continue };
        if run.module(module).file == place.file
            && let Some(slot) = called_parameter(run, module, function, call)
            && measures(run, module, function, slot)
        {
            runs.push(Run { module, function, activation: activation.id, call, place });
        }
    }
    runs
}

/// The parameter that a call calls.
fn called_parameter(run: &Recording<'_>, module: ModuleIndex, function: FunctionId, call: Temp) -> Option<u32> {
    let code = run.module(module).function(function);
    let OpKind::Call(callee, _) = &code.ops[call as usize].kind else { return None };
    match &code.ops[*callee as usize].kind {
        OpKind::Load(Variable::Local(slot)) if (*slot as usize) < code.parameters.len() => Some(*slot),
        _ => None,
    }
}

/// Whether a function calls a parameter after it read a clock, and reads one again.
fn measures(run: &Recording<'_>, module: ModuleIndex, function: FunctionId, slot: u32) -> bool {
    let count = run.module(module).function(function).ops.len();
    if count > LONGEST {
        return false;
    }
    let mut stage = 0;
    for temp in 0..u32::try_from(count).unwrap_or(u32::MAX) {
        let is_next = match stage {
            1 => called_parameter(run, module, function, temp) == Some(slot),
            _ => reads_clock(run, module, function, temp),
        };
        stage += u32::from(is_next);
    }
    stage > 2
}

fn reads_clock(run: &Recording<'_>, module: ModuleIndex, function: FunctionId, temp: Temp) -> bool {
    let code = run.module(module).function(function);
    let OpKind::Call(callee, _) = &code.ops[temp as usize].kind else { return false };
    let named = run.named(module, code, *callee);
    let Some(Val::Library(path)) = named.as_ref().and_then(Value::single) else { return false };
    let callable = run.program.models.callable(path);
    callable.is_some_and(|callable| callable.effect == Effect::Builtin(BuiltinOp::Clock))
}
