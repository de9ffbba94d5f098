//! Calls that a budget cuts off.
//!
//! If a call has too many paths, only its effects on keys so far are kept. A function without such an effect would be
//! cut off again with the same budget or a smaller one, so it is run again only if it can reach a key.
//!
//! **Invariant:** a call that is skipped has the result of one that was cut off.

use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::value::{Closure, Value};
use crate::analysis::machine::{Machine, captured, name_cache, split_escape, stream_use};
use crate::analysis::store::args::Args;
use crate::finding::Place;
use crate::ir::Function;

/// The budget of a call, and the position of the log when it began.
pub struct Share {
    nodes: usize,
    events: usize,
    derivations: usize,
}

/// The budget of a call that is made now.
pub fn share(machine: &Machine<'_>) -> Share {
    Share {
        nodes: machine.state.paths.guards.share(),
        events: machine.recorder.log().consumptions.len(),
        derivations: machine.recorder.log().derivations.len(),
    }
}

/// Whether a call would be cut off before it touches a key, as an earlier one with the same budget was.
pub fn would_be_cut_off(machine: &Machine<'_>, closure: &Closure, args: &Args) -> bool {
    let known = machine.budget.fruitless.borrow().get(&(closure.module, closure.function)).copied().unwrap_or(0);
    machine.state.paths.guards.share() <= known && !captured::passes_keys(machine, closure, args)
}

/// Records that a call was cut off because it had too many paths.
pub fn note_cut_off(machine: &mut Machine<'_>, closure: &Closure, share: &Share) {
    let touches =
        machine.recorder.log().consumptions[share.events..].iter().any(|event| event.role != Role::Unresolved);
    if touches || machine.recorder.log().derivations.len() > share.derivations {
        return;
    }
    let mut known = machine.budget.fruitless.borrow_mut();
    let most = known.entry((closure.module, closure.function)).or_default();
    *most = share.nodes.max(*most);
}

/// Records that a bound cut off a call: if a key was passed to it, findings may be missing.
pub fn note_limited(machine: &mut Machine<'_>, given: &[Value], bound: (Place, &'static str)) {
    if machine.budget.limited.is_none() && captured::hold_keys(machine, given) {
        machine.budget.limited = Some(bound);
    }
}

/// The result of a call with unknown effects on its arguments.
pub fn unknown_result(machine: &mut Machine<'_>, given: &[Value], code: &Function, place: Place) -> Value {
    for value in given {
        stream_use::note(machine, value);
        split_escape::escape(machine, value);
        machine.state.havoc(value);
    }
    name_cache::unknown_result(machine, &code.name, place)
}
