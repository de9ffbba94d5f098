//! The functions that Python's builtins call on every element: that of `starmap`, and the `key` of sorting and comparing functions.
//!
//! **Invariant:** each element is passed once, and one of an unknown number of them is one iteration of a loop.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::library::transform;
use crate::analysis::machine::{Frame, Machine, iterate};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{Item, Source};
use crate::analysis::store::paths;
use crate::finding::Place;

/// `starmap(function, iterable)`
pub fn starmap<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, args: &Args, place: Place) -> Value {
    let given = |at: usize| args.positional.get(at).map(|arg| arg.value.clone()).unwrap_or_default();
    let (function, iterable) = (given(0), given(1));
    let Some(items) = machine.items_of(frame, &iterable) else {
        run_on_each(machine, frame, &iterable, place, |this, frame, element| {
            this.call_value(frame, &function, spread(element), Some(place));
        });
        return machine.state.terms.opaque("<selected>", Some(place));
    };
    let mut results = Vec::new();
    for item in items {
        let mut value = Value::unbound();
        paths::under(machine, item.guard, |this| {
            value = this.call_value(frame, &function, spread(item.value), Some(place));
        });
        results.push(Item { guard: item.guard, value });
    }
    iterate::new_iterator(&mut machine.state, Source::Items(results), Some(place))
}

/// The function that the argument `key` names, on every element: `sorted(xs, key=f)`.
pub fn run_key_function<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    args: &Args,
    iterable: &Value,
    place: Place,
) {
    let Some(function) = args.keyword("key") else { return };
    let function = function.value.clone();
    let runs = |alternative: &Val| matches!(alternative, Val::Function(_) | Val::Partial(_) | Val::Method(_));
    if !function.alternatives().iter().any(|alternative| runs(&alternative.val)) {
        return;
    }
    match machine.items_of(frame, iterable) {
        Some(items) => {
            for item in items {
                paths::under(machine, item.guard, |this| {
                    this.call_value(frame, &function, Args::positional(vec![item.value]), Some(place));
                });
            }
        }
        None => run_on_each(machine, frame, iterable, place, |this, frame, element| {
            this.call_value(frame, &function, Args::positional(vec![element]), Some(place));
        }),
    }
}

/// Runs `body` on the elements of a container of unknown length.
fn run_on_each<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    iterable: &Value,
    place: Place,
    mut body: impl FnMut(&mut Machine<'p>, &mut Frame<'p>, Value),
) {
    let iterator = machine.iterator_of(frame, iterable, Some(place));
    let known = iterate::known_length(&mut machine.state, &iterator);
    transform::repeat(machine, frame, known, place, |this, frame, _| {
        let step = this.next_step(frame, &iterator, place.span);
        let there: Guard = this.state.paths.guards.and(step.has, step.present);
        paths::under(this, there, |this| body(this, frame, step.value));
    });
}

/// The arguments that an element becomes: its parts.
fn spread(element: Value) -> Args {
    match element.single() {
        Some(Val::Tuple(parts)) => Args::positional(parts.to_vec()),
        _ => Args { spread: vec![element], ..Args::default() },
    }
}
