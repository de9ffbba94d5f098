//! Two splits of one key of which different children are used.
//!
//! **Invariant:** the children come from all reads of both results; where one cannot be followed, nothing is claimed.

use crate::analysis::record::{Consumption, Recording};
use crate::finding::{Intent, IntentKind};
use crate::judge::intent::{Pair, intent};
use crate::judge::unused::children_used;

/// The children that are used of two splits of one key are certainly different.
pub fn disjoint_children(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let used = |split: &Consumption| children_used(run, split.place, &split.activation).filter(|used| !used.is_empty());
    let (a, b) = (used(pair.first)?, used(pair.second)?);
    a.is_disjoint(&b).then(|| intent(IntentKind::DisjointChildren, pair.first.place))
}
