//! Functions that Python's builtins run on every element: that of `filter` and `starmap`, and the `key` of what sorts or compares.
//!
//! **Invariant:** each element is handed over once, and one of an unknown number of them is one iteration of a loop.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::library::transform;
use crate::analysis::machine::{Frame, Machine, iterate};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{Item, Source};
use crate::analysis::store::paths;
use crate::finding::Place;
use crate::models::BuiltinOp;

/// `filter` and `starmap`.
pub fn selected<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    op: BuiltinOp,
    function: &Value,
    iterable: &Value,
    place: Place,
) -> Value {
    let Some(items) = machine.items_of(frame, iterable) else {
        run_on_each(machine, frame, iterable, place, |this, frame, element| {
            this.call_value(frame, function, handed_over(op, element), Some(place));
        });
        return machine.state.terms.opaque("<selected>", Some(place));
    };
    let mut result = Vec::new();
    for item in items {
        let mut value = Value::unbound();
        paths::under(machine, item.guard, |this| {
            value = this.call_value(frame, function, handed_over(op, item.value.clone()), Some(place));
        });
        if op == BuiltinOp::Starmap {
            result.push(Item { guard: item.guard, value });
        } else {
            let holds = machine.state.truth(&value);
            let guard = machine.state.paths.guards.and(item.guard, holds);
            result.push(Item { guard, value: item.value });
        }
    }
    iterate::new_iterator(&mut machine.state, Source::Items(result), Some(place))
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

/// Runs `body` on the elements of something of which it is not known how many it has.
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

/// The arguments that an element becomes: those of `starmap` are its parts.
fn handed_over(op: BuiltinOp, element: Value) -> Args {
    match (op, element.single()) {
        (BuiltinOp::Starmap, Some(Val::Tuple(parts))) => Args::positional(parts.to_vec()),
        (BuiltinOp::Starmap, _) => Args { spread: vec![element], ..Args::default() },
        _ => Args::positional(vec![element]),
    }
}
