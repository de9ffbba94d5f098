//! `textDocument/inlayHint`: where a key is consumed for the last time, and where it is consumed again.
//!
//! **Invariant:** there are no hints unless the settings enable them, and at most one per location.

use std::collections::BTreeMap;

use gen_lsp_types::{InlayHint, InlayHintParams, Label};
use serde_json::{Value, json};

use super::hover::row;
use super::places::Page;
use super::workers::{Failure, RequestContext};
use crate::engine::Keys;
use crate::finding::Place;
use crate::text::{LineIndex, Span};

pub(super) fn list(request: &RequestContext<'_>, params: &InlayHintParams) -> Result<Value, Failure> {
    let uri = &params.text_document.uri;
    let Some((path, opened)) = request.document(uri) else { return Ok(Value::Null) };
    if !request.snapshot.folder_of(path).is_some_and(|folder| folder.settings.inlay_hints) {
        return Ok(Value::Null);
    }
    let Some(keys) = request.snapshot.keys(path, request.is_cancelled)? else { return Ok(json!([])) };
    let text = keys.files.text(keys.file);
    let lines = LineIndex::new(text);
    let page = Page { text, lines: &lines, cells: keys.files.cells(keys.file), unit: request.snapshot.client.unit };
    let mut hints = Vec::new();
    for (place, mark) in marks(&keys, page) {
        let Some(location) = page.location(opened, place.span).filter(|location| location.uri == *uri) else {
            continue;
        };
        let position = location.range.end;
        if params.range.start <= position && position <= params.range.end {
            hints.push(hint(position, mark));
        }
    }
    serde_json::to_value(hints).map_err(|error| Failure::internal(error.to_string()))
}

fn hint(position: gen_lsp_types::Position, label: String) -> InlayHint {
    InlayHint {
        position,
        label: Label::String(label),
        kind: None,
        text_edits: None,
        tooltip: None,
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}

/// The hints for each consuming call of the document.
fn marks(keys: &Keys, page: Page<'_>) -> BTreeMap<Place, String> {
    // One expression may have a different key in each context; each derivation has its own last use.
    let mut last: BTreeMap<(Span, &str), Place> = BTreeMap::new();
    for note in keys.notes.iter().filter(|note| !note.is_called) {
        let within = |place: &Place| place.file == keys.file && note.within.covers(place.span);
        let consumed = note.uses.iter().filter(|used| used.consumes).map(|used| used.place);
        if let Some(place) = consumed.rev().find(within) {
            last.entry((note.within, &note.derivation)).or_insert(place);
        }
    }
    let mut marks: BTreeMap<Place, String> =
        last.into_values().map(|place| (place, "last use of the key".to_owned())).collect();
    for (second, first) in keys.again.iter().filter(|(second, _)| second.file == keys.file) {
        let text = if second == first {
            "uses the same key every time".to_owned()
        } else {
            format!("uses the key from {} again", row(keys, page, *first))
        };
        marks.insert(*second, text);
    }
    marks
}
