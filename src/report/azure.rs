//! The `azure` format: logging commands, which Azure Pipelines shows as issues of a build.
//!
//! In a notebook, line numbers count within the cell. The message names the cell, because an issue has no field for it.
//!
//! **Invariant:** there is exactly one line per finding, whatever its texts contain.

use std::io::{self, Write};

use super::Report;
use super::neutral::{neutral, neutral_line};
use crate::finding::Level;

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for finding in report.findings() {
        // Azure Pipelines has only these two types.
        let kind = if finding.level == Level::Error { "error" } else { "warning" };
        let file = property(&report.relative(finding.primary.file));
        let start = report.start(finding.primary);
        let message = escaped(&report.in_cell(finding, &neutral(&finding.message)));
        let place = format!("sourcepath={file};linenumber={};columnnumber={}", start.row, start.column);
        writeln!(out, "##vso[task.logissue type={kind};{place};code={};]{message}", finding.rule)?;
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    text.replace('%', "%AZP25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(&neutral_line(text)).replace(';', "%3B").replace(']', "%5D")
}
