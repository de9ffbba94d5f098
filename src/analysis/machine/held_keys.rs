//! Keys that a returned value still holds: a state that a function returns as it got it, or as a copy with other fields replaced.
//!
//! **Invariant:** a key counts only if its value came with the argument, and nothing on the way to it was replaced or may have been.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::CarryKind;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::machine::Machine;
use crate::analysis::store::State;
use crate::analysis::store::heap::{Object, ObjectKind};

/// Most attributes and items between a state and its key.
const STEPS: usize = 4;

/// The consumed keys that a returned value, or a member of a returned tuple, has held since the caller passed it, on which paths, and how. A
/// state that is returned beside a copy with another key is the old one: `return state, action, new_state`.
pub fn still_held(machine: &mut Machine<'_>, returned: &Value, pc: Guard) -> Vec<(Guard, TermId, CarryKind)> {
    let mut states: Vec<(Guard, Val)> = Vec::new();
    for alternative in returned.alternatives() {
        let guard = machine.state.paths.guards.and(pc, alternative.guard);
        match &alternative.val {
            Val::Tuple(parts) => {
                for part in parts.iter().flat_map(Value::alternatives) {
                    states.push((machine.state.paths.guards.and(guard, part.guard), part.val.clone()));
                }
            }
            val => states.push((guard, val.clone())),
        }
    }
    states.retain(|(_, val)| owner_of(&machine.state, val).is_some());
    if states.is_empty() {
        return Vec::new();
    }
    let mut consumed: Vec<TermId> = machine.recorder.log().consumptions.iter().map(|event| event.target.term).collect();
    consumed.sort_unstable();
    consumed.dedup();
    let mut held = Vec::new();
    for (guard, val) in &states {
        if !machine.state.feasible(*guard) {
            continue;
        }
        let Some((owner, _)) = owner_of(&machine.state, val) else { continue };
        let is_held = |key: &TermId| {
            let of_one = states.iter().filter_map(|(_, val)| owner_of(&machine.state, val));
            of_one.filter(|(of, _)| *of == owner).all(|(_, copy)| is_still_there(&machine.state, *key, owner, copy))
        };
        let kind = if is_copy(&machine.state, owner, val) { CarryKind::Copied } else { CarryKind::Held };
        held.extend(consumed.iter().copied().filter(is_held).map(|key| (*guard, key, kind)));
    }
    held
}

/// The parameter that a value is, or is a copy of; and the copy.
fn owner_of<'s>(state: &'s State, val: &Val) -> Option<(TermId, Option<&'s Object>)> {
    let (owner, copy) = match val {
        Val::Term(term) => (*term, None),
        Val::Object(id) => {
            let object = &state.store.objects[id.0 as usize];
            (matches!(object.kind, ObjectKind::Instance).then_some(object.symbol)?, Some(object))
        }
        _ => return None,
    };
    state.terms.is_parameter(owner).then_some((owner, copy))
}

/// Whether a value is another object than its owner.
fn is_copy(state: &State, owner: TermId, val: &Val) -> bool {
    matches!(val, Val::Object(id) if state.store.shadows.get(&owner) != Some(id))
}

/// Whether a value is reached from its owner by attributes and items that are as they were.
fn is_still_there(state: &State, key: TermId, owner: TermId, copy: Option<&Object>) -> bool {
    let mut at = key;
    for _ in 0..STEPS {
        let (of, name, epoch) = match state.terms.get(at) {
            Term::Attribute(of, name, epoch) => (*of, Some(name), *epoch),
            // Another index selects another key.
            Term::Item(of, index, epoch) if state.terms.is_constant(*index) => (*of, None, *epoch),
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
