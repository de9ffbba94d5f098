//! Splits of one key of which the code uses different children.
//!
//! **Invariant:** no child is used twice.

use crate::finding::{Intent, IntentKind};
use crate::judge::consequence::Flows;
use crate::judge::intent::Pair;

/// The reason if no child is used twice.
const REASON: &str = "the code uses different children of the two splits";

/// Two splits in one body, each of which is used for other children.
pub fn of_two_splits(flows: &Flows<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let (one, other) = (flows.children_seen(pair.reuse.first)?, flows.children_seen(pair.reuse.second)?);
    let is_apart = !one.is_empty() && !other.is_empty() && one.iter().all(|child| !other.contains(child));
    is_apart.then(|| Intent::because(IntentKind::DisjointParts, REASON, None))
}
