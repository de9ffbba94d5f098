//! An open notebook, and the document that the engine reads instead of the file.
//!
//! The client sends each cell as a separate text. The cells are assembled into a notebook as it would be saved, so that the engine joins,
//! numbers and skips cells as on the command line.
//!
//! **Invariant:** the number of a cell is its position in the client's list.

use gen_lsp_types::{NotebookCell, NotebookCellKind, NotebookDocumentCellChanges, Uri};
use serde_json::{Value, json};

use super::documents::Document;
use crate::text::Unit;

/// An open notebook.
#[derive(Clone, Debug)]
pub(super) struct Notebook {
    pub(super) version: i32,
    pub(super) cells: Vec<Cell>,
}

/// One of its cells.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) uri: Uri,
    pub(super) is_code: bool,
    /// Its text, if the client has sent it.
    pub(super) document: Option<Document>,
}

impl Notebook {
    /// A notebook with these cells and their texts.
    pub(super) fn new(version: i32, cells: &[NotebookCell], mut texts: Vec<(Uri, Document)>) -> Self {
        let mut notebook = Self { version, cells: cells.iter().map(Cell::new).collect() };
        notebook.take_texts(&mut texts);
        notebook
    }

    fn take_texts(&mut self, texts: &mut Vec<(Uri, Document)>) {
        for (uri, document) in texts.drain(..) {
            if let Some(cell) = self.cells.iter_mut().find(|cell| cell.uri == uri) {
                cell.document = Some(document);
            }
        }
    }

    /// Applies changes of cells. Returns false if a text is out of sync with the editor from now on.
    pub(super) fn change(&mut self, version: i32, changes: &NotebookDocumentCellChanges, unit: Unit) -> bool {
        self.version = version;
        if let Some(structure) = &changes.structure {
            let array = &structure.array;
            let start = (array.start as usize).min(self.cells.len());
            let end = start.saturating_add(array.delete_count as usize).min(self.cells.len());
            let new: Vec<Cell> = array.cells.iter().flatten().map(Cell::new).collect();
            let gone: Vec<Cell> = self.cells.splice(start..end, new).collect();
            // A moved cell keeps its text.
            let mut texts: Vec<(Uri, Document)> =
                gone.into_iter().filter_map(|cell| Some((cell.uri, cell.document?))).collect();
            self.take_texts(&mut texts);
            let opened = structure.did_open.iter().flatten();
            texts.extend(opened.map(|item| (item.uri.clone(), Document::opened(item))));
            self.take_texts(&mut texts);
        }
        for cell in changes.data.iter().flatten() {
            if let Some(known) = self.cells.iter_mut().find(|known| known.uri == cell.document) {
                known.is_code = cell.kind == NotebookCellKind::Code;
            }
        }
        let mut is_in_step = true;
        for change in changes.text_content.iter().flatten() {
            let uri = &change.document.text_document_identifier.uri;
            let known = self.cells.iter_mut().find(|known| known.uri == *uri);
            if let Some(document) = known.and_then(|known| known.document.as_mut()) {
                is_in_step &= document.change(change.document.version, &change.changes, unit);
            }
        }
        is_in_step
    }

    /// The notebook as it would be saved.
    pub(super) fn saved(&self) -> Vec<u8> {
        let cells: Vec<Value> = self.cells.iter().map(Cell::saved).collect();
        let metadata = json!({"language_info": {"name": "python"}});
        json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 0}).to_string().into_bytes()
    }
}

impl Cell {
    fn new(cell: &NotebookCell) -> Self {
        Self { uri: cell.document.clone(), is_code: cell.kind == NotebookCellKind::Code, document: None }
    }

    fn saved(&self) -> Value {
        match &self.document {
            Some(document) if self.is_code && document.is_python => json!({
                "cell_type": "code", "metadata": {}, "source": &*document.text, "outputs": [], "execution_count": null,
            }),
            // Cells in another language keep their number but contain no code.
            _ => json!({"cell_type": "raw", "metadata": {}, "source": ""}),
        }
    }
}
