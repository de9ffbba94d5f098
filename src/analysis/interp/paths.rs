//! The paths: which of them run now, which are left, and what is known of their conditions.
//!
//! **Invariant:** `pc` implies `alive`.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::analysis::domain::guard::{Guard, Guards};

/// The paths of one analysis.
#[derive(Clone)]
pub(super) struct Paths {
    /// Conditions, as decision diagrams.
    pub(super) guards: Guards,
    /// What was found of the feasibility of guards.
    pub(super) feasibility: FxHashMap<Guard, bool>,
    /// Whether two guards were found to hold on one path.
    pub(super) compatible: FxHashMap<(Guard, Guard), bool>,
    /// The paths on which the current operation runs.
    pub(super) pc: Guard,
    /// The paths that have not ended.
    pub(super) alive: Guard,
    /// The `try` statements whose bodies are running, outermost first.
    pub(super) catching: Rc<RefCell<Vec<Catching>>>,
}

/// A `try` whose body is running.
pub(super) struct Catching {
    /// The paths on which its body raised.
    pub(super) raised: Guard,
    /// Whether what ends the program passes it by.
    pub(super) lets_exits_go: bool,
    /// Depth of the activation that it stands in.
    pub(super) depth: u32,
    /// Number of writes to the store when the last exception edge was made.
    pub(super) seen: u64,
}

impl Paths {
    /// One path: that on which nothing is assumed.
    pub(super) fn of(guards: Guards) -> Self {
        Self {
            guards,
            feasibility: FxHashMap::default(),
            compatible: FxHashMap::default(),
            pc: Guard::TRUE,
            alive: Guard::TRUE,
            catching: Rc::default(),
        }
    }
}
