//! The budget: the operations that may still run, and the calls that were cut off.
//!
//! **Invariant:** budgets count operations, never time.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::analysis::domain::value::ModuleIndex;
use crate::finding::Place;
use crate::ir::{Function, FunctionId};

/// Operations that one analysis of one function may run.
pub const FUEL: u32 = 30_000;

/// Fewest operations that a call may run, if that many are left.
pub const FUEL_PORTION: u32 = 3_000;

/// The remaining budget.
#[derive(Clone)]
pub struct Budget {
    /// Operations that may still run.
    pub fuel: u32,
    /// Operations that were run.
    pub ran: u64,
    /// Where the first bound was hit, and which.
    pub exhausted: Option<(Place, &'static str)>,
    /// Which bound has ended all paths of the innermost call that runs, and where.
    pub cut_off: Option<(Place, &'static str)>,
    /// The first bound that may have hidden findings: it cut off the analysed function, or a call with a key.
    pub limited: Option<(Place, &'static str)>,
    /// Functions of which a call was cut off before it touched a key, with the largest node budget of such a call.
    pub fruitless: Rc<RefCell<FxHashMap<(ModuleIndex, FunctionId), usize>>>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { fuel: FUEL, ran: 0, exhausted: None, cut_off: None, limited: None, fruitless: Rc::default() }
    }
}

impl Budget {
    /// Fewest operations that the analysis of a function may run.
    pub fn least_for(function: &Function) -> u32 {
        u32::try_from(function.ops.len()).unwrap_or(u32::MAX).saturating_mul(2).clamp(FUEL_PORTION / 4, FUEL)
    }

    /// Limits what runs next to a portion. Returns the rest.
    pub fn portion(&mut self, most: u32) -> u32 {
        let given = self.fuel.min(most);
        std::mem::replace(&mut self.fuel, given) - given
    }

    /// Adds the rest back.
    pub fn rejoin(&mut self, kept: u32) {
        self.fuel += kept;
    }

    /// Whether a bound has ended all paths of the call that just ran; the caller continues.
    pub fn take_cut_off(&mut self) -> Option<(Place, &'static str)> {
        self.cut_off.take()
    }

    /// A bound was hit, and ends all paths.
    pub fn exhaust(&mut self, place: Place, budget: &'static str) {
        self.exhausted.get_or_insert((place, budget));
        self.cut_off.get_or_insert((place, budget));
    }

    /// Starts an analysis of another function.
    pub fn renew(&mut self) {
        (self.fuel, self.ran) = (FUEL, 0);
        self.exhausted = None;
        (self.cut_off, self.limited) = (None, None);
    }
}
