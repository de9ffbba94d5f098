//! The patch of a fix below its finding: the lines that change, with their numbers.
//!
//! **Invariant:** the lines are neutralised and bounded in length and number, whatever the source contains.

use std::fmt::Write;

use similar::{ChangeTag, TextDiff};

use super::Report;
use super::neutral;
use super::paint::{GREEN, Paint, RED};
use crate::finding::{Finding, Fix, Place};
use crate::text::{Edit, LineIndex, Span, apply_edits};

/// How many unchanged lines are shown before and after a change.
const CONTEXT: u32 = 1;
/// The maximum number of lines of a patch.
const MOST_LINES: usize = 30;
/// The maximum number of characters of a line.
const WIDTH: usize = 120;

/// The lines of a patch, each with a line end.
pub(super) fn patch(report: &Report<'_>, finding: &Finding, fix: &Fix, colour: bool) -> String {
    let file = finding.primary.file;
    let text = report.text(file);
    let Some(index) = report.lines.get(&file) else { return String::new() };
    let mut lines: Vec<String> = Vec::new();
    for group in groups(index, &fix.edits) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let cell = report.cell(Place { file, span: first.span });
        let within = cell.map_or(Span::new(0, u32::try_from(text.len()).unwrap_or(u32::MAX)), |cell| cell.span);
        let rows = index.row(first.span.start).saturating_sub(CONTEXT).max(1)..=index.row(last.span.end) + CONTEXT;
        let start = index.line(text, *rows.start()).start.max(within.start);
        let last_row = (*rows.end()).min(index.line_count());
        let end = index.line(text, last_row + 1).start.max(index.line(text, last_row).end).min(within.end);
        let Some(before) = text.get(start as usize..end as usize) else { continue };
        let moved: Vec<Edit> = group
            .iter()
            .filter(|edit| start <= edit.span.start && edit.span.end <= end)
            .map(|edit| Edit {
                span: Span::new(edit.span.start - start, edit.span.end - start),
                content: edit.content.clone(),
            })
            .collect();
        let Ok(after) = apply_edits(before, &moved) else { continue };
        if !lines.is_empty() {
            lines.push("...".to_owned());
        }
        if let Some(cell) = cell.filter(|cell| report.cell_number(finding.primary) != Some(cell.number)) {
            lines.push(format!("in cell {}:", cell.number));
        }
        let row = report.position(Place { file, span: Span::new(start, start) }, start).row;
        changed(before, &after, row, Paint(colour), &mut lines);
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    let mut patch = String::new();
    for line in lines.into_iter().take(MOST_LINES) {
        patch.push_str(&line);
        patch.push('\n');
    }
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(patch, "... and {more} more lines; `--diff` shows them");
    }
    patch
}

/// Groups edits between which no line would be omitted.
fn groups<'e>(index: &LineIndex, edits: &'e [Edit]) -> Vec<&'e [Edit]> {
    let is_near = |one: &Edit, next: &Edit| index.row(next.span.start) <= index.row(one.span.end) + 2 * CONTEXT + 1;
    edits.chunk_by(is_near).collect()
}

/// Adds the changed lines of one group, which starts at this row of the file.
fn changed(before: &str, after: &str, row: u32, paint: Paint, lines: &mut Vec<String>) {
    let diff = TextDiff::from_lines(before, after);
    let width = (row as usize + diff.iter_all_changes().count()).to_string().len();
    let (mut old, mut new) = (row, row);
    for change in diff.iter_all_changes() {
        let (sign, number) = match change.tag() {
            ChangeTag::Equal => (' ', new),
            ChangeTag::Delete => ('-', old),
            ChangeTag::Insert => ('+', new),
        };
        old += u32::from(change.tag() != ChangeTag::Insert);
        new += u32::from(change.tag() != ChangeTag::Delete);
        let mut source = String::new();
        for (at, c) in change.value().trim_end_matches(['\r', '\n']).chars().enumerate() {
            if at == WIDTH {
                source.push('…');
                break;
            }
            neutral::push(&mut source, c);
        }
        let line = format!("{sign} {number:>width$} | {source}");
        lines.push(match change.tag() {
            ChangeTag::Equal => line.trim_end().to_owned(),
            ChangeTag::Delete => paint.with(RED, line.trim_end()),
            ChangeTag::Insert => paint.with(GREEN, line.trim_end()),
        });
    }
}
