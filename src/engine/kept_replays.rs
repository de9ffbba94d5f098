//! Replays of the last check of an edited file, for claims whose replays would be the same.
//!
//! **Invariant:** a kept replay is used only for the same claim with the same budget, if nothing that it read has changed.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::finding::{Evidence, Place, Witness};
use crate::ir::{FunctionId, Module};
use crate::verify::replay::Budget;

/// What is replayed: the evidence, further places, and the budget.
pub(super) type Claim = (Evidence, Vec<Place>, Budget);

/// The replays of the findings in one file.
#[derive(Default)]
pub(super) struct KeptReplays {
    known: FxHashMap<Claim, Replay>,
}

struct Replay {
    witness: Witness,
    /// What is left of the budget.
    left: Budget,
    /// The functions of the file whose operations were read.
    read: Vec<FunctionId>,
    /// Whether the current check has the claim.
    is_current: bool,
}

impl KeptReplays {
    /// Drops the replays that read one of these functions.
    pub(super) fn drop_changed(&mut self, changed: &FxHashSet<FunctionId>) {
        self.known.retain(|_, replay| !replay.read.iter().any(|read| changed.contains(read)));
    }

    /// Begins another check.
    pub(super) fn begin(&mut self) {
        self.known.values_mut().for_each(|replay| replay.is_current = false);
    }

    /// Drops the replays of claims that the current check does not have.
    pub(super) fn end(&mut self) {
        self.known.retain(|_, replay| replay.is_current);
    }

    /// The witness for a claim, from an earlier replay or from this one.
    pub(super) fn witness(
        &mut self,
        module: &Module,
        claim: Claim,
        budget: &mut Budget,
        replay: impl FnOnce(&mut Budget) -> Witness,
    ) -> Witness {
        if let Some(known) = self.known.get_mut(&claim) {
            known.is_current = true;
            *budget = known.left;
            return known.witness.clone();
        }
        module.take_read();
        let witness = replay(budget);
        let replay = Replay { witness: witness.clone(), left: *budget, read: module.take_read(), is_current: true };
        self.known.insert(claim, replay);
        witness
    }
}
