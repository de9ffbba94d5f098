//! Functions of Python that are given iterables: they make iterators, containers or single values of them.
//!
//! **Invariant:** what depends on elements that are not known is a symbol made of what it depends on.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::frame::{Ran, Signal};
use super::iterate::Source;
use super::machine::Machine;
use super::step::{ELEMENTS, put_pair};
use super::value::{Args, Value};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::BuiltinOp;

impl<'p> Machine<'p> {
    /// Functions that make iterators, or ask them; `None` for others, and so below.
    pub(super) fn iterator_function(
        &mut self,
        op: BuiltinOp,
        args: &Args<'p>,
        place: Place,
    ) -> Ran<'p, Option<Value<'p>>> {
        let first = args.positional.first().cloned();
        let second = args.positional.get(1).cloned();
        Ok(Some(match (op, first) {
            (BuiltinOp::Range, Some(_)) => self.range(args),
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
                    return Ok(Some(self.unknown("map")));
                }
                Self::source(Source::Map(function, iterators, op == BuiltinOp::Starmap))
            }
            (BuiltinOp::Filter | BuiltinOp::FilterFalse, Some(function)) => {
                let iterator = self.iterate(&second.unwrap_or(Value::None))?;
                Self::source(Source::Filter(function, iterator, op == BuiltinOp::Filter))
            }
            (BuiltinOp::Chain, _) => {
                let mut iterators = VecDeque::new();
                for value in &args.positional {
                    iterators.push_back(self.iterate(value)?);
                }
                Self::source(Source::Chain(iterators))
            }
            (BuiltinOp::ChainFromIterable, Some(value)) => match self.items_of(&value)? {
                Some(items) => {
                    let mut iterators = VecDeque::new();
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
            (BuiltinOp::Accumulate, Some(_)) => self.unknown("accumulate"),
            (BuiltinOp::Product, _) => self.product(args)?,
            _ => return Ok(None),
        }))
    }

    /// Functions that make containers.
    pub(super) fn container_function(
        &mut self,
        op: BuiltinOp,
        path: &Name,
        args: &Args<'p>,
    ) -> Ran<'p, Option<Value<'p>>> {
        let first = args.positional.first().cloned();
        Ok(Some(match (op, first) {
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
                    let by = if op == BuiltinOp::Sorted { self.key_values(&items, args)? } else { None };
                    if op == BuiltinOp::Reversed {
                        items.reverse();
                    } else if !sort(&mut items, by.as_deref()) {
                        return Ok(Some(self.named(path, args)));
                    }
                    Value::list(items)
                }
                None => self.named(path, args),
            },
            (BuiltinOp::Set | BuiltinOp::Frozenset, Some(value)) => match self.items_of(&value)? {
                Some(items) if items.len() < ELEMENTS => {
                    let mut distinct: Vec<Value<'p>> = Vec::new();
                    for item in items {
                        if !distinct.iter().any(|known| known.equals(&item, 4) == Some(true)) {
                            distinct.push(item);
                        }
                    }
                    Value::Set(Rc::new(RefCell::new(distinct)))
                }
                _ => self.named(path, args),
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
                                    put_pair(&mut pairs, key.clone(), value.clone());
                                }
                            }
                        }
                        None => return Ok(Some(self.unknown("dict"))),
                    },
                }
                for (name, value) in &args.keywords {
                    put_pair(&mut pairs, Value::Text(name.clone()), value.clone());
                }
                Value::dict(pairs)
            }
            _ => return Ok(None),
        }))
    }

    /// Functions that make one value of all elements.
    pub(super) fn element_function(
        &mut self,
        op: BuiltinOp,
        path: &Name,
        args: &Args<'p>,
    ) -> Ran<'p, Option<Value<'p>>> {
        let first = args.positional.first().cloned();
        Ok(Some(match (op, first) {
            (BuiltinOp::Min | BuiltinOp::Max, Some(value)) => self.extreme(op, &value, args)?,
            (BuiltinOp::Sum, Some(value)) => {
                let items = self.items_of(&value)?;
                let sum =
                    items.and_then(|items| items.iter().try_fold(0_i128, |sum, item| sum.checked_add(item.int()?)));
                match sum {
                    Some(sum) => Value::Int(sum),
                    None => self.named("sum", args),
                }
            }
            (BuiltinOp::Any | BuiltinOp::All, Some(value)) => {
                let stops = op == BuiltinOp::Any;
                match self.items_of(&value)? {
                    Some(items) => {
                        let truths: Option<Vec<bool>> = items.iter().map(Value::truth).collect();
                        match truths {
                            Some(truths) => Value::Bool(truths.contains(&stops) == stops),
                            None => self.named(path, args),
                        }
                    }
                    None => self.named(path, args),
                }
            }
            _ => return Ok(None),
        }))
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
