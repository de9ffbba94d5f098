//! Functions of Python itself.
//!
//! **Invariant:** a result that depends on an unknown value is a symbol that is a function of its operands.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::frame::{Eval, Signal};
use super::machine::Machine;
use super::step::{length, own};
use super::symbol::Symbol;
use super::value::{Args, Class, Instance, Partial, Value, Wrapped};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::BuiltinOp;

impl<'p> Machine<'p> {
    /// Does what a function of Python does.
    pub(super) fn builtin(&mut self, op: BuiltinOp, path: &Name, args: &Args<'p>, place: Place) -> Eval<'p, Value<'p>> {
        if args.is_open && args.positional.is_empty() && args.keywords.is_empty() {
            // `zip(*pairs)` of an unknown value.
            self.escape(args, place)?;
            return Ok(self.unknown_result(path));
        }
        let first = args.positional.first();
        let answer = match op {
            BuiltinOp::Range => first.is_some().then(|| self.range(args)),
            BuiltinOp::Zip => self.zip(args)?,
            BuiltinOp::Enumerate => self.enumerate(args)?,
            BuiltinOp::Map => self.mapped(args)?,
            BuiltinOp::Starmap => self.starmap(args)?,
            BuiltinOp::Chain => self.chain(args)?,
            BuiltinOp::Count => Some(self.count(args)),
            BuiltinOp::Repeat => Self::repeat(args),
            BuiltinOp::Cycle => self.cycle(args)?,
            BuiltinOp::Islice => self.islice(args)?,
            BuiltinOp::Iter => first.map(|value| self.iterate(value)).transpose()?,
            BuiltinOp::Next => self.next_element(args, place)?,
            BuiltinOp::List | BuiltinOp::Deque => self.list(args)?,
            BuiltinOp::Tuple => self.tuple(args)?,
            BuiltinOp::Set | BuiltinOp::Frozenset => self.set(path, args)?,
            BuiltinOp::Sorted => self.sorted(args)?,
            BuiltinOp::Reversed => self.reversed(args)?,
            BuiltinOp::Dict | BuiltinOp::OrderedDict | BuiltinOp::Namespace => self.dict(args)?,
            BuiltinOp::Min => self.extreme(true, args)?,
            BuiltinOp::Max => self.extreme(false, args)?,
            BuiltinOp::Sum => self.sum(args)?,
            BuiltinOp::Any => self.quantified(path, true, args)?,
            BuiltinOp::All => self.quantified(path, false, args)?,
            BuiltinOp::Isinstance => first.map(|value| self.is_instance(value, args)),
            BuiltinOp::Callable => first.filter(|value| value.is_function()).map(|_| Value::Bool(true)),
            BuiltinOp::Getattr => first.map(|object| self.get_attribute(object, args)).transpose()?,
            BuiltinOp::Setattr => first.map(|object| self.attribute_set(object, args)).transpose()?,
            BuiltinOp::Hasattr => first.map(|object| self.has_attribute(object, args)),
            BuiltinOp::Super => Some(self.super_of(args)),
            BuiltinOp::Type => first.and_then(class_of),
            BuiltinOp::Copy => first.map(copy),
            BuiltinOp::Deepcopy => first.map(deep_copy),
            BuiltinOp::Replace => first.map(|value| self.replaced(value, args)),
            BuiltinOp::Object => {
                self.numbers += 1;
                Some(self.unknown("object"))
            }
            BuiltinOp::Partial
            | BuiltinOp::PartialMethod
            | BuiltinOp::Field
            | BuiltinOp::Wraps
            | BuiltinOp::Cached
            | BuiltinOp::ContextManager
            | BuiltinOp::SingleDispatch
            | BuiltinOp::Property
            | BuiltinOp::CachedProperty
            | BuiltinOp::Staticmethod
            | BuiltinOp::Classmethod => self.wrapped(op, path, args),
            BuiltinOp::Len => first.map(|value| self.length_of(value, args, place)).transpose()?,
            BuiltinOp::Bool => first.map(|value| value.truth().map_or_else(|| value.clone(), Value::Bool)),
            BuiltinOp::Abs => first.and_then(Value::int).and_then(i128::checked_abs).map(Value::Int),
            BuiltinOp::Str => first.and_then(text_of),
            BuiltinOp::Print => Some(Value::None),
            BuiltinOp::Nullcontext => first.cloned(),
            BuiltinOp::Slice => slice(&args.positional),
            BuiltinOp::Exit => return Err(Signal::Raise(Value::Library("builtins.SystemExit".into()))),
            BuiltinOp::Raises => {
                self.escape(args, place)?;
                Some(self.expects())
            }
            BuiltinOp::Input | BuiltinOp::Open | BuiltinOp::Eval => {
                self.escape(args, place)?;
                Some(self.unknown_result(path))
            }
            // The results of these depend on their arguments and hold no known key.
            BuiltinOp::Asdict
            | BuiltinOp::Astuple
            | BuiltinOp::Attrgetter
            | BuiltinOp::Clock
            | BuiltinOp::Counter
            | BuiltinOp::Defaultdict
            | BuiltinOp::Delattr
            | BuiltinOp::Fields
            | BuiltinOp::Globals
            | BuiltinOp::Hash
            | BuiltinOp::Id
            | BuiltinOp::Issubclass
            | BuiltinOp::Itemgetter
            | BuiltinOp::Locals
            | BuiltinOp::Namedtuple
            | BuiltinOp::Repr
            | BuiltinOp::Round
            | BuiltinOp::Suppress
            | BuiltinOp::Vars => None,
        };
        if let Some(answer) = answer {
            return Ok(answer);
        }
        self.escape(args, place)?;
        Ok(self.named(path, args))
    }

