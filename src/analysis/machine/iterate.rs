//! Iterators, as used by `iter`, `for`, unpacking and spreading.
//!
//! **Invariant:** an iterator at an unknown position yields fresh values, and is never rewound.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{Elements, Val, Value};
use crate::analysis::machine::loops::Step;
use crate::analysis::machine::{Frame, Machine, annotate, arrays, prelude};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{Item, ObjectKind, Source};
use crate::analysis::store::{State, items, paths};
use crate::finding::Place;
use crate::ir::{Name, Operator};
use crate::models::{StreamUse, Yield};
use crate::text::Span;

/// Most iterators that one iterator consists of, counting each occurrence.
const ITERATORS: u32 = 64;

/// Most elements that are listed when an iterator of known length is drained.
pub const DRAIN_LIMIT: u32 = 32;

impl<'p> Machine<'p> {
    /// `iter(value)`
    pub fn iterator_of(&mut self, frame: &mut Frame<'p>, value: &Value, place: Option<Place>) -> Value {
        let value = self.state.possible(value);
        let Some(val) = value.single().cloned() else {
            if let Some(items) = items::of_alternatives(&mut self.state, &value) {
                return new_iterator(&mut self.state, Source::Items(items), place);
            }
            let term = self.state.term_of(&value);
            if value.alternatives().iter().all(|alternative| is_varied(&self.state, &alternative.val)) {
                self.state.terms.vary(term);
            }
            return new_iterator(&mut self.state, Source::Opaque(term), place);
        };
        let source = match &val {
            Val::Tuple(parts) => {
                Source::Items(parts.iter().map(|part| Item { guard: Guard::TRUE, value: part.clone() }).collect())
            }
            Val::Array(_) => Source::Array(value.clone()),
            Val::Object(object) => match &self.state.store.objects[object.0 as usize].kind {
                ObjectKind::List { items, unknown: false } | ObjectKind::Set(items) => {
                    Source::Items(items::merged(&mut self.state.paths.guards, items.clone()))
                }
                ObjectKind::Dict { entries, unknown: false } => {
                    let keys = items::keys_of(&mut self.state.paths.guards, entries);
                    Source::Items(items::merged(&mut self.state.paths.guards, keys))
                }
                ObjectKind::Iterator(..) => return value,
                ObjectKind::Stream(path) => Source::Stream(self.program.models.stream_yield(path, StreamUse::Next)),
                ObjectKind::Instance => {
                    let dunder: Name = "__iter__".into();
                    if let Some(method) = self.state.instance_method(&val, &dunder) {
                        let result = self.call_value(frame, &method, Args::default(), place);
                        return if matches!(result.single(), Some(Val::Object(o)) if o != object) {
                            self.iterator_of(frame, &result, place)
                        } else if let Some(next) = self.state.instance_method(&val, &"__next__".into()) {
                            new_iterator(&mut self.state, Source::Calls(next), place)
                        } else {
                            let term = self.state.term_of_val(&val);
                            new_iterator(&mut self.state, Source::Opaque(term), place)
                        };
                    }
                    match self.items_of(frame, &value) {
                        Some(items) => Source::Items(items),
                        None => match self.state.instance_method(&val, &"__getitem__".into()) {
                            Some(method) => Source::Indexed(method),
                            None => Source::Opaque(self.state.term_of_val(&val)),
                        },
                    }
                }
                ObjectKind::List { .. } | ObjectKind::Dict { .. } => Source::Opaque(self.state.term_of_val(&val)),
            },
            Val::Term(term) => characters(&mut self.state, *term).map_or(Source::Opaque(*term), Source::Items),
            _ => Source::Opaque(self.state.term_of_val(&val)),
        };
        new_iterator(&mut self.state, source, place)
    }

