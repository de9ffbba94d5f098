//! What a run may cost, and what becomes of a call that would cost more.
//!
//! Every operation of a replay costs budget; a run that computes numbers has a separate budget. A function without a target place gets a
//! fraction of the remaining budget for each of its callers' operations: if that is not enough, the call returns an unknown value, what it
//! may have changed is unknown, and the caller continues. A function with a target place may use all that is left, wherever it is called.
//!
//! **Invariant:** budget that is reserved for callers is returned when the call ends, however it ends. A call that is abandoned changes
//! what any call may change: its arguments, and variables that nested functions write.

use super::frame::{Eval, Frame, Signal};
use super::machine::Machine;
use super::value::Closure;

/// Most operations of one path.
const STEPS: u32 = 20_000;

/// Most operations of the bodies of imported modules, on one path.
const MODULE_STEPS: u32 = 40_000;

/// Most symbols of one path.
const SYMBOLS: usize = 100_000;

/// The budget of one operation of a function with a target place when it calls functions without one: this fraction of
/// what is left, and at most this many operations.
const LEVELS: [(u32, u32); 2] = [(8, 2_048), (64, 256)];

/// How sparing runs can be, from none on.
pub(super) const MOST_SPARING: usize = LEVELS.len();

/// Most operations of one replay.
const REPLAY: u32 = 200_000;

/// Most operations of the first attempt at a finding, before the others of its file.
pub(super) const FIRST_LOOK: u32 = 50_000;

/// Most operations of the second attempt at an inconclusive finding, including those for its callers.
const SECOND_LOOK: u32 = 250_000;

/// Most operations of the replays of one file.
const ALL_OF_A_FILE: u32 = 1_000_000;

/// How many operations a number of replays may take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    pub(super) left: u32,
}

impl Budget {
    /// A budget for the findings of one file.
    pub const FILE: Self = Self { left: ALL_OF_A_FILE };

    /// A budget for one replay.
    pub const ONE: Self = Self { left: REPLAY };

    /// The budget for a first attempt at one of many findings.
    #[must_use]
    pub fn first_attempt(&mut self) -> Self {
        self.part(FIRST_LOOK)
    }

    /// The budget for a second attempt at one finding.
    #[must_use]
    pub fn second_attempt(&mut self) -> Self {
        self.part(SECOND_LOOK)
    }

    /// Takes a part out.
    #[must_use]
    pub fn part(&mut self, most: u32) -> Self {
        let left = self.left.min(most);
        self.left -= left;
        Self { left }
    }

    /// Returns the rest of a part to the budget.
    pub fn release(&mut self, part: Self) {
        self.left += part.left;
    }
}

/// What a run has left.
#[derive(Clone)]
pub(super) struct StepBudget {
    steps: u32,
    module_steps: u32,
    /// What is set aside for callers.
    kept: u32,
    /// Zero where calls get all that is left.
    level: usize,
}

impl StepBudget {
    pub(super) fn new(level: usize) -> Self {
        Self { steps: STEPS, module_steps: MODULE_STEPS, kept: 0, level }
    }

    /// How sparing the run is.
    pub(super) fn level(&self) -> usize {
        self.level
    }

    /// Leaves only a part of the steps; how many are set aside for callers.
    pub(super) fn reserve(&mut self, part: u32) -> u32 {
        let kept = self.steps - part;
        self.steps = part;
        self.kept += kept;
        kept
    }

    /// Returns the reserved budget, as far as it is still there, and its amount.
    pub(super) fn release(&mut self, kept: u32) -> u32 {
        let back = kept.min(self.kept);
        self.kept -= back;
        self.steps += back;
        back
    }
}

impl<'p> Machine<'p> {
    /// Pays for an operation.
    pub(super) fn charge(&mut self) -> Eval<'p, ()> {
        // Computing numbers has a separate budget.
        if self.numeric.is_some() {
            return Ok(());
        }
        if self.budget.steps == 0 || self.is_full() {
            self.is_bounded = true;
            return Err(Signal::Stop);
        }
        self.budget.steps -= 1;
        Ok(())
    }

    /// Whether there are as many symbols as a path may have.
    pub(super) fn is_full(&self) -> bool {
        self.symbols.len() > SYMBOLS
    }

    /// How many steps have been taken since the count started.
    pub(super) fn spent(&self) -> u32 {
        let left = self.budget.steps + self.budget.kept;
        STEPS.saturating_sub(left) + MODULE_STEPS.saturating_sub(self.budget.module_steps)
    }

    /// The budget that may be spent here.
    pub(super) fn left(&self) -> u32 {
        self.budget.steps
    }

    /// Restarts the count of steps.
    pub(super) fn refill(&mut self) {
        self.budget.steps = STEPS;
    }

    /// Runs the body of an imported module with a separate count.
    pub(super) fn with_module_budget<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let kept = std::mem::take(&mut self.budget.kept);
        let steps = std::mem::replace(&mut self.budget.steps, self.budget.module_steps);
        let result = work(self);
        self.budget.module_steps = std::mem::replace(&mut self.budget.steps, steps);
        self.budget.kept = kept;
        result
    }

    /// Runs the body of a function, which may take what was set aside if it holds a place in question.
    pub(super) fn with_reserve<T>(&mut self, closure: &Closure<'p>, work: impl FnOnce(&mut Self) -> T) -> T {
        if !self.hints.holds(closure.module, closure.id) {
            return work(self);
        }
        let kept = std::mem::take(&mut self.budget.kept);
        self.budget.steps += kept;
        let result = work(self);
        let again = kept.min(self.budget.steps);
        self.budget.steps -= again;
        self.budget.kept = again;
        result
    }

    /// The part of the remaining budget that an operation, or a loop, of this function may use; `None` for all of it.
    pub(super) fn part_of(&self, frame: &Frame<'p>, left: u32) -> Option<u32> {
        let (part, most) = *LEVELS.get(self.budget.level.checked_sub(1)?)?;
        if self.project.is_prelude(frame.module) {
            return None;
        }
        if self.hints.holds(frame.module, frame.id) {
            // A power of two: a fix that adds a few operations must not move the place where a call is left.
            return Some((left / part).checked_ilog2().map_or(0, |bits| 1 << bits).min(most));
        }
        Some(left / 2)
    }
}
