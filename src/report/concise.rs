//! The `concise` format: `path:row:column: CODE [level] message`, in a notebook `path:cell number:row:column: …`.
//!
//! **Invariant:** exactly one line per finding, but for raw keys, which many files have: one line tells of all of them.

use std::io::{self, Write};

use super::Report;
use super::neutral::neutral;
use super::summary::folded;
use crate::finding::Level;

pub(super) fn write(report: &Report<'_>, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    for finding in report.for_people() {
        let message = neutral(finding.message.lines().next().unwrap_or_default());
        let locus = report.locus(finding.primary);
        let (code, level) = (finding.rule, finding.level);
        if colour {
            let hue = match level {
                Level::Note => 36,
                Level::Warning => 33,
                Level::Error => 31,
            };
            writeln!(out, "\u{1b}[1m{locus}\u{1b}[0m: \u{1b}[1;{hue}m{code}\u{1b}[0m [{level}] {message}")?;
        } else {
            writeln!(out, "{locus}: {code} [{level}] {message}")?;
        }
    }
    folded(report).map_or(Ok(()), |line| writeln!(out, "{line}"))
}
