//! The text of an open document, kept in sync with the editor.
//!
//! **Invariant:** a text changes only by edits of the client, in the order in which they were sent. Positions outside the text are clamped,
//! as the protocol requires. A text that is known to differ from the editor's is not checked.

use std::sync::Arc;

use gen_lsp_types::{LanguageKind, Position, Range, TextDocumentContentChangeEvent, TextDocumentItem};

use crate::text::{EditorPosition, LineIndex, Span, Unit};

/// An open document, or an open cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The version in the client.
    pub version: i32,
    /// Whether the client declared it to be Python.
    pub(super) is_python: bool,
    /// The text as of this version.
    pub text: Arc<str>,
    /// Whether an edit could not be applied since the whole text was last sent. The text is then treated as empty.
    is_lost: bool,
}

impl Document {
    /// A newly opened document.
    pub fn opened(item: &TextDocumentItem) -> Self {
        let is_python = item.language_id == LanguageKind::Python;
        Self { version: item.version, is_python, text: item.text.as_str().into(), is_lost: false }
    }

    /// Applies changes in order. Returns false if the text is out of sync with the editor from now on: a change that starts outside the
    /// text was made to a different text.
    pub fn change(&mut self, version: i32, changes: &[TextDocumentContentChangeEvent], unit: Unit) -> bool {
        let mut text = self.text.to_string();
        let mut is_in_step = true;
        for change in changes {
            match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(_) if self.is_lost => {}
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                    let lines = LineIndex::new(&text);
                    if part.range.start.line > lines.line_count() {
                        self.is_lost = true;
                        is_in_step = false;
                        text.clear();
                        continue;
                    }
                    let span = span_of(&lines, &text, part.range, unit);
                    text.replace_range(span.range(), &part.text);
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                    self.is_lost = false;
                    is_in_step = true;
                    text.clone_from(&whole.text);
                }
            }
        }
        self.version = version;
        self.text = text.into();
        is_in_step
    }

    /// Replaces the text by the saved one. Returns whether it differs from the previous text.
    pub(super) fn resynchronise(&mut self, saved: &str) -> bool {
        let differs = self.is_lost || *self.text != *saved;
        self.is_lost = false;
        self.text = saved.into();
        differs
    }
}

/// The span of a range; start and end may be swapped.
pub(super) fn span_of(lines: &LineIndex, text: &str, range: Range, unit: Unit) -> Span {
    let (start, end) = (offset_of(lines, text, range.start, unit), offset_of(lines, text, range.end, unit));
    Span::new(start.min(end), start.max(end))
}

/// The offset of a position.
pub(super) fn offset_of(lines: &LineIndex, text: &str, position: Position, unit: Unit) -> u32 {
    // A line beyond the last is treated as the end of the text.
    if position.line >= lines.line_count() {
        return u32::try_from(text.len()).unwrap_or(u32::MAX);
    }
    lines.offset_at(text, EditorPosition { line: position.line, character: position.character }, unit)
}

/// The position of an offset.
pub fn position_of(lines: &LineIndex, text: &str, offset: u32, unit: Unit) -> Position {
    let EditorPosition { line, character } = lines.position(text, offset, unit);
    Position { line, character }
}
