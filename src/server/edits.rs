//! Edits of a document, for the client.
//!
//! **Invariant:** all edits of a document refer to one version, which is sent along if the client supports it.

use std::collections::{BTreeMap, HashMap};

use gen_lsp_types::{
    self as lsp, DocumentChange, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextDocumentIdentifier,
    TextEdit, Uri, WorkspaceEdit,
};

use super::places::Page;
use super::snapshot::{Opened, Snapshot};
use crate::text::Edit;

/// Edits of an open document as a workspace edit; `None` if one is not within the document.
pub(super) fn workspace_edit(
    snapshot: &Snapshot,
    opened: &Opened,
    page: Page<'_>,
    edits: &[Edit],
) -> Option<WorkspaceEdit> {
    let mut by_address: BTreeMap<Uri, Vec<TextEdit>> = BTreeMap::new();
    for edit in edits {
        let location = page.location(opened, edit.span)?;
        let edit = TextEdit { range: location.range, new_text: edit.content.clone() };
        by_address.entry(location.uri).or_default().push(edit);
    }
    if !snapshot.client.document_changes {
        let changes: HashMap<Uri, Vec<TextEdit>> = by_address.into_iter().collect();
        return Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() });
    }
    let changes = by_address.into_iter().map(|(uri, edits)| {
        let version = opened.addresses().into_iter().find(|(address, _)| *address == uri);
        let version = version.and_then(|(_, version)| version);
        let text_document_identifier = TextDocumentIdentifier { uri };
        DocumentChange::TextDocumentEdit(TextDocumentEdit {
            text_document: OptionalVersionedTextDocumentIdentifier { version, text_document_identifier },
            edits: edits.into_iter().map(lsp::Edit::TextEdit).collect(),
        })
    });
    Some(WorkspaceEdit { document_changes: Some(changes.collect()), ..WorkspaceEdit::default() })
}
