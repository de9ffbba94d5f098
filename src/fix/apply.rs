//! Which fixes are applied together.
//!
//! **Invariant:** the edits of a batch do not overlap, no two fixes of it insert at one place, and none removes a name that another reads;
//! a fix that has to wait comes in a later round, after a new analysis.

use std::collections::{BTreeMap, BTreeSet};

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

/// The fixes that can be applied together, file by file, in order.
pub fn select<'a>(
    findings: impl IntoIterator<Item = &'a Finding>,
    text_of: impl Fn(FileId) -> &'a str,
) -> BTreeMap<FileId, Batch> {
    let mut batches: BTreeMap<FileId, (Batch, Vec<NameEffects<'a>>)> = BTreeMap::new();
    for finding in findings {
        let Some(fix) = &finding.fix else { continue };
        let names = NameEffects::of(text_of(finding.primary.file), fix);
        let (batch, taken) = batches.entry(finding.primary.file).or_default();
        if taken.iter().any(|other| other.edits == fix.edits) {
            batch.resolved.push(finding.rule);
        } else if fix.edits.iter().all(|edit| batch.edits.iter().all(|other| are_apart(edit.span, other.span)))
            && taken.iter().all(|other| names.leave(other) && other.leave(&names))
        {
            batch.resolved.push(finding.rule);
            batch.edits.extend(fix.edits.iter().cloned());
            batch.edits.sort_by_key(|edit| edit.span);
            taken.push(names);
        }
    }
    batches.into_iter().map(|(file, (batch, _))| (file, batch)).collect()
}

/// Whether two edits can be applied together: they neither overlap nor touch.
fn are_apart(one: Span, other: Span) -> bool {
    one.end < other.start || other.end < one.start
}

/// The effect of a fix on names. Each fix was validated alone, so two are compatible only if neither needs what the other removes.
#[derive(Default)]
pub struct NameEffects<'a> {
    /// The edits of the fix.
    edits: &'a [Edit],
    /// The names that it no longer binds.
    unbound: BTreeSet<&'a str>,
    /// The names that it adds.
    written: BTreeSet<&'a str>,
}

impl<'a> NameEffects<'a> {
    /// Compares the names in the text before and after a fix.
    pub fn of(text: &'a str, fix: &'a Fix) -> Self {
        let mut names = Self { edits: &fix.edits, ..Self::default() };
        for edit in &fix.edits {
            let before = text.get(edit.span.range()).unwrap_or_default();
            let (old, new) = (identifiers(before), identifiers(&edit.content));
            let rest = text.get(edit.span.start as usize..).unwrap_or_default();
            let targets = targets(rest).map_or(0, |end| end.min(before.len()));
            names.unbound.extend(identifiers(before.get(..targets).unwrap_or_default()).difference(&new));
            names.written.extend(new.difference(&old));
        }
        names
    }

    /// Whether all names that the fix needs are still there after another fix.
    pub fn leave(&self, other: &Self) -> bool {
        self.unbound.is_disjoint(&other.written)
    }
}

/// The end of the targets of an assignment, if a line continues some: before the first `=` outside brackets.
pub fn targets(rest: &str) -> Option<usize> {
    let line = rest.lines().next().unwrap_or_default();
    let mut depth = 0_i32;
    for (at, character) in line.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 0 => return None,
            ')' | ']' => depth -= 1,
            '=' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// The names in a piece of code.
fn identifiers(code: &str) -> BTreeSet<&str> {
    let is_part = |one: char| one.is_alphanumeric() || one == '_';
    code.split(|one| !is_part(one)).filter(|word| word.starts_with(|one: char| !one.is_numeric())).collect()
}
