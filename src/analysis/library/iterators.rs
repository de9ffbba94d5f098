//! Functions of Python that make iterators, and `next`.
//!
//! **Invariant:** an iterator yields exactly the elements of its source, in order; creating one runs nothing.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::Symbol;
use crate::analysis::domain::value::{ObjectId, Val, Value};
use crate::analysis::library::{derive, functions, transform};
use crate::analysis::machine::{Frame, Machine, arrays, iterate, writes};
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::heap::{Item, ObjectKind, Source};
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{BuiltinOp, StreamUse, Yield};

/// The most elements that `repeat` and `islice` list.
const LISTED: i128 = 16;

/// `range(…)`, `count(…)`
pub fn range(state: &mut State, op: BuiltinOp, args: &Args, place: Place) -> Value {
    let terms: Vec<_> = args.positional.iter().map(|arg| arg.value.clone()).collect::<Vec<_>>();
    let terms: Vec<_> = terms.iter().map(|value| state.term_of(value)).collect();
    let (zero, one) = (state.terms.int(0), state.terms.int(1));
    if op == BuiltinOp::Count {
        let start = terms.first().copied().unwrap_or(zero);
        let end = state.terms.fresh(Symbol::Opaque, "<endless>", Some(place));
        let step = terms.get(1).copied().unwrap_or(one);
        return iterate::new_iterator(state, Source::Range(start, end, step), Some(place));
    }
    let source = match terms.as_slice() {
        [stop] => Source::Range(zero, *stop, one),
        [start, stop] => Source::Range(*start, *stop, one),
        [start, stop, step] => Source::Range(*start, *stop, *step),
        _ => Source::Opaque(state.terms.fresh(Symbol::Opaque, "<range>", Some(place))),
    };
    iterate::new_iterator(state, source, Some(place))
}

/// `enumerate(iterable, start)`
pub fn enumerate<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, args: &Args, place: Place) -> Value {
    let first = args.positional.first().map(|arg| arg.value.clone());
    let inner = machine.iterator_of(frame, &first.unwrap_or_default(), Some(place));
    let start = match args.positional.get(1).or_else(|| args.keyword("start")) {
        Some(start) => machine.state.term_of(&start.value),
        None => machine.state.terms.int(0),
    };
    iterate::new_iterator(&mut machine.state, Source::Enumerate(inner, start), Some(place))
}

/// `zip(…)`
pub fn zip<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, args: &Args, place: Place) -> Value {
    let inner = iterators(machine, frame, args, 0, place);
    iterate::new_iterator(&mut machine.state, Source::Zip(inner), Some(place))
}

/// `chain(…)`
pub fn chain<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, args: &Args, place: Place) -> Value {
    let inner = iterators(machine, frame, args, 0, place);
    iterate::new_iterator(&mut machine.state, Source::Chain(inner), Some(place))
}

/// `map(function, …)`
pub fn map<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, args: &Args, place: Place) -> Value {
    let inner = iterators(machine, frame, args, 1, place);
    let function = args.positional.first().map(|arg| arg.value.clone()).unwrap_or_default();
    iterate::new_iterator(&mut machine.state, Source::Map(function, inner), Some(place))
}

/// `repeat(value, times)`
pub fn repeat(state: &mut State, args: &Args, place: Place) -> Value {
    let Some(value) = args.positional.first().map(|arg| arg.value.clone()) else {
        return state.terms.opaque("<repeat>", Some(place));
    };
    let times = args.positional.get(1).and_then(|times| {
        let times = state.term_of(&times.value);
        state.terms.as_int(times).filter(|times| *times <= LISTED).and_then(|times| usize::try_from(times).ok())
    });
    let source = match times {
        Some(times) => Source::Items(vec![Item { guard: Guard::TRUE, value }; times]),
        None => Source::Repeat(value),
    };
    iterate::new_iterator(state, source, Some(place))
}

/// `cycle(iterable)`
pub fn cycle<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, first: Option<Value>, place: Place) -> Value {
    let source = match first.and_then(|value| machine.items_of(frame, &value)) {
        Some(items) => Source::Cycle(items),
        None => Source::Opaque(machine.state.terms.fresh(Symbol::Opaque, "<cycle>", Some(place))),
    };
    iterate::new_iterator(&mut machine.state, source, Some(place))
}

