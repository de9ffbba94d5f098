//! Collisions: does a new event meet an earlier one?
//!
//! **Invariant:** a meeting is logged only if the two keys must be equal and some path reaches both events.

use crate::analysis::domain::extent::{Extent, must_overlap};
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::facts::Role;
use crate::analysis::log::{Consumption, Reuse};
use crate::finding::Confidence;
use crate::models::Construct;

use super::Machine;

/// Most earlier events that one event is compared with.
const COMPARED: usize = 64;

impl Machine<'_> {
    /// Compares an event with the earlier ones of its family.
    pub(super) fn check_collisions(&mut self, index: usize) {
        let family = self.recorder.log.consumptions[index].target.family;
        let mut best: Option<Reuse> = None;
        // Two splits in two places are harmless if different children of them are used, which is not known yet: then
        // another meeting is told.
        let mut other: Option<Reuse> = None;
        let mut is_derived_again = false;
        for position in 0..COMPARED {
            let Some(first) =
                self.recorder.log.by_family.get(&family).and_then(|earlier| earlier.get(position)).copied()
            else {
                break;
            };
            let Some(confidence) = self.meet(first, index) else { continue };
            is_derived_again |= confidence > Confidence::Low && self.derive_alike(first, index);
            let meeting = Reuse { first, second: index, confidence };
            if !self.are_splits_apart(first, index) && other.as_ref().is_none_or(|other| other.confidence < confidence)
            {
                other = Some(meeting.clone());
            }
            if best.as_ref().is_none_or(|best| best.confidence < confidence) {
                best = Some(meeting);
            }
        }
        let other = other.filter(|_| best.as_ref().is_some_and(|best| self.are_splits_apart(best.first, index)));
        for meeting in [best, other].into_iter().flatten() {
            let (first, second) =
                (&self.recorder.log.consumptions[meeting.first], &self.recorder.log.consumptions[meeting.second]);
            if self.is_folded_into_another(first, second) {
                return;
            }
            if meeting.confidence > Confidence::Low {
                let term = second.target.term;
                let family = second.target.family;
                self.recorder.log.met.insert(term);
                self.recorder.log.met.insert(family);
                if is_derived_again {
                    self.recorder.log.derived_again.extend([term, family]);
                }
            }
            self.recorder.log.reuses.push(meeting);
        }
    }

    /// A draw that serves no numbers is no use of a key: what meets it may meet a later draw, which is one.
    pub(super) fn past_measures(&mut self, meeting: Reuse) -> Reuse {
        let second = meeting.second;
        let is_measure = Self::serves_no_numbers;
        if !is_measure(self, meeting.first) || is_measure(self, second) {
            return meeting;
        }
        let family = self.recorder.log.consumptions[second].target.family;
        let earlier = self.recorder.log.by_family.get(&family).cloned().unwrap_or_default();
        for first in earlier.into_iter().take_while(|first| *first < second).take(COMPARED) {
            if !is_measure(self, first)
                && let Some(confidence) = self.meet(first, second)
            {
                return Reuse { first, second, confidence };
            }
        }
        meeting
    }

    fn are_splits_apart(&self, first: usize, second: usize) -> bool {
        let (first, second) = (&self.recorder.log.consumptions[first], &self.recorder.log.consumptions[second]);
        first.role == Role::Split && second.role == Role::Split && first.place != second.place
    }

    /// Whether two events that meet make what is derived from their key equal as well: two splits, or one call that ran again and
    /// took with it whatever stands around it. A draw beside a split makes no children equal.
    fn derive_alike(&self, first: usize, second: usize) -> bool {
        let (first, second) = (&self.recorder.log.consumptions[first], &self.recorder.log.consumptions[second]);
        first.place == second.place || first.role == Role::Split && second.role == Role::Split
    }

    /// Whether what the two keys were derived from was derived from again: then this meeting is a consequence.
    fn is_folded_into_another(&self, first: &Consumption, second: &Consumption) -> bool {
        first.target.derivation != second.target.derivation
            && self
                .terms
                .ancestors(second.target.term)
                .iter()
                .any(|ancestor| self.recorder.log.derived_again.contains(ancestor))
    }

    /// How certain it is that two events share a key, if it is at all.
    fn meet(&mut self, first: usize, second: usize) -> Option<Confidence> {
        let (a, b) = (&self.recorder.log.consumptions[first], &self.recorder.log.consumptions[second]);
        let mut confidence = self.role_confidence(a, b)?;
        if !must_overlap(&self.terms, a.target.extent, b.target.extent) {
            return None;
        }
        if a.target.folded != b.target.folded && !self.folds_into(a.target.extent, b.target.extent) {
            return None;
        }
        if a.target.folded != b.target.folded {
            // `fold_in(k, i)` is `split(k, n)[i]` by JAX's default implementation only.
            confidence = confidence.min(Confidence::Medium);
        }
        if let (Some(x), Some(y)) = (self.derivation(a.target.derivation), self.derivation(b.target.derivation)) {
            if x.number != y.number && !matches!(self.terms.get(a.target.term), Term::Seed(_)) {
                confidence = confidence.min(Confidence::Medium);
            }
            if x.by_default || y.by_default {
                confidence = confidence.min(Confidence::Medium);
            }
        }
        if self.is_barrier(a) || self.is_barrier(b) {
            confidence = Confidence::Low;
        }
        // A draw that stands in the `try` itself did happen; one within a call that may have raised perhaps did not.
        let own = raised_in(a.activation.id);
        let (a, b) = (a.guard, b.guard);
        let both = self.paths.guards.and(a, b);
        if !self.feasible(both) || self.needs_unseen(both) {
            return None;
        }
        if self.needs_exception(both, Some(&own)) {
            confidence = Confidence::Low;
        } else if self.needs_exception(both, None) {
            confidence = confidence.min(Confidence::Medium);
        }
        Some(confidence)
    }

    /// Whether the data of a `fold_in` is certainly the index of a child that a `split` made.
    fn folds_into(&self, a: Extent, b: Extent) -> bool {
        let (Extent::Index(index), Extent::Range { length, .. }) = (match (a, b) {
            (Extent::Range { .. }, _) => (b, a),
            _ => (a, b),
        }) else {
            return true;
        };
        match (self.terms.as_int(index), length.and_then(|length| self.terms.as_int(length))) {
            (Some(index), Some(length)) => index < length,
            (Some(index), None) => index == 0,
            (None, _) => false,
        }
    }

    fn role_confidence(&self, a: &Consumption, b: &Consumption) -> Option<Confidence> {
        match (a.role, b.role) {
            (Role::Fold, Role::Sample | Role::Library) | (Role::Sample | Role::Library, Role::Fold) => {
                Some(Confidence::Low)
            }
            (Role::Fold, _) | (_, Role::Fold) => None,
            // A stream may only fold its key: a draw from that key is then no draw of the stream's.
            (Role::Sample, _) if self.is_stream(b) => Some(Confidence::Low),
            (_, Role::Sample) if self.is_stream(a) => Some(Confidence::Low),
            (Role::Unresolved, Role::Unresolved) if a.place == b.place && a.iteration.is_none() => None,
            (Role::Unresolved, _) | (_, Role::Unresolved) => Some(Confidence::Low),
            (Role::Library | Role::Protocol, _) | (_, Role::Library | Role::Protocol) => Some(Confidence::Medium),
            _ => Some(Confidence::High),
        }
    }

    /// Whether an event is the making of a stream of keys.
    fn is_stream(&self, event: &Consumption) -> bool {
        event.role == Role::Library
            && self
                .program
                .models
                .class(&event.callee)
                .is_some_and(|class| matches!(class.construct, Construct::Stream { .. }))
    }

    pub(super) fn derivation(&self, id: u32) -> Option<&crate::analysis::log::Derivation> {
        self.recorder.log.derivations.get(usize::try_from(id).ok()?.checked_sub(1)?)
    }

    /// Whether something decides a guard that iterations which are not run may have written.
    fn needs_unseen(&self, guard: Guard) -> bool {
        let is_unseen = |term: TermId| self.terms.symbol(term).is_some_and(|info| info.symbol == Symbol::Unseen);
        self.paths.guards.support(guard).into_iter().any(|literal| self.terms.mentions(literal, &is_unseen))
    }

    /// Whether every path of a guard goes through an exception edge, those of this name excepted.
    fn needs_exception(&mut self, guard: Guard, except: Option<&str>) -> bool {
        let terms = &self.terms;
        let is_edge = |literal: TermId| {
            terms.symbol(literal).is_some_and(|info| {
                info.symbol == Symbol::Path && info.text.starts_with(RAISES) && Some(&*info.text) != except
            })
        };
        let without = self.paths.guards.assume(guard, &|literal| is_edge(literal).then_some(false));
        !self.feasible(without)
    }
}

/// How the names of exception edges begin.
pub(super) const RAISES: &str = "<raises";

/// The name of the exception edges of one activation.
pub(super) fn raised_in(activation: u32) -> String {
    format!("{RAISES} in {activation}>")
}
