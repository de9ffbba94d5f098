//! How keys came about, for the prompt that shows it.
//!
//! **Invariant:** at most [`STEPS`] steps are kept, and the first of two ways to one key: equal keys have one lineage.

use std::collections::BTreeMap;

use crate::prng::keys::Keys;

/// Most steps that are kept.
const STEPS: usize = 1 << 12;

/// Most steps that are shown for one key.
const DEPTH: usize = 64;

/// Most keys of an array whose lineage is shown.
const SHOWN: usize = 8;

/// One step to a key.
pub enum Step {
    /// `key(seed)`
    Seed(i128),
    /// A child of `split(parent, count)`.
    Child(Vec<u32>, usize, usize),
    /// `fold_in(parent, data)`
    Fold(Vec<u32>, u32),
}

/// The steps to the keys of a run, by the words of the keys.
#[derive(Default)]
pub struct Lineage {
    steps: BTreeMap<Vec<u32>, Step>,
}

impl Lineage {
    /// Keeps the step to a key, unless there is one.
    pub fn keep(&mut self, key: &[u32], step: Step) {
        if self.steps.len() < STEPS {
            self.steps.entry(key.to_vec()).or_insert(step);
        }
    }

    /// The expression of each key, where it is known.
    pub fn of(&self, keys: &Keys) -> Vec<String> {
        keys.iter().take(SHOWN).filter_map(|key| self.expression(key, DEPTH)).collect()
    }

    fn expression(&self, key: &[u32], depth: usize) -> Option<String> {
        if depth == 0 {
            return Some("…".to_owned());
        }
        let inner = |parent: &[u32]| self.expression(parent, depth - 1).unwrap_or_else(|| "…".to_owned());
        Some(match self.steps.get(key)? {
            Step::Seed(seed) => format!("key({seed})"),
            Step::Child(parent, number, 2) => format!("split({})[{number}]", inner(parent)),
            Step::Child(parent, number, count) => format!("split({}, {count})[{number}]", inner(parent)),
            Step::Fold(parent, data) => format!("fold_in({}, {data})", inner(parent)),
        })
    }
}
