//! The `rdjson` format of reviewdog.
//!
//! **Invariant:** columns count bytes of UTF-8, as the format requires.

use std::io::{self, Write};

use serde::Serialize;

use super::Report;
use super::neutral::escape_json;
use crate::finding::{Finding, Level, Place, Verdict};
use crate::text::{Edit, Span, apply_edits};

/// The maximum number of lines that one suggestion replaces.
const MOST_LINES: usize = 40;

#[derive(Serialize)]
struct Root<'a> {
    source: Source<'a>,
    diagnostics: Vec<Diagnostic<'a>>,
}

#[derive(Serialize)]
struct Source<'a> {
    name: &'a str,
    url: &'a str,
}

#[derive(Serialize)]
struct Diagnostic<'a> {
    message: String,
    location: Location,
    severity: &'a str,
    code: Code<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<Suggestion>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Related>,
}

#[derive(Serialize)]
struct Location {
    path: String,
    range: Range,
}

#[derive(Serialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Serialize)]
struct Position {
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct Code<'a> {
    value: &'a str,
    url: String,
}

#[derive(Serialize)]
struct Suggestion {
    range: Range,
    text: String,
}

#[derive(Serialize)]
struct Related {
    message: String,
    location: Location,
}

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let root = Root {
        source: Source { name: "keylint", url: env!("CARGO_PKG_REPOSITORY") },
        diagnostics: report.findings().iter().map(|finding| diagnostic(report, finding)).collect(),
    };
    let json = serde_json::to_string_pretty(&root).map_err(io::Error::other)?;
    writeln!(out, "{}", escape_json(&json))
}

fn diagnostic<'a>(report: &Report<'_>, finding: &'a Finding) -> Diagnostic<'a> {
    let fix = finding.fix.as_ref().filter(|fix| fix.verdict == Verdict::Verified);
    // In a notebook, edits of the code are not edits of the JSON document.
    let fix = fix.filter(|_| report.cell(finding.primary).is_none());
    let file = finding.primary.file;
    let mut text = message(report, finding.primary, &finding.message);
    if let Some(help) = &finding.help {
        text = format!("{text}\nhelp: {help}");
    }
    Diagnostic {
        message: text,
        location: location(report, finding.primary),
        severity: match finding.level {
            Level::Note => "INFO",
            Level::Warning => "WARNING",
            Level::Error => "ERROR",
        },
        code: Code { value: finding.rule.code(), url: super::page_url(finding) },
        suggestions: fix
            .and_then(|fix| joined(report.text(file), &fix.edits))
            .map(|edit| Suggestion { range: range(report, Place { file, span: edit.span }), text: edit.content })
            .into_iter()
            .collect(),
        related_locations: finding
            .related
            .iter()
            .map(|label| Related {
                message: message(report, label.place, &label.message),
                location: location(report, label.place),
            })
            .collect(),
    }
}

/// Joins several edits into one, because a reviewer applies suggestions one by one, and one edit of several would be useless. `None` if
/// they are too far apart.
fn joined(text: &str, edits: &[Edit]) -> Option<Edit> {
    let (first, last) = (edits.first()?, edits.last()?);
    let span = Span::new(first.span.start, last.span.end);
    let before = text.get(span.range())?;
    if before.lines().count() > MOST_LINES {
        return None;
    }
    let within = edits.iter().map(|Edit { span: own, content }| Edit {
        span: Span::new(own.start - span.start, own.end - span.start),
        content: content.clone(),
    });
    let content = apply_edits(before, &within.collect::<Vec<_>>()).ok()?;
    Some(Edit { span, content })
}

/// The message with the cell, because locations have no field for it.
fn message(report: &Report<'_>, place: Place, message: &str) -> String {
    match report.cell_number(place) {
        Some(cell) => format!("{message} (cell {cell})"),
        None => message.to_owned(),
    }
}

fn location(report: &Report<'_>, place: Place) -> Location {
    Location { path: report.relative(place.file), range: range(report, place) }
}

fn range(report: &Report<'_>, place: Place) -> Range {
    let [start, end] = report.byte_positions(place).map(|(line, column)| Position { line, column });
    Range { start, end }
}
