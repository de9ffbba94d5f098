//! Attributes, and what was written to things from outside.
//!
//! **Invariant:** an attribute of something from outside is one term until its contents may have changed.

use std::collections::BTreeMap;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::ReferenceKind;
use crate::analysis::domain::term::{Symbol, Term, TermId, Text};
use crate::analysis::domain::value::{ClassHandle, ObjectId, Val, Value};
use crate::analysis::heap::{Entry, Item, Kind, Object};
use crate::finding::Place;
use crate::ir::{Annotation, Name, Op};

use super::memo::Member;
use super::{Frame, Machine};
use crate::analysis::record::LoggedReference;

impl<'p> Machine<'p> {
    /// A new object.
    pub(super) fn allocate(&mut self, kind: Kind, text: impl Into<Text>, place: Option<Place>) -> ObjectId {
        let symbol = self.terms.fresh(Symbol::Opaque, text, place);
        self.allocate_with(kind, symbol, None, true)
    }

    pub(super) fn allocate_with(
        &mut self,
        kind: Kind,
        symbol: TermId,
        class: Option<ClassHandle>,
        open: bool,
    ) -> ObjectId {
        let id = ObjectId(u32::try_from(self.store.objects.len()).unwrap_or(u32::MAX));
        self.store.objects.push(Object {
            kind,
            attributes: BTreeMap::new(),
            class,
            symbol,
            copied: None,
            items: None,
            epoch: 0,
            open,
        });
        id
    }

    /// `object.name`
    pub(super) fn attribute(&mut self, frame: &mut Frame<'p>, object: &Value, name: &Name, op: &'p Op) -> Value {
        let object = self.possible(object);
        let place = self.place(frame, op.span);
        self.on_alternatives(&object, |this, val| this.attribute_of_val(frame, val, name, place))
    }

    pub(super) fn attribute_of_val(&mut self, frame: &mut Frame<'p>, val: &Val, name: &Name, place: Place) -> Value {
        match val {
            Val::Library(path) => {
                let Member { path, module } = self.library_member(frame.module, path, name);
                self.note_reference(frame, &path, ReferenceKind::Value, place);
                if self.program.models.is_none(&path) {
                    return self.none();
                }
                Value::of(module.map_or(Val::Library(path), Val::Module))
            }
            Val::Module(module) => self.module_member(*module, name, place),
            Val::Object(object) => self.object_attribute(frame, *object, name, place),
            Val::Class(class) => match self.class_attribute(*class, name) {
                Some(value) => Self::class_member(*class, value),
                None => self.opaque(name.clone(), Some(place)),
            },
            Val::Key(_) | Val::Array(_) => self.key_attribute(frame, val, name, place),
            Val::Term(term) => self.term_attribute(frame, *term, name, place),
            Val::Tuple(_) | Val::Wrapped(_) | Val::Partial(_) | Val::Function(_) | Val::UnknownMethod(_) => {
                Value::of(Val::UnknownMethod(std::rc::Rc::new((Value::of(val.clone()), name.clone()))))
            }
            _ => self.opaque(name.clone(), Some(place)),
        }
    }

    fn term_attribute(&mut self, frame: &Frame<'p>, term: TermId, name: &Name, place: Place) -> Value {
        if let Some(shadow) = self.store.shadows.get(&term)
            && let Some(value) = self.store.objects[shadow.0 as usize].attributes.get(name).cloned()
        {
            return self.possible(&value);
        }
        if &**name == "_impl" || &**name == "_rules" {
            // Private parts of a key's dtype: named by their chain.
            if let Term::Attribute(_, outer, _) = self.terms.get(term)
                && &**outer == "dtype"
            {
                let path: Name = format!("key.dtype.{name}").into();
                self.note_reference(frame, &path, ReferenceKind::Value, place);
            }
        }
        let epoch = self.epoch_of(term);
        let attribute = self.terms.intern(Term::Attribute(term, name.clone(), epoch));
        self.recorder.log.origins.entry(attribute).or_insert(place);
        Value::term(attribute)
    }

