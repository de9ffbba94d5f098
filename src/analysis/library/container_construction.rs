//! Containers that Python's functions build from their arguments: `list(…)`, `dict(…)`, copies.
//!
//! **Invariant:** the elements are identical, and so are the keys among them.

use rustc_hash::FxHashMap;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::BufferOp;
use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ObjectId, Val, Value};
use crate::analysis::library::transform;
use crate::analysis::machine::notes::{self, BufferUse};
use crate::analysis::machine::{Frame, Machine, held_keys, iterate, prelude};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{DICT, Entry, Item, ObjectKind};
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::BuiltinOp;

/// How many levels of objects a deep copy copies; those below are shared with the original.
const COPIED_LEVELS: u32 = 5;

pub fn list_of<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    op: BuiltinOp,
    first: Option<Value>,
    place: Place,
) -> Value {
    let Some(value) = first else {
        let kind = ObjectKind::List { items: Vec::new(), unknown: false };
        return Value::of(Val::Object(machine.state.allocate(kind, "<list>", Some(place))));
    };
    if let Some(Val::Key(key)) = value.single().cloned()
        && key.kind != crate::analysis::domain::kinds::KeyKind::Unknown
    {
        let raises = key.kind == crate::analysis::domain::kinds::KeyKind::Typed;
        notes::buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::Unpack, "list(…)".into(), raises));
    }
    prelude::begin(machine, frame, &value, place);
    if let Some(Val::Object(id)) = value.single().cloned()
        && matches!(machine.state.store.objects[id.0 as usize].kind, ObjectKind::Iterator(..))
        && iterate::known_length(&mut machine.state, &value).is_none_or(|length| length > 8)
    {
        return collected(machine, frame, &value, place);
    }
    match machine.items_of(frame, &value) {
        Some(items) => {
            if op == BuiltinOp::Sorted || matches!(op, BuiltinOp::Set | BuiltinOp::Frozenset) {
                return Value::of(Val::Object(machine.state.allocate(ObjectKind::Set(items), "<sorted>", Some(place))));
            }
            let kind = ObjectKind::List { items, unknown: false };
            Value::of(Val::Object(machine.state.allocate(kind, "<list>", Some(place))))
        }
        // The same elements in another object.
        None => match value.single() {
            Some(Val::Array(_) | Val::Term(_)) => value,
            _ => machine.state.terms.opaque("<list>", Some(place)),
        },
    }
}

/// Orders the list that `sorted` returns, if the elements are known strings or known numbers.
pub fn put_in_order(machine: &mut Machine<'_>, op: BuiltinOp, args: &Args, sorted: &Value) {
    let Some(Val::Object(id)) = sorted.single().cloned() else { return };
    if op != BuiltinOp::Sorted || !args.keywords.is_empty() {
        return;
    }
    let ObjectKind::Set(items) = &machine.state.store.objects[id.0 as usize].kind else { return };
    let mut items = items.clone();
    let terms = &machine.state.terms;
    let term = |item: &Item| match item.value.single() {
        Some(Val::Term(term)) if item.guard == Guard::TRUE => Some(*term),
        _ => None,
    };
    let name = |item: &Item| match term(item).map(|term| terms.get(term)) {
        Some(Term::Text(name)) => Some(name.clone()),
        _ => None,
    };
    let number = |item: &Item| term(item).and_then(|term| terms.as_int(term));
    if items.iter().all(|item| name(item).is_some()) {
        items.sort_by_key(name);
    } else if items.iter().all(|item| number(item).is_some()) {
        items.sort_by_key(number);
    } else {
        return;
    }
    machine.state.store.objects[id.0 as usize].kind = ObjectKind::List { items, unknown: false };
}

/// `list(iterator)` of unknown length: a few iterations, then unknown.
pub fn collected<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, iterator: &Value, place: Place) -> Value {
    let known = iterate::known_length(&mut machine.state, iterator);
    let mut items: Vec<Item> = Vec::new();
    let iterator = iterator.clone();
    if let Some(Val::Object(id)) = iterator.single().cloned() {
        machine.force_generator(frame, id, machine.context.here);
    }
    transform::repeat(machine, frame, known, place, |this, frame, _| {
        let step = this.next_step(frame, &iterator, place.span);
        if !step.has.is_false() {
            items.push(Item { guard: step.present, value: step.value });
        }
    });
    let only_keys = items.iter().all(|item| matches!(item.value.single(), Some(Val::Key(_))));
    let kind = ObjectKind::List { items, unknown: !only_keys };
    Value::of(Val::Object(machine.state.allocate(kind, "<list>", Some(place))))
}

