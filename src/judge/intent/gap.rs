//! Gaps that an exercise leaves to its readers: `loss = # your code here` in a cell of a notebook, or a function that is only a comment.
//!
//! **Invariant:** the cell is not valid Python because something is missing right before a comment, or all of a block but a comment.

use crate::finding::{Finding, Intent, IntentKind, Level, Place, RuleId};
use crate::text::Span;

use super::said_so::Written;

/// What stands before a gap, or for it.
const MARKS: [&str; 4] = ["=", "(", ",", "..."];

/// Makes syntax errors in lines with a gap before a comment notes.
pub fn note_gaps(written: Written<'_>, findings: &mut [Finding]) {
    for finding in findings.iter_mut() {
        if finding.rule != RuleId::SyntaxError || finding.level <= Level::Note {
            continue;
        }
        if let Some(comment) = comment_at_gap(written, finding.primary.span) {
            let reason = format!("the line has a gap to fill in: \"{}\"", written.slice(comment));
            let place = Place { file: finding.primary.file, span: comment };
            finding.note_intent(Intent::because(IntentKind::SaidSo, &reason, Some(place)));
        }
    }
}

/// The comment of the line in which an error is, if something is missing before it, or a comment that is all of a block.
fn comment_at_gap(written: Written<'_>, error: Span) -> Option<Span> {
    let row = written.lines.row(error.start);
    let code_before = |row: u32| {
        let line = written.lines.line(written.text, row);
        let from = written.comments.partition_point(|comment| comment.start < line.start);
        let comment = written.comments.get(from).copied().filter(|comment| line.covers(*comment));
        let end = comment.map_or(line.end, |comment| comment.start);
        (written.slice(Span::new(line.start, end)).trim(), comment)
    };
    let (code, comment) = code_before(row);
    let beside = comment.filter(|_| MARKS.iter().any(|mark| code.ends_with(mark)));
    // The error is where the block should be, or after it.
    let block = |row: u32| {
        let (code, comment) = code_before(row);
        let is_block = code.is_empty() && row > 1 && code_before(row - 1).0.ends_with(':');
        comment.filter(|_| is_block)
    };
    beside.or_else(|| block(row + 1)).or_else(|| block(row.saturating_sub(1)))
}
