//! Converts places to the client's URIs and ranges, and back.
//!
//! **Invariant:** a place in an open notebook is given in its cell, with lines counted within the cell; a place in a closed notebook is
//! given by the URI of the file.

use std::collections::BTreeMap;
use std::path::Path;

use gen_lsp_types::{Location, Position, Range, Uri};

use super::documents::{offset_of, position_of};
use super::snapshot::{Opened, Snapshot};
use crate::config::absolute;
use crate::engine::FileTable;
use crate::finding::Place;
use crate::text::{Cell, Cells, FileId, LineIndex, Span, Unit};

/// Converts the places of one outcome.
pub(super) struct Places<'a> {
    snapshot: &'a Snapshot,
    cwd: &'a Path,
    files: &'a FileTable,
    lines: BTreeMap<FileId, LineIndex>,
}

impl<'a> Places<'a> {
    /// For paths relative to `cwd`.
    pub(super) fn new(snapshot: &'a Snapshot, cwd: &'a Path, files: &'a FileTable) -> Self {
        Self { snapshot, cwd, files, lines: BTreeMap::new() }
    }

    /// A place as a location of the client; `None` if its file has no URI.
    pub(super) fn location(&mut self, place: Place) -> Option<Location> {
        let path = absolute(self.cwd, self.files.path(place.file));
        let (text, cells) = (self.files.text(place.file), self.files.cells(place.file));
        let lines = self.lines.entry(place.file).or_insert_with(|| LineIndex::new(text));
        let page = Page { text, lines, cells, unit: self.snapshot.client.unit };
        match self.snapshot.open.get(&path) {
            Some(opened) => page.location(opened, place.span),
            None => Some(Location { uri: Uri::from_file_path(&path).ok()?, range: page.range(place.span) }),
        }
    }
}

/// A document as the engine reads it.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    pub(super) text: &'a str,
    pub(super) lines: &'a LineIndex,
    pub(super) cells: &'a Cells,
    pub(super) unit: Unit,
}

impl Page<'_> {
    /// A span of an open document, for the client.
    pub(super) fn location(&self, opened: &Opened, span: Span) -> Option<Location> {
        let uri = match &opened.cells {
            None => opened.uri.clone(),
            Some(cells) => {
                let number = self.cells.around(span.start)?.number;
                cells.get((number as usize).checked_sub(1)?)?.0.clone()
            }
        };
        Some(Location { uri, range: self.range(span) })
    }

    /// A span as a range; in a notebook, relative to the cell in which it begins.
    pub(super) fn range(&self, span: Span) -> Range {
        let cell = self.cells.around(span.start);
        Range { start: self.position(cell, span.start), end: self.position(cell, span.end) }
    }

    fn position(&self, cell: Option<Cell>, offset: u32) -> Position {
        let Some(cell) = cell else { return position_of(self.lines, self.text, offset, self.unit) };
        // The line ending that closes the cell was added when the cells were joined.
        let offset = offset.min(cell.span.end.saturating_sub(1)).max(cell.span.start);
        let Position { line, character } = position_of(self.lines, self.text, offset, self.unit);
        Position { line: line - (self.lines.row(cell.span.start) - 1).min(line), character }
    }

    /// The offset of a position in a document or in one of its cells.
    pub(super) fn offset(&self, opened: &Opened, uri: &Uri, position: Position) -> Option<u32> {
        let Some(cells) = &opened.cells else { return Some(offset_of(self.lines, self.text, position, self.unit)) };
        let index = cells.iter().position(|(cell, _)| cell == uri)?;
        let cell = self.cells.numbered(u32::try_from(index).ok()?.checked_add(1)?)?;
        let line = position.line.saturating_add(self.lines.row(cell.span.start) - 1);
        let offset = offset_of(self.lines, self.text, Position { line, ..position }, self.unit);
        Some(offset.clamp(cell.span.start, cell.span.end.saturating_sub(1).max(cell.span.start)))
    }

    /// The row of an offset, from 1, and its cell in a notebook.
    pub(super) fn row(&self, offset: u32) -> String {
        let line = self.cells.line_column(self.lines, self.text, offset, offset).row;
        match self.cells.around(offset) {
            Some(cell) => format!("line {line} of cell {}", cell.number),
            None => format!("line {line}"),
        }
    }
}
