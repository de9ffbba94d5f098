//! Loops that take one child of a split in each iteration, by its number: `split(key, n)[i]`.
//!
//! **Invariant:** the numbers start from 0, and the split makes a key for each iteration, as written.

use super::repeating_loop::RepeatingLoop;
use crate::ir::{Argument, OpKind, Temp, Uses, Variable};
use crate::judge::intent::is_written_alike;

/// What is bound to the number of an iteration.
#[derive(Clone, Copy)]
enum Counter {
    /// Each element of the loop.
    Element,
    /// The first part of each.
    First,
}

impl RepeatingLoop<'_> {
    /// Whether the body uses of a split only the child with the number of the iteration.
    pub fn takes_one_child_each(&self, split: Temp, uses: &Uses) -> bool {
        let is_child = |of: Temp| {
            uses.readers(of).iter().all(
                |reader| matches!(self.kind(*reader), OpKind::Item(array, index) if *array == of && self.is_number(*index)),
            )
        };
        uses.readers(split).iter().all(|reader| match self.kind(*reader) {
            OpKind::Item(array, index) => *array == split && self.is_number(*index),
            OpKind::Store(variable @ Variable::Local(slot), _) => {
                !uses.is_captured(*slot)
                    && uses.stores_of(*slot).len() == 1
                    && uses.loads_of(*slot).iter().all(|load| is_child(*load))
                    && self.code.sole_value(variable) == Some(split)
            }
            _ => false,
        })
    }

    /// Whether a value is the number of the iteration, from 0: the variable of a loop over `range(n)`, or the first one over `enumerate(xs)`.
    fn is_number(&self, value: Temp) -> bool {
        let OpKind::Load(variable) = self.kind(value) else { return false };
        let (Some(stored), Some((counter, _))) = (self.code.sole_value(variable), self.length()) else { return false };
        let is_next =
            |value: Temp| matches!(self.kind(value), OpKind::Next(iterator) if Some(*iterator) == self.iterator);
        match (counter, self.kind(stored)) {
            (Counter::Element, _) => is_next(stored),
            (Counter::First, OpKind::Project(of, 0)) => {
                matches!(self.kind(*of), OpKind::Unpack { value, .. } if is_next(*value))
            }
            (Counter::First, _) => false,
        }
    }

    /// What counts the iterations, and the argument that says how many there are, as a number or as what is enumerated.
    fn length(&self) -> Option<(Counter, Temp)> {
        let OpKind::Iterate(iterable) = self.kind(self.iterator?) else { return None };
        let OpKind::Call(callee, arguments) = self.kind(*iterable) else { return None };
        let ([Argument::Positional(of)], OpKind::Load(Variable::Global(name))) = (&arguments[..], self.kind(*callee))
        else {
            return None;
        };
        match &**name {
            "range" => Some((Counter::Element, *of)),
            "enumerate" => Some((Counter::First, *of)),
            _ => None,
        }
    }

    /// Whether a split makes a key for each iteration.
    pub fn is_as_long_as(&self, split: Temp) -> bool {
        let (Some((counter, of)), OpKind::Call(_, arguments)) = (self.length(), self.kind(split)) else { return false };
        let Some(Argument::Positional(number)) = arguments.get(1) else { return false };
        match (counter, self.kind(*number)) {
            (Counter::Element, _) => is_written_alike(self.code, of, *number),
            (Counter::First, OpKind::Call(callee, given)) => {
                matches!(self.kind(*callee), OpKind::Load(Variable::Global(name)) if &**name == "len")
                    && matches!(&given[..], [Argument::Positional(given)] if is_written_alike(self.code, of, *given))
            }
            (Counter::First, _) => false,
        }
    }
}