    /// The next element of an iterator, which advances on every path.
    pub fn next_step(&mut self, frame: &mut Frame<'p>, iterator: &Value, span: Span) -> Step {
        let place = self.place(frame, span);
        let Some(Val::Object(object)) = iterator.single().cloned() else {
            let value = self.state.terms.opaque("<element>", Some(place));
            return Step { has: Guard::TRUE, present: Guard::TRUE, value };
        };
        self.force_generator(frame, object, place);
        let ObjectKind::Iterator(source, position) = self.state.store.objects[object.0 as usize].kind.clone() else {
            let value = self.state.terms.opaque("<element>", Some(place));
            return Step { has: Guard::TRUE, present: Guard::TRUE, value };
        };
        if let ObjectKind::Iterator(_, position) = &mut self.state.store.objects[object.0 as usize].kind {
            *position = position.map(|position| position + 1);
        }
        self.element_at(frame, &source, position, place)
    }

    fn element_at(&mut self, frame: &mut Frame<'p>, source: &Source, position: Option<u32>, place: Place) -> Step {
        let always = |value: Value| Step { has: Guard::TRUE, present: Guard::TRUE, value };
        let index = match (self.context.position, position) {
            (Some(later), Some(_)) => later,
            (None, Some(position)) => self.state.terms.int(i128::from(position)),
            (_, None) => self.state.terms.fresh(Symbol::Opaque, "<position>", Some(place)),
        };
        match source {
            Source::Items(items) => {
                if let (None, Some(position)) = (self.context.position, position) {
                    match items.get(position as usize) {
                        Some(item) => Step { has: Guard::TRUE, present: item.guard, value: item.value.clone() },
                        None => Step { has: Guard::FALSE, present: Guard::FALSE, value: Value::unbound() },
                    }
                } else {
                    let value = self.state.terms.opaque("<element>", Some(place));
                    always(value)
                }
            }
            Source::Opaque(term) => {
                let length = self.state.length_of_term(*term);
                self.count(position, length);
                let has = has_element(&mut self.state, *term, index);
                let item = self.state.terms.intern(Term::Item(*term, index, 0));
                Step { has, present: Guard::TRUE, value: annotate::element(&mut self.state, *term, item) }
            }
            Source::Array(value) => {
                let Some(Val::Array(array)) = value.single().cloned() else {
                    let value = self.state.terms.opaque("<element>", Some(place));
                    return always(value);
                };
                let length = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
                let has = if let Some(length) = length {
                    let within = self.state.terms.operate(Operator::Lt, &[index, length]);
                    self.state.truth_of_term(within)
                } else {
                    let whole = self.state.term_of(value);
                    has_element(&mut self.state, whole, index)
                };
                let element = arrays::array_element(self, &array, index);
                Step { has, present: Guard::TRUE, value: element }
            }
            Source::Range(start, stop, step) => self.number_at([*start, *stop, *step], position, index, place),
            Source::Enumerate(inner, start) => {
                let step = self.next_step(frame, inner, place.span);
                let number = self.state.terms.operate(Operator::Add, &[*start, index]);
                let pair = Val::Tuple([Value::term(number), step.value].into());
                Step { value: Value::of(pair), ..step }
            }
            Source::Zip(inner) => {
                let (has, present, values) = self.parallel(frame, inner, place);
                Step { has, present, value: Value::of(Val::Tuple(values.into())) }
            }
            Source::Map(function, inner) => {
                let (has, present, values) = self.parallel(frame, inner, place);
                let args = Args::positional(values);
                let position = self.context.position.take();
                let call = |this: &mut Self| this.call_value(frame, function, args, Some(place));
                let value = paths::on(self, has, |this| paths::on(this, present, call));
                self.context.position = position;
                Step { has, present, value }
            }
            Source::Calls(function) => {
                self.called(frame, function, Args { prebound: Some(0), ..Args::default() }, place)
            }
            Source::Indexed(function) => {
                self.called(frame, function, Args::positional(vec![Value::term(index)]), place)
            }
            Source::Repeat(value) => always(value.clone()),
            Source::Cycle(items) => match position.filter(|_| self.context.position.is_none()) {
                Some(position) if !items.is_empty() => {
                    let item = &items[position as usize % items.len()];
                    Step { has: Guard::TRUE, present: item.guard, value: item.value.clone() }
                }
                _ => {
                    let value = self.state.terms.opaque("<element>", Some(place));
                    always(value)
                }
            },
            Source::Chain(inner) => self.chained(frame, inner, place),
            Source::Generator(_) => {
                let value = self.state.terms.opaque("<element>", Some(place));
                always(value)
            }
            Source::Stream(kind) => {
                let value = self.yielded(*kind, place);
                always(value)
            }
        }
    }