    fn object_attribute(&mut self, frame: &mut Frame<'p>, id: ObjectId, name: &Name, place: Place) -> Value {
        let object = &self.store.objects[id.0 as usize];
        if let Some(value) = object.attributes.get(name).cloned() {
            let value = self.possible(&value);
            if !value.is_unbound() {
                return value;
            }
        }
        if &**name == "__dict__" {
            self.havoc_object(id);
            return self.opaque("__dict__", Some(place));
        }
        let object = &self.store.objects[id.0 as usize];
        match &object.kind {
            Kind::Instance => {}
            Kind::Stream(path) => {
                let path = path.clone();
                if let Some(crate::models::Construct::Stream { .. }) =
                    self.program.models.class(&path).map(|class| &class.construct)
                {
                    return Value::of(Val::UnknownMethod(std::rc::Rc::new((Value::of(Val::Object(id)), name.clone()))));
                }
            }
            _ => {
                return Value::of(Val::UnknownMethod(std::rc::Rc::new((Value::of(Val::Object(id)), name.clone()))));
            }
        }
        let (symbol, epoch, class) = (object.symbol, object.epoch, object.class);
        if let Some(class) = class
            && let Some(value) = self.class_attribute(class, name)
            && !self.is_only_a_default(id, class, name, &value)
        {
            if self.is_default_of_field(id, class, name, &value) {
                return value;
            }
            let bound = self.bound_attribute(frame, &Value::of(Val::Object(id)), class, &value, place);
            let cached = matches!(
                value.single(),
                Some(Val::Partial(partial))
                    if partial.keywords.first().is_some_and(|(mark, _)| &**mark == "<cached property>")
            );
            if cached {
                let old = Value::unbound();
                let kept = self.written(&bound, &old);
                self.store.objects[id.0 as usize].attributes.insert(name.clone(), kept);
            }
            return bound;
        }
        let attribute = self.terms.intern(Term::Attribute(symbol, name.clone(), epoch));
        self.recorder.log.origins.entry(attribute).or_insert(place);
        if let Some(declared) = class.and_then(|class| self.field_evidence(class, name, attribute)) {
            return declared;
        }
        Value::term(attribute)
    }

    /// Whether the value that a class gives an attribute says nothing of an instance from outside: who made that may have said
    /// otherwise, as a field with a default is there for. A number that is no field is taken for a constant of the class.
    fn is_only_a_default(&self, id: ObjectId, class: ClassHandle, name: &Name, value: &Value) -> bool {
        let symbol = self.store.objects[id.0 as usize].symbol;
        let is_from_outside = self.terms.is_parameter(symbol) || self.store.shadows.get(&symbol) == Some(&id);
        let Some(Val::Term(term)) = value.single().filter(|_| is_from_outside) else { return false };
        match self.field(class, name) {
            Some((_, annotation)) => self.terms.is_constant(*term) && !is_class_variable(annotation),
            None => matches!(self.terms.get(*term), Term::Bool(_) | Term::None),
        }
    }

    /// Whether a function is the default of a field, which every instance stores, so that nothing binds it:
    /// `kernel_init: Callable = initializers.normal()`.
    fn is_default_of_field(&self, id: ObjectId, class: ClassHandle, name: &Name, value: &Value) -> bool {
        matches!(value.single(), Some(Val::Function(_) | Val::Wrapped(_)))
            && self.is_record(id)
            && self.field(class, name).is_some_and(|(_, annotation)| !is_class_variable(annotation))
    }

    /// A class attribute seen through the class: `Model.create(…)` binds `cls`.
    fn class_member(class: ClassHandle, value: Value) -> Value {
        match value.single() {
            Some(Val::Partial(partial)) => match partial.keywords.first() {
                Some((mark, _)) if &**mark == "<static>" => partial.function.clone(),
                Some((mark, _)) if &**mark == "<class>" => {
                    Value::of(Val::Method(std::rc::Rc::new((Value::of(Val::Class(class)), partial.function.clone()))))
                }
                _ => value,
            },
            _ => value,
        }
    }

