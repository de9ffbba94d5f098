//! Items of containers, read and written by the term of their key.
//!
//! **Invariant:** an entry that may be the one that is read makes the item unknown.

use rustc_hash::FxHashMap;

use crate::analysis::domain::guard::{Guard, Guards};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ObjectId, Val, Value};
use crate::analysis::store::heap::{Entry, Item, ObjectKind};
use crate::analysis::store::{State, paths};
use crate::ir::Operator;

/// Most elements that an unknown subscript may select, each on its own paths; which of the others it selects is unknown.
pub const SELECTED: usize = 4;

/// One of the first few objects or functions of a container, each on the paths on which the index is its own: `agents[name]` in a loop over
/// names from outside. Keys are not selected this way, because two elements of one container are never one key.
pub fn selected(state: &mut State, elements: &[(TermId, Value)], index: TermId, otherwise: &Value) -> Option<Value> {
    let is_of_program = |value: &Value| match value.single() {
        Some(
            Val::Function(_) | Val::Method(_) | Val::Class(_) | Val::Partial(_) | Val::Wrapped(_) | Val::Library(_),
        ) => true,
        Some(Val::Object(id)) => {
            let object = &state.store.objects[id.0 as usize];
            object.class.is_some() && matches!(object.kind, ObjectKind::Instance)
        }
        _ => false,
    };
    if elements.is_empty() || state.terms.is_constant(index) || !elements.iter().all(|(_, value)| is_of_program(value))
    {
        return None;
    }
    let mut rest = Guard::TRUE;
    let mut result = Value::unbound();
    for (key, value) in elements {
        let is_it = state.terms.operate(Operator::Eq, &[index, *key]);
        let holds = state.truth_of_term(is_it);
        let guard = state.paths.guards.and(rest, holds);
        rest = state.paths.guards.without(rest, holds);
        for alternative in value.alternatives() {
            result.push(&mut state.paths.guards, guard, alternative.val.clone());
        }
    }
    for alternative in otherwise.alternatives() {
        let guard = state.paths.guards.and(rest, alternative.guard);
        result.push(&mut state.paths.guards, guard, alternative.val.clone());
    }
    Some(result)
}

/// `d[key]`: the last entry written, path by path.
pub fn dict_item(state: &mut State, object: ObjectId, entries: &[Entry], unknown: bool, key: TermId) -> Value {
    let uncertain = |this: &State, entry: &Entry| {
        entry.key != key && !this.terms.distinct(entry.key, key) && !this.terms.is_constant(entry.key)
    };
    let symbol = state.term_of_val(&Val::Object(object));
    if entries.iter().all(|entry| entry.guard.is_true() && state.terms.is_constant(entry.key)) {
        let elements: Vec<(TermId, Value)> =
            entries.iter().take(SELECTED).map(|entry| (entry.key, entry.value.clone())).collect();
        let otherwise = Value::term(state.terms.intern(Term::Item(symbol, key, 0)));
        if let Some(value) = selected(state, &elements, key, &otherwise) {
            return value;
        }
    }
    let mut rest = Guard::TRUE;
    let mut result = Value::unbound();
    for entry in entries.iter().rev() {
        if rest.is_false() {
            break;
        }
        if entry.key == key {
            let paths = state.paths.guards.and(rest, entry.guard);
            for alternative in entry.value.alternatives() {
                let both = state.paths.guards.and(paths, alternative.guard);
                result.push(&mut state.paths.guards, both, alternative.val.clone());
            }
            rest = state.paths.guards.without(rest, entry.guard);
        } else if uncertain(state, entry) {
            // All entries are one key.
            if matches!(entry.value.single(), Some(Val::Key(_)))
                && !unknown
                && entries.iter().all(|other| other.value == entry.value)
            {
                return entry.value.clone();
            }
            return Value::term(state.terms.intern(Term::Item(symbol, key, 0)));
        }
    }
    if !rest.is_false() && (unknown || result.is_unbound()) {
        let item = state.terms.intern(Term::Item(symbol, key, 0));
        result.push(&mut state.paths.guards, rest, Val::Term(item));
    }
    if let [only] = result.alternatives() {
        return Value::of(only.val.clone());
    }
    result
}