pub fn dict_of<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (op, path): (BuiltinOp, &Name),
    args: &Args,
    place: Place,
) -> Value {
    let mut entries: Vec<Entry> = Vec::new();
    let mut unknown = !args.mappings.is_empty() || op == BuiltinOp::Defaultdict;
    if let Some(first) = args.positional.first().filter(|_| op != BuiltinOp::Defaultdict) {
        if let Some((given, more)) = held_keys::entries_of(machine, &first.value) {
            entries = given;
            unknown |= more;
        } else if let Some(items) = machine.items_of(frame, &first.value) {
            for item in items {
                let key_value = transform::part(&mut machine.state, &item.value, 0, place);
                let value = transform::part(&mut machine.state, &item.value, 1, place);
                let key = machine.state.term_of(&key_value);
                entries.push(Entry { key, key_value, guard: item.guard, value });
            }
        } else {
            unknown = true;
        }
    }
    for (name, arg) in &args.keywords {
        let key = machine.state.terms.intern(Term::Text(name.clone()));
        entries.retain(|entry| entry.key != key);
        entries.push(Entry { key, key_value: Value::term(key), guard: Guard::TRUE, value: arg.value.clone() });
    }
    let is_pythons = ["builtins.", "collections."].iter().any(|module| path.starts_with(module));
    let name = if is_pythons { DICT } else { "<mapping>" };
    Value::of(Val::Object(machine.state.allocate(ObjectKind::Dict { entries, unknown }, name, Some(place))))
}

/// A copy: another object with the same contents (and so the same keys).
pub fn copy(state: &mut State, value: &Value) -> Value {
    Copier { with_instances: true, known: None, walk: Walk::to(1) }.copied(state, value)
}

/// A copy of an object and of what it holds. What is held twice is copied once.
pub fn deep_copy(state: &mut State, value: &Value) -> Value {
    Copier { with_instances: true, known: Some(FxHashMap::default()), walk: Walk::to(COPIED_LEVELS) }
        .copied(state, value)
}

/// What a transformed function gets for an argument: its lists, tuples and dicts are built anew, each wherever it is held.
pub fn rebuilt(state: &mut State, value: &Value) -> Value {
    Copier { with_instances: false, known: None, walk: Walk::to(COPIED_LEVELS) }.copied(state, value)
}

/// Copies objects.
struct Copier {
    /// Whether instances of classes are copied as well.
    with_instances: bool,
    /// The copies of objects, if each is copied once.
    known: Option<FxHashMap<ObjectId, ObjectId>>,
    walk: Walk,
}

impl Copier {
    fn copied(&mut self, state: &mut State, value: &Value) -> Value {
        if !self.walk.down() {
            return value.clone();
        }
        let value = value.clone();
        let copy = paths::on_alternatives(state, &value, |this, val| match val {
            Val::Object(id) => self.copied_object(this, *id),
            Val::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.copied(this, part)).collect();
                Value::of(Val::Tuple(parts))
            }
            other => Value::of(other.clone()),
        });
        self.walk.back();
        copy
    }

    fn copied_object(&mut self, state: &mut State, id: ObjectId) -> Value {
        if let Some(known) = self.known.as_ref().and_then(|known| known.get(&id)) {
            return Value::of(Val::Object(*known));
        }
        let mut original = state.store.objects[id.0 as usize].clone();
        let is_container = matches!(original.kind, ObjectKind::List { .. } | ObjectKind::Dict { .. });
        if !self.with_instances && !is_container {
            return Value::of(Val::Object(id));
        }
        let copy = state.allocate_with(original.kind.clone(), original.symbol, original.class, original.open);
        if let Some(known) = &mut self.known {
            known.insert(id, copy);
        }
        let mut each = |value: &mut Value| *value = self.copied(state, value);
        original.attributes.values_mut().for_each(&mut each);
        match &mut original.kind {
            ObjectKind::List { items, .. } => items.iter_mut().for_each(|item| each(&mut item.value)),
            ObjectKind::Dict { entries, .. } => entries.iter_mut().for_each(|entry| each(&mut entry.value)),
            _ => {}
        }
        let target = &mut state.store.objects[copy.0 as usize];
        target.kind = original.kind;
        target.attributes = original.attributes;
        target.epoch = original.epoch;
        Value::of(Val::Object(copy))
    }
}
