//! The `github` format: workflow commands, which GitHub Actions shows as annotations.
//!
//! In a notebook, line numbers count within the cell. The message names the cell, because an annotation has no field for it.
//!
//! **Invariant:** there is exactly one line per finding, whatever its texts contain. There are at most as many annotations as GitHub shows,
//! the most severe first; the other findings are lines in a group of the log.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::Report;
use super::neutral::{neutral, neutral_line};
use crate::finding::{Finding, Level};

/// The number of annotations of each level that GitHub shows for a step.
const MOST: usize = 10;

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut shown: BTreeMap<Level, usize> = BTreeMap::new();
    let mut is_shown = |finding: &&Finding| {
        let count = shown.entry(finding.level).or_default();
        *count += 1;
        *count <= MOST
    };
    let (annotated, logged): (Vec<&Finding>, Vec<&Finding>) =
        report.findings().iter().copied().partition(|finding| is_shown(finding));
    for finding in annotated {
        annotation(report, finding, out)?;
    }
    if logged.is_empty() {
        return Ok(());
    }
    writeln!(out, "::group::{} more: GitHub shows {MOST} annotations of each level", logged.len())?;
    for finding in logged {
        let locus = report.locus_in(&neutral(&report.relative(finding.primary.file)), finding.primary);
        writeln!(out, "{locus}: {} [{}] {}", finding.rule, finding.level, neutral(&finding.message))?;
    }
    writeln!(out, "::endgroup::")
}

fn annotation(report: &Report<'_>, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let command = match finding.level {
        Level::Note => "notice",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let file = property(&report.relative(finding.primary.file));
    let (start, end) = (report.start(finding.primary), report.end(finding.primary));
    let title = property(&format!("keylint ({} {})", finding.rule, finding.rule.name()));
    let place = format!("file={file},line={},col={}", start.row, start.column);
    let mut text = report.in_cell(finding, &neutral(&finding.message));
    if let Some(help) = &finding.help {
        text = format!("{text}\nhelp: {}", neutral(help));
    }
    let text = data(&text);
    writeln!(out, "::{command} title={title},{place},endLine={},endColumn={}::{text}", end.row, end.column)
}

/// Escapes the text of a workflow command.
fn data(text: &str) -> String {
    neutral_line(text).replace('%', "%25").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(&neutral(text)).replace(':', "%3A").replace(',', "%2C")
}