/// Most nodes of the paths on which elements are counted. Beyond this and the next two bounds an element is unknown.
const PATHS: usize = 200;

/// Most elements of a list that exist on some paths only and are counted.
const COUNTED: usize = 24;

/// Farthest index, from either end, up to which elements are counted.
const FARTHEST: usize = 4;

/// Where an index of a list leads on the current paths.
pub struct Found {
    /// For each element, the paths on which it is the one at the index.
    pub at: Vec<Guard>,
    /// The paths on which the list is too short.
    pub none: Guard,
}

/// The element at an index, path by path, in a list whose elements may exist on some paths only.
pub fn found(state: &mut State, items: &[Item], index: i128) -> Option<Found> {
    if items.iter().all(|item| state.is_there(item.guard)) {
        let length = i128::try_from(items.len()).ok()?;
        let place = usize::try_from(if index < 0 { index + length } else { index }).ok();
        let (mut at, mut none) = (vec![Guard::FALSE; items.len()], state.paths.pc);
        if let Some(here) = place.and_then(|place| at.get_mut(place)) {
            std::mem::swap(here, &mut none);
        }
        return Some(Found { at, none });
    }
    let steps = usize::try_from(if index < 0 { -(index + 1) } else { index }).ok()?;
    if items.len() > COUNTED || steps > FARTHEST {
        return None;
    }
    // By number of elements: the paths on which the index has passed so many.
    let mut passed = vec![Guard::FALSE; steps + 1];
    passed[0] = state.paths.pc;
    let mut at = vec![Guard::FALSE; items.len()];
    for step in 0..items.len() {
        let place = if index < 0 { items.len() - 1 - step } else { step };
        let guards = &mut state.paths.guards;
        let exists = items[place].guard;
        at[place] = guards.and(passed[steps], exists);
        for count in (0..=steps).rev() {
            let here = guards.and(passed[count], exists);
            passed[count] = guards.without(passed[count], exists);
            if let Some(next) = passed.get_mut(count + 1) {
                *next = guards.or(*next, here);
            }
            if guards.is_larger(passed[count], PATHS) {
                return None;
            }
        }
    }
    let none = passed.into_iter().fold(Guard::FALSE, |none, paths| state.paths.guards.or(none, paths));
    Some(Found { at, none })
}

/// The value at an index on the paths on which there is one; nothing if it has too many alternatives.
pub fn value_at(state: &mut State, items: &[Item], found: &Found) -> Option<Value> {
    let mut result = Value::unbound();
    for (item, guard) in items.iter().zip(&found.at) {
        if !state.feasible(*guard) {
            continue;
        }
        for alternative in item.value.alternatives() {
            let both = state.paths.guards.and(*guard, alternative.guard);
            result.push(&mut state.paths.guards, both, alternative.val.clone());
        }
    }
    match result.alternatives() {
        [] => None,
        [only] => Some(Value::of(only.val.clone())),
        _ => (!result.is_too_various()).then_some(result),
    }
}

/// An item of a mapping, by the term of its key.
pub fn item_by_term(state: &mut State, mapping: &Value, key: TermId) -> Value {
    let mapping = mapping.clone();
    paths::on_alternatives(state, &mapping, |this, val| {
        if let Val::Object(object) = val {
            if let ObjectKind::Dict { entries, unknown } = this.store.objects[object.0 as usize].kind.clone() {
                dict_item(this, *object, &entries, unknown, key)
            } else {
                let symbol = this.term_of_val(val);
                Value::term(this.terms.intern(Term::Item(symbol, key, 0)))
            }
        } else {
            let symbol = this.term_of_val(val);
            Value::term(this.terms.intern(Term::Item(symbol, key, 0)))
        }
    })
}

