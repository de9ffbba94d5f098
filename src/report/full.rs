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
use crate::finding::{Applicability, Confidence, ConsequenceKind, Finding, Fix, Level, Place};
use crate::rules::INSIDE;
use crate::text::{LineIndex, Span};

pub(super) fn write(report: &Report<'_>, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut patches = Vec::new();
    for (finding, copies) in copies::folded(report, &report.for_people()) {
        write_one(report, finding, &copies, colour, &mut patches, out)?;
    }
    folded(report).map_or(Ok(()), |line| writeln!(out, "{line}\n"))
}

/// Writes a finding, with the locations of its copies in other files. `patches` are the findings whose patch was already shown.
pub(super) fn write_one<'f>(
    report: &Report<'_>,
    finding: &'f Finding,
    copies: &[&Finding],
    colour: bool,
    patches: &mut Vec<&'f Finding>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let file = finding.primary.file;
    let cell = report.cell(finding.primary);
    // In a notebook, the excerpt shows the cell as if it were a file.
    let base = cell.map_or(0, |cell| cell.span.start);
    let within = |span: Span| Span::new(span.start - base, span.end - base);
    let primary = within(finding.primary.span);
    let mut marks = vec![Mark { style: LabelStyle::Primary, span: primary, message: &finding.label }];
    let mut notes: Vec<String> = Vec::new();
    let mut ways = Ways::default();
    let is_near = |place: Place| place.file == file && report.cell(place) == cell;
    for label in &finding.related {
        if is_near(label.place) {
            let span = within(label.place.span);
            marks.push(Mark { style: LabelStyle::Secondary, span, message: &label.message });
        } else {
            ways.add(&label.message, report.locus(label.place), &mut notes);
        }
    }
    ways.end(&mut notes);
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
        let why = finding.doubt.as_ref().map(|doubt| format!(": {}", neutral(doubt))).unwrap_or_default();
        notes.push(format!("note: {} confidence{why}", finding.confidence));
    }
    // A patch that follows says the same with the names of the program.
    let has_patch = finding.fix.as_ref().is_some_and(|fix| fix.applicability > Applicability::Display);
    notes.extend(finding.help.iter().filter(|_| !has_patch).map(|help| format!("help: {}", neutral(help))));
    notes.extend(finding.fix.as_ref().map(|fix| fix_note(report, finding, fix, colour, patches)));
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

/// The fix, with its patch if no finding above has the same one.
fn fix_note<'f>(
    report: &Report<'_>,
    finding: &'f Finding,
    fix: &Fix,
    colour: bool,
    patches: &mut Vec<&'f Finding>,
) -> String {
    let message = neutral(&fix.message);
    let applied = match fix.applicability {
        Applicability::Safe => "safe",
        Applicability::Unsafe => "unsafe",
        Applicability::Display => {
            let reason = fix.reason.as_ref().map(|reason| format!(": {}", neutral(reason))).unwrap_or_default();
            return format!("possible fix: {message} (not verified{reason})");
        }
    };
    let is_same = |shown: &&&Finding| {
        shown.primary.file == finding.primary.file && shown.fix.as_ref().is_some_and(|shown| shown.edits == fix.edits)
    };
    if let Some(shown) = patches.iter().find(is_same) {
        return format!("fix: fixed together with {}, by the patch above ({applied})", report.locus(shown.primary));
    }
    patches.push(finding);
    format!("fix: {message} ({applied})\n{}", patch(report, finding, fix, colour)).trim_end().to_owned()
}

/// The calls that lead to a place in another file, which are shown with it in one line.
#[derive(Default)]
struct Ways {
    /// What the calls lead to, and where they are.
    calls: Option<(String, Vec<String>)>,
}

impl Ways {
    /// Adds a label outside the excerpt: a call is kept until the label of what it leads to.
    fn add(&mut self, message: &str, at: String, notes: &mut Vec<String>) {
        if let Some(what) = message.strip_suffix(INSIDE) {
            if self.calls.as_ref().is_none_or(|(known, _)| known != what) {
                self.end(notes);
            }
            self.calls.get_or_insert_with(|| (what.to_owned(), Vec::new())).1.push(at);
            return;
        }
        let through = match self.calls.take_if(|(what, _)| message.starts_with(&format!("{what} here"))) {
            Some((_, calls)) => format!(", through {}", calls.join(" → ")),
            None => String::new(),
        };
        self.end(notes);
        notes.push(format!("note: {}: {at}{through}", neutral(message)));
    }

    /// Shows the calls that no label followed.
    fn end(&mut self, notes: &mut Vec<String>) {
        if let Some((what, calls)) = self.calls.take() {
            notes.push(format!("note: {}{INSIDE}: {}", neutral(&what), calls.join(" → ")));
        }
    }
}

pub(super) fn severity(level: Level) -> Severity {
    match level {
        Level::Note => Severity::Note,
        Level::Warning => Severity::Warning,
        Level::Error => Severity::Error,
    }
}
