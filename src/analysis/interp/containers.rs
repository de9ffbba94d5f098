//! Methods of lists and dicts that are in sight.
//!
//! **Invariant:** what is taken out is not taken again, and where its place is not known, neither is what stays.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ObjectId, Val, Value};
use crate::analysis::heap::{Entry, Item, Kind};
use crate::finding::Place;
use crate::ir::Name;

use super::bind::Args;
use super::{Frame, Machine};

impl<'p> Machine<'p> {
    #[expect(clippy::too_many_arguments, reason = "the parts of one call")]
    pub(super) fn list_method(
        &mut self,
        frame: &mut Frame<'p>,
        id: ObjectId,
        items: &[Item],
        unknown: bool,
        name: &Name,
        args: &Args,
        place: Place,
    ) -> Value {
        let certain = self.paths.guards.without(self.paths.alive, self.paths.pc).is_false();
        let guard = if certain { Guard::TRUE } else { self.paths.pc };
        let first = args.positional.first().map(|arg| arg.value.clone());
        match (&**name, first) {
            ("append" | "add", Some(value)) => {
                self.store.mutations += 1;
                if let Kind::List { items, .. } = &mut self.store.objects[id.0 as usize].kind {
                    items.push(Item { guard, value });
                }
                self.none()
            }
            ("extend", Some(value)) => {
                let added = self.items_of(frame, &value);
                self.extend_list(id, added);
                self.none()
            }
            ("insert" | "appendleft", _) => {
                let at = if &**name == "appendleft" {
                    Some(0)
                } else {
                    let index = args.positional.first().map(|arg| arg.value.clone()).unwrap_or_default();
                    let index = self.term_of(&index);
                    self.terms.as_int(index).and_then(|index| usize::try_from(index).ok())
                };
                let value = args.positional.last().map(|arg| arg.value.clone()).unwrap_or_default();
                self.store.mutations += 1;
                if let Kind::List { items, unknown } = &mut self.store.objects[id.0 as usize].kind {
                    match at.filter(|at| *at <= items.len()) {
                        Some(at) => items.insert(at, Item { guard, value }),
                        None => *unknown = true,
                    }
                }
                self.none()
            }
            ("pop" | "popleft", index) => {
                let index = match (&**name, index) {
                    ("popleft", _) => Some(0),
                    (_, None) => Some(-1),
                    (_, Some(index)) => {
                        let index = self.term_of(&index);
                        self.terms.as_int(index)
                    }
                };
                self.store.mutations += 1;
                let length = i128::try_from(items.len()).unwrap_or(0);
                let position = index
                    .map(|index| if index < 0 { index + length } else { index })
                    .and_then(|index| usize::try_from(index).ok())
                    .filter(|index| *index < items.len());
                // On the paths on which nothing is taken, nothing may stay behind either.
                let is_whole = certain
                    || items.first().is_some_and(|item| {
                        self.is_there(item.guard) && self.paths.guards.without(item.guard, self.paths.pc).is_false()
                    });
                let sure = is_whole && !unknown && items.iter().all(|item| item.guard == items[0].guard);
                match position {
                    Some(position) if sure => {
                        if let Kind::List { items, .. } = &mut self.store.objects[id.0 as usize].kind {
                            items.remove(position);
                        }
                        items[position].value.clone()
                    }
                    _ => {
                        // Which element is taken is not known; it is not taken again.
                        if let Kind::List { items, unknown } = &mut self.store.objects[id.0 as usize].kind {
                            items.clear();
                            *unknown = true;
                        }
                        self.store.objects[id.0 as usize].epoch += 1;
                        self.supplied_or_opaque(items, place)
                    }
                }
            }
            ("copy", _) => {
                let kind = Kind::List { items: items.to_vec(), unknown };
                Value::of(Val::Object(self.allocate(kind, "<list>", Some(place))))
            }
            ("clear", _) => {
                if let Kind::List { items, unknown } = &mut self.store.objects[id.0 as usize].kind {
                    items.clear();
                    *unknown = !certain;
                }
                self.none()
            }
            ("reverse" | "sort" | "rotate" | "remove", _) => {
                self.run_key_function(frame, args, &Value::of(Val::Object(id)), place);
                self.store.mutations += 1;
                let object = &mut self.store.objects[id.0 as usize];
                if let Kind::List { items, unknown } = &mut object.kind {
                    if &**name == "reverse" && certain {
                        items.reverse();
                    } else {
                        items.clear();
                        *unknown = true;
                    }
                }
                object.epoch += 1;
                self.none()
            }
            _ => self.opaque(name.clone(), Some(place)),
        }
    }

