//! What several modules have to say of one mistake, said once.
//!
//! **Invariant:** a fact is only dropped where another one, that is kept, speaks of the same two operations from a lower frame.

use rustc_hash::FxHashSet;

use crate::analysis::facts::{Collision, Facts};
use crate::finding::Place;

/// Drops collisions that a callee reports as its own and that were seen again through a caller in another module.
pub(super) fn reconcile(facts: &mut [Facts]) {
    let own: FxHashSet<(Place, Place)> =
        facts.iter().flat_map(|facts| &facts.collisions).filter(|collision| is_own(collision)).map(leaves).collect();
    for facts in facts {
        facts.collisions.retain(|collision| is_own(collision) || !own.contains(&leaves(collision)));
    }
}

/// Whether both consumptions stand in the reporting frame itself.
fn is_own(collision: &Collision) -> bool {
    collision.first.place == collision.first.leaf && collision.second.place == collision.second.leaf
}

fn leaves(collision: &Collision) -> (Place, Place) {
    (collision.first.leaf, collision.second.leaf)
}
