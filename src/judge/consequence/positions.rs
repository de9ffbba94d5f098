//! Draws that only determine positions: which elements of an array are selected, or where they go.
//!
//! **Invariant:** the array comes from a parameter of the function that draws. What selects from a table of its own, as an action is
//! selected, is a draw like any other.

use crate::ir::{Argument, Temp};
use crate::judge::computed_from::Origins;
use crate::judge::consequence::Flows;
use crate::judge::consequence::body::Body;
use crate::models::{Callable, Effect, ShapeOp};

impl Flows<'_> {
    /// Whether each of two draws is observed, but only in that it determines positions.
    pub fn are_only_positions(&self, draws: [usize; 2]) -> bool {
        let flows = Self { ignores_positions: true, ..Self::new(self.run) };
        draws.into_iter().all(|draw| !flows.reach(draw).sinks.is_observed() && self.reach(draw).sinks.is_observed())
    }
}

impl Body<'_, '_> {
    /// Whether an index into an array counts as no use of its numbers.
    pub(super) fn ignores_index_of(&self, array: Temp) -> bool {
        self.flows.ignores_positions && self.is_computed(array)
    }

    /// Whether a call of a library uses a value only as positions, and that counts as no use.
    pub(super) fn ignores_position(&self, callable: &Callable, arguments: &[Argument], temp: Temp) -> bool {
        let Effect::Shape { op, of, .. } = &callable.effect else { return false };
        let selects = matches!(
            op,
            ShapeOp::Where | ShapeOp::Take | ShapeOp::TakeAlongAxis | ShapeOp::Index | ShapeOp::Slice | ShapeOp::Roll
        );
        let holds = |(index, argument): (usize, &Argument)| match argument {
            Argument::Positional(_) => of.iter().any(|name| callable.position(name) == Some(index)),
            Argument::Keyword(keyword, _) => of.iter().any(|name| **keyword == **name),
            Argument::Spread(_) | Argument::SpreadMapping(_) => true,
        };
        let mut arrays = arguments.iter().enumerate().filter(|given| holds(*given)).map(|(_, given)| given.value());
        self.flows.ignores_positions && selects && arrays.all(|array| array != temp && self.is_computed(array))
    }

    /// Whether an array is computed from an argument.
    fn is_computed(&self, array: Temp) -> bool {
        Origins { code: self.code, uses: &self.uses }.is_computed(array)
    }
}
