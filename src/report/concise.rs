//! The `concise` format: `path:row:column: CODE [level] message`, in a notebook `path:cell number:row:column: …`. `[*]` before the message
//! marks findings that can be fixed.
//!
//! **Invariant:** there is exactly one line per finding, in the order of the lines of a file; but raw keys in many files share one line.

use std::io::{self, Write};

use super::Report;
use super::neutral::neutral;
use super::paint::{BOLD, Paint, of_level};
use super::summary::folded;
use crate::finding::Finding;

pub(super) fn write(report: &Report<'_>, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint(colour);
    for finding in report.by_line() {
        let locus = paint.with(BOLD, &report.locus(finding.primary));
        let code = paint.with(of_level(finding.level), &report.code(finding));
        writeln!(out, "{locus}: {code} {}", rest(report, finding))?;
    }
    folded(report).map_or(Ok(()), |line| writeln!(out, "{line}"))
}

/// The text after the code of a finding.
pub(super) fn rest(report: &Report<'_>, finding: &Finding) -> String {
    let message = neutral(finding.message.lines().next().unwrap_or_default());
    let mark = if report.is_fixable(finding) { "[*] " } else { "" };
    format!("[{}] {mark}{message}", finding.level)
}
