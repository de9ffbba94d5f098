//! Paths, texts and cells of files, by identity.
//!
//! **Invariant:** identities are assigned in order and never change; a text is kept only if a finding refers to it.

use std::path::{Path, PathBuf};

use crate::finding::Place;
use crate::text::{Cells, FileId, LineIndex};

/// Paths and texts of files, by identity.
#[derive(Clone, Debug, Default)]
pub struct FileTable {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    path: PathBuf,
    text: String,
    cells: Cells,
}

impl FileTable {
    /// Adds a file.
    pub fn add(&mut self, path: PathBuf, text: String) -> FileId {
        let id = FileId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.entries.push(Entry { path, text, cells: Cells::NONE });
        id
    }

    /// The path as given.
    pub fn path(&self, file: FileId) -> &Path {
        self.entries.get(file.0 as usize).map_or(Path::new(""), |entry| &entry.path)
    }

    /// All paths, those of the files given first.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().map(|entry| entry.path.as_path())
    }

    /// The decoded text; empty if no finding refers to the file.
    pub fn text(&self, file: FileId) -> &str {
        self.entries.get(file.0 as usize).map_or("", |entry| &entry.text)
    }

    /// The cells of a notebook's text; none of any other file's.
    pub fn cells(&self, file: FileId) -> &Cells {
        self.entries.get(file.0 as usize).map_or(Cells::none(), |entry| &entry.cells)
    }

    /// `path:row:column`, or `path:cell number:row:column` with row and column within the cell.
    pub fn locus(&self, place: Place) -> String {
        let (text, cells) = (self.text(place.file), self.cells(place.file));
        let at = cells.line_column(&LineIndex::new(text), text, place.span.start, place.span.start);
        let cell = cells.around(place.span.start).map(|cell| format!(":cell {}", cell.number)).unwrap_or_default();
        format!("{}{cell}:{}:{}", self.path(place.file).display(), at.row, at.column)
    }

    /// Sets text and cells of a file.
    pub fn set_text(&mut self, file: FileId, text: String, cells: Cells) {
        if let Some(entry) = self.entries.get_mut(file.0 as usize) {
            entry.text = text;
            entry.cells = cells;
        }
    }
}