    /// A number of a range.
    fn number_at(
        &mut self,
        [start, stop, step]: [TermId; 3],
        position: Option<u32>,
        index: TermId,
        place: Place,
    ) -> Step {
        let terms = &mut self.state.terms;
        terms.count(start);
        terms.count(stop);
        self.count(position, stop);
        let terms = &mut self.state.terms;
        let offset = terms.operate(Operator::Mul, &[index, step]);
        let number = terms.operate(Operator::Add, &[start, offset]);
        let upwards = terms.as_int(step).is_none_or(|step| step > 0);
        let within = terms.operate(Operator::Lt, &if upwards { [number, stop] } else { [stop, number] });
        let has = self.state.truth_of_term(within);
        // Larger steps skip some later numbers.
        let is_unseen =
            self.context.position.is_some() && self.state.terms.as_int(step).is_none_or(|step| step.abs() != 1);
        let number = if is_unseen { self.state.terms.fresh(Symbol::Havoc, "<number>", Some(place)) } else { number };
        Step { has, present: Guard::TRUE, value: Value::term(number) }
    }

    /// What a function returns, on the paths on which it does not raise.
    fn called(&mut self, frame: &mut Frame<'p>, function: &Value, args: Args, place: Place) -> Step {
        let position = self.context.position.take();
        let (has, value) = paths::preserving(self, |this| {
            let value = this.call_value(frame, function, args, Some(place));
            (this.state.paths.pc, value)
        });
        self.context.position = position;
        Step { has, present: Guard::TRUE, value }
    }

    /// Records the number of elements of the iterator whose first element is requested.
    fn count(&mut self, position: Option<u32>, number: TermId) {
        if position == Some(0) {
            self.state.paths.counted = Some(number);
        }
    }

    fn parallel(&mut self, frame: &mut Frame<'p>, inner: &[Value], place: Place) -> (Guard, Guard, Vec<Value>) {
        let (mut has, mut present) = (Guard::TRUE, Guard::TRUE);
        let mut values = Vec::with_capacity(inner.len());
        for iterator in inner {
            if has.is_false() {
                // After the first iterator is exhausted, the rest are not advanced.
                values.push(Value::unbound());
                continue;
            }
            let step = paths::on(self, has, |this| this.next_step(frame, iterator, place.span));
            has = self.state.paths.guards.and(has, step.has);
            present = self.state.paths.guards.and(present, step.present);
            values.push(step.value);
        }
        (has, present, values)
    }

    fn chained(&mut self, frame: &mut Frame<'p>, inner: &[Value], place: Place) -> Step {
        for iterator in inner {
            if known_length(&mut self.state, iterator) == Some(0) {
                continue;
            }
            return self.next_step(frame, iterator, place.span);
        }
        Step { has: Guard::FALSE, present: Guard::FALSE, value: Value::unbound() }
    }

    /// Runs a generator to its end and keeps the values that it yields: its consumptions happen when its first element
    /// is requested.
    pub fn force_generator(
        &mut self,
        frame: &mut Frame<'p>,
        object: crate::analysis::domain::value::ObjectId,
        place: Place,
    ) {
        let ObjectKind::Iterator(Source::Generator(suspended), position) =
            &self.state.store.objects[object.0 as usize].kind
        else {
            return;
        };
        let (suspended, position) = (suspended.clone(), *position);
        self.state.store.objects[object.0 as usize].kind = ObjectKind::Iterator(Source::Items(Vec::new()), position);
        if prelude::is_too_deep(self, frame, suspended.module) {
            let rest = self.state.terms.fresh(Symbol::Opaque, "<rest>", Some(place));
            self.state.store.objects[object.0 as usize].kind = ObjectKind::Iterator(Source::Opaque(rest), position);
            return;
        }
        let ended = self.run_generator(frame, &suspended, place);
        let items = ended.yields.into_iter().map(|(guard, value)| Item { guard, value }).collect();
        let mut source = Source::Items(items);
        if ended.may_continue && self.program.is_prelude(suspended.module) {
            // The values that it yields from here on are unknown.
            let first = new_iterator(&mut self.state, source, Some(place));
            let rest = self.state.terms.opaque("<rest>", Some(place));
            let rest = self.iterator_of(frame, &rest, Some(place));
            source = Source::Chain(vec![first, rest]);
        }
        self.state.store.objects[object.0 as usize].kind = ObjectKind::Iterator(source, position);
    }

