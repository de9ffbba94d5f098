//! From byte offsets to rows and columns.
//!
//! **Invariant:** total: offsets beyond the text, or within a character, are taken back to the nearest place before.

use super::Position;

/// Where the lines of a text start. Lines end as Python's do: in `\n`, `\r\n` or a lone `\r`.
#[derive(Debug)]
pub(super) struct Rows {
    starts: Vec<u32>,
}

impl Rows {
    pub(super) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let is_end = |at: usize| bytes[at] == b'\n' || (bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
        let starts = (0..bytes.len()).filter(|&at| is_end(at)).map(|at| u32::try_from(at + 1).unwrap_or(u32::MAX));
        Self { starts: std::iter::once(0).chain(starts).collect() }
    }

    /// The 0-based line that holds `offset`.
    pub(super) fn line(&self, offset: u32) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The bytes of a line, without its end.
    pub(super) fn range(&self, text: &str, line: usize) -> std::ops::Range<usize> {
        let start = self.starts.get(line).map_or(text.len(), |start| *start as usize).min(text.len());
        let end = self.starts.get(line + 1).map_or(text.len(), |end| *end as usize).min(text.len());
        start..start + text[start..end].trim_end_matches(['\n', '\r']).len()
    }

    pub(super) fn position(&self, text: &str, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.starts.get(line).map_or(0, |start| *start as usize);
        let before = text.get(start..floor(text, offset as usize)).unwrap_or_default();
        Position { row: line + 1, column: before.chars().count() + 1 }
    }
}

/// The last character boundary at or before `offset`.
pub(super) fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
