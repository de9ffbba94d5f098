//! Seeds that are passed to a traced function: they are values of the trace, not constants of the program.
//!
//! `def step(state, x): key = jax.random.key(state.count)` runs with a known count when its caller is analysed, but
//! under `jit` or `scan` each call passes another count.
//!
//! **Invariant:** read from the code alone. The attributes of the object, a default, and a variable of the module are
//! not arguments.

use crate::analysis::record::{Activation, Callee, Recording};
use crate::finding::Place;
use crate::ir::{Argument, Function, FunctionId, OpKind, Temp, Variable};

/// Most operations that a seed is followed through in one function.
const STEPS: usize = 256;

/// What a seed is computed from, if functions receive it as an argument.
#[derive(Default)]
struct Sources {
    /// Parameters of the function itself.
    own: Vec<u32>,
    /// Variables of the functions around it, by how many levels out these are.
    outer: Vec<(u32, u32)>,
}

/// The activations, by id, that are passed the seed of a key which is made at a place.
pub fn passed_to(run: &Recording<'_>, innermost: &Activation, place: Place) -> Vec<u32> {
    let mut found = Vec::new();
    let Some(call) = run.call_at(innermost, place) else { return found };
    let OpKind::Call(_, arguments) = &run.code(innermost).ops[call as usize].kind else { return found };
    let mut given: Vec<Temp> = arguments.iter().map(Argument::value).collect();
    let mut outer: Vec<(FunctionId, u32)> = Vec::new();
    let mut current = Some(innermost);
    let mut depth = 0;
    while let Some(activation) = current.filter(|_| depth < STEPS) {
        depth += 1;
        let code = run.code(activation);
        let sources = sources(code, &given);
        outer.extend(sources.outer.iter().filter_map(|(levels, slot)| {
            let up = |id: &FunctionId| run.module(activation.module).function(*id).parent;
            let around = std::iter::successors(Some(activation.function), up).nth(*levels as usize);
            Some((around?, *slot))
        }));
        let is_captured = |slot: &u32| outer.contains(&(activation.function, *slot));
        let captured: Vec<u32> = (0..count(code.parameters.len())).filter(is_captured).collect();
        let is_receiver = |slot: &u32| *slot == 0 && prebound(run, activation) > 0;
        let slots: Vec<u32> = sources.own.iter().chain(&captured).copied().filter(|slot| !is_receiver(slot)).collect();
        // Callers have to pass a parameter without a default, and this one may pass another.
        let has_no_default = |slot: &u32| code.parameters.get(*slot as usize).is_some_and(|one| !one.has_default);
        let is_written = |slot: &u32| {
            let call = activation.caller.as_ref().map(|(caller, at)| (&**caller, *at));
            call.is_some_and(|call| !arguments_for(run, call, activation, &[*slot]).is_empty())
        };
        if slots.iter().any(|slot| has_no_default(slot) || is_written(slot)) {
            found.push(activation.id);
        }
        current = None;
        if let Some((caller, at)) = &activation.caller {
            given = arguments_for(run, (caller, *at), activation, &slots);
            current = Some(&**caller);
        }
    }
    found
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// How many arguments precede those that a call writes: one for the receiver of a method, none for a static method.
fn prebound(run: &Recording<'_>, activation: &Activation) -> usize {
    let reached = activation.caller.as_ref().and_then(|(_, at)| run.log.callees.get(at));
    let own = |callee: &Callee| match callee {
        Callee::Function(module, function, prebound) => {
            prebound.filter(|_| (*module, *function) == (activation.module, activation.function))
        }
        _ => None,
    };
    let recorded = reached.into_iter().flatten().find_map(own);
    recorded.unwrap_or(usize::from(run.code(activation).class.is_some()))
}

/// The arguments that a call passes for some parameters of the function that it runs.
fn arguments_for(run: &Recording<'_>, (caller, at): (&Activation, Place), of: &Activation, slots: &[u32]) -> Vec<Temp> {
    let Some(call) = run.call_at(caller, at) else { return Vec::new() };
    let OpKind::Call(_, arguments) = &run.code(caller).ops[call as usize].kind else { return Vec::new() };
    let (code, prebound) = (run.code(of), prebound(run, of));
    let goes_to = |(index, argument): &(usize, &Argument)| match argument {
        Argument::Positional(_) => slots.contains(&count(index + prebound)),
        Argument::Keyword(name, _) => slots
            .iter()
            .any(|slot| code.parameters.get(*slot as usize).is_some_and(|parameter| parameter.name == *name)),
        Argument::Spread(_) | Argument::SpreadMapping(_) => !slots.is_empty(),
    };
    arguments.iter().enumerate().filter(goes_to).map(|(_, argument)| argument.value()).collect()
}

/// The parameters that values are computed from.
fn sources(code: &Function, values: &[Temp]) -> Sources {
    let mut found = Sources::default();
    let mut seen: Vec<Temp> = Vec::new();
    let mut work = values.to_vec();
    while let Some(temp) = work.pop().filter(|_| seen.len() < STEPS) {
        if seen.contains(&temp) {
            continue;
        }
        seen.push(temp);
        match code.ops.get(temp as usize).map(|op| &op.kind) {
            Some(OpKind::Load(Variable::Local(slot))) => {
                if *slot < count(code.parameters.len()) && !found.own.contains(slot) {
                    found.own.push(*slot);
                }
                let stores = code.ops.iter().filter_map(|op| match &op.kind {
                    OpKind::Store(Variable::Local(stored), value) if stored == slot => Some(*value),
                    _ => None,
                });
                work.extend(stores);
            }
            Some(OpKind::Load(Variable::Outer(levels, slot))) => found.outer.push((*levels, *slot)),
            Some(kind) => kind.operands(&mut |operand| work.push(operand)),
            None => {}
        }
    }
    found
}
