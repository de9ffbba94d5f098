//! The findings of an edited file on the edited lines.
//!
//! **Invariant:** every finding counts, whether it is shown or not: a fix must not consume a key that is known to be
//! consumed already.

use crate::finding::{Finding, Place, RuleId};
use crate::fix::KeptPair;
use crate::text::{Edit, Span, moved, written};

/// The rules about keys that are consumed twice.
pub(super) const REUSE: [RuleId; 4] =
    [RuleId::KeyReused, RuleId::KeyReusedInLoop, RuleId::KeyUsedAfterSplit, RuleId::KeyDerivedTwice];

/// Whether a new call shares its key with another one, or an edited call shares it with an unedited one and did not
/// before. A key that two edited calls share is a different mistake, with its own fix.
pub(super) fn shares_a_key(before: &[Finding], after: &[Finding], edits: &[Edit]) -> bool {
    let reuse = |finding: &&Finding| REUSE.contains(&finding.rule);
    let texts: Vec<Span> = edits.iter().filter_map(|edit| written(edit, edits)).collect();
    let is_edited = |call: &Span| texts.iter().any(|text| text.start < call.end && call.start < text.end);
    let is_written = |call: &Span| texts.iter().any(|text| text.contains(call.start));
    let known: Vec<[u32; 2]> =
        before.iter().filter(reuse).filter_map(calls).map(|both| both.map(|call| moved(call.start, edits))).collect();
    after.iter().filter(reuse).filter_map(calls).any(|both| {
        let edited = both.iter().filter(|call| is_edited(call)).count();
        // A call that shares a key with itself in another iteration; if edits replaced it, the new calls.
        let is_new = edited == 1 || both[0] != both[1] && both.iter().any(is_written);
        is_new && !known.contains(&both.map(|call| call.start))
    })
}

/// Whether the calls that a comment allows to share a key still share one after the edits.
pub(super) fn keeps(pairs: &[KeptPair], before: &[Finding], after: &[Finding], edits: &[Edit]) -> bool {
    let starts = |both: [Span; 2]| both.map(|call| call.start);
    let is_in = |findings: &[Finding], both: [u32; 2]| findings.iter().any(|one| calls(one).map(starts) == Some(both));
    // Only some functions may have been analysed.
    let mut pairs = pairs.iter().filter(|pair| is_in(before, starts(pair.reported)));
    pairs.all(|pair| is_in(after, starts(pair.calls).map(|start| moved(start, edits))))
}

/// The two calls of a finding, where its file makes both.
fn calls(finding: &Finding) -> Option<[Span; 2]> {
    let evidence = finding.evidence.as_ref()?;
    let call = |way: &[Place]| way.first().filter(|place| place.file == finding.primary.file).map(|place| place.span);
    Some([call(&evidence.first)?, call(&evidence.second)?])
}
