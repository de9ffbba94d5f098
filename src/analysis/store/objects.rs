//! Objects: creating them, reading and writing their contents, and forgetting them.
//!
//! **Invariant:** if unknown code may have changed an object, its epoch increases.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Symbol, Term, TermId, Text};
use crate::analysis::domain::value::{ClassHandle, ObjectId, PartialKind, Val, Value};
use crate::analysis::store::heap::{Entry, Item, Object, ObjectKind};
use crate::analysis::store::{ELEMENTS, State, container_mutation};
use crate::finding::Place;
use crate::ir::Name;

impl State {
    /// A new object.
    pub fn allocate(&mut self, kind: ObjectKind, text: impl Into<Text>, place: Option<Place>) -> ObjectId {
        let symbol = self.terms.fresh(Symbol::Opaque, text, place);
        self.allocate_with(kind, symbol, None, true)
    }

    pub fn allocate_with(
        &mut self,
        kind: ObjectKind,
        symbol: TermId,
        class: Option<ClassHandle>,
        open: bool,
    ) -> ObjectId {
        let id = ObjectId(u32::try_from(self.store.objects.len()).unwrap_or(u32::MAX));
        let kind = self.store.bounded(kind);
        self.store.objects.push(Object {
            kind,
            attributes: BTreeMap::new(),
            class,
            symbol,
            copied: None,
            further: Value::unbound(),
            items: None,
            epoch: 0,
            key_epoch: 0,
            changed: BTreeSet::new(),
            read: BTreeMap::new(),
            open,
            made: self.paths.pc,
        });
        id
    }

    /// `Class.name = value`
    pub fn store_class_attribute(&mut self, class: ClassHandle, name: &Name, value: &Value) {
        let old = self.class_attribute(class, name).unwrap_or_default();
        let new = self.written_anywhere(value, &old);
        self.store.classes[class.0 as usize].attributes.insert(name.clone(), new);
    }

    /// The setter of a property of this name.
    pub fn setter_of(&mut self, id: ObjectId, name: &Name) -> Option<Value> {
        let class = self.store.objects[id.0 as usize].class?;
        let value = self.class_attribute(class, name)?;
        match value.single() {
            Some(Val::Partial(partial)) => match &partial.kind {
                PartialKind::Property(setter) => setter.clone(),
                _ => None,
            },
            Some(descriptor @ Val::Object(_)) => self.instance_method(descriptor, &"__set__".into()),
            _ => None,
        }
    }

    /// The object that holds what was written to a value from outside.
    pub fn shadow_of(&mut self, term: TermId) -> ObjectId {
        if let Some(id) = self.store.shadows.get(&term) {
            return *id;
        }
        self.shadow_with(term, None)
    }

    /// A new object, of this class if it is known, that holds what is written to a value from outside, which exists on
    /// all paths.
    pub fn shadow_with(&mut self, term: TermId, class: Option<ClassHandle>) -> ObjectId {
        let id = self.allocate_with(ObjectKind::Instance, term, class, true);
        self.store.objects[id.0 as usize].made = Guard::TRUE;
        self.store.shadows.insert(term, id);
        id
    }

    /// How often the contents of a value from outside may have changed.
    pub fn epoch_of(&self, term: TermId) -> u32 {
        self.store.shadows.get(&term).map_or(0, |id| self.store.objects[id.0 as usize].epoch)
    }

    /// How often the keys in a value from outside may have changed.
    pub fn key_epoch_of(&self, term: TermId) -> u32 {
        self.store.shadows.get(&term).map_or(0, |id| self.store.objects[id.0 as usize].key_epoch)
    }

    /// The value that visible code wrote to an item of a value from outside.
    pub fn shadow_item(&mut self, base: TermId, key: TermId) -> Option<Value> {
        let id = self.store.shadows.get(&base)?;
        let value = self.store.objects[id.0 as usize].attributes.get(&item_name(key)).cloned()?;
        Some(self.possible(&value))
    }

