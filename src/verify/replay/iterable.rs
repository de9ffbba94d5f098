//! Python functions that take iterables and return iterators, containers or single values.
//!
//! **Invariant:** a result that depends on unknown elements is a symbol that is a function of its operands. A function returns `None` if
//! its arguments do not fit.

use std::cell::RefCell;
use std::rc::Rc;

use super::frame::{Eval, Signal};
use super::iterate::Source;
use super::machine::Machine;
use super::step::{ELEMENTS, put_pair};
use super::value::{Args, Value};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::StreamUse;

/// The result of a function, if it has one.
pub(super) type Answer<'p> = Eval<'p, Option<Value<'p>>>;

/// Functions that create or advance iterators.
impl<'p> Machine<'p> {
    pub(super) fn zip(&mut self, args: &Args<'p>) -> Answer<'p> {
        let iterators = self.iterators(&args.positional)?;
        Ok(Some(Self::source(Source::Zip(iterators))))
    }

    pub(super) fn enumerate(&mut self, args: &Args<'p>) -> Answer<'p> {
        let [value, rest @ ..] = &args.positional[..] else { return Ok(None) };
        let from = rest.first().or_else(|| args.keyword("start")).and_then(Value::int).unwrap_or(0);
        let iterator = self.iterate(value)?;
        Ok(Some(Self::source(Source::Enumerate(iterator, from))))
    }

    pub(super) fn mapped(&mut self, args: &Args<'p>) -> Answer<'p> {
        let [function, iterables @ ..] = &args.positional[..] else { return Ok(None) };
        let iterators = self.iterators(iterables)?;
        if iterators.is_empty() {
            return Ok(Some(self.unknown("map")));
        }
        Ok(Some(Self::source(Source::Map(function.clone(), iterators))))
    }

    pub(super) fn starmap(&mut self, args: &Args<'p>) -> Answer<'p> {
        Ok(match &args.positional[..] {
            [] => None,
            [_] => Some(self.unknown("map")),
            [function, iterable, ..] => {
                let iterator = self.iterate(iterable)?;
                Some(Self::source(Source::Starmap(function.clone(), iterator)))
            }
        })
    }

    pub(super) fn chain(&mut self, args: &Args<'p>) -> Answer<'p> {
        let iterators = self.iterators(&args.positional)?;
        Ok(Some(Self::source(Source::Chain(iterators.into()))))
    }

    fn iterators(&mut self, values: &[Value<'p>]) -> Eval<'p, Vec<Value<'p>>> {
        values.iter().map(|value| self.iterate(value)).collect()
    }

    pub(super) fn count(&mut self, args: &Args<'p>) -> Value<'p> {
        match args.positional.first().map_or(Some(0), Value::int) {
            Some(from) => Self::source(Source::Endless(from, 1)),
            None => self.unknown("count"),
        }
    }

    pub(super) fn repeat(args: &Args<'p>) -> Option<Value<'p>> {
        let [value, rest @ ..] = &args.positional[..] else { return None };
        let all = Self::source(Source::Repeat(value.clone()));
        let times = rest.first().or_else(|| args.keyword("times"));
        Some(match times.map(|times| times.int().and_then(|times| u32::try_from(times).ok())) {
            None => all,
            Some(Some(times)) => Self::source(Source::Take(all, times)),
            Some(None) => Value::list(vec![value.clone(), value.clone()]),
        })
    }

    pub(super) fn cycle(&mut self, args: &Args<'p>) -> Answer<'p> {
        let [value, ..] = &args.positional[..] else { return Ok(None) };
        Ok(Some(match self.items_of(value)? {
            Some(items) => Self::source(Source::Cycle(items, 0)),
            None => self.unknown("cycle"),
        }))
    }

    pub(super) fn islice(&mut self, args: &Args<'p>) -> Answer<'p> {
        Ok(match &args.positional[..] {
            [] => None,
            [value, stop] if let Some(stop) = stop.int().and_then(|stop| u32::try_from(stop).ok()) => {
                let iterator = self.iterate(value)?;
                Some(Self::source(Source::Take(iterator, stop)))
            }
            _ => Some(self.unknown("islice")),
        })
    }

    pub(super) fn next_element(&mut self, args: &Args<'p>, place: Place) -> Answer<'p> {
        let [value, rest @ ..] = &args.positional[..] else { return Ok(None) };
        Ok(Some(match value {
            Value::Unknown(_) => self.unknown_result("next"),
            Value::Stream(stream) => {
                let given = self.project.models.stream_yield(&stream.0, StreamUse::Next);
                (self.library.stream_result)(self, given, &stream.0)
            }
            Value::Instance(instance) if instance.class.find("__next__").is_some() => {
                let method = self.attribute(value, &"__next__".into())?;
                self.call_value(&method, Args::default(), place)?
            }
            _ => match (self.next(value)?, rest.first()) {
                (Some(item), _) => item,
                (None, Some(default)) => default.clone(),
                (None, None) => return Err(Signal::Raise(Value::Library("builtins.StopIteration".into()))),
            },
        }))
    }

    pub(super) fn range(&mut self, args: &Args<'p>) -> Value<'p> {
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
}

/// Functions that make containers.
impl<'p> Machine<'p> {
    pub(super) fn list(&mut self, args: &Args<'p>) -> Answer<'p> {
        let [value, ..] = &args.positional[..] else { return Ok(Some(Value::list(Vec::new()))) };
        Ok(Some(self.items_of(value)?.map_or_else(|| value.clone(), Value::list)))
    }

    pub(super) fn tuple(&mut self, args: &Args<'p>) -> Answer<'p> {
        let [value, ..] = &args.positional[..] else { return Ok(Some(Value::tuple(Vec::new()))) };
        Ok(Some(self.items_of(value)?.map_or_else(|| value.clone(), Value::tuple)))
    }

    pub(super) fn reversed(&mut self, args: &Args<'p>) -> Answer<'p> {
        let [value, ..] = &args.positional[..] else { return Ok(None) };
        Ok(Some(match self.items_of(value)? {
            Some(mut items) => {
                items.reverse();
                Value::list(items)
            }
            None => self.named("builtins.reversed", args),
        }))
    }

    pub(super) fn sorted(&mut self, args: &Args<'p>) -> Answer<'p> {
        let [value, ..] = &args.positional[..] else { return Ok(None) };
        let Some(mut items) = self.items_of(value)? else { return Ok(Some(self.named("builtins.sorted", args))) };
        let by = self.key_values(&items, args)?;
        let is_sorted = sort(&mut items, by.as_deref());
        Ok(Some(if is_sorted { Value::list(items) } else { self.named("builtins.sorted", args) }))
    }

    pub(super) fn set(&mut self, path: &Name, args: &Args<'p>) -> Answer<'p> {
        let [value, ..] = &args.positional[..] else { return Ok(Some(Value::Set(Rc::default()))) };
        Ok(Some(match self.items_of(value)? {
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
        }))
    }

    pub(super) fn dict(&mut self, args: &Args<'p>) -> Answer<'p> {
        let mut pairs = Vec::new();
        match args.positional.first() {
            None => {}
            Some(Value::Dict(given)) => pairs.clone_from(&given.borrow()),
            Some(other) => {
                let Some(items) = self.items_of(other)? else { return Ok(Some(self.unknown("dict"))) };
                for item in items {
                    let parts = self.items_of(&item)?;
                    if let Some([key, value]) = parts.as_deref() {
                        put_pair(&mut pairs, key.clone(), value.clone());
                    }
                }
            }
        }
        for (name, value) in &args.keywords {
            put_pair(&mut pairs, Value::Text(name.clone()), value.clone());
        }
        Ok(Some(Value::dict(pairs)))
    }
}

/// Functions that make one value of all elements.
impl<'p> Machine<'p> {
    pub(super) fn sum(&mut self, args: &Args<'p>) -> Answer<'p> {
        let [value, ..] = &args.positional[..] else { return Ok(None) };
        let items = self.items_of(value)?;
        let sum = items.and_then(|items| items.iter().try_fold(0_i128, |sum, item| sum.checked_add(item.int()?)));
        Ok(Some(sum.map_or_else(|| self.named("sum", args), Value::Int)))
    }

    /// `any`, which ends at a true element, and `all`, which ends at a false one.
    pub(super) fn quantified(&mut self, path: &Name, ends: bool, args: &Args<'p>) -> Answer<'p> {
        let [value, ..] = &args.positional[..] else { return Ok(None) };
        let items = self.items_of(value)?;
        let truths = items.and_then(|items| items.iter().map(Value::truth).collect::<Option<Vec<bool>>>());
        Ok(Some(match truths {
            Some(truths) => Value::Bool(truths.contains(&ends) == ends),
            None => self.named(path, args),
        }))
    }

    /// `min` and `max`.
    pub(super) fn extreme(&mut self, is_least: bool, args: &Args<'p>) -> Answer<'p> {
        let [value, rest @ ..] = &args.positional[..] else { return Ok(None) };
        let items = if rest.is_empty() { self.items_of(value)? } else { Some(args.positional.clone()) };
        self.key_values(items.as_deref().unwrap_or_default(), args)?;
        let numbers: Option<Vec<i128>> = items.and_then(|items| items.iter().map(Value::int).collect());
        let found = numbers.and_then(|numbers| {
            let numbers = numbers.into_iter();
            if is_least { numbers.min() } else { numbers.max() }
        });
        Ok(Some(match found {
            Some(found) if args.keywords.is_empty() => Value::Int(found),
            _ => self.named(if is_least { "min" } else { "max" }, args),
        }))
    }

    /// The value of `key` for each element that `sorted`, `min` and `max` compare.
    fn key_values(&mut self, items: &[Value<'p>], args: &Args<'p>) -> Eval<'p, Option<Vec<Value<'p>>>> {
        let Some(function) = args.keyword("key").cloned() else { return Ok(None) };
        let place = self.here.0;
        let values = items.iter().map(|item| self.call_value(&function, Args::of(vec![item.clone()]), place));
        values.collect::<Eval<'p, Vec<_>>>().map(Some)
    }
}

/// Sorts elements by themselves or by the corresponding values in `by`; returns false if their order is unknown.
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
