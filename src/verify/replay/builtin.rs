//! Functions of Python itself.
//!
//! **Invariant:** what depends on something unknown is a symbol made of what it depends on.

use std::rc::Rc;

use super::frame::{Ran, Signal};
use super::machine::Machine;
use super::step::{length, own};
use super::symbol::Symbol;
use super::value::{Args, Class, Instance, Partial, Value, Wrapped};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::BuiltinOp;

impl<'p> Machine<'p> {
    /// Does what a function of Python does.
    pub(super) fn builtin(&mut self, op: BuiltinOp, path: &Name, args: &Args<'p>, place: Place) -> Ran<'p, Value<'p>> {
        if args.is_open && args.positional.is_empty() && args.keywords.is_empty() {
            // `zip(*pairs)` of what is unknown.
            self.escape(args, place)?;
            return Ok(self.unknown(path));
        }
        if let Some(value) = self.iterator_function(op, args, place)? {
            return Ok(value);
        }
        if let Some(value) = self.container_function(op, path, args)? {
            return Ok(value);
        }
        if let Some(value) = self.element_function(op, path, args)? {
            return Ok(value);
        }
        if let Some(value) = self.object_function(op, args)? {
            return Ok(value);
        }
        if let Some(value) = self.wrapping_function(op, path, args)? {
            return Ok(value);
        }
        if let Some(value) = self.plain_function(op, path, args, place)? {
            return Ok(value);
        }
        // What nothing is known of may call what it is given.
        self.escape(args, place)?;
        Ok(self.named(path, args))
    }

    /// Functions that ask objects, or make others of them.
    fn object_function(&mut self, op: BuiltinOp, args: &Args<'p>) -> Ran<'p, Option<Value<'p>>> {
        let first = args.positional.first().cloned();
        let second = args.positional.get(1).cloned();
        Ok(Some(match (op, first) {
            (BuiltinOp::Isinstance, Some(value)) => {
                let class = second.unwrap_or(Value::None);
                match Self::is_a(&value, &class) {
                    Some(answer) => Value::Bool(answer),
                    None => self.named("isinstance", args),
                }
            }
            (BuiltinOp::Callable, Some(value)) if value.is_function() => Value::Bool(true),
            (BuiltinOp::Getattr, Some(object)) => match second {
                Some(Value::Text(name)) => {
                    let default = args.positional.get(2).cloned();
                    match (&object, default) {
                        (Value::Instance(instance), Some(default))
                            if own(&object, &name).is_none()
                                && instance.class.find(&name).is_none()
                                && is_closed(instance) =>
                        {
                            default
                        }
                        _ => self.attribute(&object, &name)?,
                    }
                }
                _ => self.named("getattr", args),
            },
            (BuiltinOp::Setattr, Some(object)) => {
                match (second, args.positional.get(2)) {
                    (Some(Value::Text(name)), Some(value)) => self.set_attribute(&object, &name, Some(value.clone())),
                    _ => self.havoc(&object),
                }
                Value::None
            }
            (BuiltinOp::Hasattr, Some(object)) => match (&object, &second) {
                (Value::Instance(instance), Some(Value::Text(name)))
                    if own(&object, name).is_some() || instance.class.find(name).is_some() =>
                {
                    Value::Bool(true)
                }
                _ => self.named("hasattr", args),
            },
            (BuiltinOp::Super, _) => self.super_of(args),
            (BuiltinOp::Type, Some(Value::Instance(instance))) => Value::Class(instance.class.clone()),
            (BuiltinOp::Copy | BuiltinOp::Deepcopy, Some(value)) => match value {
                Value::List(values) => Value::list(values.borrow().clone()),
                Value::Dict(pairs) => Value::dict(pairs.borrow().clone()),
                other => other,
            },
            (BuiltinOp::Replace, Some(value)) => self.replaced(&value, args),
            (BuiltinOp::Object, _) => {
                self.numbers += 1;
                self.unknown("object")
            }
            _ => return Ok(None),
        }))
    }

    /// Functions that wrap functions, or say how they are looked up.
    fn wrapping_function(&mut self, op: BuiltinOp, path: &Name, args: &Args<'p>) -> Ran<'p, Option<Value<'p>>> {
        let first = args.positional.first().cloned();
        Ok(Some(match (op, first) {
            (BuiltinOp::Partial | BuiltinOp::PartialMethod, Some(function)) => {
                let mut rest = args.clone();
                rest.positional.remove(0);
                Value::Partial(Rc::new(Partial { function, args: rest }))
            }
            // `field(default=…)`: its arguments are read when the class is constructed.
            (BuiltinOp::Field, None) => {
                Value::Partial(Rc::new(Partial { function: Value::Library(path.clone()), args: args.clone() }))
            }
            (BuiltinOp::Wraps, Some(_)) => {
                Value::Wrapped(Rc::new(Wrapped { path: path.clone(), function: None, args: args.clone() }))
            }
            (BuiltinOp::Cached | BuiltinOp::ContextManager, Some(function)) => function,
            // Which of its implementations runs depends on the type of what it is given.
            (BuiltinOp::SingleDispatch, Some(_)) => self.unknown("<dispatch>"),
            (BuiltinOp::Cached | BuiltinOp::SingleDispatch, None) => Value::Library(path.clone()),
            (BuiltinOp::Property | BuiltinOp::CachedProperty, Some(getter)) => Value::Property(Rc::new(getter)),
            (BuiltinOp::Staticmethod, Some(inner)) => Value::Static(Rc::new(inner)),
            (BuiltinOp::Classmethod, Some(inner)) => Value::ClassMethod(Rc::new(inner)),
            _ => return Ok(None),
        }))
    }