    fn is_instance(&mut self, value: &Value<'p>, args: &Args<'p>) -> Value<'p> {
        let class = args.positional.get(1).unwrap_or(&Value::None);
        match Self::is_a(value, class) {
            Some(answer) => Value::Bool(answer),
            None => self.named("isinstance", args),
        }
    }

    fn get_attribute(&mut self, object: &Value<'p>, args: &Args<'p>) -> Eval<'p, Value<'p>> {
        let Some(Value::Text(name)) = args.positional.get(1) else { return Ok(self.named("getattr", args)) };
        match (object, args.positional.get(2)) {
            (Value::Instance(instance), Some(default))
                if own(object, name).is_none() && instance.class.find(name).is_none() && is_closed(instance) =>
            {
                Ok(default.clone())
            }
            _ => self.attribute(object, name),
        }
    }

    fn attribute_set(&mut self, object: &Value<'p>, args: &Args<'p>) -> Eval<'p, Value<'p>> {
        match (args.positional.get(1), args.positional.get(2)) {
            (Some(Value::Text(name)), Some(value)) => self.set_attribute(object, name, Some(value.clone()))?,
            _ => self.havoc(object),
        }
        Ok(Value::None)
    }

    fn has_attribute(&mut self, object: &Value<'p>, args: &Args<'p>) -> Value<'p> {
        match (object, args.positional.get(1)) {
            (Value::Instance(instance), Some(Value::Text(name)))
                if own(object, name).is_some() || instance.class.find(name).is_some() =>
            {
                Value::Bool(true)
            }
            _ => self.named("hasattr", args),
        }
    }

    fn length_of(&mut self, value: &Value<'p>, args: &Args<'p>, place: Place) -> Eval<'p, Value<'p>> {
        match (length(value), value) {
            (Some(length), _) => Ok(Value::Int(length)),
            (None, Value::Instance(instance)) if instance.class.find("__len__").is_some() => {
                let method = self.attribute(value, &"__len__".into())?;
                self.call_value(&method, Args::default(), place)
            }
            _ => Ok(self.named("len", args)),
        }
    }

    /// Functions that wrap functions, or determine how they are looked up.
    fn wrapped(&mut self, op: BuiltinOp, path: &Name, args: &Args<'p>) -> Option<Value<'p>> {
        let first = args.positional.first().cloned();
        Some(match (op, first) {
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
            // Which implementation runs depends on the type of the first argument.
            (BuiltinOp::SingleDispatch, Some(_)) => self.unknown("<dispatch>"),
            (BuiltinOp::Cached | BuiltinOp::SingleDispatch, None) => Value::Library(path.clone()),
            (BuiltinOp::Property, _) => {
                let given = |at: usize, name: &str| args.positional.get(at).or_else(|| args.keyword(name)).cloned();
                Value::Property(Rc::new((given(0, "fget")?, given(1, "fset"))))
            }
            (BuiltinOp::CachedProperty, Some(getter)) => Value::Property(Rc::new((getter, None))),
            (BuiltinOp::Staticmethod, Some(inner)) => Value::Static(Rc::new(inner)),
            (BuiltinOp::Classmethod, Some(inner)) => Value::ClassMethod(Rc::new(inner)),
            _ => return None,
        })
    }

    /// A symbol for a function of these arguments.
    pub(super) fn named(&mut self, name: &str, args: &Args<'p>) -> Value<'p> {
        let parts: Vec<Symbol> = args.values().take(32).map(|value| self.symbol_of(value)).collect();
        Value::Unknown(self.symbols.apply(name, &parts))
    }

    fn super_of(&mut self, args: &Args<'p>) -> Value<'p> {
        match &args.positional[..] {
            [Value::Class(class), receiver] => Value::Super(Rc::new((class.clone(), receiver.clone()))),
            // A zero-argument `super()` uses the first parameter; the class is that of the running method.
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

    /// A record of a library's class with these fields.
    pub(super) fn record(&mut self, fields: &[String], args: &Args<'p>) -> Value<'p> {
        let given = fields.iter().map(|field| Name::from(field.as_str())).zip(&args.positional);
        let mut attributes: Vec<(Name, Value<'p>)> = given.map(|(field, value)| (field, value.clone())).collect();
        attributes.extend(args.keywords.iter().cloned());
        let symbol = self.symbols.fresh("<record>");
        Value::Instance(Rc::new(Instance {
            class: self.record_class("<record>", fields),
            attributes: std::cell::RefCell::new(attributes),
            symbol,
        }))
    }

    /// The class of records that no class statement describes.
    fn record_class(&mut self, name: &str, fields: &[String]) -> Rc<Class<'p>> {
        self.numbers += 1;
        Rc::new(Class {
            name: name.into(),
            bases: Vec::new(),
            attributes: std::cell::RefCell::default(),
            fields: fields.iter().map(|field| Name::from(field.as_str())).collect(),
            code: None,
            is_record: std::cell::Cell::new(true),
            number: self.numbers,
            above: std::cell::OnceCell::new(),
        })
    }

    pub(super) fn replaced(&mut self, value: &Value<'p>, args: &Args<'p>) -> Value<'p> {
        let Value::Instance(instance) = value else {
            let Value::Unknown(symbol) = value else { return self.unknown("replaced") };
            // A copy of an unknown value: fields that are not passed are those of the original.
            let class = self.record_class("replaced", &[]);
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

/// Objects that a deep copy copies; those below them are shared with the original.
const COPIED: usize = 1_000;

/// A copy of an object.
fn copy<'p>(value: &Value<'p>) -> Value<'p> {
    Copying { with_instances: true, budget: 1, known: None }.copied(value)
}

/// A copy of an object and of those that it holds. What is held twice is copied once.
pub(super) fn deep_copy<'p>(value: &Value<'p>) -> Value<'p> {
    Copying { with_instances: true, budget: COPIED, known: Some(FxHashMap::default()) }.copied(value)
}

/// What a transformed function gets for an argument: its lists, tuples and dicts are built anew, each wherever it is held.
pub(super) fn rebuilt<'p>(value: &Value<'p>) -> Value<'p> {
    Copying { with_instances: false, budget: COPIED, known: None }.copied(value)
}

/// Copies objects.
struct Copying<'p> {
    /// Whether instances of classes are copied as well.
    with_instances: bool,
    /// How many objects may still be copied; those below them are shared with the original.
    budget: usize,
    /// The copies of objects by their addresses, if each is copied once.
    known: Option<FxHashMap<usize, Value<'p>>>,
}