    /// A key if the elements are keys, equal to nothing.
    fn supplied_or_opaque(&mut self, items: &[Item], place: Place) -> Value {
        let keys = items.iter().any(|item| matches!(item.value.single(), Some(Val::Key(_))));
        if keys { self.supplied_key(place) } else { self.opaque("<element>", Some(place)) }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub(super) fn dict_method(
        &mut self,
        id: ObjectId,
        entries: &[Entry],
        unknown: bool,
        name: &Name,
        args: &Args,
        place: Place,
    ) -> Value {
        let key = args.positional.first().map(|arg| arg.value.clone());
        match (&**name, key) {
            ("get", Some(key)) => {
                let key = self.term_of(&key);
                let absent =
                    !unknown && !entries.iter().any(|entry| entry.key == key || !self.terms.is_constant(entry.key));
                if absent {
                    return match args.positional.get(1) {
                        Some(default) => default.value.clone(),
                        None => self.none(),
                    };
                }
                self.dict_item(id, entries, unknown, key)
            }
            ("pop", Some(key)) => {
                let key = self.term_of(&key);
                let value = self.dict_item(id, entries, unknown, key);
                self.store.mutations += 1;
                if let Kind::Dict { entries, .. } = &mut self.store.objects[id.0 as usize].kind {
                    entries.retain(|entry| entry.key != key);
                }
                value
            }
            ("setdefault", Some(key_value)) => {
                let key = self.term_of(&key_value);
                if entries.iter().any(|entry| entry.key == key) {
                    return self.dict_item(id, entries, unknown, key);
                }
                let value = args.positional.get(1).map(|arg| arg.value.clone()).unwrap_or_default();
                if unknown {
                    return self.dict_item(id, entries, unknown, key);
                }
                let guard = self.paths.pc;
                if let Kind::Dict { entries, .. } = &mut self.store.objects[id.0 as usize].kind {
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
                let kind = Kind::List { items, unknown: false };
                Value::of(Val::Object(self.allocate(kind, "<view>", Some(place))))
            }
            ("copy", _) => {
                let kind = Kind::Dict { entries: entries.to_vec(), unknown };
                Value::of(Val::Object(self.allocate(kind, "<dict>", Some(place))))
            }
            ("update", other) => {
                self.store.mutations += 1;
                let guard = if self.paths.guards.without(self.paths.alive, self.paths.pc).is_false() {
                    Guard::TRUE
                } else {
                    self.paths.pc
                };
                let mut added: Vec<Entry> = Vec::new();
                let mut more = false;
                if let Some(other) = other {
                    match self.entries_of(&other) {
                        Some((entries, unknown)) => {
                            added = entries;
                            more = unknown;
                        }
                        None => more = true,
                    }
                }
                for (name, arg) in &args.keywords {
                    let key = self.terms.intern(Term::Text(name.clone()));
                    added.push(Entry {
                        key,
                        key_value: Value::term(key),
                        guard: Guard::TRUE,
                        value: arg.value.clone(),
                    });
                }
                if more {
                    self.havoc(&Value::of(Val::Object(id)));
                }
                for mut entry in added {
                    entry.guard = self.paths.guards.and(entry.guard, guard);
                    if let Kind::Dict { entries, .. } = &mut self.store.objects[id.0 as usize].kind {
                        if entry.guard.is_true() {
                            entries.retain(|old| old.key != entry.key);
                        }
                        entries.push(entry);
                    }
                }
                self.none()
            }
            ("clear", _) => {
                if let Kind::Dict { entries, .. } = &mut self.store.objects[id.0 as usize].kind {
                    entries.clear();
                }
                self.none()
            }
            _ => self.opaque(name.clone(), Some(place)),
        }
    }
}
