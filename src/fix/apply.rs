//! Which fixes are applied together.
//!
//! **Invariant:** the edits of a batch do not overlap, and no two fixes of it insert at one place; a fix that has to wait comes in a
//! later round, after a new analysis.

use std::collections::BTreeMap;

use crate::finding::{Finding, Fix, RuleId};
use crate::text::{Edit, FileId, Span};

/// The edits of one file that are applied in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The edits, sorted.
    pub edits: Vec<Edit>,
    /// The rules of the findings that they resolve.
    pub resolved: Vec<RuleId>,
}

/// The fixes of findings that can be applied together, file by file, first come first served.
pub fn select<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> BTreeMap<FileId, Batch> {
    let mut batches: BTreeMap<FileId, (Batch, Vec<&'a Fix>)> = BTreeMap::new();
    for finding in findings {
        let Some(fix) = &finding.fix else { continue };
        let (batch, taken) = batches.entry(finding.primary.file).or_default();
        if taken.iter().any(|other| other.edits == fix.edits) {
            batch.resolved.push(finding.rule);
        } else if fix.edits.iter().all(|edit| batch.edits.iter().all(|other| are_apart(edit.span, other.span))) {
            batch.resolved.push(finding.rule);
            batch.edits.extend(fix.edits.iter().cloned());
            batch.edits.sort_by_key(|edit| edit.span);
            taken.push(fix);
        }
    }
    batches.into_iter().map(|(file, (batch, _))| (file, batch)).collect()
}

/// Whether two edits can be applied together: they neither overlap nor touch.
fn are_apart(one: Span, other: Span) -> bool {
    one.end < other.start || other.end < one.start
}
