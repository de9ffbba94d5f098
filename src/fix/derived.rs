//! Derivations made twice (KEY104) or for nothing (KEY110).
//!
//! **Invariant:** equal `fold_in` calls are told apart by giving each a key of its own, never by inventing data.

use super::bench::{Bench, Proposal};
use super::reuse::{self, Use, only_key};
use super::tree;
use crate::finding::{Finding, Place};

pub(super) fn propose(bench: &Bench<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let derived = findings[index].repair.as_ref().and_then(|repair| repair.derived_at);
    let Some((first, again)) = derived else { return reuse::propose(bench, findings, index) };
    let used = |place: Place| {
        let span = bench.here(place)?;
        let call = tree::call_at(bench.module, span)?;
        Some(Use { call, key: only_key(bench, call, None)?, steps: bench.steps(span) })
    };
    let mut proposals = Vec::new();
    if let (Some(first), Some(again)) = (used(first), used(again)) {
        let mut uses = vec![first, again];
        uses.sort_by_key(|one| crate::python::span_of(one.key));
        proposals = reuse::apart(bench, &uses, &[index]);
    }
    if proposals.is_empty() {
        // Where a callee derives, the calls that lead there are given keys of their own.
        proposals = reuse::propose(bench, findings, index);
    }
    proposals
}

/// A `split` whose result nobody binds: what mends the draw from the parent after it mends this as well.
pub(super) fn bind_discarded(bench: &Bench<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let place = findings[index].primary;
    let later = bench.matching(findings, |other| {
        matches!(other.code, "KEY103" | "KEY104")
            && other.evidence.as_ref().is_some_and(|evidence| evidence.first.first() == Some(&place))
    });
    let Some(later) = later.first() else { return Vec::new() };
    let mut proposals = reuse::propose(bench, findings, *later);
    for proposal in &mut proposals {
        proposal.mends.push(index);
    }
    proposals
}
