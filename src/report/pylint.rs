//! The `pylint` format: `path:row: [CODE] message`, which many editors and build servers can read.
//!
//! **Invariant:** there is exactly one line per finding.

use std::io::{self, Write};

use super::Report;
use super::neutral::neutral;

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for finding in report.findings() {
        let path = neutral(&report.relative(finding.primary.file));
        let (cell, row) = (report.cell_suffix(finding.primary), report.start(finding.primary).row);
        let message = neutral(finding.message.lines().next().unwrap_or_default());
        writeln!(out, "{path}{cell}:{row}: [{}] {message}", finding.rule)?;
    }
    Ok(())
}
