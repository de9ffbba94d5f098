//! Byte offsets ↔ rows and columns for people, lines and characters for editors.
//!
//! **Invariant:** all functions are total. An offset beyond the text is treated as the end of the text, one within a character
//! as the start of the character, one within a line ending as the end of the line's content; a row or column that is too large
//! as the last one. Converting an offset to a position and back gives the offset normalised in this way.

use super::Span;

/// A position for people: rows and columns count from 1, columns in characters (Unicode scalar values).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineColumn {
    /// Row, from 1.
    pub row: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A position for editors: lines and characters count from 0, characters in some [`Unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditorPosition {
    /// Line, from 0.
    pub line: u32,
    /// Units from the start of the line.
    pub character: u32,
}

/// The unit in which an editor counts within a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes of UTF-8.
    Utf8,
    /// Code units of UTF-16.
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

impl Unit {
    fn width(self, character: char) -> u32 {
        let width = match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        };
        // A character has four units at most.
        u32::try_from(width).unwrap_or(1)
    }
}

/// The offsets at which the lines of a text start. A line ends with CR, LF or CRLF, as in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    /// Offsets of the first byte of every line; the first is 0.
    starts: Vec<u32>,
}

impl LineIndex {
    /// Indexes a text.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = Vec::with_capacity(bytes.len() / 32 + 1);
        starts.push(0);
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            // Spans cannot represent offsets beyond 4 GiB.
            let Ok(start) = u32::try_from(at + 1) else { break };
            starts.push(start);
        }
        Self { starts }
    }

    /// Number of lines; a text that ends with a line ending has an empty last line.
    pub fn line_count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// The row, from 1, of an offset.
    pub fn row(&self, offset: u32) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX).max(1)
    }

    /// The line of a row, from 1, without its line ending.
    pub fn line(&self, text: &str, row: u32) -> Span {
        let full = self.full_line(text, row);
        let bytes = text.as_bytes().get(full.start as usize..full.end as usize).unwrap_or_default();
        let ending = match bytes {
            [.., b'\r', b'\n'] => 2,
            [.., b'\r' | b'\n'] => 1,
            _ => 0,
        };
        Span::new(full.start, full.end - ending)
    }

    /// The line of a row, from 1, with its line ending.
    pub fn full_line(&self, text: &str, row: u32) -> Span {
        let index = (row.max(1) as usize).min(self.starts.len());
        let end = text_end(text);
        let start = self.starts.get(index - 1).copied().unwrap_or(0).min(end);
        Span::new(start, self.starts.get(index).copied().unwrap_or(end).min(end))
    }

    /// The row and column of an offset.
    pub fn line_column(&self, text: &str, offset: u32) -> LineColumn {
        let position = self.position(text, offset, Unit::Utf32);
        LineColumn { row: position.line + 1, column: position.character + 1 }
    }

    /// The offset of a row and column.
    pub fn offset(&self, text: &str, place: LineColumn) -> u32 {
        let line = place.row.saturating_sub(1);
        self.offset_at(text, EditorPosition { line, character: place.column.saturating_sub(1) }, Unit::Utf32)
    }

    /// The editor's position of an offset.
    pub fn position(&self, text: &str, offset: u32, unit: Unit) -> EditorPosition {
        let row = self.row(offset.min(text_end(text)));
        let span = self.line(text, row);
        let upto = (offset.min(span.end) - span.start) as usize;
        let line = line_text(text, span);
        let upto = floor_boundary(line, upto);
        let before = line.get(..upto).unwrap_or_default();
        let character = if before.is_ascii() {
            u32::try_from(before.len()).unwrap_or(u32::MAX)
        } else {
            before.chars().map(|character| unit.width(character)).sum()
        };
        EditorPosition { line: row - 1, character }
    }

    /// The offset of an editor's position.
    pub fn offset_at(&self, text: &str, position: EditorPosition, unit: Unit) -> u32 {
        let span = self.line(text, position.line.saturating_add(1));
        let mut offset = span.start;
        let mut left = position.character;
        for character in line_text(text, span).chars() {
            let width = unit.width(character);
            if width > left {
                break;
            }
            left -= width;
            offset += Unit::Utf8.width(character);
        }
        offset
    }
}

fn text_end(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

fn line_text(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap_or_default()
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(text: &str, offset: u32) -> (u32, u32) {
        let found = LineIndex::new(text).line_column(text, offset);
        (found.row, found.column)
    }

    #[test]
    fn counts_rows_of_every_line_end() {
        let text = "a\nb\rc\r\nd";
        let rows: Vec<_> = (0..=8).map(|offset| place(text, offset)).collect();
        // Byte 6 is within the CRLF, and is treated as the end of `c`.
        assert_eq!(rows, [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (3, 2), (4, 1), (4, 2)]);
        assert_eq!(LineIndex::new("").line_count(), 1);
        assert_eq!(LineIndex::new("a\n").line_count(), 2);
    }

    #[test]
    fn counts_columns_in_each_unit() {
        let text = "x = 'é😀' # k";
        let index = LineIndex::new(text);
        let end = u32::try_from(text.find('#').unwrap()).unwrap();
        let at = |unit| index.position(text, end, unit).character;
        assert_eq!((at(Unit::Utf8), at(Unit::Utf16), at(Unit::Utf32)), (13, 10, 9));
        assert_eq!(index.line_column(text, end), LineColumn { row: 1, column: 10 });
        // The middle of a surrogate pair is treated as the character's start.
        assert_eq!(index.offset_at(text, EditorPosition { line: 0, character: 7 }, Unit::Utf16), 7);
    }

    #[test]
    fn clamps_what_lies_outside() {
        let text = "ab\r\nc";
        let index = LineIndex::new(text);
        assert_eq!(index.line_column(text, 99), LineColumn { row: 2, column: 2 });
        assert_eq!(index.offset(text, LineColumn { row: 1, column: 99 }), 2);
        assert_eq!(index.offset(text, LineColumn { row: 0, column: 0 }), 0);
        assert_eq!(index.offset(text, LineColumn { row: u32::MAX, column: u32::MAX }), 5);
        assert_eq!(index.line(text, 1), Span::new(0, 2));
        assert_eq!(index.full_line(text, 1), Span::new(0, 4));
        assert_eq!(index.line(text, 7), Span::new(4, 5));
    }

    fn texts() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec!["a", "é", "漢", "😀", "\n", "\r", "\r\n", " ", "\u{feff}"]),
            0..40,
        )
        .prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn positions_round_trip(text in texts(), offset in 0_u32..200) {
            let index = LineIndex::new(&text);
            let place = index.line_column(&text, offset);
            let normal = index.offset(&text, place);
            prop_assert!(normal <= offset);
            prop_assert!(text.is_char_boundary(normal as usize));
            prop_assert_eq!(index.line_column(&text, normal), place);
            for unit in [Unit::Utf8, Unit::Utf16, Unit::Utf32] {
                let position = index.position(&text, offset, unit);
                prop_assert_eq!(index.offset_at(&text, position, unit), normal);
                prop_assert_eq!(position.line + 1, place.row);
            }
            prop_assert!(place.row <= index.line_count());
        }

        #[test]
        fn offsets_of_characters_are_kept(text in texts()) {
            let index = LineIndex::new(&text);
            for (at, character) in text.char_indices() {
                let within_ending = character == '\n' && text[..at].ends_with('\r');
                let at = u32::try_from(at).unwrap();
                if !within_ending {
                    prop_assert_eq!(index.offset(&text, index.line_column(&text, at)), at);
                }
            }
        }

        #[test]
        fn lines_tile_the_text(text in texts()) {
            let index = LineIndex::new(&text);
            let mut end = 0;
            for row in 1..=index.line_count() {
                let full = index.full_line(&text, row);
                prop_assert_eq!(full.start, end);
                prop_assert!(full.covers(index.line(&text, row)));
                prop_assert!(!line_text(&text, index.line(&text, row)).contains(['\n', '\r']));
                end = full.end;
            }
            prop_assert_eq!(end as usize, text.len());
        }

        #[test]
        fn never_panics_on_another_text(built in texts(), text in texts(), offset: u32, line: u32, character: u32) {
            let index = LineIndex::new(&built);
            index.line_column(&text, offset);
            index.offset_at(&text, EditorPosition { line, character }, Unit::Utf16);
            index.offset(&text, LineColumn { row: line, column: character });
        }
    }
}
