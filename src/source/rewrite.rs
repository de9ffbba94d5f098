//! Applies edits of a text to the bytes of its file.
//!
//! In a notebook, the text is spread over the strings of a JSON document. In an edited cell, only the edited strings are rewritten, in the
//! same style as before: one string, or a list with one string per line.
//!
//! **Invariant:** everything outside the edits keeps its bytes: white space, the order of fields, outputs, and how characters are escaped.

use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::decode::BYTE_ORDER_MARK;
use super::{Problem, SourceFile, notebook};
use crate::text::{Cell, Edit, apply_edits};

impl SourceFile {
    /// The bytes of the file after edits. The edits must be in order and must not overlap, and each must lie within one cell.
    pub fn rewrite(&self, edits: &[Edit]) -> Result<Vec<u8>, Problem> {
        let problem = |message: String| Problem { path: self.path.clone(), message };
        let text = apply_edits(&self.text, edits).map_err(|error| problem(format!("cannot be edited: {error}")))?;
        let Some(document) = &self.document else { return self.encode(&text) };
        let strict = notebook::strict(document);
        let strings: Document<'_> =
            serde_json::from_str(&strict).map_err(|error| problem(format!("not a notebook: {error}")))?;
        let mut by_cell: Vec<(Cell, Vec<&Edit>)> = Vec::new();
        for edit in edits {
            let cell = self.cells.around(edit.span.start);
            let Some(cell) = cell.filter(|cell| edit.span.end <= cell.span.end) else {
                return Err(problem("an edit extends beyond the end of a cell".to_owned()));
            };
            match by_cell.last_mut().filter(|(last, _)| *last == cell) {
                Some((_, edits)) => edits.push(edit),
                None => by_cell.push((cell, vec![edit])),
            }
        }
        let escapes = escapes_letters(document);
        let mut rewritten = if self.had_bom { BYTE_ORDER_MARK.to_vec() } else { Vec::new() };
        let mut at = 0;
        for (cell, edits) in by_cell {
            let source = strings.cells.get(cell.number as usize - 1).map(|cell| cell.source.get());
            let changed = source.and_then(|source| {
                let start = (source.as_ptr() as usize).checked_sub(strict.as_ptr() as usize)?;
                let written = document.get(start..start + source.len())?;
                Some((start, Source::read(written, source, escapes)?.edited(cell, &edits), source))
            });
            let Some((start, changed, source)) = changed else {
                return Err(problem(format!("cell {} has changed since it was read", cell.number)));
            };
            rewritten.extend_from_slice(document.get(at..start).unwrap_or_default().as_bytes());
            rewritten.extend_from_slice(changed.as_bytes());
            at = start + source.len();
        }
        rewritten.extend_from_slice(document.get(at..).unwrap_or_default().as_bytes());
        Ok(rewritten)
    }
}

/// The parts of a notebook that edits need, as written.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    cells: Vec<Written<'a>>,
}

#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    source: &'a RawValue,
}

/// The code of a cell as written: one string, or a list of strings.
struct Source<'a> {
    written: &'a str,
    /// The ranges of the strings in `written`, with their quotes.
    strings: Vec<Range<usize>>,
    is_list: bool,
    /// Whether characters beyond ASCII are escaped.
    escapes: bool,
}

/// A character of a cell's code.
#[derive(Clone, Copy)]
struct Letter<'a> {
    character: char,
    /// Its text in the JSON source, if it existed before.
    kept: Option<&'a str>,
    /// The index of the string that contains it, or that it was inserted before.
    string: usize,
    /// The last character of its string.
    is_last: bool,
}

impl<'a> Source<'a> {
    /// Reads `written`; `strict` is the same text as strict JSON.
    fn read(written: &'a str, strict: &str, escapes: bool) -> Option<Self> {
        let is_list = strict.starts_with('[');
        let strings = if is_list {
            let strings: Vec<&RawValue> = serde_json::from_str(strict).ok()?;
            let range = |string: &&RawValue| {
                let start = (string.get().as_ptr() as usize).checked_sub(strict.as_ptr() as usize)?;
                Some(start..start + string.get().len())
            };
            strings.iter().map(range).collect::<Option<Vec<_>>>()?
        } else {
            std::iter::once(0..written.len()).collect()
        };
        Some(Self { written, strings, is_list, escapes })
    }

    /// The code after edits, whose spans refer to the whole text.
    fn edited(&self, cell: Cell, edits: &[&Edit]) -> String {
        let mut before = Vec::new();
        for (index, range) in self.strings.iter().enumerate() {
            let string = self.written.get(range.start + 1..range.end - 1).unwrap_or_default();
            letters(string, index, &mut before);
        }
        // The line ending that closes the cell is not in the document.
        let last = self.strings.len().saturating_sub(1);
        before.push(Letter { character: '\n', kept: None, string: last, is_last: false });
        let mut after = Vec::with_capacity(before.len());
        let mut edits = edits.iter().peekable();
        let mut at = cell.span.start;
        let mut skipped_to = at;
        for letter in before {
            while let Some(edit) = edits.next_if(|edit| edit.span.start <= at) {
                after.extend(fresh(&edit.content, letter.string));
                skipped_to = edit.span.end;
            }
            if at >= skipped_to {
                after.push(letter);
            }
            at = at.saturating_add(u32::try_from(letter.character.len_utf8()).unwrap_or_default());
        }
        after.extend(edits.flat_map(|edit| fresh(&edit.content, last)));
        if after.last().is_some_and(|last| last.character == '\n') {
            after.pop();
        }
        if self.is_list { self.list(&after) } else { self.string(&after) }
    }

