//! Keys that a returned value still holds: a state that a function returns as it got it, or as a copy with other fields replaced.
//!
//! **Invariant:** a key counts only if its value came with the argument, and nothing on the way to it was replaced or may have been.

use std::collections::BTreeSet;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::CarryKind;
use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::machine::Machine;
use crate::analysis::store::State;
use crate::analysis::store::container_mutation::CONTENTS;
use crate::analysis::store::heap::{Entry, Object, ObjectKind};
use crate::analysis::store::objects::item_name;
use crate::ir::Name;

/// Most attributes and items between a state and its key.
const STEPS: usize = 4;

/// The consumed keys that a returned value, or a member of a returned tuple, has held since the caller passed it, on which paths, and how. A
/// state that is returned beside a copy with another key is the old one: `return state, action, new_state`.
pub fn still_held(machine: &mut Machine<'_>, returned: &Value, pc: Guard) -> Vec<(Guard, TermId, CarryKind)> {
    let (mut states, mut beside): (Vec<(Guard, Val)>, Vec<TermId>) = Default::default();
    for alternative in returned.alternatives() {
        let guard = machine.state.paths.guards.and(pc, alternative.guard);
        match &alternative.val {
            Val::Tuple(parts) => {
                for part in parts.iter().flat_map(Value::alternatives) {
                    if let Val::Key(key) = &part.val {
                        beside.push(key.term);
                    }
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
    let terms = &machine.state.terms;
    let targets = machine.recorder.log().consumptions.iter().map(|event| event.target);
    let whole = targets.clone().filter(|target| target.covers(terms, target.family)).map(|target| target.family);
    let mut consumed: Vec<TermId> = targets.map(|target| target.term).chain(whole).collect();
    consumed.sort_unstable();
    consumed.dedup();
    let mut held = Vec::new();
    for (guard, val) in &states {
        if !machine.state.feasible(*guard) {
            continue;
        }
        let Some((owner, _)) = owner_of(&machine.state, val) else { continue };
        // A child beside the state is for its next step: `return {**state, "x": x}, key`.
        let has_child = |key: TermId| {
            let of = |term: TermId| machine.state.terms.ancestors(term).contains(&key);
            beside.iter().any(|term| of(*term))
        };
        let is_held = |key: &TermId| {
            let of_one = states.iter().filter_map(|(_, val)| owner_of(&machine.state, val));
            of_one.filter(|(of, _)| *of == owner).all(|(_, copy)| is_still_there(&machine.state, *key, owner, copy))
        };
        let kind = if is_copy(&machine.state, owner, val) { CarryKind::Copied } else { CarryKind::Held };
        held.extend(
            consumed.iter().copied().filter(is_held).filter(|key| !has_child(*key)).map(|key| (*guard, key, kind)),
        );
    }
    held
}

/// The parameter that a value is, or is a copy of; and the copy.
fn owner_of<'s>(state: &'s State, val: &Val) -> Option<(TermId, Option<&'s Object>)> {
    let (owner, copy) = match val {
        Val::Term(term) => (*term, None),
        Val::Object(id) => {
            let object = &state.store.objects[id.0 as usize];
            let owner = match &object.kind {
                ObjectKind::Instance => object.symbol,
                ObjectKind::Dict { entries, .. } => entries.iter().find_map(|entry| taken_over(&state.terms, entry))?,
                _ => return None,
            };
            (owner, Some(object))
        }
        _ => return None,
    };
    state.terms.is_parameter(owner).then_some((owner, copy))
}

/// The mapping whose entry of the same key a dict holds: `{**state, "x": x}` has all others of `state`.
pub fn taken_over(terms: &Terms, entry: &Entry) -> Option<TermId> {
    let Some(Val::Term(item)) = entry.value.single() else { return None };
    match terms.get(*item) {
        Term::Item(of, key, _) if *key == entry.key => Some(*of),
        _ => None,
    }
}

/// The entries of a mapping, and whether there may be others. Of one from outside, those with keys that were consumed are known.
pub fn entries_of(machine: &mut Machine<'_>, mapping: &Value) -> Option<(Vec<Entry>, bool)> {
    let known = machine.state.entries_of(mapping);
    if known.is_some() {
        return known;
    }
    let Some(Val::Term(mapping)) = mapping.single().cloned() else { return None };
    let shadow = machine.state.store.shadows.get(&mapping).map(|id| &machine.state.store.objects[id.0 as usize]);
    if shadow.is_some_and(|shadow| shadow.attributes.contains_key(CONTENTS)) {
        return None;
    }
    let mut names = BTreeSet::new();
    for event in &machine.recorder.log().consumptions {
        match machine.state.terms.get(event.target.term) {
            Term::Item(of, name, epoch)
                if *of == mapping
                    && *epoch == machine.state.key_epoch_of(mapping)
                    && matches!(machine.state.terms.get(*name), Term::Text(_)) =>
            {
                names.insert((*name, event.target.term));
            }
            _ => {}
        }
    }
    if names.is_empty() {
        return None;
    }
    let entry = |(key, item): (TermId, TermId)| {
        let value = machine.state.shadow_item(mapping, key).unwrap_or_else(|| Value::term(item));
        Entry { key, key_value: Value::term(key), guard: Guard::TRUE, value }
    };
    Some((names.into_iter().map(entry).collect(), true))
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
            Term::Attribute(of, name, epoch) => (*of, Some(name.clone()), *epoch),
            Term::Item(of, index, epoch) if matches!(state.terms.get(*index), Term::Text(_)) => {
                (*of, Some(item_name(*index)), *epoch)
            }
            // Another index selects another key, and so may the name of a field.
            Term::Item(of, index, epoch) if state.terms.is_constant(*index) => (*of, None, *epoch),
            _ => return false,
        };
        let holder = match copy.filter(|_| of == owner) {
            Some(copy) => Some(copy),
            None => state.store.shadows.get(&of).map(|id| &state.store.objects[id.0 as usize]),
        };
        let is_unchanged = holder.is_none_or(|holder| holds_still(holder, at, (name.as_ref(), epoch)));
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

/// Whether an object holds a value that was read from it: under a name at an epoch, or at a position.
fn holds_still(holder: &Object, read: TermId, (name, epoch): (Option<&Name>, u32)) -> bool {
    let is_same = |stored: &Value| matches!(stored.single(), Some(Val::Term(term)) if *term == read);
    if let ObjectKind::Dict { entries, .. } = &holder.kind {
        return entries.iter().any(|entry| is_same(&entry.value));
    }
    let is_resized = |name: &Name| name.starts_with('[') && holder.attributes.contains_key(CONTENTS);
    let is_named_so = |name: &Name| {
        let may_differ = holder.changed.contains(name) || is_resized(name);
        !may_differ && holder.attributes.get(name).is_none_or(is_same)
    };
    [holder.epoch, holder.key_epoch].contains(&epoch) && name.map_or(holder.attributes.is_empty(), is_named_so)
}
