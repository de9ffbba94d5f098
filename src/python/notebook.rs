//! Parses the code of a notebook, cell by cell.
//!
//! **Invariant:** each cell is parsed on its own, because it runs on its own: an unclosed construct ends with its cell. A text without
//! cells is parsed as a whole.

use ruff_text_size::Ranged;

use super::ast;
use super::parse::{Parsed, SourceKind, SyntaxProblem, parse};
use super::span_of;
use crate::text::{Cell, Cells, Span};

/// Parses a text, which may be the joined code of a notebook's cells.
pub fn parse_cells(text: &str, cells: &Cells, kind: SourceKind) -> Parsed {
    let whole = parse(text, kind);
    if cells.is_empty() || (whole.problems.is_empty() && parts(&whole.module, cells)) {
        return whole;
    }
    let code = |cell: &Cell| text.get(cell.span.range()).unwrap_or_default();
    let (sound, broken): (Vec<Cell>, Vec<Cell>) =
        cells.iter().partition(|cell| parse(code(cell), kind).problems.is_empty());
    if broken.is_empty() {
        return whole;
    }
    let mut parsed = parse(&only(text, &sound), kind);
    for cell in &broken {
        let alone = only(text, std::slice::from_ref(cell));
        let own = indented(&alone, cell, kind).unwrap_or_else(|| parse(&alone, kind));
        let inside = |problem: SyntaxProblem| {
            // The parser reports something missing at the end of the text; report it at the end of the cell.
            let end = cell.span.end.saturating_sub(1);
            let (start, end) = (problem.span.start.min(end), problem.span.end.min(end));
            SyntaxProblem { span: Span::new(start, end), ..problem }
        };
        parsed.problems.extend(own.problems.into_iter().map(inside));
        parsed.comments.extend(own.comments);
        parsed.module.body.extend(own.module.body);
    }
    parsed.problems.sort_by_key(|problem| problem.span);
    parsed.comments.sort_by_key(|comment| comment.span);
    parsed.module.body.sort_by_key(|statement| span_of(statement).start);
    parsed
}

/// The header of a block into which the statements of an indented cell are put.
const BLOCK: &str = "if 1:\n";

/// Parses a cell that starts with an indented line and is otherwise valid: `IPython` removes the indentation of the first line before it
/// runs the cell. There must be room for the header of a block before the cell.
fn indented(alone: &str, cell: &Cell, kind: SourceKind) -> Option<Parsed> {
    let code = alone.get(cell.span.range())?.trim_start_matches('\n');
    let before = alone.get(..(cell.span.start as usize).checked_sub(BLOCK.len())?)?;
    if !code.starts_with([' ', '\t']) {
        return None;
    }
    let mut parsed = parse(&format!("{before}{BLOCK}{}", alone.get(cell.span.range())?), kind);
    if !parsed.problems.is_empty() || parsed.module.body.is_empty() {
        return None;
    }
    let ast::Stmt::If(block) = parsed.module.body.remove(0) else { return None };
    parsed.module.body.splice(0..0, block.body);
    Some(parsed)
}

/// The cells that do not parse.
pub fn broken_cells(parsed: &Parsed, cells: &Cells) -> Vec<Cell> {
    let mut broken: Vec<Cell> = parsed.problems.iter().filter_map(|problem| cells.around(problem.span.start)).collect();
    broken.dedup();
    broken
}

/// Whether an edited text has the same syntax problems as before.
pub fn is_as_sound(before: &Parsed, after: &Parsed) -> bool {
    let messages =
        |parsed: &Parsed| -> Vec<String> { parsed.problems.iter().map(|problem| problem.message.clone()).collect() };
    messages(before) == messages(after)
}

/// Whether no statement spans two cells.
fn parts(module: &ast::ModModule, cells: &Cells) -> bool {
    module.body.iter().all(|statement| {
        let (start, end) = (statement.start().to_u32(), statement.end().to_u32());
        cells.around(start).is_some_and(|cell| end <= cell.span.end)
    })
}

/// The text in which all other cells are replaced by line endings, so that offsets do not change.
fn only(text: &str, cells: &[Cell]) -> String {
    let mut only = String::with_capacity(text.len());
    for cell in cells {
        let Cell { span, .. } = cell;
        only.extend(std::iter::repeat_n('\n', (span.start as usize).saturating_sub(only.len())));
        only.push_str(text.get(span.range()).unwrap_or_default());
    }
    only
}
