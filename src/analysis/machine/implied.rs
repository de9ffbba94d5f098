//! Loops that run at least once, because the program relies on it.
//!
//! `for x in xs: …; print(x)` reads a variable that only an iteration binds, and `total / n` next to `for i in
//! range(n)` divides by zero without one: such a loop has an iteration, or the program ends. Likewise, a value whose
//! shape is read, or that is added to something, is not `None`.
//!
//! **Invariant:** only paths on which the program ends, or divides by zero, are excluded.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{EnvironmentId, Val, Value};
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::store::State;
use crate::ir::{Block, FunctionKind, Op, OpKind, Operator, Temp, Variable};

/// Most variables of one activation that are followed, and most divisors and bounds of one analysis.
const FOLLOWED: usize = 32;

/// Most values of one analysis that are recorded as used.
const PRESENT: usize = 1_024;

/// What is known about a loop before it runs.
pub struct LoopEntry {
    /// The variables that each of its iterations binds, and that are unbound before it.
    first_bound: Vec<Variable>,
    /// How many facts about keys had been recorded.
    recorded: usize,
}

/// Before a loop.
pub fn begin_loop(machine: &mut Machine<'_>, frame: &Frame<'_>, body: &Block) -> LoopEntry {
    machine.state.paths.counted = None;
    LoopEntry { first_bound: first_bound(machine, frame, body), recorded: recorded(machine) }
}

fn recorded(machine: &Machine<'_>) -> usize {
    let log = machine.recorder.log();
    log.derivations.len() + log.consumptions.len()
}

/// Called at the end of a loop, with the paths on which it runs no iteration and its number of iterations. A loop that involves no keys
/// is skipped: its constraints would only enlarge the path conditions.
pub fn end_loop(
    machine: &mut Machine<'_>,
    frame: &Frame<'_>,
    (begun, body): (LoopEntry, &Block),
    (none, counted): (Guard, Option<TermId>),
) {
    let none = machine.state.paths.guards.and(none, machine.state.paths.pc);
    if begun.recorded == recorded(machine) || none.is_false() {
        return;
    }
    machine.state.paths.has_key_loop = true;
    if let Some(number) = counted {
        count_to(machine, number);
    }
    let read = |temp: Temp| match &frame.code.ops[temp as usize].kind {
        OpKind::Load(variable) => Some(variable),
        _ => None,
    };
    let inside: Vec<&Variable> = frame.code.within(body).filter_map(read).collect();
    for variable in begun.first_bound {
        let is_it = |op: &&Op| matches!(&op.kind, OpKind::Load(read) if *read == variable);
        let is_read_after =
            frame.code.ops.iter().filter(is_it).count() > inside.iter().filter(|read| ***read == variable).count();
        let unbound = &mut machine.state.store.environments[frame.environment.0 as usize].unbound;
        if is_read_after && unbound.len() < FOLLOWED && unbound.iter().all(|(known, _)| *known != variable) {
            unbound.push((variable, none));
        }
    }
}

fn first_bound(machine: &Machine<'_>, frame: &Frame<'_>, body: &Block) -> Vec<Variable> {
    let mut found = Vec::new();
    for temp in body {
        let OpKind::Store(variable, _) = &Machine::op(frame, *temp).kind else { continue };
        let is_new = match variable {
            Variable::Local(slot) if *slot < frame.code.named && frame.code.kind != FunctionKind::ClassBody => {
                let slots = &machine.state.store.environments[frame.environment.0 as usize].slots;
                slots.get(*slot as usize).is_some_and(Value::is_unbound)
            }
            Variable::Global(name) if frame.code.kind == FunctionKind::Module => {
                let module = machine.state.store.modules.get(&frame.module);
                module.is_some_and(|module| !module.globals.contains_key(name))
            }
            _ => false,
        };
        if is_new && found.len() < FOLLOWED && !found.contains(variable) {
            found.push(variable.clone());
        }
    }
    found
}

/// A variable is bound on the current paths.
pub fn bind(state: &mut State, environment: EnvironmentId, variable: &Variable) {
    let unbound = &mut state.store.environments[environment.0 as usize].unbound;
    if let Some((_, paths)) = unbound.iter_mut().find(|(known, _)| known == variable) {
        *paths = state.paths.guards.without(*paths, state.paths.pc);
    }
}

