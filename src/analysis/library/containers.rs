//! Methods of lists and dicts whose contents are known.
//!
//! **Invariant:** a removed element is not taken again, and if its position is unknown, so are the remaining elements.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{ObjectId, Val, Value};
use crate::analysis::library::{callbacks, derive};
use crate::analysis::machine::{Frame, Machine, implied};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{DICT, Entry, Item, ObjectKind};
use crate::analysis::store::{State, items};
use crate::finding::Place;
use crate::ir::Name;

pub fn list_method<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    id: ObjectId,
    (items, unknown): (&[Item], bool),
    name: &Name,
    (args, place): (&Args, Place),
) -> Value {
    let guard = machine.state.guard_within(id);
    let certain = guard.is_true();
    let first = args.positional.first().map(|arg| arg.value.clone());
    match (&**name, first) {
        ("append" | "add", Some(value)) => {
            machine.state.store.mutations += 1;
            if let ObjectKind::List { items, .. } = &mut machine.state.store.objects[id.0 as usize].kind {
                items.push(Item { guard, value });
            }
            machine.state.terms.none()
        }
        ("extend", Some(value)) => {
            let added = machine.items_of(frame, &value);
            machine.state.extend_list(id, added);
            machine.state.terms.none()
        }
        ("insert" | "appendleft", _) => {
            let at = if &**name == "appendleft" {
                Some(0)
            } else {
                let index = args.positional.first().map(|arg| arg.value.clone()).unwrap_or_default();
                let index = machine.state.term_of(&index);
                machine.state.terms.as_int(index).and_then(|index| usize::try_from(index).ok())
            };
            let value = args.positional.last().map(|arg| arg.value.clone()).unwrap_or_default();
            machine.state.store.mutations += 1;
            let is_counted = at.is_some_and(|at| items.iter().take(at).all(|item| machine.state.is_there(item.guard)));
            if let ObjectKind::List { items, unknown } = &mut machine.state.store.objects[id.0 as usize].kind {
                match at.filter(|at| is_counted && *at <= items.len()) {
                    Some(at) => items.insert(at, Item { guard, value }),
                    None => *unknown = true,
                }
            }
            machine.state.terms.none()
        }
        ("pop" | "popleft", index) => {
            let index = match (&**name, index) {
                ("popleft", _) => Some(0),
                (_, None) => Some(-1),
                (_, Some(index)) => {
                    let index = machine.state.term_of(&index);
                    machine.state.terms.as_int(index)
                }
            };
            popped(machine, id, (items, unknown), index, place)
        }
        ("copy", _) => {
            let kind = ObjectKind::List { items: items.to_vec(), unknown };
            Value::of(Val::Object(machine.state.allocate(kind, "<list>", Some(place))))
        }
        ("clear", _) => {
            let object = &mut machine.state.store.objects[id.0 as usize];
            if let ObjectKind::List { items, unknown } = &mut object.kind {
                items.clear();
                *unknown = !certain;
                object.further = Value::unbound();
            }
            machine.state.terms.none()
        }
        ("reverse" | "sort" | "rotate" | "remove", _) => {
            callbacks::run_key_function(machine, frame, args, &Value::of(Val::Object(id)), place);
            machine.state.store.mutations += 1;
            let object = &mut machine.state.store.objects[id.0 as usize];
            if let ObjectKind::List { items, unknown } = &mut object.kind {
                if &**name == "reverse" && certain {
                    items.reverse();
                } else {
                    items.clear();
                    *unknown = true;
                }
            }
            object.epoch += 1;
            machine.state.terms.none()
        }
        _ => machine.state.terms.opaque(name.clone(), Some(place)),
    }
}

/// The element that is removed from a list at an index, if it is known.
fn popped(
    machine: &mut Machine<'_>,
    id: ObjectId,
    (items, unknown): (&[Item], bool),
    index: Option<i128>,
    place: Place,
) -> Value {
    let object = &mut machine.state.store.objects[id.0 as usize];
    // Other elements have this index from now on.
    object.epoch += 1;
    machine.state.store.mutations += 1;
    if let Some(value) = index.filter(|_| !unknown).and_then(|index| popped_on_paths(machine, id, items, index)) {
        return value;
    }
    // It is unknown which element is removed; it is not removed again.
    if let ObjectKind::List { items, unknown } = &mut machine.state.store.objects[id.0 as usize].kind {
        items.clear();
        *unknown = true;
    }
    supplied_or_opaque(&mut machine.state.terms, items, place)
}

/// Takes out of a list, on each of the current paths, the element that is at an index there; the list keeps it on the
/// others.
fn popped_on_paths(machine: &mut Machine<'_>, id: ObjectId, items: &[Item], index: i128) -> Option<Value> {
    let state = &mut machine.state;
    let found = items::found(state, items, index)?;
    let value = items::value_at(state, items, &found)?;
    let exists = state.exists(id);
    let mut kept = Vec::with_capacity(items.len());
    for (item, taken) in items.iter().zip(found.at) {
        let guard = state.paths.guards.without(item.guard, taken);
        if !state.paths.guards.and(guard, exists).is_false() {
            kept.push(Item { guard, value: item.value.clone() });
        }
    }
    if let ObjectKind::List { items, .. } = &mut state.store.objects[id.0 as usize].kind {
        *items = kept;
    }
    implied::end(machine, found.none);
    Some(value)
}

