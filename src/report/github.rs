//! The `github` format: workflow commands, which GitHub Actions shows as annotations.
//!
//! A notebook's lines are those of the cell that the text names, since an annotation has no place for it.
//!
//! **Invariant:** exactly one line per finding, whatever its texts hold.

use std::io::{self, Write};

use super::Report;
use crate::finding::Level;

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for finding in report.findings() {
        let command = match finding.level {
            Level::Note => "notice",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        let file = report.relative(finding.primary.file);
        let (start, end) = (report.start(finding.primary), report.end(finding.primary));
        let title = property(&format!("keylint ({})", finding.rule));
        let place = format!("file={},line={},col={}", property(&file), start.row, start.column);
        let message = finding.message.lines().next().unwrap_or_default();
        let text = data(&format!("{}: {} {message}", report.locus_in(&file, finding.primary), finding.rule));
        writeln!(out, "::{command} title={title},{place},endLine={},endColumn={}::{text}", end.row, end.column)?;
    }
    Ok(())
}

/// Escapes the text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
