//! Keys that a returned value still holds: a state that a function returns as it got it, or as a copy with other fields replaced.
//!
//! **Invariant:** a key counts only if its value came with the argument, and nothing on the way to it was replaced or may have been.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::machine::Machine;
use crate::analysis::store::State;
use crate::analysis::store::heap::{Object, ObjectKind};

/// Most attributes and items between a state and its key.
const STEPS: usize = 4;

/// The consumed keys that a returned value, or a member of a returned tuple, has held since the caller passed it, and on which paths.
pub fn still_held(machine: &mut Machine<'_>, returned: &Value, pc: Guard) -> Vec<(Guard, TermId)> {
    let mut held = Vec::new();
    for alternative in returned.alternatives() {
        let guard = machine.state.paths.guards.and(pc, alternative.guard);
        match &alternative.val {
            Val::Tuple(parts) => {
                for part in parts.iter().flat_map(Value::alternatives) {
                    let guard = machine.state.paths.guards.and(guard, part.guard);
                    held.extend(held_by(machine, &part.val).into_iter().map(|key| (guard, key)));
                }
            }
            val => held.extend(held_by(machine, val).into_iter().map(|key| (guard, key))),
        }
    }
    held.retain(|(guard, _)| machine.state.feasible(*guard));
    held
}

fn held_by(machine: &Machine<'_>, returned: &Val) -> Vec<TermId> {
    let state = &machine.state;
    let (owner, copy) = match returned {
        Val::Term(term) => (*term, None),
        Val::Object(id) => {
            let object = &state.store.objects[id.0 as usize];
            if !matches!(object.kind, ObjectKind::Instance) {
                return Vec::new();
            }
            (object.symbol, Some(object))
        }
        _ => return Vec::new(),
    };
    if !state.terms.is_parameter(owner) {
        return Vec::new();
    }
    let mut consumed: Vec<TermId> = machine.recorder.log().consumptions.iter().map(|event| event.target.term).collect();
    consumed.sort_unstable();
    consumed.dedup();
    consumed.retain(|key| is_still_there(state, *key, owner, copy));
    consumed
}

/// Whether a value is reached from its owner by attributes and items that are as they were.
fn is_still_there(state: &State, key: TermId, owner: TermId, copy: Option<&Object>) -> bool {
    let mut at = key;
    for _ in 0..STEPS {
        let (of, name, epoch) = match state.terms.get(at) {
            Term::Attribute(of, name, epoch) => (*of, Some(name), *epoch),
            Term::Item(of, _, epoch) => (*of, None, *epoch),
            _ => return false,
        };
        let holder = match copy.filter(|_| of == owner) {
            Some(copy) => Some(copy),
            None => state.store.shadows.get(&of).map(|id| &state.store.objects[id.0 as usize]),
        };
        let is_unchanged = holder.is_none_or(|holder| {
            let stored = name.and_then(|name| holder.attributes.get(name));
            let is_same = |stored: &Val| matches!(stored, Val::Term(term) if *term == at);
            [holder.epoch, holder.key_epoch].contains(&epoch)
                && !name.is_some_and(|name| holder.changed.contains(name))
                && (name.is_some() || holder.attributes.is_empty())
                && stored.is_none_or(|stored| stored.single().is_some_and(is_same))
        });
        if !is_unchanged {
            return false;
        }
        if of == owner {
            return true;
        }
        at = of;
    }
    false
}
