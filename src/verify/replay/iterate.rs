//! Iterators.
//!
//! **Invariant:** advancing an iterator costs a step, so an infinite one ends with the run.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::annotated;
use super::frame::{Eval, Halt, ITERATIONS, Signal};
use super::machine::Machine;
use super::step::ELEMENTS;
use super::symbol::{Node, Symbol};
use super::value::{Args, Family, Shared, Stack, Value, length_of_range};
use crate::models::StreamUse;

/// Where the elements of an iterator come from.
pub(super) enum Source<'p> {
    Values(VecDeque<Value<'p>>),
    /// A list, which may grow meanwhile.
    List(Shared<Value<'p>>, usize),
    Range(i128, i128, i128),
    /// Elements of something unknown.
    Unknown(Symbol, u32),
    /// `range` of something unknown: its start and step, a symbol for it, and how many have been taken.
    Counting(Value<'p>, i128, Symbol, u32),
    Stack(Rc<Stack<'p>>, u32),
    Family(Rc<Family>, Symbol, u32),
    Zip(Vec<Value<'p>>),
    Enumerate(Value<'p>, i128),
    Map(Value<'p>, Vec<Value<'p>>),
    Starmap(Value<'p>, Value<'p>),
    Chain(VecDeque<Value<'p>>),
    Endless(i128, i128),
    Repeat(Value<'p>),
    Cycle(Vec<Value<'p>>, usize),
    Take(Value<'p>, u32),
    /// An object with `__next__`, or a stream.
    Object(Value<'p>, u32),
    /// An object with `__getitem__` and without `__iter__`, and how many elements were taken.
    Indexed(Value<'p>, u32),
}

impl<'p> Machine<'p> {
    pub(super) fn source(source: Source<'p>) -> Value<'p> {
        Value::Iterator(Rc::new(RefCell::new(source)))
    }

    /// `iter(value)`
    pub(super) fn iterate(&mut self, value: &Value<'p>) -> Eval<'p, Value<'p>> {
        let source = match value {
            Value::Iterator(_) | Value::Generator(_) => return Ok(value.clone()),
            Value::List(values) => Source::List(values.clone(), 0),
            Value::Range(from, to, step) => Source::Range(*from, *to, *step),
            Value::Stack(stack) => Source::Stack(stack.clone(), 0),
            Value::Family(family) => {
                let symbol = self.symbol_of(value);
                Source::Family(family.clone(), symbol, 0)
            }
            Value::Stream(_) => Source::Object(value.clone(), 0),
            Value::Instance(instance) => {
                if instance.class.find("__iter__").is_some() {
                    let place = self.here.0;
                    let method = self.attribute(value, &"__iter__".into())?;
                    let iterator = self.call_value(&method, Args::default(), place)?;
                    if matches!(&iterator, Value::Instance(_)) {
                        return Ok(Self::source(Source::Object(iterator, 0)));
                    }
                    return self.iterate(&iterator);
                }
                if instance.class.find("__next__").is_some() {
                    Source::Object(value.clone(), 0)
                } else if instance.class.find("__getitem__").is_some() {
                    Source::Indexed(value.clone(), 0)
                } else {
                    Source::Unknown(instance.symbol, 0)
                }
            }
            other => {
                if let Some(items) = self.items_of(other)? {
                    Source::Values(items.into())
                } else {
                    let symbol = self.symbol_of(value);
                    Source::Unknown(symbol, 0)
                }
            }
        };
        Ok(Self::source(source))
    }

    /// Whether something unknown has an element of this number.
    pub(super) fn has_element(&mut self, of: Symbol, number: u32) -> bool {
        if number >= ITERATIONS {
            self.is_bounded = true;
            return false;
        }
        let index = self.symbols.int(i128::from(number));
        let has = self.symbols.apply("has element", &[of, index]);
        self.decide(has, Some(number < 2))
    }

    /// The same for something of a length that the program computes, which is known once there is no element.
    fn has_counted(&mut self, of: Symbol, number: u32, length: Option<Symbol>) -> bool {
        let has = self.has_element(of, number);
        if let Some(length) = length.filter(|_| !has && number < ITERATIONS) {
            self.symbols.learn_count(length, number);
        }
        has
    }

    /// The next element, if there is one.
    pub(super) fn next(&mut self, iterator: &Value<'p>) -> Eval<'p, Option<Value<'p>>> {
        self.charge()?;
        self.nesting += 1;
        let result = if self.nesting > 64 {
            self.is_bounded = true;
            Err(Signal::Stop)
        } else {
            self.next_of(iterator)
        };
        self.nesting -= 1;
        result
    }

    fn next_of(&mut self, iterator: &Value<'p>) -> Eval<'p, Option<Value<'p>>> {
        match iterator {
            Value::Generator(suspended) => self.resume(suspended),
            Value::Iterator(source) => {
                // While an element is computed the iterator is empty, so that one that advances itself ends.
                let mut taken = std::mem::replace(&mut *source.borrow_mut(), Source::Values(VecDeque::new()));
                let next = self.next_from(&mut taken);
                *source.borrow_mut() = taken;
                next
            }
            other => {
                let other = self.iterate(other)?;
                if matches!(other, Value::Generator(_) | Value::Iterator(_)) { self.next_of(&other) } else { Ok(None) }
            }
        }
    }

    fn next_from(&mut self, source: &mut Source<'p>) -> Eval<'p, Option<Value<'p>>> {
        Ok(match source {
            Source::Values(values) => values.pop_front(),
            Source::List(values, at) => {
                if let Some(symbol) = self.havocked.of_list(values) {
                    *source = Source::Unknown(symbol, u32::try_from(*at).unwrap_or(u32::MAX));
                    return self.next_from(source);
                }
                let value = values.borrow().get(*at).cloned();
                *at += 1;
                value
            }
            Source::Range(from, to, step) => (length_of_range(*from, *to, *step) > 0).then(|| {
                let value = *from;
                *from = from.saturating_add(*step);
                Value::Int(value)
            }),
            Source::Unknown(symbol, taken) => {
                if !self.has_element(*symbol, *taken) {
                    return Ok(None);
                }
                let index = self.symbols.int(i128::from(*taken));
                *taken += 1;
                let element = self.symbols.item(*symbol, index);
                if let Some(written) = self.written.get(&element) {
                    return Ok(Some(written.clone()));
                }
                self.annotated.note_element(*symbol, element);
                Some(annotated::pair(self, element).unwrap_or(Value::Unknown(element)))
            }
            Source::Counting(from, step, symbol, taken) => {
                let to = match self.symbols.node(*symbol) {
                    Some(Node::Apply(_, parts)) if parts.len() == 1 => Some(parts[0]),
                    _ => None,
                };
                if !self.has_counted(*symbol, *taken, to) {
                    return Ok(None);
                }
                let passed = Value::Int(i128::from(*taken).saturating_mul(*step));
                *taken += 1;
                let from = from.clone();
                Some(self.operate(crate::ir::Operator::Add, &from, Some(&passed), false)?)
            }
            Source::Stack(stack, taken) => {
                *taken += 1;
                self.element_of_stack(stack, *taken - 1)
            }
            Source::Family(family, symbol, taken) => {
                if !self.has_counted(*symbol, *taken, family.count) {
                    return Ok(None);
                }
                let value = super::keys::child(family, *taken);
                *taken += 1;
                Some(value)
            }
            Source::Zip(iterators) => {
                let values = self.next_of_each(iterators)?;
                values.filter(|values| !values.is_empty()).map(Value::tuple)
            }
            Source::Enumerate(iterator, number) => {
                let value = self.next(iterator)?;
                let at = *number;
                *number = number.saturating_add(1);
                value.map(|value| Value::tuple(vec![Value::Int(at), value]))
            }
            Source::Map(function, iterators) => {
                let Some(values) = self.next_of_each(iterators)? else { return Ok(None) };
                let place = self.here.0;
                Some(self.call_value(&function.clone(), Args::of(values), place)?)
            }
            Source::Starmap(function, iterator) => {
                let Some(element) = self.next(iterator)? else { return Ok(None) };
                let values = self.items_of(&element)?.unwrap_or_else(|| vec![element]);
                let place = self.here.0;
                Some(self.call_value(&function.clone(), Args::of(values), place)?)
            }
            Source::Chain(iterators) => self.next_of_chain(iterators)?,
            Source::Endless(from, step) => {
                let value = *from;
                *from = from.saturating_add(*step);
                Some(Value::Int(value))
            }
            Source::Repeat(value) => Some(value.clone()),
            Source::Cycle(values, at) => {
                let value = values.get(*at).cloned();
                *at = if *at + 1 < values.len() { *at + 1 } else { 0 };
                value
            }
            Source::Take(iterator, left) => {
                if *left == 0 {
                    return Ok(None);
                }
                *left -= 1;
                self.next(iterator)?
            }
            Source::Object(object, taken) => self.next_of_object(object, taken)?,
            Source::Indexed(object, taken) => self.next_by_index(object, taken)?,
        })
    }

    /// An element of a stack, which may have more than are known.
    fn element_of_stack(&mut self, stack: &Stack<'p>, at: u32) -> Option<Value<'p>> {
        if let Some(item) = stack.items.get(at as usize) {
            return Some(item.clone());
        }
        if stack.is_whole || !self.has_element(stack.rest, at) {
            return None;
        }
        let index = self.symbols.int(i128::from(at));
        Some(Value::Unknown(self.symbols.item(stack.rest, index)))
    }

    /// The next element of each of several iterators, in turn, until one is exhausted.
    fn next_of_each(&mut self, iterators: &[Value<'p>]) -> Eval<'p, Option<Vec<Value<'p>>>> {
        let mut values = Vec::with_capacity(iterators.len());
        for iterator in iterators {
            match self.next(iterator)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(values))
    }

    fn next_of_chain(&mut self, iterators: &mut VecDeque<Value<'p>>) -> Eval<'p, Option<Value<'p>>> {
        loop {
            let Some(first) = iterators.front().cloned() else { return Ok(None) };
            if let Some(value) = self.next(&first)? {
                return Ok(Some(value));
            }
            iterators.pop_front();
            if let Some(following) = iterators.front_mut() {
                *following = self.iterate(&following.clone())?;
            }
        }
    }

    /// The next element of a stream, or what `__next__` returns.
    fn next_of_object(&mut self, object: &Value<'p>, taken: &mut u32) -> Eval<'p, Option<Value<'p>>> {
        if let Value::Stream(stream) = object {
            *taken += 1;
            if *taken > ITERATIONS {
                self.is_bounded = true;
                return Ok(None);
            }
            let given = self.project.models.stream_yield(&stream.0, StreamUse::Next);
            return Ok(Some((self.library.stream_result)(self, given, &stream.0)));
        }
        self.called_until(object, "__next__", Vec::new(), "StopIteration")
    }

    /// What `__getitem__` returns for the next number.
    fn next_by_index(&mut self, object: &Value<'p>, taken: &mut u32) -> Eval<'p, Option<Value<'p>>> {
        let index = Value::Int(i128::from(*taken));
        *taken += 1;
        if *taken > ITERATIONS {
            self.is_bounded = true;
            return Ok(None);
        }
        self.called_until(object, "__getitem__", vec![index], "IndexError")
    }

    /// What a method returns, unless it raises what ends the iteration.
    fn called_until(
        &mut self,
        object: &Value<'p>,
        method: &str,
        args: Vec<Value<'p>>,
        end: &str,
    ) -> Eval<'p, Option<Value<'p>>> {
        let place = self.here.0;
        let method = self.attribute(object, &method.into())?;
        match self.call_value(&method, Args::of(args), place) {
            Ok(value) => Ok(Some(value)),
            Err(Signal::Raise(error)) => {
                let stop = Value::Library(format!("builtins.{end}").into());
                if Self::is_a(&error, &stop) == Some(true) { Ok(None) } else { Err(Signal::Raise(error)) }
            }
            Err(Signal::Stop) => Err(Signal::Stop),
        }
    }

    /// Runs a generator up to its next `yield`.
    fn resume(&mut self, suspended: &Rc<RefCell<Option<Box<super::frame::Frame<'p>>>>>) -> Eval<'p, Option<Value<'p>>> {
        let Some(mut frame) = suspended.borrow_mut().take() else { return Ok(None) };
        let here = self.here;
        let is_prelude = self.project.is_prelude(frame.module);
        if !is_prelude {
            self.stack.push(here);
        }
        let halt = self.run(&mut frame);
        if !is_prelude {
            self.stack.pop();
        }
        self.here = here;
        match halt? {
            Halt::Yield(value) => {
                *suspended.borrow_mut() = Some(frame);
                Ok(Some(value))
            }
            Halt::Return(_) => Ok(None),
        }
    }

    /// All elements, where they can be counted; an iterator is run to its end.
    pub(super) fn items_of(&mut self, value: &Value<'p>) -> Eval<'p, Option<Vec<Value<'p>>>> {
        Ok(match value {
            Value::Tuple(values) => Some(values.to_vec()),
            Value::List(values) | Value::Set(values) => Some(values.borrow().clone()),
            Value::Dict(pairs) => Some(pairs.borrow().iter().map(|(key, _)| key.clone()).collect()),
            Value::Text(text) if text.len() < ELEMENTS => {
                Some(text.chars().map(|letter| Value::text(&letter.to_string())).collect())
            }
            Value::Range(from, to, step) => {
                let length = length_of_range(*from, *to, *step);
                let length = usize::try_from(length).ok().filter(|length| *length <= ELEMENTS);
                length.map(|length| {
                    let number = |index: usize| from + i128::try_from(index).unwrap_or(0) * step;
                    (0..length).map(|index| Value::Int(number(index))).collect()
                })
            }
            Value::Keys(array) => match array.keys.shape().first() {
                Some(length) if *length <= ELEMENTS => {
                    (0..*length).map(|index| super::keys::element(array, index)).collect()
                }
                _ => None,
            },
            Value::Stack(stack) if stack.is_whole => Some(stack.items.clone()),
            Value::Iterator(_) | Value::Generator(_) => {
                let mut items = Vec::new();
                while let Some(item) = self.next(value)? {
                    if items.len() >= ELEMENTS {
                        self.is_bounded = true;
                        return Ok(None);
                    }
                    items.push(item);
                }
                Some(items)
            }
            _ => None,
        })
    }
}
