//! The `grouped` format: the name of each file, followed by its findings, one per line.
//!
//! **Invariant:** there is exactly one line per finding; but raw keys in many files share one line.

use std::io::{self, Write};

use super::neutral::neutral;
use super::paint::{BOLD, Paint, of_level};
use super::summary::folded;
use super::{Report, concise};
use crate::finding::Finding;

pub(super) fn write(report: &Report<'_>, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint(colour);
    let findings = report.for_people();
    for group in findings.chunk_by(|one, next| one.primary.file == next.primary.file) {
        let Some(first) = group.first() else { continue };
        let name = neutral(&report.filename(first.primary.file));
        writeln!(out, "{}:", paint.with(BOLD, &name))?;
        let place = |finding: &Finding| {
            let start = report.start(finding.primary);
            let cell = report.cell_number(finding.primary).map(|cell| format!("cell {cell}:")).unwrap_or_default();
            format!("{cell}{}:{}", start.row, start.column)
        };
        let width = group.iter().map(|finding| place(finding).len()).max().unwrap_or_default();
        for finding in group {
            let code = paint.with(of_level(finding.level), &report.code(finding));
            let (place, rest) = (place(finding), concise::rest(report, finding));
            writeln!(out, "  {place:width$}  {code} {rest}")?;
        }
        writeln!(out)?;
    }
    folded(report).map_or(Ok(()), |line| writeln!(out, "{line}\n"))
}