impl<'p> Copying<'p> {
    fn copied(&mut self, value: &Value<'p>) -> Value<'p> {
        let address = match value {
            Value::List(values) => Rc::as_ptr(values).addr(),
            Value::Dict(pairs) => Rc::as_ptr(pairs).addr(),
            Value::Instance(instance) if self.with_instances => Rc::as_ptr(instance).addr(),
            Value::Tuple(_) => 0,
            _ => return value.clone(),
        };
        if let Some(known) = self.known.as_ref().and_then(|known| known.get(&address)) {
            return known.clone();
        }
        if self.budget == 0 {
            return value.clone();
        }
        self.budget -= 1;
        let copy = self.copied_within(value);
        if let Some(known) = self.known.as_mut().filter(|_| address != 0) {
            known.insert(address, copy.clone());
        }
        copy
    }

    fn copied_within(&mut self, value: &Value<'p>) -> Value<'p> {
        let mut each = |value: &Value<'p>| self.copied(value);
        match value {
            Value::List(values) => Value::list(values.borrow().iter().map(each).collect()),
            Value::Tuple(values) => Value::Tuple(values.iter().map(each).collect()),
            Value::Dict(pairs) => {
                Value::dict(pairs.borrow().iter().map(|(name, value)| (name.clone(), each(value))).collect())
            }
            Value::Instance(instance) => {
                let attributes =
                    instance.attributes.borrow().iter().map(|(name, value)| (name.clone(), each(value))).collect();
                Value::Instance(Rc::new(Instance {
                    class: instance.class.clone(),
                    attributes: std::cell::RefCell::new(attributes),
                    symbol: instance.symbol,
                }))
            }
            other => other.clone(),
        }
    }
}

/// `slice(stop)`, `slice(start, stop, step)`
fn slice<'p>(parts: &[Value<'p>]) -> Option<Value<'p>> {
    let (start, stop, step) = match parts {
        [] => return None,
        [stop] => (Value::None, stop.clone(), Value::None),
        [start, stop, rest @ ..] => (start.clone(), stop.clone(), rest.first().cloned().unwrap_or(Value::None)),
    };
    Some(Value::Slice(Rc::new([start, stop, step])))
}

fn class_of<'p>(value: &Value<'p>) -> Option<Value<'p>> {
    match value {
        Value::Instance(instance) => Some(Value::Class(instance.class.clone())),
        _ => None,
    }
}

/// `str(value)`
fn text_of<'p>(value: &Value<'p>) -> Option<Value<'p>> {
    match value {
        Value::Text(text) => Some(Value::Text(text.clone())),
        Value::Int(number) => Some(Value::text(&number.to_string())),
        _ => None,
    }
}
