//! Copied code: findings with the same message on the same line in several files.
//!
//! **Invariant:** each finding is shown once, either in full or as a location below the first of its copies.

use std::collections::BTreeMap;

use super::Report;
use crate::finding::{Finding, RuleId};
use crate::text::FileId;

/// The minimum number of findings that are shown as one. Two are short enough to show in full.
const FEWEST: usize = 3;

/// What copies have in common: the rule, the message, the line, and the number of such findings before it in the file.
type Shape<'a> = (RuleId, &'a str, &'a str, usize);

/// The findings to show, each with its copies in later files.
pub(super) fn folded<'a>(report: &Report<'a>, findings: &[&'a Finding]) -> Vec<(&'a Finding, Vec<&'a Finding>)> {
    let mut before: BTreeMap<(FileId, RuleId, &str, &str), usize> = BTreeMap::new();
    let mut copies: BTreeMap<Shape<'a>, Vec<usize>> = BTreeMap::new();
    for (index, finding) in findings.iter().enumerate() {
        let line = report.line(finding.primary).trim();
        let count = before.entry((finding.primary.file, finding.rule, &finding.message, line)).or_default();
        copies.entry((finding.rule, &finding.message, line, *count)).or_default().push(index);
        *count += 1;
    }
    let mut folded: Vec<_> = findings.iter().map(|finding| Some((*finding, Vec::new()))).collect();
    for indices in copies.values().filter(|indices| indices.len() >= FEWEST) {
        let [first, rest @ ..] = &indices[..] else { continue };
        for index in rest {
            folded[*index] = None;
        }
        if let Some((_, copies)) = &mut folded[*first] {
            copies.extend(rest.iter().map(|index| findings[*index]));
        }
    }
    folded.into_iter().flatten().collect()
}
