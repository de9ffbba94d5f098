//! Notebooks, and scripts with cell markers: a cell shows its last value, and may start again from its own seed.
//!
//! **Invariant:** the results depend on which cells contain a finding's places, and on whether its draws meet.

use std::collections::BTreeSet;

use crate::finding::{ConsequenceKind, Evidence, Finding, Intent, IntentKind, Level, Place, RuleId};
use crate::text::{Cells, Span};

/// Rules that warn about a key that gives the same numbers in a later call, or elsewhere.
const SERVES_AGAIN: [RuleId; 6] = [
    RuleId::SeedReused,
    RuleId::CapturedKeyInTransform,
    RuleId::StoredKeyNotAdvanced,
    RuleId::KeyBroadcast,
    RuleId::ConsumedKeyReturned,
    RuleId::ConstantKeyInTrace,
];

/// The name for code outside all functions.
const MODULE: &str = "<module>";

/// Whether a place is the last expression of a cell, whose value a notebook shows.
pub fn is_shown(cells: &Cells, text: &str, span: Span) -> bool {
    let slice = |start: u32, end: u32| text.get(Span::new(start, end).range()).unwrap_or_default();
    cells.around(span.start).is_some_and(|cell| {
        let before = slice(cell.span.start, span.start);
        (before.is_empty() || before.ends_with(['\n', '\r'])) && slice(span.end, cell.span.end).trim().is_empty()
    })
}

/// Makes findings across several cells of a file notes: cells of a tutorial start again from their own seed, or each
/// demonstrate one thing with the existing key. `marks` are the places of cell markers, if the file is not a notebook.
///
/// For draws from one key, this applies only if their results never meet, and only to the first in each cell. Two
/// samplers that two cells call directly are notes only if cells use both results, and no function or container does. A key that a
/// cell draws from and a later one splits counts only if the earlier cell calls the sampler directly.
pub fn note_separate_cells(cells: &Cells, marks: &[u32], findings: &mut [Finding]) {
    let cell = |place: Place| match cells.around(place.span.start) {
        Some(cell) => cell.number as usize,
        None => marks.partition_point(|mark| *mark <= place.span.start),
    };
    let mut begun = BTreeSet::new();
    for finding in findings.iter_mut() {
        let (own, here) = (finding.primary.file, cell(finding.primary));
        let is_elsewhere = |place: &Place| place.file == own && cell(*place) != here;
        let elsewhere = match finding.rule {
            RuleId::SeedReused => finding.related.iter().map(|label| label.place).find(is_elsewhere),
            RuleId::KeyReused | RuleId::KeyDerivedTwice if are_apart(finding) => {
                let is_followed = |evidence: &&Evidence| !(evidence.is_open && are_samplers(evidence));
                let used =
                    finding.evidence.as_ref().filter(is_followed).and_then(|evidence| evidence.first.first()).copied();
                used.filter(|used| is_elsewhere(used) && begun.insert((here, *used)))
            }
            RuleId::KeyUsedAfterSplit if are_stored(finding) => match finding.evidence.as_ref() {
                Some(Evidence { first, .. }) if first.len() == 1 => first.first().copied().filter(is_elsewhere),
                _ => None,
            },
            _ => None,
        };
        if let Some(elsewhere) = elsewhere {
            finding.note_intent(Intent::new(IntentKind::SeparateCells, Some(elsewhere)));
        }
    }
}

/// Makes reuse in a notebook a note if it happens in what the cells call: a cell tries something with the current key, shows the result, and
/// runs again. Two samplers that cells call directly are still findings, and so is everything that one cell does directly with one key, and a
/// loop whose draws meet or whose calls get what earlier ones drew.
/// Functions that a notebook defines are judged like those of modules, except for warnings that a key is used again by a later call, or by
/// all batch elements.
pub fn note_cells(cells: &Cells, findings: &mut [Finding]) {
    let meet = |finding: &Finding| finding.consequence.as_ref().is_some_and(|it| it.kind == ConsequenceKind::Meet);
    let is_carried =
        |finding: &Finding| finding.consequence.as_ref().is_some_and(|it| it.kind == ConsequenceKind::Carried);
    let are_drawn_here = |finding: &Finding| finding.evidence.as_ref().is_none_or(are_samplers);
    let warns = |finding: &Finding| {
        SERVES_AGAIN.contains(&finding.rule)
            && !(finding.rule == RuleId::SeedReused && meet(finding) && are_drawn_here(finding))
    };
    let cell = |place: &Place| cells.around(place.span.start).map(|cell| cell.number);
    let is_done_here = |evidence: &Evidence| match (evidence.first.as_slice(), evidence.second.as_slice()) {
        ([first], [second]) => evidence.draws_numbers || cell(first) == cell(second),
        _ => false,
    };
    let is_computed = |finding: &Finding| {
        finding.function == MODULE && finding.evidence.as_ref().is_some_and(|evidence| !is_done_here(evidence))
    };
    let is_shown = |finding: &&mut Finding| finding.rule.may_be_intended() && finding.level > Level::Note;
    for finding in findings.iter_mut().filter(is_shown).filter(|_| !cells.is_empty()) {
        let reason = match finding.rule {
            RuleId::SeedReused if warns(finding) => "each computation in the notebook starts from its own seed",
            _ if warns(finding) => "a cell should show the same result when it runs again",
            // What a loop computes from its own earlier results is no attempt.
            RuleId::KeyReusedInLoop if meet(finding) || is_carried(finding) => continue,
            _ if is_computed(finding) => "a cell of a notebook tries something with the current key",
            _ => continue,
        };
        finding.note_intent(Intent::because(IntentKind::Demonstration, reason, None));
    }
}

/// Whether the cells themselves call two samplers.
fn are_samplers(evidence: &Evidence) -> bool {
    evidence.draws_numbers && evidence.first.len() == 1 && evidence.second.len() == 1
}

/// Whether both draws of a finding are stored, and nothing visible uses both.
fn are_stored(finding: &Finding) -> bool {
    finding.consequence.as_ref().is_some_and(|consequence| consequence.kind == ConsequenceKind::Stored)
}

/// Whether nothing is known to see both draws of a finding.
fn are_apart(finding: &Finding) -> bool {
    let kind = finding.consequence.as_ref().map(|consequence| consequence.kind);
    matches!(kind, Some(ConsequenceKind::Stored | ConsequenceKind::Escapes))
}
