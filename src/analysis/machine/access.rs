//! Attributes, and what was written to objects from outside.
//!
//! **Invariant:** an attribute of an object from outside is one term until the contents may have changed.

use crate::analysis::domain::kinds::ReferenceKind;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ClassHandle, ObjectId, PartialKind, Val, Value};
use crate::analysis::machine::name_cache::Member;
use crate::analysis::machine::{Frame, Machine, implied, name_cache, notes};
use crate::analysis::record::LoggedReference;
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{Inheritance, ObjectKind};
use crate::analysis::store::paths;
use crate::finding::Place;
use crate::ir::{Annotation, Function, Name, Op, OpKind, Variable};
use crate::models::path_of_dtype;

impl<'p> Machine<'p> {
    /// `object.name`
    pub fn attribute(&mut self, frame: &mut Frame<'p>, object: &Value, name: &Name, op: &'p Op) -> Value {
        let object = self.state.possible(object);
        let place = self.place(frame, op.span);
        paths::on_alternatives(self, &object, |this, val| this.attribute_of_val(frame, val, name, place))
    }

    pub fn attribute_of_val(&mut self, frame: &mut Frame<'p>, val: &Val, name: &Name, place: Place) -> Value {
        match val {
            Val::Library(path) => {
                let Member { path, module } = name_cache::library_member(self, frame.module, path, name);
                self.note_reference(frame, &path, ReferenceKind::Value, place);
                if self.program.models.is_none(&path) {
                    return self.state.terms.none();
                }
                Value::of(module.map_or(Val::Library(path), Val::Module))
            }
            Val::Module(module) => self.module_member(*module, name, place),
            Val::Object(object) => self.object_attribute(frame, *object, name, place),
            Val::Class(class) => match self.state.class_attribute(*class, name) {
                Some(value) => class_member(*class, value),
                None if &**name == "__name__" => {
                    let info = &self.state.store.classes[class.0 as usize];
                    let name = self.program.module(info.module).class(info.class).name.clone();
                    Value::term(self.state.terms.intern(Term::Text(name)))
                }
                None if self.is_maker(*class, name) => {
                    Value::of(Val::UnknownMethod(std::sync::Arc::new((Value::of(val.clone()), name.clone()))))
                }
                None => self.state.terms.opaque(name.clone(), Some(place)),
            },
            Val::Key(_) | Val::Array(_) => (self.library.key_attribute)(self, frame, val, name, place),
            Val::Term(term) => {
                if !name.starts_with("__") {
                    implied::is_present(&mut self.state, *term);
                }
                self.term_attribute(frame, *term, name, place)
            }
            Val::Function(closure) if &**name == "__name__" => {
                let name = self.program.module(closure.module).function(closure.function).name.clone();
                Value::term(self.state.terms.intern(Term::Text(name)))
            }
            Val::Tuple(_) | Val::Wrapped(_) | Val::Partial(_) | Val::Function(_) | Val::UnknownMethod(_) => {
                Value::of(Val::UnknownMethod(std::sync::Arc::new((Value::of(val.clone()), name.clone()))))
            }
            _ => self.state.terms.opaque(name.clone(), Some(place)),
        }
    }

    fn term_attribute(&mut self, frame: &Frame<'p>, term: TermId, name: &Name, place: Place) -> Value {
        if let Some(shadow) = self.state.store.shadows.get(&term)
            && let Some(value) = self.state.store.objects[shadow.0 as usize].attributes.get(name).cloned()
        {
            return self.state.possible(&value);
        }
        if self.program.models.is_reported_of_dtype(name)
            && let Term::Attribute(_, outer, _) = self.state.terms.get(term)
            && &**outer == "dtype"
        {
            self.note_reference(frame, &path_of_dtype(name).into(), ReferenceKind::Value, place);
        }
        let epoch = self.state.epoch_of(term);
        let epoch_now = self.epoch_of_field(name, (epoch, self.state.key_epoch_of(term)));
        let attribute = self.state.terms.intern(Term::Attribute(term, name.clone(), epoch_now));
        if epoch_now != epoch {
            self.recorder.keep(attribute);
        }
        self.recorder.read(attribute, place);
        Value::term(attribute)
    }

    /// How often the field of this name may have changed, of how often the contents of its object and the keys among them may have.
    fn epoch_of_field(&self, name: &Name, (epoch, key_epoch): (u32, u32)) -> u32 {
        if self.program.models.words.ends_like_a_key(name) { key_epoch } else { epoch }
    }

