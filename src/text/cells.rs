//! The code cells of a notebook, as parts of one text.
//!
//! **Invariant:** cells are in order, and each ends where the next one starts. The text of a file that is not a notebook has no cells.

use super::{Edit, LineColumn, LineIndex, Span};

/// A code cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its number among all cells of the notebook, counted from 1; cells without code count too.
    pub number: u32,
    /// Its code within the text, with the line ending that closes it.
    pub span: Span,
}

/// The code cells of a text; empty if the file is not a notebook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells(Vec<Cell>);

impl Cells {
    /// No cells.
    pub const NONE: Self = Self(Vec::new());

    /// No cells, with a static lifetime.
    pub fn none() -> &'static Self {
        static NONE: Cells = Cells::NONE;
        &NONE
    }

    /// Creates the list; `cells` must be in order.
    pub fn new(cells: Vec<Cell>) -> Self {
        Self(cells)
    }

    /// The cells, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Cell> + '_ {
        self.0.iter().copied()
    }

    /// Whether there are no cells: the file is not a notebook, or has no code.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The cells after edits. The edits must be sorted, and each must lie in one cell.
    #[must_use]
    pub fn edited(&self, edits: &[Edit]) -> Self {
        let growth = |before: &dyn Fn(&Edit) -> bool| -> i64 {
            let edits = edits.iter().filter(|edit| before(edit));
            edits.map(|edit| i64::try_from(edit.content.len()).unwrap_or_default() - i64::from(edit.span.len())).sum()
        };
        let moved = |at: u32, by: i64| u32::try_from(i64::from(at) + by).unwrap_or(at);
        let cells = self.0.iter().map(|cell| {
            let Span { start, end } = cell.span;
            // Text that is inserted between two cells belongs to the second.
            let start = moved(start, growth(&|edit| edit.span.start < start));
            let end = moved(end, growth(&|edit| edit.span.start < end));
            Cell { number: cell.number, span: Span::new(start, end) }
        });
        Self(cells.collect())
    }

    /// The cell that contains an offset.
    pub fn around(&self, offset: u32) -> Option<Cell> {
        let before = self.0.partition_point(|cell| cell.span.start <= offset);
        self.0.get(before.checked_sub(1)?).copied()
    }

    /// The cell with a number.
    pub fn numbered(&self, number: u32) -> Option<Cell> {
        self.0.iter().copied().find(|cell| cell.number == number)
    }

    /// Row and column of an offset within the cell that contains `anchor`, if there is one. The end of a span is reported
    /// relative to the cell of its start.
    pub fn line_column(&self, lines: &LineIndex, text: &str, anchor: u32, offset: u32) -> LineColumn {
        let Some(cell) = self.around(anchor) else { return lines.line_column(text, offset) };
        // The line ending that closes the cell was added when the cells were joined.
        let offset = offset.min(cell.span.end.saturating_sub(1)).max(cell.span.start);
        let LineColumn { row, column } = lines.line_column(text, offset);
        LineColumn { row: row - lines.row(cell.span.start) + 1, column }
    }
}
