//! The recorder: what the program did with keys, in the order in which it did it.
//!
//! **Invariant:** a recording only grows, and an index into it is an identity.

use std::collections::BTreeMap;

use crate::analysis::domain::term::TermId;
use crate::analysis::record::{Escape, Log};

/// What records.
#[derive(Clone, Default)]
pub struct Recorder {
    /// What was recorded.
    pub log: Log,
    /// Activations of closures that run on their own: by number, with how they left and the first term that was made in them.
    pub escaped: BTreeMap<u32, (Escape, TermId)>,
}
