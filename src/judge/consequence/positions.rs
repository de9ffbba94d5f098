//! Draws that only determine positions: which elements of an array are selected, or where they go.
//!
//! **Invariant:** the array comes from a parameter of the function that draws. What selects from a table of its own, as an action is
//! selected, is a draw like any other.

use rustc_hash::FxHashSet;

use crate::ir::{Argument, OpKind, Temp, Variable};
use crate::judge::computed_from::Origins;
use crate::judge::consequence::Flows;
use crate::judge::consequence::body::Body;
use crate::models::{Callable, Effect, ShapeOp};

/// Most operations through which the elements of an array are followed back to an argument.
const STEPS: usize = 64;

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
        let moves =
            matches!(op, ShapeOp::Take | ShapeOp::TakeAlongAxis | ShapeOp::Index | ShapeOp::Slice | ShapeOp::Roll);
        let holds = |(index, argument): (usize, &Argument)| match argument {
            Argument::Positional(_) => of.iter().any(|name| callable.position(name) == Some(index)),
            Argument::Keyword(keyword, _) => of.iter().any(|name| **keyword == **name),
            Argument::Spread(_) | Argument::SpreadMapping(_) => true,
        };
        let mut arrays = arguments.iter().enumerate().filter(|given| holds(*given)).map(|(_, given)| given.value());
        let is_array = |array| match op {
            ShapeOp::Where => self.is_rearranged(array),
            _ => moves && self.is_computed(array),
        };
        self.flows.ignores_positions && arrays.all(|array| array != temp && is_array(array))
    }

    /// Whether an array has the elements of an argument: `where(flip, x[::-1], x)` moves them, while `where(u < middle, low + step, low)`
    /// computes something from the draw.
    fn is_rearranged(&self, array: Temp) -> bool {
        let (mut work, mut seen) = (vec![array], FxHashSet::default());
        while let Some(temp) = work.pop() {
            if !seen.insert(temp) {
                continue;
            }
            if seen.len() > STEPS {
                return false;
            }
            match &self.code.ops[temp as usize].kind {
                OpKind::Load(Variable::Local(slot)) => {
                    let stores = self.uses.stores_of(*slot);
                    if stores.is_empty() && *slot as usize >= self.code.parameters.len() {
                        return false;
                    }
                    work.extend(stores);
                }
                OpKind::Store(_, of) | OpKind::Item(of, _) => work.push(*of),
                OpKind::Call(callee, arguments) => {
                    let library = self.flows.run.library_named(self.module, self.code, *callee);
                    let callable = library.and_then(|path| self.flows.run.program.models.callable(&path));
                    match (callable.map(|callable| &callable.effect), arguments.first()) {
                        (Some(Effect::Shape { .. }), Some(array)) => work.push(array.value()),
                        _ => return false,
                    }
                }
                _ => return false,
            }
        }
        true
    }

    /// Whether an array is computed from an argument.
    fn is_computed(&self, array: Temp) -> bool {
        Origins { code: self.code, uses: &self.uses }.is_computed(array)
    }
}