    /// Writes an item of a value from outside: other items may alias it unless both keys are literals. `variable[...] = x` replaces all of it.
    pub fn shadow_store(&mut self, base: TermId, key: TermId, value: &Value) {
        let id = self.shadow_of(base);
        let is_whole = self.terms.is_ellipsis(key);
        if is_whole {
            let whole = item_name(key);
            let object = &mut self.store.objects[id.0 as usize];
            object.attributes.retain(|name, _| !name.starts_with('[') || *name == whole);
            object.epoch += 1;
            object.key_epoch += 1;
        }
        if is_whole || self.terms.is_constant(key) {
            let name = item_name(key);
            let epoch = self.store.objects[id.0 as usize].epoch;
            let old = match self.store.objects[id.0 as usize].attributes.get(&name) {
                Some(old) => old.clone(),
                None => Value::term(self.terms.intern(Term::Item(base, key, epoch))),
            };
            let new = self.written_within(id, value, &old);
            self.store.objects[id.0 as usize].attributes.insert(name, new);
        } else {
            let object = &mut self.store.objects[id.0 as usize];
            object.attributes.retain(|name, _| !name.starts_with('['));
            object.epoch += 1;
        }
    }

    /// Unknown code may have changed the contents of mutable values here.
    pub fn havoc(&mut self, value: &Value) {
        for alternative in value.alternatives() {
            match &alternative.val {
                Val::Object(id) => self.havoc_object(*id),
                Val::Term(term)
                    if matches!(self.terms.get(*term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..)) =>
                {
                    let id = self.shadow_of(*term);
                    self.havoc_object(id);
                }
                Val::Method(method) => {
                    let receiver = method.0.clone();
                    self.havoc(&receiver);
                }
                _ => {}
            }
        }
    }

    /// Unknown code may have changed the contents of a value from outside, except for its keys. A frozen record keeps all of them.
    pub fn havoc_data(&mut self, id: ObjectId) {
        self.store.mutations += 1;
        let class = self.store.objects[id.0 as usize].class;
        if !class.is_some_and(|class| self.store.classes[class.0 as usize].frozen) {
            self.store.objects[id.0 as usize].epoch += 1;
        }
    }

    pub fn havoc_object(&mut self, id: ObjectId) {
        self.store.mutations += 1;
        // A new identity from here on, by the same name: copies of one object share its contents so far, not later changes.
        let known = self.terms.symbol(self.store.objects[id.0 as usize].symbol);
        let name = known.map_or_else(|| "<changed>".into(), |known| known.text.clone());
        let changed = self.terms.fresh(Symbol::Opaque, name, None);
        let object = &mut self.store.objects[id.0 as usize];
        let symbol = object.symbol;
        object.epoch += 1;
        object.key_epoch += 1;
        match &mut object.kind {
            ObjectKind::List { unknown, .. } | ObjectKind::Dict { unknown, .. } => *unknown = true,
            ObjectKind::Iterator(_, position) => *position = None,
            ObjectKind::Set(_) | ObjectKind::Stream(_) => {}
            ObjectKind::Instance => {
                // A frozen record keeps its contents.
                let frozen = object.class.is_some_and(|class| self.store.classes[class.0 as usize].frozen);
                if frozen {
                    object.epoch -= 1;
                    object.key_epoch -= 1;
                } else {
                    let (kept, forgotten): (BTreeMap<Name, Value>, BTreeMap<Name, Value>) =
                        std::mem::take(&mut object.attributes)
                            .into_iter()
                            .partition(|(name, value)| container_mutation::is_part(name) || is_callable(value));
                    object.attributes = kept;
                    object.changed.extend(forgotten.keys().cloned());
                    // The term of a value from outside stays the same: its epoch distinguishes the contents.
                    if self.store.shadows.get(&symbol) != Some(&id) {
                        object.symbol = changed;
                    }
                    let read = std::mem::take(&mut object.read);
                    self.keep_keys_elsewhere(id, &forgotten, read);
                }
            }
        }
        if let ObjectKind::List { items, unknown: true } = &mut self.store.objects[id.0 as usize].kind {
            items.clear();
        }
        if let ObjectKind::Dict { entries, unknown: true } = &mut self.store.objects[id.0 as usize].kind {
            entries.clear();
        }
    }