/// `object[index] = value` on the running paths.
pub fn store_object_item(state: &mut State, id: ObjectId, term: TermId, index: &Value, value: &Value) {
    let guard = state.guard_within(id);
    // From now on, a read with a key that may be this one may give this element.
    state.store.objects[id.0 as usize].epoch += 1;
    let number = state.terms.as_int(term);
    // Taken out and put back, because a table may be filled item by item. Nothing below reads it through the store.
    let mut kind = std::mem::replace(&mut state.store.objects[id.0 as usize].kind, ObjectKind::Instance);
    match &mut kind {
        ObjectKind::Dict { entries, .. } => {
            if guard.is_true() {
                entries.retain(|entry| entry.key != term);
            }
            entries.push(Entry { key: term, key_value: index.clone(), guard, value: value.clone() });
        }
        ObjectKind::List { items, unknown } => {
            if let Some(found) = number.filter(|_| !*unknown).and_then(|number| found(state, items, number)) {
                for (item, guard) in items.iter_mut().zip(found.at) {
                    if state.feasible(guard) {
                        let old = item.value.clone();
                        item.value = paths::on(state, guard, |state| state.written_within(id, value, &old));
                    }
                }
            } else {
                // It is unknown which element changed.
                *unknown = true;
                state.store.objects[id.0 as usize].epoch += 1;
            }
        }
        _ => state.store.objects[id.0 as usize].epoch += 1,
    }
    state.store.objects[id.0 as usize].kind = kind;
}

/// The keys of a dict, without duplicates: values that were stored under one key on different paths are several
/// entries.
pub fn keys_of(guards: &mut Guards, entries: &[Entry]) -> Vec<Item> {
    let mut keys: Vec<Item> = Vec::with_capacity(entries.len());
    let mut seen: FxHashMap<TermId, usize> = FxHashMap::default();
    for entry in entries {
        if let Some(item) = seen.get(&entry.key).and_then(|at| keys.get_mut(*at)) {
            item.guard = guards.or(item.guard, entry.guard);
        } else {
            seen.insert(entry.key, keys.len());
            keys.push(Item { guard: entry.guard, value: entry.key_value.clone() });
        }
    }
    keys
}

/// Most elements of the containers that a value may be, together, if they are iterated over.
const OF_ALTERNATIVES: usize = 32;

/// The same elements on every path, with those that exclude each other in one place: `if c: xs.append(a)`, `else: xs.append(b)`.
pub fn merged(guards: &mut Guards, items: Vec<Item>) -> Vec<Item> {
    if items.iter().all(|item| item.guard.is_true()) {
        return items;
    }
    let mut merged: Vec<Item> = Vec::with_capacity(items.len());
    for item in items {
        match merged.last_mut() {
            Some(last) if guards.and(last.guard, item.guard).is_false() => {
                let mut value = last.value.restricted(guards, last.guard);
                for alternative in item.value.alternatives() {
                    let guard = guards.and(item.guard, alternative.guard);
                    value.push(guards, guard, alternative.val.clone());
                }
                if value.is_too_various() {
                    merged.push(item);
                } else {
                    *last = Item { guard: guards.or(last.guard, item.guard), value };
                }
            }
            _ => merged.push(item),
        }
    }
    merged
}

/// The elements of a value that is one of several containers: `for x in (a if c else b)`.
pub fn of_alternatives(state: &mut State, value: &Value) -> Option<Vec<Item>> {
    let mut all: Vec<std::vec::IntoIter<Item>> = Vec::new();
    for alternative in value.alternatives() {
        let mut items: Vec<Item> = match &alternative.val {
            Val::Tuple(parts) => parts.iter().map(|part| Item { guard: Guard::TRUE, value: part.clone() }).collect(),
            Val::Object(object) => match &state.store.objects[object.0 as usize].kind {
                ObjectKind::List { items, unknown: false } => items.clone(),
                ObjectKind::Dict { entries, unknown: false } => keys_of(&mut state.paths.guards, entries),
                _ => return None,
            },
            _ => return None,
        };
        for item in &mut items {
            item.guard = state.paths.guards.and(alternative.guard, item.guard);
        }
        all.push(items.into_iter());
    }
    if all.iter().map(ExactSizeIterator::len).sum::<usize>() > OF_ALTERNATIVES {
        return None;
    }
    let mut items = Vec::new();
    while all.iter().any(|items| items.len() > 0) {
        items.extend(all.iter_mut().filter_map(Iterator::next));
    }
    Some(merged(&mut state.paths.guards, items))
}
