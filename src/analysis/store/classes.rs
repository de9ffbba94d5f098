//! Classes of the program: their bases, the names that they bind, and the declared fields of their instances.
//!
//! **Invariant:** a lookup visits a class once, and a bounded number of classes.

use std::sync::Arc;

use crate::analysis::domain::term::{Symbol, Term, Terms};
use crate::analysis::domain::value::{ClassHandle, ObjectId, Partial, PartialKind, Val, Value};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{ClassInfo, Inheritance, ObjectKind, Registration, Shared};
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::{Name, lookup};

/// Most classes that a lookup visits.
pub const LINEAGE: usize = 24;

/// A class with these bases, and its lineage as far as it is part of the program.
pub fn lineage(classes: &Shared<ClassInfo>, class: ClassHandle, bases: &[Value]) -> Arc<[ClassHandle]> {
    let known = bases.iter().filter_map(|base| match base.single() {
        Some(Val::Class(base)) => Some(classes[base.0 as usize].lineage.to_vec()),
        _ => None,
    });
    let above = lookup::merged(known.collect(), PartialEq::eq, LINEAGE - 1);
    std::iter::once(class).chain(above).collect()
}

impl State {
    /// The class and its bases within the program, in lookup order.
    pub fn lineage(&self, class: ClassHandle) -> Arc<[ClassHandle]> {
        self.store.classes[class.0 as usize].lineage.clone()
    }

    /// The value to which a class or its bases bind a name.
    pub fn class_attribute(&self, class: ClassHandle, name: &Name) -> Option<Value> {
        let classes = &self.store.classes;
        let mut lineage = classes[class.0 as usize].lineage.iter();
        lineage.find_map(|class| classes[class.0 as usize].attributes.get(name)).cloned()
    }

    /// A class is registered as a pytree, or may be.
    pub fn register(&mut self, class: ClassHandle, how: Registration) {
        let pytree = &mut self.store.classes[class.0 as usize].pytree;
        *pytree = how.max(*pytree);
    }

    /// A method of an instance, bound.
    pub fn instance_method(&mut self, val: &Val, name: &Name) -> Option<Value> {
        let Val::Object(id) = val else { return None };
        let class = self.store.objects[id.0 as usize].class?;
        let function = self.class_attribute(class, name)?;
        matches!(function.single(), Some(Val::Function(_) | Val::Wrapped(_)))
            .then(|| Value::of(Val::Method(std::sync::Arc::new((Value::of(val.clone()), function)))))
    }

    /// Whether something is an instance of a class without `__bool__` and `__len__`, or a tuple with at least one field.
    pub fn is_always_true(&self, object: ObjectId) -> bool {
        let object = &self.store.objects[object.0 as usize];
        let Some(class) = object.class else { return false };
        self.lineage(class).iter().all(|class| {
            let info = &self.store.classes[class.0 as usize];
            let decides = ["__bool__", "__len__"].iter().any(|method| info.attributes.contains_key(*method));
            info.inherits != Inheritance::Unknown && !decides && (!info.sequence || !object.attributes.is_empty())
        })
    }

    /// Whether something is an instance that certainly has an attribute.
    pub fn has_attribute(&self, value: &Value, name: &Name) -> bool {
        let Some(Val::Object(id)) = value.single() else { return false };
        let object = &self.store.objects[id.0 as usize];
        object.attributes.contains_key(name)
            || object.class.is_some_and(|class| self.class_attribute(class, name).is_some())
    }

    /// Whether an instance stores the values of its fields.
    pub fn is_record(&self, id: ObjectId) -> bool {
        let object = &self.store.objects[id.0 as usize];
        object.items.is_some() || object.class.is_some_and(|class| self.store.classes[class.0 as usize].record)
    }

    /// `namedtuple(name, fields)`: a function that makes records.
    pub fn record_factory(&mut self, fields: Option<Value>, path: &Name, place: Place) -> Value {
        let fields = fields.unwrap_or_default();
        let names: Option<Vec<Name>> = match fields.single() {
            Some(Val::Term(term)) => match self.terms.get(*term) {
                Term::Text(text) => Some(text.replace(',', " ").split_whitespace().map(Name::from).collect()),
                _ => None,
            },
            Some(Val::Tuple(parts)) => parts.clone().iter().map(|part| text_of(&self.terms, part)).collect(),
            Some(Val::Object(id)) => match self.store.objects[id.0 as usize].kind.clone() {
                ObjectKind::List { items, unknown: false } => {
                    items.iter().map(|item| text_of(&self.terms, &item.value)).collect()
                }
                _ => None,
            },
            _ => None,
        };
        let Some(names) = names else { return self.terms.opaque("<class>", Some(place)) };
        let unbound = Value::unbound();
        let keywords = names.into_iter().map(|name| (name, unbound.clone())).collect();
        let function = Value::of(Val::Library(path.clone()));
        Value::of(Val::Partial(Arc::new(Partial { keywords, ..Partial::of(PartialKind::Record, function) })))
    }

    /// A copy of a record with some fields replaced: `dataclasses.replace`, `.replace(…)`, `._replace(…)`.
    pub fn replaced(&mut self, value: &Value, args: &Args, place: Place) -> Value {
        let value = value.clone();
        paths::on_alternatives(self, &value, |this, val| {
            let (symbol, class, mut attributes, items, open) = match val {
                Val::Object(id) if matches!(this.store.objects[id.0 as usize].kind, ObjectKind::Instance) => {
                    let object = &this.store.objects[id.0 as usize];
                    (object.symbol, object.class, object.attributes.clone(), object.items.clone(), object.open)
                }
                Val::Term(term) => {
                    let attributes = this
                        .store
                        .shadows
                        .get(term)
                        .map(|id| this.store.objects[id.0 as usize].attributes.clone())
                        .unwrap_or_default();
                    (*term, None, attributes, None, true)
                }
                _ => return this.terms.opaque("<replaced>", Some(place)),
            };
            if !args.mappings.is_empty() {
                return this.terms.opaque("<replaced>", Some(place));
            }
            for (name, arg) in &args.keywords {
                attributes.insert(name.clone(), arg.value.clone());
            }
            let copy = this.allocate_with(ObjectKind::Instance, symbol, class, open);
            let whole = this.terms.fresh(Symbol::Opaque, "<replaced>", Some(place));
            let object = &mut this.store.objects[copy.0 as usize];
            object.attributes = attributes;
            object.items = items;
            object.copied = (!args.keywords.is_empty()).then_some(whole);
            Value::of(Val::Object(copy))
        })
    }
}

fn text_of(terms: &Terms, value: &Value) -> Option<Name> {
    match value.single() {
        Some(Val::Term(term)) => match terms.get(*term) {
            Term::Text(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}
