//! A function and its inverse, as their names tell: what the one does with the numbers the other can only undo with the same.
//!
//! **Invariant:** names count only where they differ by a word that says the opposite, and both functions draw alike.

use crate::analysis::record::{Activation, Recording};
use crate::finding::{Intent, IntentKind};
use crate::judge::intent::{Pair, intent};

/// Two draws happen within calls of a function and of its inverse, as their names tell: what the one does with the numbers the other
/// can only undo with the same.
pub fn undone(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    // Numbers of another distribution undo nothing.
    if pair.first.callee != pair.second.callee {
        return None;
    }
    let (a, b) = (pair.first.chain(), pair.second.chain());
    let depth = a.iter().zip(&b).position(|((one, _), (other, _))| {
        one.id != other.id && (one.module, one.function) != (other.module, other.function)
    })?;
    let name = |of: &Activation| run.code(of).name.clone();
    let are_inverse = run.program.models.words.are_inverse(&name(&a[depth].0), &name(&b[depth].0));
    // The call that undoes, where there is one: the frame above it.
    let place = depth.checked_sub(1).map_or(pair.second.place, |above| b[above].1);
    are_inverse.then(|| intent(IntentKind::Inverse, place))
}
