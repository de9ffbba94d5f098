//! Ignore comments for findings, as edits of their files.
//!
//! **Invariant:** a finding that no comment can suppress gets none, and no other finding is touched.

use super::Outcome;
use super::run::on_workers;
use crate::finding::{Finding, RuleId};
use crate::python::SourceKind;
use crate::suppress::{self, FindingToSuppress};
use crate::text::{Edit, FileId};

/// The edits of a file that suppress these of its findings, with this reason.
pub fn ignore_comments(outcome: &Outcome, file: FileId, findings: &[&Finding], reason: &str) -> Vec<Edit> {
    let able = findings.iter().filter(|finding| finding.primary.file == file && can_be_ignored(finding.rule));
    let wanted: Vec<FindingToSuppress> =
        able.map(|finding| FindingToSuppress { rule: finding.rule, span: finding.primary.span }).collect();
    let kind = SourceKind::of_path(&outcome.files.path(file).display().to_string());
    let (text, cells) = (outcome.files.text(file), outcome.files.cells(file));
    if wanted.is_empty() {
        return Vec::new();
    }
    on_workers(1, || suppress::insertions(text, cells, kind, &wanted, reason)).unwrap_or_default()
}

/// Whether comments can suppress the findings of a rule.
pub fn can_be_ignored(rule: RuleId) -> bool {
    suppress::can_be_ignored(rule)
}