    /// `next(iterator)` outside of a loop.
    pub fn next_of(&mut self, frame: &mut Frame<'p>, iterator: &Value, span: Span) -> Value {
        let elsewhere = self.state.paths.guards.without(self.state.paths.frame_live, self.state.paths.pc);
        if !elsewhere.is_false()
            && let Some(Val::Object(object)) = iterator.single()
            && matches!(self.state.store.objects[object.0 as usize].kind, ObjectKind::Iterator(..))
        {
            let value = self.next_step(frame, iterator, span).value;
            if let ObjectKind::Iterator(_, position) = &mut self.state.store.objects[object.0 as usize].kind {
                // It was advanced on some paths only: its position is unknown from here on.
                *position = None;
            }
            return value;
        }
        self.state.store.mutations += 1;
        self.next_step(frame, iterator, span).value
    }

    /// The elements of the iterator that `__iter__` of an instance returns.
    fn items_given(&mut self, frame: &mut Frame<'p>, instance: &Value) -> Option<Vec<Item>> {
        self.state.instance_method(instance.single()?, &"__iter__".into())?;
        let here = self.context.here;
        let iterator = self.iterator_of(frame, instance, Some(here));
        match iterator.single()? {
            Val::Object(given)
                if matches!(self.state.store.objects[given.0 as usize].kind, ObjectKind::Iterator(..)) =>
            {
                self.items_of(frame, &iterator)
            }
            _ => None,
        }
    }

