//! Repairs: from a finding to edits of its file, in the file's own style.
//!
//! A generator per family of rules proposes edits for a finding, best first. It reads the tree and the text and knows no
//! semantics: a proposal may be wrong, and whoever asks for it has to analyse and replay the patched text before anybody sees
//! it. What a generator does answer for is syntax: indentation, one-line suites, comments, names that are free, functions that are
//! imported.
//!
//! **Invariant:** a proposal's edits are sorted, do not overlap and touch nothing but what they must; names that one
//! proposal introduces are not offered again once it was accepted ([`Bench::accept`]).

mod abroad;
mod absent;
mod advance;
mod alive;
mod apply;
mod bench;
mod buffer;
mod captured;
mod carry;
mod children;
mod compared;
mod dead;
mod derived;
mod diff;
mod held;
mod imports;
mod jax;
mod lanes;
mod layout;
mod legacy;
mod loops;
mod meant;
mod names;
mod naming;
mod purpose;
mod reuse;
mod seeds;
mod settings;
mod shown;
mod tree;
mod typed;
mod uses;
mod writer;

pub use abroad::Abroad;
pub use apply::{Batch, select};
pub use bench::{Bench, Proof, Proposal};
pub use compared::is_compared;
pub use diff::{hunks, unified};
pub use typed::converted;
pub use uses::{Held, stays_legal};

use crate::finding::{Applicability, Finding, RuleId};

/// What may mend the finding at `index`, best first. Proposals may mend others of the findings as well.
pub fn proposals(bench: &Bench<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let Some(finding) = findings.get(index) else { return Vec::new() };
    let mut proposals = match finding.rule {
        RuleId::KeyReused | RuleId::KeyUsedAfterSplit => reuse::propose(bench, findings, index),
        RuleId::KeyReusedInLoop => loops::propose(bench, findings, index),
        RuleId::KeyDerivedTwice => derived::propose(bench, findings, index),
        RuleId::SeedReused => seeds::propose(bench, findings, index),
        RuleId::CapturedKeyInTransform => captured::propose(bench, findings, index),
        RuleId::StoredKeyNotAdvanced => advance::stored(bench, findings, index),
        RuleId::KeyBroadcast => lanes::propose(bench, findings, index),
        RuleId::ConsumedKeyReturned => advance::handed_on(bench, findings, index),
        RuleId::SplitDiscarded => derived::bind_discarded(bench, findings, index),
        RuleId::CallerKeyIgnored => advance::ignored(bench, findings, index),
        RuleId::KeyBufferIndexed => buffer::indexed(bench, findings, index),
        RuleId::KeyArithmetic => buffer::arithmetic(bench, findings, index),
        RuleId::KeyAxesSwapped => buffer::swapped(bench, findings, index),
        RuleId::LegacyPrngkey => typed::propose(bench, findings, index),
        RuleId::RemovedKeyType => legacy::removed(bench, findings, index),
        _ => Vec::new(),
    };
    if matches!(
        finding.rule,
        RuleId::KeyReused | RuleId::KeyReusedInLoop | RuleId::KeyUsedAfterSplit | RuleId::KeyDerivedTwice
    ) {
        proposals = dead::prefer(bench, findings, index, proposals);
    }
    proposals.retain(|proposal| !proposal.edits.is_empty());
    for proposal in &mut proposals {
        if proposal.applicability != Applicability::Unsafe || proposal.proof != Proof::Claim {
            continue;
        }
        let calls = meant::calls(bench, proposal.mends.iter().filter_map(|at| findings.get(*at)));
        if compared::is_held_to_tolerance(bench, &calls) || absent::may_be_absent(bench, &calls, &proposal.edits) {
            proposal.applicability = Applicability::Display;
        }
    }
    proposals
}

/// The order in which to repair findings: what concerns a whole file comes after what concerns a place, on which it depends.
pub fn in_order(findings: &[Finding], mut wanted: Vec<usize>) -> Vec<usize> {
    let is_whole = |index: &usize| findings.get(*index).is_some_and(|finding| finding.rule == RuleId::LegacyPrngkey);
    wanted.sort_by_key(|index| (is_whole(index), *index));
    wanted
}
