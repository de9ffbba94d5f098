//! Fixes: from a finding to edits of its file, in the file's own style.
//!
//! One generator per family of rules proposes edits for a finding, best first. Generators read the tree, the text and the liveness
//! of variables in the IR; they do not run anything. A proposal may be wrong: the engine analyses and replays the patched text before
//! anyone sees it. What a generator guarantees is syntax: indentation, one-line suites, comments, names that are free, functions that
//! are imported.
//!
//! **Invariant:** a proposal's edits are sorted, do not overlap and touch nothing else; names that one proposal introduces are not
//! offered again once it was accepted ([`FixContext::accept`]).

mod advance;
pub mod apply;
mod arguments;
mod asserted;
mod attribute_keys;
mod bridges;
mod buffer;
mod callers;
mod captured;
mod carry;
mod children;
mod constant_keys;
mod context;
mod cross_module;
mod dead_splits;
pub mod definite_assignment;
mod derived;
mod diff;
mod display_only;
mod elements;
mod fold_index;
mod host_draws;
mod implementations;
mod imports;
mod jax;
mod key_uses;
mod lanes;
pub mod layout;
mod legacy;
mod liveness;
mod loops;
mod managers;
mod migrate;
mod named_implementations;
mod names;
mod naming;
mod optional_keys;
mod purpose_names;
mod repeats;
mod reuse;
mod seeds;
mod single_keys;
mod split_apart;
mod traced_keys;
mod traced_values;
mod tree;
mod typed;
mod typed_uses;
mod untyped;
mod wrappers;
mod writer;

pub use apply::{Batch, select};
pub use context::{FixContext, KeptPair, Proof, Proposal};
pub use cross_module::CrossModuleUsage;
pub use definite_assignment::reads_unbound;
pub use diff::{hunks, unified};
pub use jax::RAW_KEY;
pub use migrate::{
    Change, FileMigration, KeyRepresentation, RawFile, Remark, WordUse, migrate, place_before, take_more,
};
pub use single_keys::SingleKeys;
pub use typed::converted;
pub use typed_uses::{KnownKey, use_of_words};

use crate::finding::{Applicability, Finding, RuleId};

/// The proposals that may resolve the finding at `index`, best first. They may resolve other findings as well.
pub fn proposals(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let Some(finding) = findings.get(index) else { return Vec::new() };
    // An intended reuse needs no fix.
    if finding.intent.is_some() {
        return Vec::new();
    }
    let mut proposals = match finding.rule {
        RuleId::KeyReused | RuleId::KeyUsedAfterSplit => reuse::propose(cx, findings, index),
        RuleId::KeyReusedInLoop => loops::propose(cx, findings, index),
        RuleId::KeyDerivedTwice => derived::propose(cx, findings, index),
        RuleId::SeedReused => seeds::propose(cx, findings, index),
        RuleId::CapturedKeyInTransform => captured::propose(cx, findings, index),
        RuleId::StoredKeyNotAdvanced => advance::stored(cx, findings, index),
        RuleId::KeyBroadcast => lanes::propose(cx, findings, index),
        RuleId::ConsumedKeyReturned => advance::passed_on(cx, findings, index),
        RuleId::SplitDiscarded => derived::bind_discarded(cx, findings, index),
        RuleId::CallerKeyIgnored => advance::ignored(cx, findings, index),
        RuleId::KeyBufferIndexed => buffer::indexed(cx, findings, index),
        RuleId::KeyArithmetic => buffer::arithmetic(cx, findings, index),
        RuleId::KeyAxesSwapped => buffer::swapped(cx, findings, index),
        RuleId::LegacyPrngkey => typed::propose(cx, findings, index),
        RuleId::RemovedKeyType => legacy::removed(cx, findings, index),
        RuleId::GlobalPrngImpl => implementations::propose(cx, findings, index),
        RuleId::RawKeyBridge => bridges::propose(cx, findings, index),
        RuleId::KeyImplMismatch => named_implementations::propose(cx, findings, index),
        RuleId::KeyLeakedFromTrace => traced_keys::leaked(cx, findings, index),
        RuleId::ConstantKeyInTrace => constant_keys::propose(cx, findings, index),
        RuleId::HostRngInTrace => host_draws::propose(cx, findings, index),
        RuleId::UnstableSeed => seeds::stable(cx, findings, index),
        RuleId::UntypedKeyAccepted => untyped::propose(cx, findings, index),
        RuleId::ArrayWrapperAsKey => wrappers::converted(cx, findings, index),
        RuleId::ArrayWrapperCrossesTransform => wrappers::registered(cx, findings, index),
        _ => Vec::new(),
    };
    if matches!(finding.rule, RuleId::KeyReusedInLoop | RuleId::SeedReused) {
        proposals.extend(constant_keys::propose(cx, findings, index));
    }
    if matches!(
        finding.rule,
        RuleId::KeyReused | RuleId::KeyReusedInLoop | RuleId::KeyUsedAfterSplit | RuleId::KeyDerivedTwice
    ) {
        proposals = dead_splits::prefer(cx, findings, index, proposals);
    }
    proposals.retain(|proposal| !proposal.edits.is_empty());
    for proposal in &mut proposals {
        let mut resolved = proposal.resolves.iter().filter_map(|at| findings.get(*at));
        // If a reuse may be intended, its fix is display-only.
        if let Some(reason) = resolved.find_map(|finding| display_only::reason(cx, finding)) {
            proposal.make_display_only(&reason);
        }
        if proposal.applicability != Applicability::Unsafe || proposal.proof != Proof::Claim {
            continue;
        }
        let calls = key_uses::calls(cx, proposal.resolves.iter().filter_map(|at| findings.get(*at)));
        if !proposal.is_optional && optional_keys::may_be_none(cx, &calls, &proposal.edits) {
            proposal.make_display_only("the key may be `None`");
        }
    }
    proposals
}

/// The order in which to fix findings: what concerns a whole file comes after what concerns a place, on which it depends.
pub fn in_order(findings: &[Finding], mut wanted: Vec<usize>) -> Vec<usize> {
    let is_whole = |index: &usize| findings.get(*index).is_some_and(|finding| finding.rule == RuleId::LegacyPrngkey);
    wanted.sort_by_key(|index| (is_whole(index), *index));
    wanted
}