    /// On paths where the unknown code does not run, an object still holds its keys: those stored in it, and those read from it.
    fn keep_keys_elsewhere(&mut self, id: ObjectId, stored: &BTreeMap<Name, Value>, read: BTreeMap<Name, TermId>) {
        let (guard, root) = (self.guard_within(id), self.terms.root(self.store.objects[id.0 as usize].symbol));
        // The program may test such a flag again to know whether the keys were replaced, and the unknown code may have changed the flag as well.
        let is_flag = |literal: &TermId| {
            matches!(self.terms.get(*literal), Term::Attribute(..)) && self.terms.root(*literal) == root
        };
        if guard.is_true() || self.paths.guards.support(guard).iter().any(is_flag) {
            return;
        }
        let is_key = |name: &Name, value: &Value| {
            value.alternatives().iter().any(|one| match one.val {
                Val::Key(_) => true,
                // What was read, and kept by an earlier call.
                Val::Term(term) => match self.terms.get(term) {
                    Term::Attribute(_, read, _) => read == name && self.terms.root(term) == root,
                    _ => false,
                },
                _ => false,
            })
        };
        let read = read.into_iter().filter(|(name, _)| !stored.contains_key(name));
        let mut kept: Vec<_> = read.map(|(name, term)| (name, Value::term(term))).collect();
        kept.extend(
            stored
                .iter()
                .filter(|(name, value)| is_key(name, value))
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        let object = &self.store.objects[id.0 as usize];
        let (symbol, key_epoch) = (object.symbol, object.key_epoch);
        for (name, old) in kept {
            let new = Value::term(self.terms.intern(Term::Attribute(symbol, name.clone(), key_epoch)));
            let value = self.written_within(id, &new, &old);
            self.store.objects[id.0 as usize].attributes.insert(name, value);
        }
    }

    /// The entries of a mapping, and whether there may be others.
    pub fn entries_of(&mut self, value: &Value) -> Option<(Vec<Entry>, bool)> {
        let value = self.possible(value);
        match value.single()? {
            Val::Object(id) => match &self.store.objects[id.0 as usize].kind {
                ObjectKind::Dict { entries, unknown } => Some((entries.clone(), *unknown)),
                _ => None,
            },
            _ => None,
        }
    }

    /// `list += items` and `extend`.
    pub fn extend_list(&mut self, id: ObjectId, added: Option<Vec<Item>>) {
        self.store.mutations += 1;
        let guard = self.guard_within(id);
        let added: Option<Vec<Item>> = added.map(|items| {
            items
                .into_iter()
                .map(|item| Item { guard: self.paths.guards.and(item.guard, guard), value: item.value })
                .collect()
        });
        let added = added.filter(|added| self.store.has_room(added.len()));
        if let ObjectKind::List { items, unknown } = &mut self.store.objects[id.0 as usize].kind {
            match added {
                Some(added) if items.len() + added.len() <= ELEMENTS => items.extend(added),
                Some(_) => {
                    (*unknown, self.store.overflow) = (true, true);
                }
                None => *unknown = true,
            }
        }
    }

    /// Whether an object was made by one of these libraries, or is an instance of a class based on theirs.
    pub fn is_of_library(&self, val: &Val, libraries: &[String]) -> bool {
        let of = |path: &str| {
            let root = path.split('.').next().unwrap_or_default();
            libraries.iter().any(|library| library == root)
        };
        match val {
            Val::Object(id) => self.store.objects[id.0 as usize].class.is_some_and(|class| {
                self.lineage(class).iter().any(|class| {
                    self.store.classes[class.0 as usize]
                        .bases
                        .iter()
                        .any(|base| matches!(base.single(), Some(Val::Library(path)) if of(path)))
                })
            }),
            Val::Term(term) => match self.terms.get(*term) {
                Term::Apply(path, _) => of(path),
                _ => self.terms.symbol(*term).is_some_and(|info| info.text.contains('.') && of(&info.text)),
            },
            _ => false,
        }
    }
}

/// The name under which a value from outside stores what was written to the item of this key.
pub fn item_name(term: TermId) -> Name {
    format!("[{}]", term.0).into()
}

/// Whether a value is behaviour rather than data: what unknown code changes in an object is its data.
fn is_callable(value: &Value) -> bool {
    matches!(value.single(), Some(Val::Function(_) | Val::Method(_) | Val::Wrapped(_) | Val::Partial(_)))
}
