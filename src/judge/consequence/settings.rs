//! Loops that try settings: what they go through, and what they run for each.
//!
//! **Invariant:** a setting is an element of what the loop goes through, or is computed from it; a counter is none.

use super::Reach;
use super::repeating_loop::{Kept, RepeatingLoop};
use crate::analysis::record::{Activation, Consumption, Iteration};
use crate::ir::{OpKind, Variable};

impl RepeatingLoop<'_> {
    /// Whether a call that leads to the draw takes the loop variable, or a value computed from it: a setting, and not another member of an
    /// ensemble. A counter is an epoch, or numbers such members.
    ///
    /// Results may be stored by setting, `results[rate] = train(key(0), rate)`. Results that are appended may be layers of one network.
    pub fn is_for_setting(&self, reach: &Reach, kept: Kept) -> bool {
        // A sampler that the body calls directly computes nothing else.
        let Some(call) = self.call.filter(|_| self.is_in_call() && !kept.carried) else { return false };
        let varying = self.varying();
        self.varies(call, &varying) && (!kept.beside || self.is_kept_by_setting(reach, &varying))
    }

    /// Whether the function that the body calls draws many numbers, one after another or in lanes, or a loop in it uses what is drawn: it runs a
    /// computation, and does not only make one value.
    pub fn runs_computation(&self, draw: &Consumption, iteration: &Iteration, reach: &Reach) -> bool {
        let Some((callee, _)) = self.chain.get(1) else { return false };
        let is_part = |other: &Consumption| other.chain().iter().any(|(activation, _)| activation.id == callee.id);
        let is_repeated = |other: &Consumption| {
            other.lanes > draw.lanes
                || other.iteration.as_ref().is_some_and(|inner| inner.instance != iteration.instance)
        };
        draw.lanes > 0
            || self.is_used_in_a_loop(callee, reach)
            || self.run.log.consumptions.iter().any(|other| is_repeated(other) && is_part(other))
    }

    /// Whether a loop of a function uses what is drawn.
    fn is_used_in_a_loop(&self, activation: &Activation, reach: &Reach) -> bool {
        let Some(frame) = reach.frames.iter().find(|frame| frame.activation == activation.id) else { return false };
        let code = self.run.code(activation);
        code.ops.iter().any(|op| match &op.kind {
            OpKind::Loop { body, .. } => code.within(body).any(|within| frame.effects.reached.contains(&within)),
            _ => false,
        })
    }

    /// Whether the draw of an iteration is stored at an index that varies.
    fn is_kept_by_setting(&self, reach: &Reach, varying: &[&Variable]) -> bool {
        let Some(frame) = self.frame(reach) else { return false };
        self.body.iter().any(|temp| match self.kind(*temp) {
            OpKind::StoreItem(_, index, value) => frame.effects.reached.contains(value) && self.varies(*index, varying),
            _ => false,
        })
    }
}