    fn object_attribute(&mut self, frame: &mut Frame<'p>, id: ObjectId, name: &Name, place: Place) -> Value {
        let object = &self.state.store.objects[id.0 as usize];
        if let Some(value) = object.attributes.get(name).cloned() {
            let value = self.state.possible(&value);
            if !value.is_unbound() {
                return value;
            }
        }
        if &**name == "__dict__" {
            self.state.havoc_object(id);
            return self.state.terms.opaque("__dict__", Some(place));
        }
        let object = &self.state.store.objects[id.0 as usize];
        match &object.kind {
            ObjectKind::Instance => {}
            ObjectKind::Stream(path) => {
                let path = path.clone();
                if let Some(crate::models::Construct::Stream { .. }) =
                    self.program.models.class(&path).map(|class| &class.construct)
                {
                    return Value::of(Val::UnknownMethod(std::sync::Arc::new((
                        Value::of(Val::Object(id)),
                        name.clone(),
                    ))));
                }
            }
            _ => {
                return Value::of(Val::UnknownMethod(std::sync::Arc::new((Value::of(Val::Object(id)), name.clone()))));
            }
        }
        let (symbol, epoch, key_epoch, class) = (object.symbol, object.epoch, object.key_epoch, object.class);
        if let Some(class) = class
            && let Some(value) = self.state.class_attribute(class, name)
            && (!object.changed.contains(name) || matches!(value.single(), Some(Val::Function(_) | Val::Wrapped(_))))
            && !self.is_only_a_default(id, class, name, &value)
        {
            if self.is_default_of_field(id, class, name, &value) {
                return value;
            }
            let bound = self.bound_attribute(frame, &Value::of(Val::Object(id)), class, &value, place);
            let kind = match value.single() {
                Some(Val::Partial(partial)) => Some(&partial.kind),
                _ => None,
            };
            if let Some(PartialKind::Property(_)) = kind {
                self.recorder.note_computed_read(place, Some(name));
            }
            if let Some(PartialKind::CachedProperty) = kind {
                let old = Value::unbound();
                let kept = self.state.written_within(id, &bound, &old);
                self.state.store.objects[id.0 as usize].attributes.insert(name.clone(), kept);
            }
            return bound;
        }
        let fallback: Name = "__getattr__".into();
        if !name.starts_with("__")
            && let Some(method) = self.state.instance_method(&Val::Object(id), &fallback)
            && (!self.state.store.objects[id.0 as usize].open
                || class.is_some_and(|class| has_no_attribute(self, class, name)))
        {
            self.recorder.note_computed_read(place, Some(name));
            let name = Value::term(self.state.terms.intern(Term::Text(name.clone())));
            return self.call_value(frame, &method, Args::positional(vec![name]), Some(place));
        }
        let epoch_now = self.epoch_of_field(name, (epoch, key_epoch));
        let attribute = self.state.terms.intern(Term::Attribute(symbol, name.clone(), epoch_now));
        if self.program.models.words.ends_like_a_key(name) {
            self.state.store.objects[id.0 as usize].read.insert(name.clone(), attribute);
        }
        if epoch_now != epoch {
            self.recorder.keep(attribute);
        }
        self.recorder.read(attribute, place);
        if let Some(declared) = class.and_then(|class| self.field_evidence(class, name, attribute)) {
            return declared;
        }
        Value::term(attribute)
    }

    /// Whether the value of a class attribute says nothing about an instance from outside: the creator may have passed another value, as
    /// for a field with a default. A number that is not a field is assumed to be a constant of the class.
    fn is_only_a_default(&self, id: ObjectId, class: ClassHandle, name: &Name, value: &Value) -> bool {
        let symbol = self.state.store.objects[id.0 as usize].symbol;
        let is_from_outside =
            self.state.terms.is_parameter(symbol) || self.state.store.shadows.get(&symbol) == Some(&id);
        let term = match value.single() {
            Some(Val::Term(term)) if is_from_outside => term,
            // `field(default_factory=list)` makes a value for each instance to which no other is passed.
            Some(Val::Partial(partial)) if is_from_outside => {
                return matches!(partial.kind, PartialKind::FieldFactory | PartialKind::FieldDefault);
            }
            _ => return false,
        };
        match self.field(class, name) {
            Some((_, annotation)) => self.state.terms.is_constant(*term) && !is_class_variable(annotation),
            None => matches!(self.state.terms.get(*term), Term::Bool(_) | Term::None),
        }
    }

    /// Whether a function is the default of a field, which every instance stores, so that nothing binds it:
    /// `kernel_init: Callable = initializers.normal()`.
    fn is_default_of_field(&self, id: ObjectId, class: ClassHandle, name: &Name, value: &Value) -> bool {
        matches!(value.single(), Some(Val::Function(_) | Val::Wrapped(_)))
            && self.state.is_record(id)
            && self.field(class, name).is_some_and(|(_, annotation)| !is_class_variable(annotation))
    }

