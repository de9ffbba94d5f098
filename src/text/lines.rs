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
