//! Splits that all lanes do alike, since they carry one key on.
//!
//! **Invariant:** every draw is from a key into which something of the lane's own was folded.

use crate::analysis::domain::term::{Symbol, TermId};
use crate::analysis::record::{Consumption, LoggedBroadcast, Recording};
use crate::judge::facts::Role;

/// Whether an event is a split that all lanes do alike, since they carry one key on, and every draw is from a key into which
/// something of their own was folded: `_, new_rng = split(rng)` beside `fold_in(rng, axis_index("batch"))`.
///
/// What the body knows nothing of may be a lane's own.
pub fn is_split_alike(run: &Recording<'_>, event: &Consumption, broadcast: &LoggedBroadcast) -> bool {
    let parent = event.target.term;
    let is_parent = |part| part == parent;
    let is_unknown =
        |part| run.terms.symbol(part).is_some_and(|info| matches!(info.symbol, Symbol::Opaque | Symbol::Deleted));
    let is_own = |part: TermId| broadcast.symbols.contains(&part) || part.0 >= broadcast.born.0 && is_unknown(part);
    let (mut is_folded, mut is_drawn_alike) = (false, false);
    for other in &run.log.consumptions {
        let term = other.target.term;
        if !run.terms.mentions(term, &is_parent) {
            continue;
        }
        is_folded |= other.role == Role::Fold;
        is_drawn_alike |= !matches!(other.role, Role::Split | Role::Fold) && !run.terms.mentions(term, &is_own);
    }
    event.role == Role::Split && is_folded && !is_drawn_alike
}
