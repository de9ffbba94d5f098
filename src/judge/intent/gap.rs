//! Gaps that an exercise leaves to its readers: `loss = # your code here` in a cell of a notebook, or a function that is only a comment.
//!
//! **Invariant:** the cell is not valid Python because something is missing right before a comment, or all of a block but a comment.

use crate::finding::{Finding, Intent, IntentKind, Level, Place, RuleId};
use crate::text::{Cells, Span};

use super::said_so::Written;

/// What some authors write for a gap.
const ELLIPSIS: &str = "...";

/// Most lines of comments, and empty ones, in a block.
const LINES: u32 = 32;

/// Makes syntax errors in lines with a gap before a comment notes.
pub fn note_gaps(written: Written<'_>, cells: &Cells, findings: &mut [Finding]) {
    for finding in findings.iter_mut() {
        if finding.rule != RuleId::SyntaxError || finding.level <= Level::Note {
            continue;
        }
        let Some(cell) = cells.around(finding.primary.span.start) else { continue };
        if let Some(comment) = comment_at_gap(written, cell.span, finding.primary.span) {
            let reason = format!("the cell has a gap to fill in: \"{}\"", written.slice(comment));
            let place = Place { file: finding.primary.file, span: comment };
            finding.note_intent(Intent::because(IntentKind::SaidSo, &reason, Some(place)));
        }
    }
}

/// The comment behind a gap at which an error is, or the comment that is all of the block that an error misses.
fn comment_at_gap(written: Written<'_>, cell: Span, error: Span) -> Option<Span> {
    let row = written.lines.row(error.start);
    let line = Line::of(written, row);
    line.comment_behind_gap(written, error)
        .or_else(|| comment_for_block(written, cell, error, row + 1))
        .or_else(|| comment_for_block(written, cell, error, row.checked_sub(1)?))
}

/// A line: its code, without a comment, and that comment.
struct Line<'a> {
    /// Where it begins.
    start: u32,
    code: &'a str,
    comment: Option<Span>,
}

impl<'a> Line<'a> {
    fn of(written: Written<'a>, row: u32) -> Self {
        let line = written.lines.line(written.text, row);
        let from = written.comments.partition_point(|comment| comment.start < line.start);
        let comment = written.comments.get(from).copied().filter(|comment| line.covers(*comment));
        let end = comment.map_or(line.end, |comment| comment.start);
        Self { start: line.start, code: written.slice(Span::new(line.start, end)).trim_end(), comment }
    }

    fn indentation(&self) -> usize {
        self.code.len() - self.code.trim_start().len()
    }

    /// The comment, if the error is a value that is missing right before it: `x = # …`, `f(x=) # …`, `f... # …`.
    fn comment_behind_gap(&self, written: Written<'_>, error: Span) -> Option<Span> {
        let comment = self.comment?;
        let before = written.slice(Span::new(self.start, error.start.min(comment.start))).trim_end();
        let between = written.slice(Span::new(error.start.min(comment.start), comment.start)).trim();
        let is_value = before.ends_with('=') && !before.ends_with("==");
        let is_gap = is_value || before.ends_with(ELLIPSIS) || between.starts_with(ELLIPSIS);
        let is_end = between.chars().all(|letter| ".,:)]}".contains(letter));
        (is_gap && is_end).then_some(comment)
    }
}

/// The comment in a line, if it is the first of a block without code, and the error is that there is none. Code below a header that is not
/// indented itself may be the block, indented too little.
fn comment_for_block(written: Written<'_>, cell: Span, error: Span, row: u32) -> Option<Span> {
    let line = Line::of(written, row);
    let comment = line.comment.filter(|comment| line.code.is_empty() && cell.covers(*comment))?;
    let header = Line::of(written, row.checked_sub(1).filter(|above| *above > 0)?);
    let colon = header.start + u32::try_from(header.code.strip_suffix(':')?.len()).ok()?;
    let is_within = (comment.start - line.start) as usize > header.indentation();
    let rows = row + 1..=written.lines.row(cell.end).min(row + LINES);
    let mut below = rows.map(|row| Line::of(written, row)).filter(|line| line.start < cell.end);
    let is_empty = below
        .find(|line| !line.code.is_empty())
        .is_none_or(|line| header.indentation() > 0 && line.indentation() <= header.indentation());
    (is_within && is_empty && error.start >= colon).then_some(comment)
}