    fn string(&self, letters: &[Letter<'_>]) -> String {
        let mut string = String::from("\"");
        for letter in letters {
            match letter.kept {
                Some(written) => string.push_str(written),
                None => escape(letter.character, self.escapes, &mut string),
            }
        }
        string.push('"');
        string
    }

    /// A list in which only the strings whose characters changed are rewritten; all other strings, empty ones too, and the text between them
    /// are unchanged.
    fn list(&self, letters: &[Letter<'_>]) -> String {
        let Some((first, last)) = self.strings.first().zip(self.strings.last()) else {
            let lines: Vec<String> = lines(letters).into_iter().map(|line| self.string(line)).collect();
            return format!("[{}]", lines.join(", "));
        };
        let mut list = self.slice(0..first.start).to_owned();
        let mut is_first = true;
        // The start of the letters that are not yet written, and the string of the first of them.
        let (mut from, mut opened) = (0, 0);
        for (index, range) in self.strings.iter().enumerate() {
            let to = letters.partition_point(|letter| letter.string <= index);
            let own = letters.get(from..to).unwrap_or_default();
            let is_kept = opened == index && is_same(own, range);
            // A line whose line ending was removed continues with the next string.
            let had_end = opened < index || self.slice(range.clone()).ends_with("\\n\"");
            let has_end = own.last().is_none_or(|last| last.character == '\n');
            if !is_kept && had_end && !has_end && to < letters.len() {
                continue;
            }
            let gap = match opened {
                0 => self.strings.get(1).map_or(0..0, |second| first.end..second.start),
                _ => self.strings[opened - 1].end..self.strings[opened].start,
            };
            let gap =
                if gap.is_empty() { format!(",{}", self.slice(1..first.start)) } else { self.slice(gap).to_owned() };
            let written = if is_kept {
                vec![self.slice(range.clone()).to_owned()]
            } else {
                lines(own).into_iter().map(|line| self.string(line)).collect()
            };
            for string in written {
                if !std::mem::take(&mut is_first) {
                    list.push_str(&gap);
                }
                list.push_str(&string);
            }
            (from, opened) = (to, index + 1);
        }
        if is_first { "[]".to_owned() } else { list + self.slice(last.end..self.written.len()) }
    }

    fn slice(&self, range: Range<usize>) -> &'a str {
        self.written.get(range).unwrap_or_default()
    }
}

/// Whether these letters are exactly those of an original string.
fn is_same(letters: &[Letter<'_>], range: &Range<usize>) -> bool {
    let length: Option<usize> = letters.iter().map(|letter| letter.kept.map(str::len)).sum();
    length.is_some_and(|length| length + 2 == range.len())
}

/// Splits the letters where strings ended and after every new line ending.
fn lines<'l, 'a>(letters: &'l [Letter<'a>]) -> Vec<&'l [Letter<'a>]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (index, letter) in letters.iter().enumerate() {
        let follows = letters.get(index + 1);
        let is_end = match letter.kept {
            None => letter.character == '\n',
            Some(_) => {
                letter.is_last && (letter.character == '\n' || follows.is_some_and(|follows| follows.kept.is_some()))
            }
        };
        if is_end || follows.is_none() {
            lines.push(&letters[start..=index]);
            start = index + 1;
        }
    }
    lines
}

fn fresh(content: &str, string: usize) -> impl Iterator<Item = Letter<'_>> {
    content.chars().map(move |character| Letter { character, kept: None, string, is_last: false })
}

/// The characters of a JSON string, given without its quotes.
fn letters<'a>(string: &'a str, index: usize, letters: &mut Vec<Letter<'a>>) {
    let mut rest = string;
    while let Some(first) = rest.chars().next() {
        let (character, length) = if first == '\\' { unescape(rest) } else { (first, first.len_utf8()) };
        let (written, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        letters.push(Letter { character, kept: Some(written), string: index, is_last: after.is_empty() });
        rest = after;
    }
}

/// The character of an escape sequence, and the sequence's length.
fn unescape(rest: &str) -> (char, usize) {
    let unit = |at: usize| u32::from_str_radix(rest.get(at..at + 4)?, 16).ok();
    match rest.as_bytes().get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => match (unit(2), unit(8)) {
            // JSON writes a character beyond the basic plane as a surrogate pair.
            (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                (char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)).unwrap_or('\u{fffd}'), 12)
            }
            (unit, _) => (unit.and_then(char::from_u32).unwrap_or('\u{fffd}'), 6),
        },
        Some(other) => (char::from(*other), 2),
        None => ('\\', 1),
    }
}

/// Writes a character of a JSON string.
fn escape(character: char, escapes: bool, out: &mut String) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        _ if character < ' ' || (escapes && !character.is_ascii()) => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        _ => out.push(character),
    }
}

/// Whether a document escapes all characters outside ASCII.
fn escapes_letters(document: &str) -> bool {
    let bytes = document.as_bytes();
    let is_escape = |at: usize| {
        let slashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        let unit = document.get(at + 2..at + 6).and_then(|unit| u32::from_str_radix(unit, 16).ok());
        slashes % 2 == 0 && unit.is_some_and(|unit| unit >= 0x80)
    };
    document.is_ascii() && memchr::memmem::find_iter(bytes, b"\\u").any(is_escape)
}
