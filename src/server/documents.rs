//! The text of an open document, kept in sync with the editor.
//!
//! **Invariant:** a text changes only by edits of the client, in the order in which they were sent. Positions outside the text are clamped,
//! as the protocol requires. A text that is known to differ from the editor's is not checked.

use std::sync::Arc;

use gen_lsp_types::{LanguageKind, Position, Range, TextDocumentContentChangeEvent, TextDocumentItem};

use crate::text::{EditorPosition, LineIndex, Span, Unit};

/// An open document, or an open cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Document {
    /// The version in the client.
    pub(super) version: i32,
    /// Whether the client declared it to be Python.
    pub(super) is_python: bool,
    pub(super) text: Arc<str>,
    /// Whether an edit could not be applied since the whole text was last sent. The text is then treated as empty.
    is_lost: bool,
}

impl Document {
    /// A newly opened document.
    pub(super) fn opened(item: &TextDocumentItem) -> Self {
        let is_python = item.language_id == LanguageKind::Python;
        Self { version: item.version, is_python, text: item.text.as_str().into(), is_lost: false }
    }

    /// Applies changes in order. Returns false if the text is known to be out of sync with the editor: a change that starts outside the text
    /// was made to a different text.
    pub(super) fn change(&mut self, version: i32, changes: &[TextDocumentContentChangeEvent], unit: Unit) -> bool {
        let mut text = self.text.to_string();
        for change in changes {
            match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(_) if self.is_lost => {}
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                    let lines = LineIndex::new(&text);
                    if part.range.start.line > lines.line_count() {
                        self.is_lost = true;
                        text.clear();
                        continue;
                    }
                    let span = span_of(&lines, &text, part.range, unit);
                    text.replace_range(span.range(), &part.text);
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                    self.is_lost = false;
                    text.clone_from(&whole.text);
                }
            }
        }
        self.version = version;
        self.text = text.into();
        !self.is_lost
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
pub(super) fn position_of(lines: &LineIndex, text: &str, offset: u32, unit: Unit) -> Position {
    let EditorPosition { line, character } = lines.position(text, offset, unit);
    Position { line, character }
}

#[cfg(test)]
mod tests {
    use gen_lsp_types::{TextDocumentContentChangePartial, TextDocumentContentChangeWholeDocument};
    use proptest::prelude::*;

    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    fn replace(start: Position, end: Position, text: &str) -> TextDocumentContentChangeEvent {
        TextDocumentContentChangeEvent::TextDocumentContentChangePartial(TextDocumentContentChangePartial {
            range: Range { start, end },
            text: text.to_owned(),
            ..TextDocumentContentChangePartial::default()
        })
    }

    fn whole(text: &str) -> TextDocumentContentChangeEvent {
        TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(TextDocumentContentChangeWholeDocument {
            text: text.to_owned(),
        })
    }

    fn changed(text: &str, changes: &[TextDocumentContentChangeEvent], unit: Unit) -> String {
        let mut document = Document { version: 1, is_python: true, text: text.into(), is_lost: false };
        document.change(2, changes, unit);
        assert_eq!(document.version, 2);
        document.text.to_string()
    }

    #[test]
    fn changes_build_on_each_other() {
        let changes =
            [replace(at(0, 1), at(0, 1), "bc"), replace(at(0, 2), at(1, 0), ""), replace(at(0, 0), at(0, 1), "")];
        assert_eq!(changed("a\nd\n", &changes, Unit::Utf16), "bd\n");
        assert_eq!(changed("a", &[whole("x\ny"), replace(at(1, 0), at(1, 1), "z")], Unit::Utf8), "x\nz");
    }

    #[test]
    fn positions_are_counted_in_the_unit_agreed_on() {
        let text = "s = '😀é' # x\r\ny\r\n";
        for (unit, character) in [(Unit::Utf8, 11), (Unit::Utf16, 8), (Unit::Utf32, 7)] {
            assert_eq!(
                changed(text, &[replace(at(0, character), at(0, character), "!")], unit),
                "s = '😀é!' # x\r\ny\r\n"
            );
        }
    }

    #[test]
    fn positions_beyond_the_text_are_its_end() {
        assert_eq!(changed("a\nb", &[replace(at(2, 9), at(9, 9), "c")], Unit::Utf16), "a\nbc");
        assert_eq!(changed("a\nb", &[replace(at(0, 99), at(0, 99), "c")], Unit::Utf16), "ac\nb");
        // Some clients send the end first.
        assert_eq!(changed("abc", &[replace(at(0, 2), at(0, 1), "")], Unit::Utf16), "ac");
    }

    proptest! {
        /// An edit by positions gives the same text as the same edit by offsets.
        #[test]
        fn positions_and_offsets_agree(
            parts in prop::collection::vec(prop::sample::select(vec!["a", "é", "😀", "\n", "\r\n", "\t", " "]), 0..30),
            from in 0_usize..40, to in 0_usize..40, inserted in "[a\n😀]{0,4}",
        ) {
            let text = parts.concat();
            let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()])
                .filter(|at| !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n'))).collect();
            let (from, to) = (boundaries[from % boundaries.len()], boundaries[to % boundaries.len()]);
            let (from, to) = (from.min(to), from.max(to));
            let expected = format!("{}{inserted}{}", &text[..from], &text[to..]);
            let lines = LineIndex::new(&text);
            for unit in [Unit::Utf8, Unit::Utf16, Unit::Utf32] {
                let position = |offset: usize| position_of(&lines, &text, u32::try_from(offset).unwrap(), unit);
                prop_assert_eq!(changed(&text, &[replace(position(from), position(to), &inserted)], unit), expected.clone());
            }
        }
    }
}
