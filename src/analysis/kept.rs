//! What the runs of a module's functions depended on, so that the next analysis of the edited module repeats only those that the edit
//! can affect.
//!
//! An analysis is a function of the program. It reads the operations of functions through [`Ops`](crate::ir::Ops), which records that,
//! and everything else of the edited module is compared before a run is kept: so a run that read no changed operations, and began in
//! the same state, would record the same again.
//!
//! **Invariant:** what is kept of a run is used only if the run would be the same.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::late_writes::LateWrite;
use crate::ir::{FunctionId, Name, Temp};

/// Functions of which a call was cut off before it touched a key.
type Fruitless = FxHashMap<(ModuleIndex, FunctionId), usize>;

/// What the constructors of a class are asked for: the attributes whose functions, and whose instances, are taken.
pub type Wanted = (BTreeSet<Name>, BTreeSet<Name>);

/// The runs of the last analysis of a module.
#[derive(Default)]
pub struct KeptRuns {
    /// The functions whose operations the module's body and the constructors read.
    base: FxHashSet<FunctionId>,
    /// What was learned from the operations of all functions.
    learned: Learned,
    entries: FxHashMap<FunctionId, KeptRun>,
    /// How many entries the last analysis did not repeat.
    pub taken: usize,
}

/// What is learned from the operations of all functions before the first entry is run.
#[derive(Debug, Default, PartialEq)]
pub struct Learned {
    /// By class, in order.
    pub wanted: Vec<Wanted>,
    /// What functions of the module fill later.
    pub writes: Vec<LateWrite>,
    /// The attributes to which functions of the module store remainders.
    pub cyclic: FxHashSet<Name>,
}

/// How an entry began.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryStart {
    /// The operations that it may run.
    pub fuel: u32,
    /// Where the module's body last mentions it, if that matters.
    pub last_mention: Option<Temp>,
    /// The functions that no entry before it found worth calling.
    pub fruitless: Fruitless,
}

/// One entry.
struct KeptRun {
    start: EntryStart,
    /// The functions whose operations were read.
    read: Vec<FunctionId>,
    end: EntryEnd,
}

/// What an entry leaves to those that follow.
#[derive(Clone, Debug)]
pub struct EntryEnd {
    /// The operations that it ran.
    pub used: u32,
    /// The functions that no entry up to it found worth calling.
    pub fruitless: Fruitless,
}

impl KeptRuns {
    /// Drops what depends on functions that have changed.
    pub fn drop_changed(&mut self, changed: &FxHashSet<FunctionId>) {
        if changed.iter().any(|function| self.base.contains(function)) {
            *self = Self::default();
        }
        self.entries.retain(|id, run| !changed.contains(id) && !run.read.iter().any(|read| changed.contains(read)));
    }

    /// Drops entries that are to be run again.
    pub fn drop_entries(&mut self, entries: &FxHashSet<FunctionId>) {
        self.entries.retain(|id, _| !entries.contains(id));
    }

    /// Sets what the body and the constructors read and learned. If something else than before was learned, no run is kept.
    pub(super) fn begin(&mut self, read: Vec<FunctionId>, learned: Learned) {
        if self.learned != learned {
            self.entries.clear();
        }
        self.taken = 0;
        self.base = read.into_iter().collect();
        self.learned = learned;
    }

    /// What an entry leaves, if it would run as before.
    pub(super) fn take(&mut self, id: FunctionId, start: &EntryStart) -> Option<EntryEnd> {
        let known = self.entries.get(&id).filter(|run| run.start == *start)?;
        self.taken += 1;
        Some(known.end.clone())
    }

    /// Keeps an entry that was run.
    pub(super) fn keep(&mut self, id: FunctionId, start: EntryStart, read: Vec<FunctionId>, end: EntryEnd) {
        self.entries.insert(id, KeptRun { start, read, end });
    }

    /// Whether an entry is kept.
    pub fn has(&self, id: FunctionId) -> bool {
        self.entries.contains_key(&id)
    }
}
