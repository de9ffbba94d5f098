//! Functions of Python itself.
//!
//! **Invariant:** what depends on something unknown is a symbol made of what it depends on.

use std::rc::Rc;

use super::frame::{Ran, Signal};
use super::iterate::Source;
use super::machine::Machine;
use super::step::{ELEMENTS, length, own};
use super::symbol::Symbol;
use super::value::{Args, Class, Instance, Partial, Value, Wrapped};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::BuiltinOp;

impl<'p> Machine<'p> {
    #[expect(clippy::too_many_lines, reason = "one arm for each function")]
    pub(super) fn builtin(&mut self, op: BuiltinOp, path: &Name, args: Args<'p>, place: Place) -> Ran<'p, Value<'p>> {
        if args.is_open && args.positional.is_empty() && args.keywords.is_empty() {
            // `zip(*pairs)` of what is unknown.
            self.escape(&args, place)?;
            return Ok(self.unknown(path));
        }
        let first = args.positional.first().cloned();
        let second = args.positional.get(1).cloned();
        Ok(match (op, first) {
            (BuiltinOp::Len, Some(value)) => match (length(&value), &value) {
                (Some(length), _) => Value::Int(length),
                (None, Value::Instance(instance)) if instance.class.find("__len__").is_some() => {
                    let method = self.attribute(&value, &"__len__".into())?;
                    self.call_value(&method, Args::default(), place)?
                }
                _ => self.named("len", &args),
            },
            (BuiltinOp::Range, Some(_)) => self.range(&args),
            (BuiltinOp::Zip, _) => {
                let mut iterators = Vec::new();
                for value in &args.positional {
                    iterators.push(self.iterate(value)?);
                }
                Self::source(Source::Zip(iterators))
            }
            (BuiltinOp::Enumerate, Some(value)) => {
                let from = second.or_else(|| args.keyword("start").cloned()).and_then(|from| from.int()).unwrap_or(0);
                let iterator = self.iterate(&value)?;
                Self::source(Source::Enumerate(iterator, from))
            }
            (BuiltinOp::Map | BuiltinOp::Starmap, Some(function)) => {
                let mut iterators = Vec::new();
                for value in args.positional.iter().skip(1) {
                    iterators.push(self.iterate(value)?);
                }
                if iterators.is_empty() {
                    return Ok(self.unknown("map"));
                }
                Self::source(Source::Map(function, iterators, op == BuiltinOp::Starmap))
            }
            (BuiltinOp::Filter | BuiltinOp::FilterFalse, Some(function)) => {
                let iterator = self.iterate(&second.unwrap_or(Value::None))?;
                Self::source(Source::Filter(function, iterator, op == BuiltinOp::Filter))
            }
            (BuiltinOp::Chain, _) => {
                let mut iterators = std::collections::VecDeque::new();
                for value in &args.positional {
                    iterators.push_back(self.iterate(value)?);
                }
                Self::source(Source::Chain(iterators))
            }
            (BuiltinOp::ChainFromIterable, Some(value)) => match self.items_of(&value)? {
                Some(items) => {
                    let mut iterators = std::collections::VecDeque::new();
                    for item in &items {
                        iterators.push_back(self.iterate(item)?);
                    }
                    Self::source(Source::Chain(iterators))
                }
                None => self.unknown("chain"),
            },
            (BuiltinOp::Count, from) => {
                let from = from.map_or(Some(0), |from| from.int());
                match from {
                    Some(from) => Self::source(Source::Endless(from, 1)),
                    None => self.unknown("count"),
                }
            }
            (BuiltinOp::Repeat, Some(value)) => match second.or_else(|| args.keyword("times").cloned()) {
                None => Self::source(Source::Repeat(value)),
                Some(times) => match times.int().and_then(|times| u32::try_from(times).ok()) {
                    Some(times) => {
                        let all = Self::source(Source::Repeat(value));
                        Self::source(Source::Take(all, times))
                    }
                    None => Value::list(vec![value.clone(), value]),
                },
            },
            (BuiltinOp::Cycle, Some(value)) => match self.items_of(&value)? {
                Some(items) => Self::source(Source::Cycle(items, 0)),
                None => self.unknown("cycle"),
            },
            (BuiltinOp::Islice, Some(value)) => match second.and_then(|stop| u32::try_from(stop.int()?).ok()) {
                Some(stop) if args.positional.len() == 2 => {
                    let iterator = self.iterate(&value)?;
                    Self::source(Source::Take(iterator, stop))
                }
                _ => self.unknown("islice"),
            },
            (BuiltinOp::Iter, Some(value)) => self.iterate(&value)?,
            (BuiltinOp::Next, Some(value)) => match &value {
                Value::Unknown(_) => self.unknown("next"),
                Value::Stream(stream) => self.stream_next(&stream.0.clone()),
                Value::Instance(instance) if instance.class.find("__next__").is_some() => {
                    let method = self.attribute(&value, &"__next__".into())?;
                    self.call_value(&method, Args::default(), place)?
                }
                _ => match (self.next(&value)?, second) {
                    (Some(item), _) => item,
                    (None, Some(default)) => default,
                    (None, None) => {
                        return Err(Signal::Raise(Value::Library("builtins.StopIteration".into())));
                    }
                },
            },
            (BuiltinOp::List | BuiltinOp::Deque, None) => Value::list(Vec::new()),
            (BuiltinOp::Tuple, None) => Value::tuple(Vec::new()),
            (BuiltinOp::Set | BuiltinOp::Frozenset, None) => Value::Set(Rc::default()),
            (BuiltinOp::List | BuiltinOp::Deque, Some(value)) => match self.items_of(&value)? {
                Some(items) => Value::list(items),
                None => value,
            },
            (BuiltinOp::Tuple, Some(value)) => match self.items_of(&value)? {
                Some(items) => Value::tuple(items),
                None => value,
            },
            (BuiltinOp::Sorted | BuiltinOp::Reversed, Some(value)) => match self.items_of(&value)? {
                Some(mut items) => {
                    let by = if op == BuiltinOp::Sorted { self.key_values(&items, &args)? } else { None };
                    if op == BuiltinOp::Reversed {
                        items.reverse();
                    } else if !sort(&mut items, by.as_deref()) {
                        return Ok(self.named(path, &args));
                    }
                    Value::list(items)
                }
                None => self.named(path, &args),
            },
            (BuiltinOp::Set | BuiltinOp::Frozenset, Some(value)) => match self.items_of(&value)? {
                Some(items) if items.len() < ELEMENTS => {
                    let mut distinct: Vec<Value<'p>> = Vec::new();
                    for item in items {
                        if !distinct.iter().any(|known| known.equals(&item, 4) == Some(true)) {
                            distinct.push(item);
                        }
                    }
                    Value::Set(Rc::new(std::cell::RefCell::new(distinct)))
                }
                _ => self.named(path, &args),
            },
            (BuiltinOp::Dict | BuiltinOp::OrderedDict | BuiltinOp::Namespace, first) => {
                let mut pairs = Vec::new();
                match first {
                    None => {}
                    Some(Value::Dict(given)) => pairs.clone_from(&given.borrow()),
                    Some(other) => match self.items_of(&other)? {
                        Some(items) => {
                            for item in items {
                                let parts = self.items_of(&item)?;
                                if let Some([key, value]) = parts.as_deref() {
                                    super::step::put_pair(&mut pairs, key.clone(), value.clone());
                                }
                            }
                        }
                        None => return Ok(self.unknown("dict")),
                    },
                }
                for (name, value) in args.keywords {
                    super::step::put_pair(&mut pairs, Value::Text(name), value);
                }
                Value::dict(pairs)
            }
            (BuiltinOp::Isinstance, Some(value)) => {
                let class = second.unwrap_or(Value::None);
                match Self::is_a(&value, &class) {
                    Some(answer) => Value::Bool(answer),
                    None => self.named("isinstance", &args),
                }
            }
            (BuiltinOp::Callable, Some(value)) if value.is_function() => Value::Bool(true),
            (BuiltinOp::Bool, Some(value)) => match value.truth() {
                Some(truth) => Value::Bool(truth),
                None => value,
            },
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
                _ => self.named("getattr", &args),
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
                _ => self.named("hasattr", &args),
            },
            (BuiltinOp::Super, _) => self.super_of(&args),
            (BuiltinOp::Type, Some(Value::Instance(instance))) => Value::Class(instance.class.clone()),
            (BuiltinOp::Partial | BuiltinOp::PartialMethod, Some(function)) => {
                let mut rest = args;
                rest.positional.remove(0);
                Value::Partial(Rc::new(Partial { function, args: rest }))
            }
            // `field(default=…)`: its arguments are read when the class is constructed.
            (BuiltinOp::Field, None) => {
                Value::Partial(Rc::new(Partial { function: Value::Library(path.clone()), args }))
            }
            (BuiltinOp::Wraps, Some(_)) => {
                Value::Wrapped(Rc::new(Wrapped { path: path.clone(), function: None, args }))
            }
            (BuiltinOp::Cached | BuiltinOp::ContextManager, Some(function)) => function,
            // Which of its implementations runs depends on the type of what it is given.
            (BuiltinOp::SingleDispatch, Some(_)) => self.unknown("<dispatch>"),
            (BuiltinOp::Cached | BuiltinOp::SingleDispatch, None) => Value::Library(path.clone()),
            (BuiltinOp::Property | BuiltinOp::CachedProperty, Some(getter)) => Value::Property(Rc::new(getter)),
            (BuiltinOp::Staticmethod, Some(inner)) => Value::Static(Rc::new(inner)),
            (BuiltinOp::Classmethod, Some(inner)) => Value::ClassMethod(Rc::new(inner)),
            (BuiltinOp::Copy | BuiltinOp::Deepcopy, Some(value)) => match value {
                Value::List(values) => Value::list(values.borrow().clone()),
                Value::Dict(pairs) => Value::dict(pairs.borrow().clone()),
                other => other,
            },
            (BuiltinOp::Replace, Some(value)) => self.replaced(&value, &args),
            (BuiltinOp::Min | BuiltinOp::Max, Some(value)) => self.extreme(op, &value, &args)?,
            (BuiltinOp::Sum, Some(value)) => {
                let items = self.items_of(&value)?;
                let sum =
                    items.and_then(|items| items.iter().try_fold(0_i128, |sum, item| sum.checked_add(item.int()?)));
                match sum {
                    Some(sum) => Value::Int(sum),
                    None => self.named("sum", &args),
                }
            }
            (BuiltinOp::Any | BuiltinOp::All, Some(value)) => {
                let stops = op == BuiltinOp::Any;
                match self.items_of(&value)? {
                    Some(items) => {
                        let truths: Option<Vec<bool>> = items.iter().map(Value::truth).collect();
                        match truths {
                            Some(truths) => Value::Bool(truths.contains(&stops) == stops),
                            None => self.named(path, &args),
                        }
                    }
                    None => self.named(path, &args),
                }
            }
            (BuiltinOp::Abs, Some(value)) => match value.int().and_then(i128::checked_abs) {
                Some(value) => Value::Int(value),
                None => self.named("abs", &args),
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
                self.escape(&args, place)?;
                self.expects()
            }
            (BuiltinOp::Accumulate, Some(_)) => self.unknown("accumulate"),
            (BuiltinOp::Product, _) => self.product(&args)?,
            (BuiltinOp::Object, _) => {
                self.numbers += 1;
                self.unknown("object")
            }
            (BuiltinOp::Input | BuiltinOp::Open | BuiltinOp::Eval | BuiltinOp::Id | BuiltinOp::Hash, _) => {
                self.escape(&args, place)?;
                if matches!(op, BuiltinOp::Id | BuiltinOp::Hash) { self.named(path, &args) } else { self.unknown(path) }
            }
            _ => {
                self.escape(&args, place)?;
                self.named(path, &args)
            }
        })
    }

    /// A symbol for a function of these arguments.
    fn named(&mut self, name: &str, args: &Args<'p>) -> Value<'p> {
        let parts: Vec<Symbol> = args.values().take(32).map(|value| self.symbol_of(value)).collect();
        Value::Unknown(self.symbols.apply(name, &parts))
    }

    fn range(&mut self, args: &Args<'p>) -> Value<'p> {
        let (from, to, step) = match &args.positional[..] {
            [to] => (Value::Int(0), to.clone(), Value::Int(1)),
            [from, to] => (from.clone(), to.clone(), Value::Int(1)),
            [from, to, step, ..] => (from.clone(), to.clone(), step.clone()),
            [] => return self.unknown("range"),
        };
        if let (Some(from), Some(to), Some(step)) = (from.int(), to.int(), step.int()) {
            return Value::Range(from, to, step);
        }
        let Value::Unknown(symbol) = self.named("range", args) else { return Value::None };
        match step.int() {
            Some(step) => Self::source(Source::Counting(from, step, symbol, 0)),
            None => Value::Unknown(symbol),
        }
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

    fn extreme(&mut self, op: BuiltinOp, value: &Value<'p>, args: &Args<'p>) -> Ran<'p, Value<'p>> {
        let items = if args.positional.len() > 1 { Some(args.positional.clone()) } else { self.items_of(value)? };
        self.key_values(items.as_deref().unwrap_or_default(), args)?;
        let numbers: Option<Vec<i128>> = items.and_then(|items| items.iter().map(Value::int).collect());
        let found =
            numbers.and_then(
                |numbers| {
                    if op == BuiltinOp::Min { numbers.into_iter().min() } else { numbers.into_iter().max() }
                },
            );
        Ok(match found {
            Some(found) if args.keywords.is_empty() => Value::Int(found),
            _ => self.named(if op == BuiltinOp::Min { "min" } else { "max" }, args),
        })
    }

    /// What the function says of each element by which `sorted`, `min` and `max` are told to compare.
    fn key_values(&mut self, items: &[Value<'p>], args: &Args<'p>) -> Ran<'p, Option<Vec<Value<'p>>>> {
        let Some(function) = args.keyword("key").cloned() else { return Ok(None) };
        let place = self.here.0;
        let values = items.iter().map(|item| self.call_value(&function, Args::of(vec![item.clone()]), place));
        values.collect::<Ran<'p, Vec<_>>>().map(Some)
    }

    fn product(&mut self, args: &Args<'p>) -> Ran<'p, Value<'p>> {
        let mut rows: Vec<Vec<Value<'p>>> = vec![Vec::new()];
        for value in &args.positional {
            let Some(items) = self.items_of(value)? else { return Ok(self.unknown("product")) };
            if rows.len().saturating_mul(items.len()) > ELEMENTS || !args.keywords.is_empty() {
                return Ok(self.unknown("product"));
            }
            rows = rows
                .iter()
                .flat_map(|row| items.iter().map(|item| row.iter().cloned().chain([item.clone()]).collect::<Vec<_>>()))
                .collect();
        }
        Ok(Value::list(rows.into_iter().map(Value::tuple).collect()))
    }
}

fn is_closed(instance: &Instance<'_>) -> bool {
    instance.class.lineage().iter().flat_map(|class| class.bases.iter()).all(|base| matches!(base, Value::Class(_)))
}

/// Sorts numbers or texts; whether they could be sorted.
/// Sorts elements by themselves or by what stands for each in `by`; false where their order is not known.
fn sort<'p>(items: &mut [Value<'p>], by: Option<&[Value<'p>]>) -> bool {
    let by = by.unwrap_or(items);
    let text = |item: &Value<'_>| if let Value::Text(text) = item { Some(text.clone()) } else { None };
    let numbers: Option<Vec<i128>> = by.iter().map(Value::int).collect();
    let texts: Option<Vec<_>> = by.iter().map(text).collect();
    let order = match (numbers, texts) {
        (Some(numbers), _) => ranks(&numbers),
        (None, Some(texts)) => ranks(&texts),
        (None, None) => return false,
    };
    let sorted: Vec<_> = order.into_iter().map(|index| items[index].clone()).collect();
    items.clone_from_slice(&sorted);
    true
}

/// The indices of elements in the order of these; equal ones stay in theirs.
fn ranks<T: Ord>(by: &[T]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..by.len()).collect();
    order.sort_by_key(|index| &by[*index]);
    order
}
