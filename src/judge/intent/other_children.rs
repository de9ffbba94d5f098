//! Splits of one key of which the code uses different children: `split(key, n)[i]` in iteration `i`.
//!
//! **Invariant:** no child is used twice. The number of keys and that of the iterations are written alike, because JAX takes the last key where
//! an index is beyond the split.

use crate::finding::{Intent, IntentKind};
use crate::judge::consequence::Flows;
use crate::judge::consequence::repeating_loop::RepeatingLoop;
use crate::judge::facts::Role;
use crate::judge::intent::pair::Pair;

/// The reason if no child is used twice.
const REASON: &str = "the code uses different children of the two splits";

/// Two splits in one body, each of which is used for other children.
pub fn of_two_splits(flows: &Flows<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let (one, other) = (flows.children_seen(pair.reuse.first)?, flows.children_seen(pair.reuse.second)?);
    let is_apart = !one.is_empty() && !other.is_empty() && one.iter().all(|child| !other.contains(child));
    is_apart.then(|| Intent::because(IntentKind::DisjointParts, REASON, None))
}

/// A split that each iteration of a loop makes again, to use the child with the number of the iteration: `split(key, n)[i]` in a loop over
/// `range(n)`, or over `enumerate(xs)` if `n` is `len(xs)`.
pub fn of_iterations(flows: &Flows<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let iteration = pair.repeated_by.as_ref()?;
    let are_splits = pair.first.role == Role::Split && pair.second.role == Role::Split;
    if !are_splits || pair.first.place != pair.second.place {
        return None;
    }
    let around = RepeatingLoop::around(flows.run, pair.second, iteration)?;
    let uses = flows.run.uses_of(pair.second.activation.module, pair.second.activation.function);
    let split = around.call().filter(|_| !around.is_in_call())?;
    (around.takes_one_child_each(split, &uses) && around.is_as_long_as(split))
        .then(|| Intent::because(IntentKind::DisjointParts, REASON, Some(iteration.place)))
}
