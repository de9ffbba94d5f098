//! A copy of a run's state, from which another run continues.
//!
//! **Invariant:** a copy and its original have no mutable thing in common, and what is one thing in the original is one thing in the copy.
//! A run that continues from a copy is the run that would have come to this state itself.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::machine::CyclicValues;
use super::value::{Args, Class, Closure, Environment, Instance, Partial, Shared, Stack, Value, Wrapped};
use crate::ir::Name;

/// The things that were copied so far.
///
/// A thing may refer to itself, but only through what can be changed: that is filled in last, from a list.
#[derive(Default)]
pub(super) struct Copier<'p> {
    environments: FxHashMap<usize, Rc<Environment<'p>>>,
    closures: FxHashMap<usize, Rc<Closure<'p>>>,
    classes: FxHashMap<usize, Rc<Class<'p>>>,
    instances: FxHashMap<usize, Rc<Instance<'p>>>,
    /// Copies of other shared values, by address.
    values: FxHashMap<usize, Value<'p>>,
    incomplete: Vec<Incomplete<'p>>,
    made: CyclicValues<'p>,
    /// Whether there is something that cannot be copied: an iterator, or a number that is being computed.
    has_uncopyable: bool,
}

/// A thing and its copy, whose mutable part is still to be filled in.
enum Incomplete<'p> {
    Environment(Rc<Environment<'p>>, Rc<Environment<'p>>),
    Closure(Rc<Closure<'p>>, Rc<Closure<'p>>),
    Class(Rc<Class<'p>>, Rc<Class<'p>>),
    Instance(Rc<Instance<'p>>, Rc<Instance<'p>>),
    Values(Shared<Value<'p>>, Shared<Value<'p>>),
    Pairs(Shared<(Value<'p>, Value<'p>)>, Shared<(Value<'p>, Value<'p>)>),
}

