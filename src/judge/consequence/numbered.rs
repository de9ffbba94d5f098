//! Loops that take one child of a split in each iteration, by its number: `split(key, n)[i]`.
//!
//! **Invariant:** the numbers start from 0, and the split makes a key for each iteration, as written.

use super::repeating_loop::RepeatingLoop;
use crate::ir::{Argument, OpKind, Temp, Uses, Variable, is_written_alike};
use crate::judge::callee_model::model_of;
use crate::models::{BuiltinOp, Effect};

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
        let is_child = |of: Temp, reader: &Temp| matches!(self.kind(*reader), OpKind::Item(array, index) if *array == of && self.is_number(*index));
        let takes_child = |reader: &Temp| match self.kind(*reader) {
            OpKind::Store(variable @ Variable::Local(slot), _) => {
                let loads = uses.loads_of(*slot);
                !uses.is_captured(*slot)
                    && !loads.is_empty()
                    && loads.iter().all(|load| uses.readers(*load).iter().all(|reader| is_child(*load, reader)))
                    && self.code.sole_value(variable) == Some(split)
            }
            _ => is_child(split, reader),
        };
        let readers = uses.readers(split);
        !readers.is_empty() && readers.iter().all(takes_child)
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
        let (builtin, of) = self.builtin_of_one(*iterable)?;
        match builtin {
            BuiltinOp::Range => Some((Counter::Element, of)),
            BuiltinOp::Enumerate => Some((Counter::First, of)),
            _ => None,
        }
    }

    /// The built-in function that an operation calls with one argument, and that argument.
    fn builtin_of_one(&self, call: Temp) -> Option<(BuiltinOp, Temp)> {
        let OpKind::Call(callee, arguments) = self.kind(call) else { return None };
        let [Argument::Positional(of)] = &arguments[..] else { return None };
        match &model_of(self.run, self.chain.first()?.0.module, self.code, *callee)?.effect {
            Effect::Builtin(builtin) => Some((*builtin, *of)),
            _ => None,
        }
    }

    /// Whether a split makes a key for each iteration.
    pub fn is_as_long_as(&self, split: Temp) -> bool {
        let (Some((counter, of)), OpKind::Call(_, arguments)) = (self.length(), self.kind(split)) else { return false };
        let Some(Argument::Positional(number)) = arguments.get(1) else { return false };
        match counter {
            Counter::Element => is_written_alike(self.code, of, *number),
            Counter::First => self.builtin_of_one(*number).is_some_and(|(builtin, measured)| {
                builtin == BuiltinOp::Len && is_written_alike(self.code, of, measured)
            }),
        }
    }
}
