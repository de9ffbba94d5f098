//! The `full` format: an excerpt per finding, with everything that is known about it.
//!
//! **Invariant:** locations in the finding's own file (in a notebook, its own cell) are labels in the excerpt; others are notes.

use std::io::{self, Write};

use codespan_reporting::diagnostic::{Diagnostic, LabelStyle, Severity};

use super::Report;
use super::copies;
use super::excerpt::{Excerpt, Mark};
use super::neutral::neutral;
use super::patch::patch;
use super::summary::folded;
use crate::finding::{Applicability, Confidence, ConsequenceKind, Finding, Level, Place};
use crate::text::{LineIndex, Span};

pub(super) fn write(report: &Report<'_>, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    for (finding, copies) in copies::folded(report, &report.for_people()) {
        write_one(report, finding, &copies, colour, out)?;
    }
    folded(report).map_or(Ok(()), |line| writeln!(out, "{line}\n"))
}

/// Writes a finding, with the locations of its copies in other files.
pub(super) fn write_one(
    report: &Report<'_>,
    finding: &Finding,
    copies: &[&Finding],
    colour: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let file = finding.primary.file;
    let cell = report.cell(finding.primary);
    // In a notebook, the excerpt shows the cell as if it were a file.
    let base = cell.map_or(0, |cell| cell.span.start);
    let within = |span: Span| Span::new(span.start - base, span.end - base);
    let primary = within(finding.primary.span);
    let mut marks = vec![Mark { style: LabelStyle::Primary, span: primary, message: &finding.label }];
    let mut notes = Vec::new();
    let is_near = |place: Place| place.file == file && report.cell(place) == cell;
    for label in &finding.related {
        if is_near(label.place) {
            let span = within(label.place.span);
            marks.push(Mark { style: LabelStyle::Secondary, span, message: &label.message });
        } else {
            notes.push(format!("note: {}: {}", neutral(&label.message), report.locus(label.place)));
        }
    }
    let intent = finding.intent.as_ref().map(|intent| ("probably intended: ", &intent.reason, intent.place));
    // Without a location, it is not informative that both draws are returned, stored or escape.
    let is_plain =
        |kind| matches!(kind, ConsequenceKind::Returned | ConsequenceKind::Stored | ConsequenceKind::Escapes);
    let consequence = finding.consequence.as_ref().filter(|fate| fate.place.is_some() || !is_plain(fate.kind));
    let consequence = consequence.map(|fate| ("", &fate.message, fate.place));
    for (lead, sentence, place) in consequence.into_iter().chain(intent) {
        // The label says what the location is evidence of.
        if let Some(place) = place.filter(|place| lead.is_empty() && is_near(*place)) {
            let span = within(place.span);
            if marks.iter().all(|mark| mark.span != span) {
                marks.push(Mark { style: LabelStyle::Secondary, span, message: sentence });
                continue;
            }
        }
        let at = match place {
            Some(place) if is_near(place) => {
                let span = within(place.span);
                let is_free = marks.iter().all(|mark| mark.span != span);
                let message = if lead.is_empty() { sentence } else { "evidence of the intent" };
                marks.extend(is_free.then_some(Mark { style: LabelStyle::Secondary, span, message }));
                if is_free && lead.is_empty() {
                    continue;
                }
                String::new()
            }
            Some(place) => format!(": {}", report.locus(place)),
            None => String::new(),
        };
        notes.push(format!("note: {lead}{}{at}", neutral(sentence)));
    }
    if let Some(witness) = finding.witness.as_ref().filter(|witness| !witness.sentence.is_empty()) {
        notes.push(format!("note: {}", neutral(&witness.sentence)));
    }
    if finding.confidence < Confidence::High {
        notes.push(format!("note: {} confidence", finding.confidence));
    }
    notes.extend(finding.help.iter().map(|help| format!("help: {}", neutral(help))));
    if let Some(fix) = &finding.fix {
        let applied = match fix.applicability {
            Applicability::Safe => "safe".to_owned(),
            Applicability::Unsafe => "unsafe".to_owned(),
            Applicability::Display => match &fix.reason {
                Some(reason) => format!("not verified: {}", neutral(reason)),
                None => "not verified".to_owned(),
            },
        };
        let patch = if fix.applicability == Applicability::Display {
            String::new()
        } else {
            patch(report, finding, fix, colour)
        };
        let note = format!("fix: {} ({applied})\n{patch}", neutral(&fix.message));
        notes.push(note.trim_end().to_owned());
    }
    if !copies.is_empty() {
        let places = copies.iter().map(|copy| format!("\n{}", report.locus(copy.primary)));
        notes.push(format!(
            "note: the same line is reported in {} other files:{}",
            copies.len(),
            places.collect::<String>()
        ));
    }
    let Some(lines) = report.lines.get(&file) else { return Ok(()) };
    let name = report.filename(file) + &report.cell_suffix(finding.primary);
    let (excerpt, labels) = match cell.and_then(|cell| report.text(file).get(cell.span.range())) {
        Some(code) => Excerpt::new(&name, code, &LineIndex::new(code), &marks),
        None => Excerpt::new(&name, report.text(file), lines, &marks),
    };
    let diagnostic = Diagnostic::new(severity(finding.level))
        .with_code(report.code(finding))
        .with_message(neutral(&finding.message))
        .with_labels(labels)
        .with_notes(notes);
    excerpt.render(&diagnostic, colour, out)
}

pub(super) fn severity(level: Level) -> Severity {
    match level {
        Level::Note => Severity::Note,
        Level::Warning => Severity::Warning,
        Level::Error => Severity::Error,
    }
}