impl<'p> Copier<'p> {
    /// Fills in what is open; what the copies own that may refer to itself, or `None` if something could not be copied.
    pub(super) fn finish(mut self) -> Option<CyclicValues<'p>> {
        while let Some(open) = self.incomplete.pop() {
            match open {
                Incomplete::Environment(old, new) => {
                    let slots: Vec<_> =
                        old.slots.borrow().iter().map(|slot| slot.as_ref().map(|value| self.value(value))).collect();
                    *new.slots.borrow_mut() = slots;
                }
                Incomplete::Closure(old, new) => {
                    let class = old.class.borrow().as_ref().map(|class| self.class(class));
                    *new.class.borrow_mut() = class;
                }
                Incomplete::Class(old, new) => {
                    let attributes = self.named(&old.attributes.borrow());
                    *new.attributes.borrow_mut() = attributes;
                }
                Incomplete::Instance(old, new) => {
                    let attributes = self.named(&old.attributes.borrow());
                    *new.attributes.borrow_mut() = attributes;
                }
                Incomplete::Values(old, new) => {
                    let values = self.all(&old.borrow());
                    *new.borrow_mut() = values;
                }
                Incomplete::Pairs(old, new) => {
                    let pairs: Vec<_> =
                        old.borrow().iter().map(|(key, value)| (self.value(key), self.value(value))).collect();
                    *new.borrow_mut() = pairs;
                }
            }
        }
        if self.has_uncopyable {
            // What was copied may refer to itself, and nobody else frees it.
            self.made.release();
            return None;
        }
        Some(self.made)
    }

    fn environment(&mut self, old: &Rc<Environment<'p>>) -> Rc<Environment<'p>> {
        let address = Rc::as_ptr(old).addr();
        if let Some(known) = self.environments.get(&address) {
            return known.clone();
        }
        let parent = old.parent.as_ref().map(|parent| self.environment(parent));
        let new = Rc::new(Environment { slots: RefCell::default(), parent });
        self.made.environment(&new);
        self.environments.insert(address, new.clone());
        self.incomplete.push(Incomplete::Environment(old.clone(), new.clone()));
        new
    }

    pub(super) fn closure(&mut self, old: &Rc<Closure<'p>>) -> Rc<Closure<'p>> {
        let address = Rc::as_ptr(old).addr();
        if let Some(known) = self.closures.get(&address) {
            return known.clone();
        }
        let new = Rc::new(Closure {
            module: old.module,
            id: old.id,
            code: old.code,
            parent: old.parent.as_ref().map(|parent| self.environment(parent)),
            defaults: old.defaults.iter().map(|(slot, value)| (*slot, self.value(value))).collect(),
            class: RefCell::default(),
            number: old.number,
            is_called: Cell::new(old.is_called.get()),
        });
        self.closures.insert(address, new.clone());
        self.incomplete.push(Incomplete::Closure(old.clone(), new.clone()));
        new
    }

    fn class(&mut self, old: &Rc<Class<'p>>) -> Rc<Class<'p>> {
        let address = Rc::as_ptr(old).addr();
        if let Some(known) = self.classes.get(&address) {
            return known.clone();
        }
        let new = Rc::new(Class {
            name: old.name.clone(),
            bases: self.all(&old.bases),
            attributes: RefCell::default(),
            fields: old.fields.clone(),
            code: old.code,
            is_record: Cell::new(old.is_record.get()),
            number: old.number,
            above: OnceCell::new(),
        });
        self.made.class(&new);
        self.classes.insert(address, new.clone());
        self.incomplete.push(Incomplete::Class(old.clone(), new.clone()));
        new
    }

    pub(super) fn instance(&mut self, old: &Rc<Instance<'p>>) -> Rc<Instance<'p>> {
        let address = Rc::as_ptr(old).addr();
        if let Some(known) = self.instances.get(&address) {
            return known.clone();
        }
        let class = self.class(&old.class);
        let new = Rc::new(Instance { class, attributes: RefCell::default(), symbol: old.symbol });
        self.made.instance(&new);
        self.instances.insert(address, new.clone());
        self.incomplete.push(Incomplete::Instance(old.clone(), new.clone()));
        new
    }

    fn all(&mut self, values: &[Value<'p>]) -> Vec<Value<'p>> {
        values.iter().map(|value| self.value(value)).collect()
    }

    fn named(&mut self, values: &[(Name, Value<'p>)]) -> Vec<(Name, Value<'p>)> {
        values.iter().map(|(name, value)| (name.clone(), self.value(value))).collect()
    }

    fn args(&mut self, args: &Args<'p>) -> Args<'p> {
        let (positional, keywords) = (self.all(&args.positional), self.named(&args.keywords));
        Args { positional, keywords, is_open: args.is_open }
    }

    /// The copy of a list or set, of which `wrap` makes a value.
    fn values(&mut self, old: &Shared<Value<'p>>, wrap: fn(Shared<Value<'p>>) -> Value<'p>) -> Value<'p> {
        let new = Shared::default();
        self.incomplete.push(Incomplete::Values(old.clone(), new.clone()));
        wrap(new)
    }

    /// The copy of a value.
    pub(super) fn value(&mut self, value: &Value<'p>) -> Value<'p> {
        let address = match value {
            Value::Function(closure) => return Value::Function(self.closure(closure)),
            Value::Class(class) => return Value::Class(self.class(class)),
            Value::Instance(instance) => return Value::Instance(self.instance(instance)),
            Value::Stack(shared) => Rc::as_ptr(shared).addr(),
            Value::Tuple(shared) => Rc::as_ptr(shared).addr(),
            Value::List(shared) | Value::Set(shared) => Rc::as_ptr(shared).addr(),
            Value::Dict(shared) => Rc::as_ptr(shared).addr(),
            Value::Slice(shared) => Rc::as_ptr(shared).addr(),
            Value::Super(shared) => Rc::as_ptr(shared).addr(),
            Value::Bound(shared) => Rc::as_ptr(shared).addr(),
            Value::Method(shared) => Rc::as_ptr(shared).addr(),
            Value::Partial(shared) => Rc::as_ptr(shared).addr(),
            Value::Wrapped(shared) => Rc::as_ptr(shared).addr(),
            Value::Static(shared) | Value::ClassMethod(shared) => Rc::as_ptr(shared).addr(),
            Value::Property(shared) => Rc::as_ptr(shared).addr(),
            Value::Iterator(_) | Value::Generator(_) | Value::Lanes(..) => {
                self.has_uncopyable = true;
                return Value::None;
            }
            // Nothing can change these, nor what they hold.
            Value::None
            | Value::Ellipsis
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Complex(..)
            | Value::Text(_)
            | Value::Unknown(_)
            | Value::Keys(_)
            | Value::Family(_)
            | Value::Range(..)
            | Value::Module(_)
            | Value::Imported(_)
            | Value::Library(_)
            | Value::Stream(_)
            | Value::Array(_)
            | Value::DType(_)
            | Value::KeyDType(_) => return value.clone(),
        };
        if let Some(known) = self.values.get(&address) {
            return known.clone();
        }
        let copy = self.shared(value);
        self.values.insert(address, copy.clone());
        copy
    }

    /// The first copy of a value that others may share.
    fn shared(&mut self, value: &Value<'p>) -> Value<'p> {
        match value {
            Value::Stack(stack) => Value::Stack(Rc::new(Stack { items: self.all(&stack.items), ..**stack })),
            Value::Tuple(values) => Value::tuple(self.all(values)),
            Value::List(values) => self.values(values, Value::List),
            Value::Set(values) => self.values(values, Value::Set),
            Value::Dict(pairs) => {
                let new = Shared::default();
                self.incomplete.push(Incomplete::Pairs(pairs.clone(), new.clone()));
                Value::Dict(new)
            }
            Value::Slice(parts) => Value::Slice(Rc::new([0, 1, 2].map(|part: usize| self.value(&parts[part])))),
            Value::Super(parts) => Value::Super(Rc::new((self.class(&parts.0), self.value(&parts.1)))),
            Value::Bound(parts) => Value::Bound(Rc::new((self.value(&parts.0), self.value(&parts.1)))),
            Value::Method(parts) => Value::Method(Rc::new((self.value(&parts.0), parts.1.clone()))),
            Value::Partial(partial) => {
                let (function, args) = (self.value(&partial.function), self.args(&partial.args));
                Value::Partial(Rc::new(Partial { function, args }))
            }
            Value::Wrapped(wrapped) => {
                let function = wrapped.function.as_ref().map(|function| self.value(function));
                let (path, args) = (wrapped.path.clone(), self.args(&wrapped.args));
                Value::Wrapped(Rc::new(Wrapped { path, function, args }))
            }
            Value::Static(inner) => Value::Static(Rc::new(self.value(inner))),
            Value::ClassMethod(inner) => Value::ClassMethod(Rc::new(self.value(inner))),
            Value::Property(parts) => {
                let setter = parts.1.as_ref().map(|setter| self.value(setter));
                Value::Property(Rc::new((self.value(&parts.0), setter)))
            }
            other => other.clone(),
        }
    }
}
