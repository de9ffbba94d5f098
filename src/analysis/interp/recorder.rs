//! The recorder: what the program did with keys, in the order in which it did it.
//!
//! **Invariant:** a recording only grows, and an index into it is an identity.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::Value;
use crate::analysis::log::{Consumption, Derivation, Reuse};
use crate::finding::Place;
use crate::ir::Name;

use super::{asked, handed, meant, notes, observe};

/// What records.
#[derive(Clone, Default)]
pub(super) struct Recorder {
    /// What was recorded.
    pub(super) log: Recording,
    /// Activations of closures that run on their own: by number, with how they left and the first term that was made in them.
    pub(super) escaped: BTreeMap<u32, (Escape, TermId)>,
}

/// How a closure left the function that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// Handed to something unknown, or not used at all.
    Passed,
    /// Returned or stored.
    Stored,
    /// Returned or stored under a transform.
    Transformed,
}

/// Everything that conclusions are drawn from.
#[derive(Clone, Default)]
pub(super) struct Recording {
    /// Consumptions, in execution order.
    pub(super) consumptions: Vec<Consumption>,
    pub(super) by_family: FxHashMap<TermId, Vec<usize>>,
    pub(super) derivations: Vec<Derivation>,
    pub(super) reuses: Vec<Reuse>,
    /// Terms whose reuse was logged.
    pub(super) met: FxHashSet<TermId>,
    /// Those of them that were split twice, or met where one call ran again: what is derived from them is equal because of that.
    pub(super) derived_again: FxHashSet<TermId>,
    pub(super) broadcasts: Vec<notes::LoggedBroadcast>,
    pub(super) buffers: Vec<notes::LoggedBuffer>,
    pub(super) references: Vec<notes::LoggedReference>,
    pub(super) exits: Vec<notes::LoggedExit>,
    pub(super) stores: Vec<notes::LoggedStore>,
    pub(super) global_reads: Vec<(Name, TermId, Place)>,
    pub(super) global_stores: FxHashSet<Name>,
    /// Where attributes and globals were read first, by term.
    pub(super) origins: FxHashMap<TermId, Place>,
    /// Terms that some sink of the library took for a scalar key.
    pub(super) scalar_keys: FxHashSet<TermId>,
    /// Calls that ask an argument for its shape or dtype alone.
    pub(super) measures: FxHashSet<Place>,
    /// Calls that choose between arrays, with the function called: `jnp.where(test, x, y)`.
    pub(super) choices: FxHashMap<Place, Name>,
    /// Calls that go through the leaves of a tree.
    pub(super) trees: FxHashSet<Place>,
    /// Streams, and which of them may be asked for keys.
    pub(super) streams: asked::Streams,
    /// What became of the children of splits.
    pub(super) children: handed::Children,
    /// The arrays whose rows draws arrange or choose, by consumption.
    pub(super) arranged: FxHashMap<usize, meant::Arranged>,
    /// Terms that an annotation declares to be keys.
    pub(super) declared: FxHashSet<TermId>,
    /// Parameters that an annotation declares to be something else.
    pub(super) otherwise: FxHashSet<TermId>,
    /// What the entry's parameters were given.
    pub(super) entered: Option<Vec<Value>>,
    /// Expressions that were keys, if they are asked for.
    pub(super) observed: FxHashSet<observe::Observed>,
}
