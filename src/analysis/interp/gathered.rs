//! Containers that functions of Python make of what they are given: `list(…)`, `dict(…)`, copies.
//!
//! **Invariant:** the elements are the very same, and so are the keys among them.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::BufferOp;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::heap::{Entry, Item, Kind};
use crate::finding::Place;
use crate::models::BuiltinOp;

use super::bind::Args;
use super::{Frame, Machine};

impl<'p> Machine<'p> {
    pub(super) fn list_of(
        &mut self,
        frame: &mut Frame<'p>,
        op: BuiltinOp,
        first: Option<Value>,
        place: Place,
    ) -> Value {
        let Some(value) = first else {
            let kind = Kind::List { items: Vec::new(), unknown: false };
            return Value::of(Val::Object(self.allocate(kind, "<list>", Some(place))));
        };
        if let Some(Val::Key(key)) = value.single().cloned()
            && key.kind != crate::analysis::domain::kinds::KeyKind::Unknown
        {
            let raises = key.kind == crate::analysis::domain::kinds::KeyKind::Typed;
            self.buffer_use(frame, BufferOp::Unpack, key, place, "list(…)".into(), raises);
        }
        if let Some(Val::Object(id)) = value.single().cloned()
            && matches!(self.store.objects[id.0 as usize].kind, Kind::Iterator(..))
            && self.known_length(&value).is_none_or(|length| length > 8)
        {
            return self.collected(frame, &value, place);
        }
        match self.items_of(frame, &value) {
            Some(items) => {
                if op == BuiltinOp::Sorted || matches!(op, BuiltinOp::Set | BuiltinOp::Frozenset) {
                    return Value::of(Val::Object(self.allocate(Kind::Set(items), "<sorted>", Some(place))));
                }
                let kind = Kind::List { items, unknown: false };
                Value::of(Val::Object(self.allocate(kind, "<list>", Some(place))))
            }
            // The same elements behind another object.
            None => match value.single() {
                Some(Val::Array(_) | Val::Term(_)) => value,
                _ => self.opaque("<list>", Some(place)),
            },
        }
    }

    /// `list(iterator)` of unknown length: a few iterations, then unknown.
    pub(super) fn collected(&mut self, frame: &mut Frame<'p>, iterator: &Value, place: Place) -> Value {
        let known = self.known_length(iterator);
        let mut items: Vec<Item> = Vec::new();
        let iterator = iterator.clone();
        if let Some(Val::Object(id)) = iterator.single().cloned() {
            self.force_generator(frame, id, self.context.here);
        }
        self.repeat(frame, known, place, |this, frame, _| {
            let step = this.next_step(frame, &iterator, place.span);
            if !step.has.is_false() {
                items.push(Item { guard: step.present, value: step.value });
            }
        });
        let only_keys = items.iter().all(|item| matches!(item.value.single(), Some(Val::Key(_))));
        let kind = Kind::List { items, unknown: !only_keys };
        Value::of(Val::Object(self.allocate(kind, "<list>", Some(place))))
    }

    pub(super) fn dict_of(&mut self, frame: &mut Frame<'p>, op: BuiltinOp, args: &Args, place: Place) -> Value {
        let mut entries: Vec<Entry> = Vec::new();
        let mut unknown = !args.mappings.is_empty() || op == BuiltinOp::Defaultdict;
        if let Some(first) = args.positional.first().filter(|_| op != BuiltinOp::Defaultdict) {
            if let Some((given, more)) = self.entries_of(&first.value) {
                entries = given;
                unknown |= more;
            } else if let Some(items) = self.items_of(frame, &first.value) {
                for item in items {
                    let key_value = self.part(&item.value, 0, place);
                    let value = self.part(&item.value, 1, place);
                    let key = self.term_of(&key_value);
                    entries.push(Entry { key, key_value, guard: item.guard, value });
                }
            } else {
                unknown = true;
            }
        }
        for (name, arg) in &args.keywords {
            let key = self.terms.intern(Term::Text(name.clone()));
            entries.retain(|entry| entry.key != key);
            entries.push(Entry { key, key_value: Value::term(key), guard: Guard::TRUE, value: arg.value.clone() });
        }
        Value::of(Val::Object(self.allocate(Kind::Dict { entries, unknown }, "<dict>", Some(place))))
    }

    /// `dict.fromkeys(names, value)`: one value under every name.
    pub(super) fn dict_from_keys(
        &mut self,
        frame: &mut Frame<'p>,
        names: &Value,
        value: &Value,
        place: Place,
    ) -> Value {
        let Some(items) = self.items_of(frame, names) else { return self.opaque("<dict>", Some(place)) };
        let entries = items.into_iter().map(|item| {
            let key = self.term_of(&item.value);
            Entry { key, key_value: item.value, guard: item.guard, value: value.clone() }
        });
        let kind = Kind::Dict { entries: entries.collect(), unknown: false };
        Value::of(Val::Object(self.allocate(kind, "<dict>", Some(place))))
    }

    /// A copy: another object with the same contents (and so the same keys).
    pub(super) fn copied(&mut self, value: &Value) -> Value {
        let value = value.clone();
        self.on_alternatives(&value, |this, val| match val {
            Val::Object(id) => {
                let original = this.store.objects[id.0 as usize].clone();
                let copy = this.allocate_with(original.kind, original.symbol, original.class, original.open);
                let target = &mut this.store.objects[copy.0 as usize];
                target.attributes = original.attributes;
                target.epoch = original.epoch;
                Value::of(Val::Object(copy))
            }
            other => Value::of(other.clone()),
        })
    }
}