    /// A class attribute seen through an instance: functions become methods, properties run.
    pub(super) fn bound_attribute(
        &mut self,
        frame: &mut Frame<'p>,
        receiver: &Value,
        class: ClassHandle,
        value: &Value,
        place: Place,
    ) -> Value {
        match value.single() {
            Some(Val::Function(_) | Val::Wrapped(_)) => {
                Value::of(Val::Method(std::rc::Rc::new((receiver.clone(), value.clone()))))
            }
            Some(Val::Partial(partial)) => match partial.keywords.first() {
                // Descriptors are kept as a function with a mark.
                Some((mark, _)) if matches!(&**mark, "<property>" | "<cached property>") => {
                    let args = super::bind::Args::positional(vec![receiver.clone()]);
                    self.call_value(frame, &partial.function.clone(), args, Some(place))
                }
                Some((mark, _)) if &**mark == "<static>" => partial.function.clone(),
                Some((mark, _)) if &**mark == "<class>" => {
                    Value::of(Val::Method(std::rc::Rc::new((Value::of(Val::Class(class)), partial.function.clone()))))
                }
                _ => Value::of(Val::Method(std::rc::Rc::new((receiver.clone(), value.clone())))),
            },
            _ => value.clone(),
        }
    }

    /// `object.name = value`
    pub(super) fn store_attribute(
        &mut self,
        frame: &mut Frame<'p>,
        object: &Value,
        name: &Name,
        value: &Value,
        op: &'p Op,
    ) {
        let object = self.possible(object);
        self.note_store(frame, value, &object, Some(name), op);
        for alternative in object.alternatives().to_vec() {
            let before = self.paths.pc;
            self.paths.pc = self.paths.guards.and(before, alternative.guard);
            let id = match &alternative.val {
                Val::Object(id) => Some(*id),
                Val::Term(term) => Some(self.shadow_of(*term)),
                Val::Class(class) => {
                    self.store_class_attribute(*class, name, value);
                    None
                }
                _ => None,
            };
            if let Some(id) = id {
                if let Some(setter) = self.setter_of(id, name) {
                    let args = super::bind::Args::positional(vec![Value::of(alternative.val.clone()), value.clone()]);
                    let place = self.place(frame, op.span);
                    self.call_value(frame, &setter, args, Some(place));
                    self.paths.pc = before;
                    continue;
                }
                let old = if let Some(old) = self.store.objects[id.0 as usize].attributes.get(name) {
                    old.clone()
                } else {
                    let object = &self.store.objects[id.0 as usize];
                    let (symbol, epoch) = (object.symbol, object.epoch);
                    Value::term(self.terms.intern(Term::Attribute(symbol, name.clone(), epoch)))
                };
                let new = self.written(value, &old);
                self.store.objects[id.0 as usize].attributes.insert(name.clone(), new);
            }
            self.paths.pc = before;
        }
    }

    /// `Class.name = value`
    fn store_class_attribute(&mut self, class: ClassHandle, name: &Name, value: &Value) {
        let old = self.class_attribute(class, name).unwrap_or_default();
        let new = self.written(value, &old);
        self.store.classes[class.0 as usize].attributes.insert(name.clone(), new);
    }

    /// The setter of a property of this name.
    fn setter_of(&mut self, id: ObjectId, name: &Name) -> Option<Value> {
        let class = self.store.objects[id.0 as usize].class?;
        let value = self.class_attribute(class, name)?;
        match value.single() {
            Some(Val::Partial(partial)) => {
                partial.keywords.iter().find(|(mark, _)| &**mark == "<setter>").map(|(_, setter)| setter.clone())
            }
            _ => None,
        }
    }

    /// The object that holds what was written to something from outside.
    pub(super) fn shadow_of(&mut self, term: TermId) -> ObjectId {
        if let Some(id) = self.store.shadows.get(&term) {
            return *id;
        }
        let id = self.allocate_with(Kind::Instance, term, None, true);
        self.store.shadows.insert(term, id);
        id
    }

    /// How often the contents of something from outside may have changed.
    pub(super) fn epoch_of(&self, term: TermId) -> u32 {
        self.store.shadows.get(&term).map_or(0, |id| self.store.objects[id.0 as usize].epoch)
    }

    fn item_name(term: TermId) -> Name {
        format!("[{}]", term.0).into()
    }

    /// What was written in sight to an item of something from outside.
    pub(super) fn shadow_item(&mut self, base: TermId, key: TermId) -> Option<Value> {
        let id = self.store.shadows.get(&base)?;
        let value = self.store.objects[id.0 as usize].attributes.get(&Self::item_name(key)).cloned()?;
        Some(self.possible(&value))
    }