/// A variable is read: the paths on which nothing has bound it end.
pub fn read(machine: &mut Machine<'_>, frame: &Frame<'_>, variable: &Variable) {
    let unbound = &machine.state.store.environments[frame.environment.0 as usize].unbound;
    if let Some((_, paths)) = unbound.iter().find(|(known, _)| known == variable) {
        let paths = *paths;
        end(machine, paths);
    }
}

/// Ends those of the current paths that satisfy a guard, unless these are all of them.
pub fn end(machine: &mut Machine<'_>, guard: Guard) {
    let before = machine.state.paths.pc;
    let ended = machine.state.paths.guards.and(before, guard);
    if ended.is_false() || machine.budget.exhausted.is_some() {
        return;
    }
    let kept = machine.state.paths.guards.without(before, guard);
    if !machine.state.feasible(kept) {
        return;
    }
    machine.state.paths.pc = ended;
    machine.raise();
    machine.state.paths.pc = kept;
}

/// An attribute of a value is read, or the value is an operand, or an array is made from it: it is not `None`. Nothing
/// follows if a `try` would catch the exception.
pub fn is_present(state: &mut State, term: TermId) {
    let is_open = matches!(state.terms.get(term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..));
    if !is_open || !state.paths.catching.borrow().is_empty() {
        return;
    }
    let (pc, known) = (state.paths.pc, state.paths.present.get(&term).copied());
    if known.is_none() && state.paths.present.len() >= PRESENT {
        return;
    }
    if known != Some(pc) && known != Some(Guard::TRUE) {
        let paths = state.paths.guards.or(known.unwrap_or(Guard::FALSE), pc);
        state.paths.present.insert(term, paths);
    }
}

/// Whether a value cannot be `None` on the current paths, because its use on all of them shows that.
pub fn was_present(state: &mut State, term: TermId) -> bool {
    let known = state.paths.present.get(&term).copied();
    known.is_some_and(|paths| state.paths.guards.without(state.paths.pc, paths).is_false())
}

/// A number that is a divisor is not zero.
pub fn divide(machine: &mut Machine<'_>, operator: Operator, divided: &Value, divisor: &Value) {
    let is_text = |val: &Val| matches!(val, Val::Term(term) if matches!(machine.state.terms.get(*term), Term::Text(_)));
    if !matches!(operator, Operator::Div | Operator::FloorDiv) || divided.single().is_some_and(is_text) {
        return;
    }
    let divisor = machine.state.possible(divisor);
    if divisor.alternatives().len() > 1 {
        if !machine.state.paths.has_key_loop {
            return;
        }
        let is_zero = |val: &Val| matches!(val, Val::Term(term) if machine.state.terms.as_int(*term) == Some(0));
        let zeros: Vec<Guard> =
            divisor.alternatives().iter().filter(|part| is_zero(&part.val)).map(|part| part.guard).collect();
        for zero in zeros {
            end(machine, zero);
        }
        return;
    }
    let Some(Val::Term(term)) = divisor.single() else { return };
    if machine.state.terms.as_int(*term).is_some() {
        return;
    }
    if machine.state.paths.bounds.contains(term) {
        let none = has_none(&mut machine.state, *term);
        end(machine, none);
    } else {
        let (pc, divisors) = (machine.state.paths.pc, &mut machine.state.paths.divisors);
        if divisors.len() < FOLLOWED && !divisors.contains(&(*term, pc)) {
            divisors.push((*term, pc));
        }
    }
}

/// A loop runs this many times; if that number was a divisor, it runs at least once.
fn count_to(machine: &mut Machine<'_>, number: TermId) {
    let bounds = &mut machine.state.paths.bounds;
    if bounds.len() < FOLLOWED && !bounds.contains(&number) {
        bounds.push(number);
    }
    let divisors: Vec<Guard> =
        machine.state.paths.divisors.iter().filter(|(term, _)| *term == number).map(|(_, guard)| *guard).collect();
    let pc = machine.state.paths.pc;
    if divisors.into_iter().any(|divided| machine.state.paths.guards.without(pc, divided).is_false()) {
        let none = has_none(&mut machine.state, number);
        end(machine, none);
    }
}

/// The paths on which a loop that runs this many times runs no iteration.
fn has_none(state: &mut State, number: TermId) -> Guard {
    let zero = state.terms.int(0);
    let has_one = state.terms.operate(Operator::Lt, &[zero, number]);
    let has_one = state.truth_of_term(has_one);
    state.paths.guards.without(Guard::TRUE, has_one)
}