    /// All other functions.
    fn plain_function(
        &mut self,
        op: BuiltinOp,
        path: &Name,
        args: &Args<'p>,
        place: Place,
    ) -> Ran<'p, Option<Value<'p>>> {
        let first = args.positional.first().cloned();
        let second = args.positional.get(1).cloned();
        Ok(Some(match (op, first) {
            (BuiltinOp::Len, Some(value)) => match (length(&value), &value) {
                (Some(length), _) => Value::Int(length),
                (None, Value::Instance(instance)) if instance.class.find("__len__").is_some() => {
                    let method = self.attribute(&value, &"__len__".into())?;
                    self.call_value(&method, Args::default(), place)?
                }
                _ => self.named("len", args),
            },
            (BuiltinOp::Bool, Some(value)) => match value.truth() {
                Some(truth) => Value::Bool(truth),
                None => value,
            },
            (BuiltinOp::Abs, Some(value)) => match value.int().and_then(i128::checked_abs) {
                Some(value) => Value::Int(value),
                None => self.named("abs", args),
            },
            (BuiltinOp::Str, Some(Value::Text(text))) => Value::Text(text),
            (BuiltinOp::Str, Some(Value::Int(number))) => Value::text(&number.to_string()),
            (BuiltinOp::Print, _) => Value::None,
            (BuiltinOp::Nullcontext, Some(value)) => value,
            (BuiltinOp::Slice, Some(first)) => {
                let part = |value: Option<&Value<'p>>| value.cloned().unwrap_or(Value::None);
                match second {
                    None => Value::Slice(Rc::new([Value::None, first, Value::None])),
                    Some(second) => Value::Slice(Rc::new([first, second, part(args.positional.get(2))])),
                }
            }
            (BuiltinOp::Exit, _) => return Err(Signal::Raise(Value::Library("builtins.SystemExit".into()))),
            (BuiltinOp::Raises, _) => {
                self.escape(args, place)?;
                self.expects()
            }
            (BuiltinOp::Input | BuiltinOp::Open | BuiltinOp::Eval | BuiltinOp::Id | BuiltinOp::Hash, _) => {
                self.escape(args, place)?;
                if matches!(op, BuiltinOp::Id | BuiltinOp::Hash) { self.named(path, args) } else { self.unknown(path) }
            }
            _ => return Ok(None),
        }))
    }

    /// A symbol for a function of these arguments.
    pub(super) fn named(&mut self, name: &str, args: &Args<'p>) -> Value<'p> {
        let parts: Vec<Symbol> = args.values().take(32).map(|value| self.symbol_of(value)).collect();
        Value::Unknown(self.symbols.apply(name, &parts))
    }

    fn super_of(&mut self, args: &Args<'p>) -> Value<'p> {
        match &args.positional[..] {
            [Value::Class(class), receiver] => Value::Super(Rc::new((class.clone(), receiver.clone()))),
            // A zero-argument `super()` is given the first parameter; the class is that of the running method.
            [receiver] => {
                let class = self
                    .running
                    .last()
                    .and_then(|running| self.made.get(running))
                    .and_then(|closure| closure.class.borrow().clone());
                match class {
                    Some(class) => Value::Super(Rc::new((class, receiver.clone()))),
                    None => self.unknown("super"),
                }
            }
            _ => self.unknown("super"),
        }
    }

    pub(super) fn replaced(&mut self, value: &Value<'p>, args: &Args<'p>) -> Value<'p> {
        let Value::Instance(instance) = value else {
            let Value::Unknown(symbol) = value else { return self.unknown("replaced") };
            // A copy of something unknown: what is not given is the original's.
            self.numbers += 1;
            let class = Rc::new(Class {
                name: "replaced".into(),
                bases: Vec::new(),
                attributes: std::cell::RefCell::default(),
                fields: Vec::new(),
                is_record: std::cell::Cell::new(true),
                number: self.numbers,
            });
            let attributes = std::cell::RefCell::new(args.keywords.clone());
            return Value::Instance(Rc::new(Instance { class, attributes, symbol: *symbol }));
        };
        let mut attributes = instance.attributes.borrow().clone();
        for (name, value) in &args.keywords {
            super::value::set(&mut attributes, name, value.clone());
        }
        Value::Instance(Rc::new(Instance {
            class: instance.class.clone(),
            attributes: std::cell::RefCell::new(attributes),
            symbol: instance.symbol,
        }))
    }
}

fn is_closed(instance: &Instance<'_>) -> bool {
    instance.class.lineage().iter().flat_map(|class| class.bases.iter()).all(|base| matches!(base, Value::Class(_)))
}