    /// All elements of an iterable, if they are known.
    pub fn items_of(&mut self, frame: &mut Frame<'p>, value: &Value) -> Option<Vec<Item>> {
        let value = self.state.possible(value);
        match value.single()? {
            Val::Tuple(parts) => {
                Some(parts.iter().map(|part| Item { guard: Guard::TRUE, value: part.clone() }).collect())
            }
            Val::Array(array) => {
                if let Elements::Listed(parts) = &array.elements {
                    return Some(parts.iter().map(|p| Item { guard: Guard::TRUE, value: p.clone() }).collect());
                }
                let length = array.dims.as_ref()?.first().copied()??;
                let length = self.state.terms.as_int(length).filter(|n| *n <= i128::from(DRAIN_LIMIT))?;
                let array = array.clone();
                Some(
                    (0..length)
                        .map(|index| {
                            let index = self.state.terms.int(index);
                            Item { guard: Guard::TRUE, value: arrays::array_element(self, &array, index) }
                        })
                        .collect(),
                )
            }
            Val::Object(object) => {
                let object = *object;
                self.force_generator(frame, object, self.context.here);
                match self.state.store.objects[object.0 as usize].kind.clone() {
                    ObjectKind::List { items, unknown: false } | ObjectKind::Set(items) => Some(items),
                    ObjectKind::Dict { entries, unknown: false } => {
                        Some(items::keys_of(&mut self.state.paths.guards, &entries))
                    }
                    ObjectKind::Instance => {
                        let Some(items) = self.items_of_record(frame, object) else {
                            return self.items_given(frame, &value);
                        };
                        Some(items.into_iter().map(|value| Item { guard: Guard::TRUE, value }).collect())
                    }
                    ObjectKind::Iterator(..) => {
                        let length = known_length(&mut self.state, &value)?;
                        if length > DRAIN_LIMIT {
                            return None;
                        }
                        let mut items = Vec::new();
                        for _ in 0..length {
                            let step = self.next_step(frame, &value, self.context.here.span);
                            items.push(Item { guard: step.present, value: step.value });
                        }
                        Some(items)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The key from a stream of a library.
    pub fn yielded(&mut self, kind: Yield, place: Place) -> Value {
        match kind {
            Yield::Key => (self.library.supplied_key)(&mut self.state.terms, place),
            _ => self.state.terms.opaque("<from a stream>", Some(place)),
        }
    }
}

/// The characters of a string that is written in the program; `None` for other terms and for long strings.
fn characters(state: &mut State, term: TermId) -> Option<Vec<Item>> {
    let Term::Text(text) = state.terms.get(term) else { return None };
    let parts: Vec<Name> = text.chars().take(DRAIN_LIMIT as usize + 1).map(|one| one.to_string().into()).collect();
    let item = |part| Item { guard: Guard::TRUE, value: Value::term(state.terms.intern(Term::Text(part))) };
    (parts.len() <= DRAIN_LIMIT as usize).then(|| parts.into_iter().map(item).collect())
}

/// Whether a sequence contains no number twice: a permutation, or a `range` that was not advanced.
fn is_varied(state: &State, val: &Val) -> bool {
    match val {
        Val::Term(term) => state.terms.is_varied(*term),
        Val::Object(object) => matches!(
            &state.store.objects[object.0 as usize].kind,
            ObjectKind::Iterator(Source::Range(.., step), Some(0)) if state.terms.as_int(*step).is_some_and(|step| step != 0)
        ),
        _ => false,
    }
}

/// Iterators that a source goes through.
fn inner(source: &Source) -> &[Value] {
    match source {
        Source::Enumerate(inner, _) => std::slice::from_ref(inner),
        Source::Zip(inner) | Source::Map(_, inner) | Source::Chain(inner) => inner,
        Source::Items(_)
        | Source::Opaque(_)
        | Source::Array(_)
        | Source::Range(..)
        | Source::Calls(_)
        | Source::Indexed(_)
        | Source::Repeat(_)
        | Source::Cycle(_)
        | Source::Generator(_)
        | Source::Stream(_) => &[],
    }
}

/// Subtracts the iterators below a source from the remaining number; returns whether there were enough.
fn has_few_below(state: &State, source: &Source, left: &mut u32) -> bool {
    inner(source).iter().all(|iterator| {
        let Some(below) = left.checked_sub(1) else { return false };
        *left = below;
        match iterator.single() {
            Some(Val::Object(object)) => match &state.store.objects[object.0 as usize].kind {
                ObjectKind::Iterator(source, _) => has_few_below(state, source, left),
                _ => true,
            },
            _ => true,
        }
    })
}

pub fn new_iterator(state: &mut State, source: Source, place: Option<Place>) -> Value {
    let source = if has_few_below(state, &source, &mut ITERATORS.clone()) {
        source
    } else {
        Source::Opaque(state.terms.fresh(Symbol::Opaque, "<elements>", place))
    };
    Value::of(Val::Object(state.allocate(ObjectKind::Iterator(source, Some(0)), "<iterator>", place)))
}

/// Number of remaining elements, if it is known.
pub fn known_length(state: &mut State, iterator: &Value) -> Option<u32> {
    let Some(Val::Object(object)) = iterator.single() else { return None };
    let ObjectKind::Iterator(source, Some(position)) = &state.store.objects[object.0 as usize].kind else {
        return None;
    };
    let (source, position) = (source.clone(), *position);
    let length = match &source {
        Source::Items(items) => u32::try_from(items.len()).ok()?,
        Source::Array(value) => {
            let Some(Val::Array(array)) = value.single() else { return None };
            let length = array.dims.as_ref()?.first().copied()??;
            u32::try_from(state.terms.as_int(length)?).ok()?
        }
        Source::Range(start, stop, step) => {
            let [start, stop, step] = [start, stop, step].map(|t| state.terms.as_int(*t));
            let (start, stop, step) = (start?, stop?, step?);
            if step == 0 {
                return None;
            }
            let span = (stop - start) * step.signum();
            u32::try_from((span.max(0) + step.abs() - 1) / step.abs()).ok()?
        }
        Source::Enumerate(inner, _) => return known_length(state, &inner.clone()),
        Source::Zip(inner) | Source::Map(_, inner) => {
            return inner.clone().iter().filter_map(|inner| known_length(state, inner)).min();
        }
        Source::Chain(inner) => {
            let lengths: Option<Vec<u32>> = inner.clone().iter().map(|inner| known_length(state, inner)).collect();
            lengths?.iter().sum()
        }
        Source::Opaque(term) => {
            let length = state.length_of_term(*term);
            u32::try_from(state.terms.as_int(length)?).ok()?
        }
        Source::Calls(_)
        | Source::Indexed(_)
        | Source::Repeat(_)
        | Source::Cycle(_)
        | Source::Generator(_)
        | Source::Stream(_) => {
            return None;
        }
    };
    Some(length.saturating_sub(position))
}

/// The number of the last iteration over an iterator that nothing has advanced, if a term says how many there are.
pub fn last_index(state: &mut State, iterator: &Value) -> Option<TermId> {
    let Some(Val::Object(object)) = iterator.single() else { return None };
    let ObjectKind::Iterator(source, Some(0)) = state.store.objects[object.0 as usize].kind.clone() else {
        return None;
    };
    let length = match &source {
        Source::Range(start, stop, step) => {
            let start = state.terms.as_int(*start).filter(|_| state.terms.as_int(*step) == Some(1))?;
            state.terms.offset(*stop, start.checked_neg()?)
        }
        Source::Array(value) => {
            let Some(Val::Array(array)) = value.single() else { return None };
            array.dims.as_ref()?.first().copied()??
        }
        Source::Enumerate(inner, _) => return last_index(state, inner),
        // The shortest ends the loop.
        Source::Zip(inner) | Source::Map(_, inner) => return shortest(state, inner),
        // The number of elements of something unknown may change before the loop.
        Source::Opaque(_)
        | Source::Items(_)
        | Source::Chain(_)
        | Source::Calls(_)
        | Source::Indexed(_)
        | Source::Repeat(_)
        | Source::Cycle(_)
        | Source::Generator(_)
        | Source::Stream(_) => return None,
    };
    Some(state.terms.offset(length, -1))
}

/// The number of the last iteration over several at once. What is not known to have so many elements may still be as long as another one,
/// or longer by a number: `zip(split(key, len(layers)), layers)`.
fn shortest(state: &mut State, iterators: &[Value]) -> Option<TermId> {
    let mut known = None;
    let mut all = Vec::new();
    for iterator in iterators {
        let last = last_index(state, iterator);
        known = known.or(last);
        all.push(match last {
            Some(last) => last,
            None => last_of_unknown(state, iterator)?,
        });
    }
    all.into_iter().try_fold(known?, |least, last| {
        state.terms.difference(last, least).map(|difference| if difference < 0 { last } else { least })
    })
}

/// The number of the last iteration over something unknown, as far as its length says.
fn last_of_unknown(state: &mut State, iterator: &Value) -> Option<TermId> {
    let Some(Val::Object(object)) = iterator.single() else { return None };
    let ObjectKind::Iterator(Source::Opaque(term), Some(0)) = state.store.objects[object.0 as usize].kind else {
        return None;
    };
    let length = state.length_of_term(term);
    Some(state.terms.offset(length, -1))
}

/// The paths on which something opaque has an element with this index.
fn has_element(state: &mut State, term: TermId, index: TermId) -> Guard {
    let length = state.length_of_term(term);
    let within = state.terms.operate(Operator::Lt, &[index, length]);
    state.truth_of_term(within)
}

/// After a loop over an iterator: exhausted, or (after `break`) somewhere.
pub fn leave_iterator(state: &mut State, iterator: &Value, broke: bool) {
    let Some(Val::Object(object)) = iterator.single() else { return };
    if let ObjectKind::Iterator(source, position) = &mut state.store.objects[object.0 as usize].kind {
        if broke {
            *position = None;
        } else if let Source::Items(items) = source {
            *position = u32::try_from(items.len()).ok();
        } else {
            *position = None;
        }
    }
}