    /// A class attribute seen through an instance: functions become methods, properties run.
    pub fn bound_attribute(
        &mut self,
        frame: &mut Frame<'p>,
        receiver: &Value,
        class: ClassHandle,
        value: &Value,
        place: Place,
    ) -> Value {
        match value.single() {
            Some(Val::Function(_) | Val::Wrapped(_)) => {
                Value::of(Val::Method(std::sync::Arc::new((receiver.clone(), value.clone()))))
            }
            Some(Val::Partial(partial)) => match partial.kind {
                PartialKind::Property(_) | PartialKind::CachedProperty => {
                    let args = Args::positional(vec![receiver.clone()]);
                    self.call_value(frame, &partial.function.clone(), args, Some(place))
                }
                PartialKind::StaticMethod => partial.function.clone(),
                PartialKind::ClassMethod => Value::of(Val::Method(std::sync::Arc::new((
                    Value::of(Val::Class(class)),
                    partial.function.clone(),
                )))),
                _ => Value::of(Val::Method(std::sync::Arc::new((receiver.clone(), value.clone())))),
            },
            Some(Val::Object(_)) => {
                let Some(getter) = value.single().and_then(|val| self.state.instance_method(val, &"__get__".into()))
                else {
                    return value.clone();
                };
                let args = Args::positional(vec![receiver.clone(), Value::of(Val::Class(class))]);
                self.call_value(frame, &getter, args, Some(place))
            }
            _ => value.clone(),
        }
    }

    /// `object.name = value`
    pub fn store_attribute(&mut self, frame: &mut Frame<'p>, object: &Value, name: &Name, value: &Value, op: &'p Op) {
        let object = self.state.possible(object);
        notes::note_store(self, frame, value, &object, Some(name), op);
        for alternative in object.alternatives().to_vec() {
            paths::on(self, alternative.guard, |this| {
                let id = match &alternative.val {
                    Val::Object(id) => *id,
                    Val::Term(term) => this.state.shadow_of(*term),
                    Val::Class(class) => return this.state.store_class_attribute(*class, name, value),
                    _ => return,
                };
                if let Some(setter) = this.state.setter_of(id, name) {
                    let args = Args::positional(vec![Value::of(alternative.val.clone()), value.clone()]);
                    let place = this.place(frame, op.span);
                    this.call_value(frame, &setter, args, Some(place));
                    return;
                }
                let object = &this.state.store.objects[id.0 as usize];
                let old = object.attributes.get(name).cloned();
                let (symbol, epoch) = (object.symbol, object.epoch);
                let old = old.unwrap_or_else(|| {
                    Value::term(this.state.terms.intern(Term::Attribute(symbol, name.clone(), epoch)))
                });
                let new = this.state.written_within(id, value, &old);
                this.state.store.objects[id.0 as usize].attributes.insert(name.clone(), new);
            });
        }
    }

    /// Records a reference to a library name.
    pub fn note_reference(&mut self, frame: &Frame<'p>, path: &Name, kind: ReferenceKind, place: Place) {
        self.note_written_reference(frame, path, None, kind, place);
    }

    /// Records a reference to a library name, and how it is written.
    pub fn note_written_reference(
        &mut self,
        frame: &Frame<'p>,
        path: &Name,
        written: Option<Name>,
        kind: ReferenceKind,
        place: Place,
    ) {
        if frame.module == self.context.home {
            let function = frame.code.qualified.clone();
            self.recorder.refer(LoggedReference { place, path: path.clone(), written, kind, function });
        }
    }
}

/// A class attribute seen through the class: `Model.create(…)` binds `cls`.
fn class_member(class: ClassHandle, value: Value) -> Value {
    match value.single() {
        Some(Val::Partial(partial)) => match partial.kind {
            PartialKind::StaticMethod => partial.function.clone(),
            PartialKind::ClassMethod => {
                Value::of(Val::Method(std::sync::Arc::new((Value::of(Val::Class(class)), partial.function.clone()))))
            }
            _ => value,
        },
        _ => value,
    }
}

/// `ClassVar[int]`, `Final`: no instance has another value.
fn is_class_variable(annotation: &Annotation) -> bool {
    let is_class_level = |name: Option<&str>| matches!(name, Some("ClassVar" | "Final"));
    match annotation {
        Annotation::Path(path, _) => is_class_level(path.last().map(|name| &**name)),
        Annotation::Subscript(base, _) => is_class_variable(base),
        Annotation::Text(text) => is_class_level(text.split('[').next().and_then(|base| base.rsplit('.').next())),
        _ => false,
    }
}

/// Whether the instances of a class have no attribute of a name, so that `__getattr__` gives it: its bases are known, no code of their modules
/// stores an attribute of this name, and none of their methods stores attributes by computed names.
fn has_no_attribute(machine: &Machine<'_>, class: ClassHandle, name: &Name) -> bool {
    let state = &machine.state;
    state.lineage(class).iter().all(|of| {
        let info = &state.store.classes[of.0 as usize];
        let may_store = |code: &Function| {
            code.ops.iter().any(|op| match &op.kind {
                OpKind::StoreAttribute(_, stored, _) => stored == name,
                OpKind::Load(Variable::Global(named)) | OpKind::Attribute(_, named) => {
                    code.class == Some(info.class)
                        && matches!(&**named, "setattr" | "__dict__" | "__setattr__" | "vars")
                }
                _ => false,
            })
        };
        info.inherits != Inheritance::Unknown
            && !info.record
            && !info.attributes.contains_key(name)
            && !info.attributes.contains_key("__slots__")
            && !machine.module(info.module).functions.iter().any(may_store)
    })
}
