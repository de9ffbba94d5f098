//! The abstract domain: terms (how a value was derived), guards (on which paths), values (guarded alternatives), and
//! extents (which keys of an array).
//!
//! **Invariant:** equal handles mean equal values; different handles say nothing. Only must-equality makes a fact, so
//! any operation here may lose precision by returning a fresh value.

use std::hash::Hash;

use rustc_hash::FxHashMap;

pub mod constraint;
mod describe;
pub mod extent;
pub mod guard;
pub mod implementation;
pub mod kinds;
pub mod marks;
pub mod progression;
mod range;
pub mod size;
pub mod term;
pub mod value;
mod visit;

/// One sweep over a table costs less than removing more than one in this many of its entries.
const SWEPT: usize = 8;

/// Removes dropped keys from a table of handles; `is_kept` tells which handles remain valid. Many keys cost one sweep over the table, which
/// hashes nothing.
fn forget<K: Eq + Hash, V: Copy>(
    table: &mut FxHashMap<K, V>,
    dropped: impl ExactSizeIterator<Item = K>,
    is_kept: impl Fn(V) -> bool,
) {
    if dropped.len() < table.len() / SWEPT {
        for key in dropped {
            table.remove(&key);
        }
    } else {
        table.retain(|_, handle| is_kept(*handle));
    }
}