/// `reversed(sequence)`
pub fn reversed<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, first: Option<Value>, place: Place) -> Value {
    let Some(value) = first else { return machine.state.terms.opaque("<reversed>", Some(place)) };
    if let Some(mut items) = machine.items_of(frame, &value) {
        items.reverse();
        return iterate::new_iterator(&mut machine.state, Source::Items(items), Some(place));
    }
    paths::on_alternatives(machine, &value, |this, val| match val {
        Val::Array(array) => {
            let reversed = arrays::reordered(&array.clone());
            iterate::new_iterator(&mut this.state, Source::Array(reversed), Some(place))
        }
        Val::Object(id) if let Some(source) = counted_down(&mut this.state, *id) => {
            iterate::new_iterator(&mut this.state, source, Some(place))
        }
        _ => this.state.terms.opaque("<reversed>", Some(place)),
    })
}

/// `islice(iterable, stop)`
pub fn islice<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, args: &Args, place: Place) -> Value {
    let [iterable, stop] = args.positional.as_slice() else {
        return machine.state.terms.opaque("<islice>", Some(place));
    };
    let iterator = machine.iterator_of(frame, &iterable.value, Some(place));
    let stop = machine.state.term_of(&stop.value);
    let Some(stop) = machine.state.terms.as_int(stop).filter(|stop| (0..=LISTED).contains(stop)) else {
        return iterator;
    };
    let items = (0..stop).map(|_| {
        let step = machine.next_step(frame, &iterator, place.span);
        Item { guard: step.present, value: step.value }
    });
    let source = Source::Items(items.collect());
    iterate::new_iterator(&mut machine.state, source, Some(place))
}

/// The numbers of a range in single steps, from the last to the first.
fn counted_down(state: &mut State, id: ObjectId) -> Option<Source> {
    let ObjectKind::Iterator(Source::Range(start, stop, step), Some(0)) =
        state.store.objects[id.0 as usize].kind.clone()
    else {
        return None;
    };
    state.terms.as_int(step).filter(|step| *step == 1)?;
    let (last, end, step) = (state.terms.offset(stop, -1), state.terms.offset(start, -1), state.terms.int(-1));
    Some(Source::Range(last, end, step))
}

fn iterators<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    args: &Args,
    skip: usize,
    place: Place,
) -> Vec<Value> {
    let mut iterators: Vec<Value> = Vec::new();
    for arg in args.positional.iter().skip(skip) {
        iterators.push(machine.iterator_of(frame, &arg.value, Some(place)));
    }
    for value in &args.spread {
        let term = machine.state.term_of(value);
        iterators.push(iterate::new_iterator(&mut machine.state, Source::Opaque(term), Some(place)));
    }
    iterators
}

/// `next(iterator)`
pub fn next<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, iterator: Option<&Arg>, place: Place) -> Value {
    let Some(iterator) = iterator else { return machine.state.terms.opaque("<next>", Some(place)) };
    let name = iterator.written.clone().unwrap_or_else(|| "".into());
    let iterator = machine.state.possible(&iterator.value);
    paths::on_alternatives(machine, &iterator, |this, val| {
        let next = next_of_val(this, frame, val, place);
        if let Val::Object(id) = val {
            writes::note_advance(this, frame, &next, (*id, &name), place);
        }
        next
    })
}

fn next_of_val<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, iterator: &Val, place: Place) -> Value {
    match iterator {
        Val::Object(id) => match &machine.state.store.objects[id.0 as usize].kind {
            ObjectKind::Stream(path) => {
                let path = path.clone();
                let given = machine.program.models.stream_yield(&path, StreamUse::Next);
                let stream = machine.state.store.objects[id.0 as usize].symbol;
                match given {
                    Yield::Key => derive::supplied_by(machine, stream, place),
                    given => functions::stream_result(machine, given, &path, place),
                }
            }
            ObjectKind::Instance => {
                let dunder: Name = "__next__".into();
                match machine.state.instance_method(iterator, &dunder) {
                    Some(method) => {
                        let args = Args { prebound: Some(0), ..Args::default() };
                        machine.call_value(frame, &method, args, Some(place))
                    }
                    None => derive::supplied_key(&mut machine.state.terms, place),
                }
            }
            _ => machine.next_of(frame, &Value::of(iterator.clone()), place.span),
        },
        // The next element of an iterator from outside was not yielded before.
        _ => machine.state.terms.opaque("<next>", Some(place)),
    }
}

/// Runs an iterable to its end, if it is known to be short.
pub fn drain<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, value: &Value) {
    if let Some(Val::Object(id)) = value.single().cloned() {
        machine.force_generator(frame, id, machine.context.here);
        if let ObjectKind::Iterator(Source::Map(..), Some(_)) = &machine.state.store.objects[id.0 as usize].kind {
            let known = iterate::known_length(&mut machine.state, value);
            let place = machine.context.here;
            let value = value.clone();
            transform::repeat(machine, frame, known, place, |this, frame, _| {
                this.next_step(frame, &value, place.span);
            });
        }
    }
}
