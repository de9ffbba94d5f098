//! Functions that Python's builtins run on every element: that of `filter` and `starmap`, and the `key` of what sorts or compares.
//!
//! **Invariant:** each element is handed over once, and one of an unknown number of them is one iteration of a loop.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::heap::{Item, Source};
use crate::finding::Place;
use crate::models::BuiltinOp;

use super::bind::Args;
use super::{Frame, Machine};

impl<'p> Machine<'p> {
    /// `filter` and `starmap`.
    pub(super) fn selected(
        &mut self,
        frame: &mut Frame<'p>,
        op: BuiltinOp,
        function: &Value,
        iterable: &Value,
        place: Place,
    ) -> Value {
        let Some(items) = self.items_of(frame, iterable) else {
            self.run_on_each(frame, iterable, place, |this, frame, element| {
                this.call_value(frame, function, handed_over(op, element), Some(place));
            });
            return self.opaque("<selected>", Some(place));
        };
        let mut result = Vec::new();
        for item in items {
            let mut value = Value::unbound();
            self.under(item.guard, |this| {
                value = this.call_value(frame, function, handed_over(op, item.value.clone()), Some(place));
            });
            if op == BuiltinOp::Starmap {
                result.push(Item { guard: item.guard, value });
            } else {
                let holds = self.truth(&value);
                let guard = self.paths.guards.and(item.guard, holds);
                result.push(Item { guard, value: item.value });
            }
        }
        self.new_iterator(Source::Items(result), Some(place))
    }

    /// The function that the argument `key` names, on every element: `sorted(xs, key=f)`.
    pub(super) fn run_key_function(&mut self, frame: &mut Frame<'p>, args: &Args, iterable: &Value, place: Place) {
        let Some(function) = args.keyword("key") else { return };
        let function = function.value.clone();
        let runs = |alternative: &Val| matches!(alternative, Val::Function(_) | Val::Partial(_) | Val::Method(_));
        if !function.alternatives().iter().any(|alternative| runs(&alternative.val)) {
            return;
        }
        match self.items_of(frame, iterable) {
            Some(items) => {
                for item in items {
                    self.under(item.guard, |this| {
                        this.call_value(frame, &function, Args::positional(vec![item.value]), Some(place));
                    });
                }
            }
            None => self.run_on_each(frame, iterable, place, |this, frame, element| {
                this.call_value(frame, &function, Args::positional(vec![element]), Some(place));
            }),
        }
    }

    /// Runs `body` on the elements of something of which it is not known how many it has.
    fn run_on_each(
        &mut self,
        frame: &mut Frame<'p>,
        iterable: &Value,
        place: Place,
        mut body: impl FnMut(&mut Self, &mut Frame<'p>, Value),
    ) {
        let iterator = self.iterator_of(frame, iterable, Some(place));
        let known = self.known_length(&iterator);
        self.repeat(frame, known, place, |this, frame, _| {
            let step = this.next_step(frame, &iterator, place.span);
            let there: Guard = this.paths.guards.and(step.has, step.present);
            this.under(there, |this| body(this, frame, step.value));
        });
    }
}

/// The arguments that an element becomes: those of `starmap` are its parts.
fn handed_over(op: BuiltinOp, element: Value) -> Args {
    match (op, element.single()) {
        (BuiltinOp::Starmap, Some(Val::Tuple(parts))) => Args::positional(parts.to_vec()),
        (BuiltinOp::Starmap, _) => Args { spread: vec![element], ..Args::default() },
        _ => Args::positional(vec![element]),
    }
}