/// If the elements are keys, a key that is equal to nothing known.
fn supplied_or_opaque(terms: &mut Terms, items: &[Item], place: Place) -> Value {
    let keys = items.iter().any(|item| matches!(item.value.single(), Some(Val::Key(_))));
    if keys { derive::supplied_key(terms, place) } else { terms.opaque("<element>", Some(place)) }
}

pub fn dict_method(
    state: &mut State,
    id: ObjectId,
    (entries, unknown): (&[Entry], bool),
    name: &Name,
    args: &Args,
    place: Place,
) -> Value {
    let key = args.positional.first().map(|arg| arg.value.clone());
    match (&**name, key) {
        ("get", Some(key)) => {
            let key = state.term_of(&key);
            if is_absent(state, entries, unknown, key) {
                return match args.positional.get(1) {
                    Some(default) => default.value.clone(),
                    None => state.terms.none(),
                };
            }
            items::dict_item(state, id, entries, unknown, key)
        }
        ("pop", Some(key)) => {
            let key = state.term_of(&key);
            if let Some(default) = args.positional.get(1)
                && is_absent(state, entries, unknown, key)
            {
                return default.value.clone();
            }
            let value = items::dict_item(state, id, entries, unknown, key);
            state.store.mutations += 1;
            if let ObjectKind::Dict { entries, .. } = &mut state.store.objects[id.0 as usize].kind {
                entries.retain(|entry| entry.key != key);
            }
            value
        }
        ("setdefault", Some(key_value)) => {
            let key = state.term_of(&key_value);
            if entries.iter().any(|entry| entry.key == key) {
                return items::dict_item(state, id, entries, unknown, key);
            }
            let value = args.positional.get(1).map(|arg| arg.value.clone()).unwrap_or_default();
            state.store.mutations += 1;
            if unknown {
                return items::dict_item(state, id, entries, unknown, key);
            }
            let guard = state.paths.pc;
            if let ObjectKind::Dict { entries, .. } = &mut state.store.objects[id.0 as usize].kind {
                entries.push(Entry { key, key_value, guard, value: value.clone() });
            }
            value
        }
        ("items" | "keys" | "values", _) if !unknown => {
            let items = entries
                .iter()
                .map(|entry| {
                    let value = match &**name {
                        "keys" => entry.key_value.clone(),
                        "values" => entry.value.clone(),
                        _ => Value::of(Val::Tuple([entry.key_value.clone(), entry.value.clone()].into())),
                    };
                    Item { guard: entry.guard, value }
                })
                .collect();
            let kind = ObjectKind::List { items, unknown: false };
            Value::of(Val::Object(state.allocate(kind, "<view>", Some(place))))
        }
        ("copy", added) => {
            let kind = ObjectKind::Dict { entries: entries.to_vec(), unknown };
            // `FrozenDict.copy(add_or_replace)`
            let added = added.or_else(|| args.keyword("add_or_replace").map(|arg| arg.value.clone()));
            let name = if added.is_some() { "<mapping>" } else { DICT };
            let copy = state.allocate(kind, name, Some(place));
            if let Some(added) = added {
                update(state, copy, Some(&added), &Args::default());
            }
            Value::of(Val::Object(copy))
        }
        ("update", other) => {
            update(state, id, other.as_ref(), args);
            state.terms.none()
        }
        ("clear", _) => {
            if let ObjectKind::Dict { entries, .. } = &mut state.store.objects[id.0 as usize].kind {
                entries.clear();
            }
            state.terms.none()
        }
        _ => state.terms.opaque(name.clone(), Some(place)),
    }
}

/// Whether a dict certainly lacks a key.
fn is_absent(state: &State, entries: &[Entry], unknown: bool, key: TermId) -> bool {
    !unknown && entries.iter().all(|entry| state.terms.distinct(entry.key, key))
}

/// `object.update(other, name=value)`
fn update(state: &mut State, id: ObjectId, other: Option<&Value>, args: &Args) {
    state.store.mutations += 1;
    let guard = state.guard_within(id);
    let mut added: Vec<Entry> = Vec::new();
    let mut more = false;
    if let Some(other) = other {
        match state.entries_of(other) {
            Some((entries, unknown)) => {
                added = entries;
                more = unknown;
            }
            None => more = true,
        }
    }
    for (name, arg) in &args.keywords {
        let key = state.terms.intern(Term::Text(name.clone()));
        added.push(Entry { key, key_value: Value::term(key), guard: Guard::TRUE, value: arg.value.clone() });
    }
    if more {
        state.havoc(&Value::of(Val::Object(id)));
    }
    for mut entry in added {
        entry.guard = state.paths.guards.and(entry.guard, guard);
        if let ObjectKind::Dict { entries, .. } = &mut state.store.objects[id.0 as usize].kind {
            if entry.guard.is_true() {
                entries.retain(|old| old.key != entry.key);
            }
            entries.push(entry);
        }
    }
}