    /// Writes an item of something from outside: other items may alias it unless both keys are literals.
    pub(super) fn shadow_store(&mut self, base: TermId, key: TermId, value: &Value) {
        let id = self.shadow_of(base);
        if self.terms.is_constant(key) {
            let name = Self::item_name(key);
            let epoch = self.store.objects[id.0 as usize].epoch;
            let old = match self.store.objects[id.0 as usize].attributes.get(&name) {
                Some(old) => old.clone(),
                None => Value::term(self.terms.intern(Term::Item(base, key, epoch))),
            };
            let new = self.written(value, &old);
            self.store.objects[id.0 as usize].attributes.insert(name, new);
        } else {
            let object = &mut self.store.objects[id.0 as usize];
            object.attributes.retain(|name, _| !name.starts_with('['));
            object.epoch += 1;
        }
    }

    /// Something unknown may have changed the contents of what is mutable here.
    pub(super) fn havoc(&mut self, value: &Value) {
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

    fn havoc_object(&mut self, id: ObjectId) {
        self.store.mutations += 1;
        // A name of its own from here on: copies of one object share what it held, not what becomes of them.
        let changed = self.terms.fresh(Symbol::Opaque, "<changed>", None);
        let object = &mut self.store.objects[id.0 as usize];
        let symbol = object.symbol;
        object.epoch += 1;
        match &mut object.kind {
            Kind::List { unknown, .. } | Kind::Dict { unknown, .. } => *unknown = true,
            Kind::Iterator(_, position) => *position = None,
            Kind::Set(_) | Kind::Stream(_) => {}
            Kind::Instance => {
                // A frozen record keeps what it was given.
                let frozen = object.class.is_some_and(|class| self.store.classes[class.0 as usize].frozen);
                if frozen {
                    object.epoch -= 1;
                } else {
                    object.attributes.retain(|name, _| Self::is_part(name));
                    // What stands for something from outside keeps its name: its epoch tells the contents apart.
                    if self.store.shadows.get(&symbol) != Some(&id) {
                        object.symbol = changed;
                    }
                }
            }
        }
        if let Kind::List { items, unknown: true } = &mut self.store.objects[id.0 as usize].kind {
            items.clear();
        }
        if let Kind::Dict { entries, unknown: true } = &mut self.store.objects[id.0 as usize].kind {
            entries.clear();
        }
    }

    /// The entries of a mapping, and whether there may be others.
    pub(super) fn entries_of(&mut self, value: &Value) -> Option<(Vec<Entry>, bool)> {
        let value = self.possible(value);
        match value.single()? {
            Val::Object(id) => match &self.store.objects[id.0 as usize].kind {
                Kind::Dict { entries, unknown } => Some((entries.clone(), *unknown)),
                _ => None,
            },
            _ => None,
        }
    }

    /// `list += items` and `extend`.
    pub(super) fn extend_list(&mut self, id: ObjectId, added: Option<Vec<Item>>) {
        self.store.mutations += 1;
        let guard = if self.paths.guards.without(self.paths.alive, self.paths.pc).is_false() {
            Guard::TRUE
        } else {
            self.paths.pc
        };
        let added: Option<Vec<Item>> = added.map(|items| {
            items
                .into_iter()
                .map(|item| Item { guard: self.paths.guards.and(item.guard, guard), value: item.value })
                .collect()
        });
        if let Kind::List { items, unknown } = &mut self.store.objects[id.0 as usize].kind {
            match added {
                Some(added) => items.extend(added),
                None => *unknown = true,
            }
        }
    }

    /// Notes a reference to a library name.
    pub(super) fn note_reference(&mut self, frame: &Frame<'p>, path: &Name, kind: ReferenceKind, place: Place) {
        if frame.module == self.context.home {
            let function = frame.code.qualified.clone();
            self.recorder.log.references.push(LoggedReference { place, path: path.clone(), kind, function });
        }
    }
}

/// `ClassVar[int]`, `Final`: no instance has another value.
fn is_class_variable(annotation: &Annotation) -> bool {
    let says_so = |name: Option<&str>| matches!(name, Some("ClassVar" | "Final"));
    match annotation {
        Annotation::Path(path, _) => says_so(path.last().map(|name| &**name)),
        Annotation::Subscript(base, _) => is_class_variable(base),
        Annotation::Text(text) => says_so(text.split('[').next().and_then(|base| base.rsplit('.').next())),
        _ => false,
    }
}
