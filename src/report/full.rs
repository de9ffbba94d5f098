//! The `full` format: an excerpt per finding, with all that is known about it.
//!
//! **Invariant:** places in the finding's own file are labels in the excerpt, those in other files are notes.

use std::io::{self, Write};

use codespan_reporting::diagnostic::{Diagnostic, LabelStyle, Severity};

use super::Report;
use super::excerpt::{Excerpt, Mark};
use super::neutral::neutral;
use crate::finding::{Applicability, Confidence, Finding, Level};

pub(super) fn write(report: &Report<'_>, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    report.findings().iter().try_for_each(|finding| write_one(report, finding, colour, out))
}

fn write_one(report: &Report<'_>, finding: &Finding, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let file = finding.primary.file;
    let mut marks = vec![Mark { style: LabelStyle::Primary, span: finding.primary.span, message: &finding.label }];
    let mut notes = Vec::new();
    for label in &finding.related {
        if label.place.file == file {
            marks.push(Mark { style: LabelStyle::Secondary, span: label.place.span, message: &label.message });
        } else {
            notes.push(format!("note: {}: {}", neutral(&label.message), report.locus(label.place)));
        }
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
            Applicability::Safe => "safe",
            Applicability::Unsafe => "unsafe",
            Applicability::Display => "not verified",
        };
        notes.push(format!("fix: {} ({applied})", neutral(&fix.message)));
    }
    let Some(lines) = report.lines.get(&file) else { return Ok(()) };
    let (excerpt, labels) = Excerpt::new(&report.filename(file), report.text(file), lines, &marks);
    let diagnostic = Diagnostic::new(severity(finding.level))
        .with_code(finding.code)
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
