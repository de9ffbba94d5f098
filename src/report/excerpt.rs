//! Excerpts of source with labels, for a terminal.
//!
//! The renderer gets only a copy of the lines to show, neutralised and cut to a window around the labels. Labels are mapped into the
//! copy.
//!
//! **Invariant:** printed rows and columns are those of the file, however its lines were cut or escaped.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use codespan_reporting::diagnostic::{Diagnostic, Label, LabelStyle};
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term::{self, Config, termcolor};

use super::neutral::{self, neutral};
use crate::config::ConfigError;
use crate::text::{LineIndex, Span};

/// The maximum number of characters shown of a line.
const WIDTH: usize = 160;

/// The number of characters shown before a label if the line is cut.
const LEAD: usize = 40;

/// A label within one file.
pub(super) struct Mark<'a> {
    pub(super) style: LabelStyle,
    pub(super) span: Span,
    pub(super) message: &'a str,
}

/// A copy of the lines with labels.
pub(super) struct Excerpt {
    name: String,
    source: String,
    /// The bytes in `source` of each line shown, by 0-based line of the file.
    lines: BTreeMap<usize, Range<usize>>,
    /// The column in the file of each label's start, by byte in `source`.
    columns: BTreeMap<usize, usize>,
}

impl Excerpt {
    /// Copies the lines of `marks`; the labels are in the order of the marks.
    pub(super) fn new(name: &str, text: &str, index: &LineIndex, marks: &[Mark<'_>]) -> (Self, Vec<Label<()>>) {
        let mut excerpt =
            Self { name: neutral(name), source: String::new(), lines: BTreeMap::new(), columns: BTreeMap::new() };
        // A label that spans several lines is shown on the first: the name of a call is more useful than its closing bracket.
        let placed: Vec<(u32, Span)> = marks
            .iter()
            .map(|mark| {
                let row = index.row(mark.span.start);
                let line = index.line(text, row);
                let start = mark.span.start.min(line.end);
                (row, Span::new(start, mark.span.end.min(line.end)))
            })
            .collect();
        let mut shown: BTreeMap<u32, Option<u32>> = BTreeMap::new();
        for (mark, (row, span)) in marks.iter().zip(&placed) {
            let anchor = shown.entry(*row).or_default();
            if anchor.is_none() || mark.style == LabelStyle::Primary {
                *anchor = Some(span.start);
            }
        }
        // If one line is between two labels, the renderer shows that line as well.
        let between: Vec<u32> = shown.keys().filter(|row| shown.contains_key(&(*row + 2))).map(|row| row + 1).collect();
        for row in between {
            shown.entry(row).or_default();
        }
        let mut cuts = BTreeMap::new();
        for (row, anchor) in shown {
            let line = index.line(text, row);
            let written = text.get(line.start as usize..line.end as usize).unwrap_or_default();
            let cut = Cut::new(written, line.start as usize, anchor.unwrap_or(line.start) as usize);
            let start = excerpt.source.len();
            excerpt.source.push_str(&cut.text);
            excerpt.lines.insert(row as usize - 1, start..excerpt.source.len());
            excerpt.source.push('\n');
            cuts.insert(row, (start, cut));
        }
        let mut labels = Vec::new();
        for (mark, (row, span)) in marks.iter().zip(placed) {
            let Some((base, cut)) = cuts.get(&row) else { continue };
            let start = base + cut.place(span.start as usize);
            let end = (base + cut.place(span.end as usize)).max(start);
            let column = index.line_column(text, span.start).column;
            // The renderer takes the place in its heading from the primary label.
            if mark.style == LabelStyle::Primary {
                excerpt.columns.insert(start, column as usize);
            } else {
                excerpt.columns.entry(start).or_insert(column as usize);
            }
            labels.push(Label::new(mark.style, (), start..end).with_message(neutral(mark.message)));
        }
        (excerpt, labels)
    }

    /// Renders a diagnostic over this excerpt.
    pub(super) fn render(&self, diagnostic: &Diagnostic<()>, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = if colour { termcolor::Buffer::ansi() } else { termcolor::Buffer::no_color() };
        term::emit_to_write_style(&mut buffer, &Config::default(), self, diagnostic).map_err(io::Error::other)?;
        if colour {
            return out.write_all(buffer.as_slice());
        }
        // Lines between labels end in spaces.
        for line in buffer.as_slice().split_inclusive(|byte| *byte == b'\n') {
            out.write_all(line.trim_ascii_end())?;
            out.write_all(if line.ends_with(b"\n") { b"\n" } else { b"" })?;
        }
        Ok(())
    }
}

impl<'a> Files<'a> for Excerpt {
    type FileId = ();
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, (): ()) -> Result<&'a str, Error> {
        Ok(&self.name)
    }

    fn source(&'a self, (): ()) -> Result<&'a str, Error> {
        Ok(&self.source)
    }

    fn line_index(&'a self, (): (), byte: usize) -> Result<usize, Error> {
        let before = self.lines.iter().take_while(|(_, range)| range.start <= byte);
        Ok(before.last().map_or(0, |(line, _)| *line))
    }

    fn column_number(&'a self, (): (), _line: usize, byte: usize) -> Result<usize, Error> {
        Ok(self.columns.get(&byte).copied().unwrap_or(1))
    }

    fn line_range(&'a self, (): (), line: usize) -> Result<Range<usize>, Error> {
        Ok(self.lines.get(&line).cloned().unwrap_or(self.source.len()..self.source.len()))
    }
}

/// One line, neutralised and cut.
struct Cut {
    text: String,
    /// For each character shown, the byte of the file and the byte of `text` at which it starts.
    starts: Vec<(usize, usize)>,
    /// The byte in `text` at which the last character shown ends.
    end: usize,
    /// The byte of the file at which the last character shown ends.
    file_end: usize,
}

impl Cut {
    /// Cuts `line`, which starts at byte `base` of its file, around byte `anchor` of the file.
    fn new(line: &str, base: usize, anchor: usize) -> Self {
        let anchor = line.char_indices().take_while(|(at, _)| base + at < anchor).count();
        let total = line.chars().count();
        let first = if total <= WIDTH { 0 } else { anchor.saturating_sub(LEAD).min(total - WIDTH) };
        let mut cut = Self { text: String::new(), starts: Vec::new(), end: 0, file_end: base };
        if first > 0 {
            cut.text.push('…');
        }
        for (at, c) in line.char_indices().skip(first).take(WIDTH) {
            cut.starts.push((base + at, cut.text.len()));
            neutral::push(&mut cut.text, c);
            cut.file_end = base + at + c.len_utf8();
        }
        cut.end = cut.text.len();
        if first + WIDTH < total {
            cut.text.push('…');
        }
        cut
    }

    /// Maps byte `offset` of the file to `text`; outside the window, to the ellipsis.
    fn place(&self, offset: usize) -> usize {
        let index = self.starts.partition_point(|(start, _)| *start < offset);
        match self.starts.get(index) {
            Some((start, at)) if index > 0 || *start == offset => *at,
            Some(_) => 0,
            None if offset > self.file_end => self.text.len(),
            None => self.end,
        }
    }
}

/// Writes an error in the configuration, with an excerpt.
pub fn problem(error: &ConfigError, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut diagnostic: Diagnostic<()> =
        Diagnostic::error().with_notes_iter(error.help.iter().map(|help| format!("help: {}", neutral(help))));
    let lines = LineIndex::new(&error.text);
    let Some(span) = &error.span else {
        diagnostic = diagnostic.with_message(format!("{}: {}", neutral(&error.origin), neutral(&error.message)));
        let (excerpt, _) = Excerpt::new(&error.origin, "", &lines, &[]);
        return excerpt.render(&diagnostic, colour, out);
    };
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let span = Span::new(offset(span.start), offset(span.end));
    let mark = Mark { style: LabelStyle::Primary, span, message: "" };
    let (excerpt, labels) = Excerpt::new(&error.origin, &error.text, &lines, &[mark]);
    let diagnostic = diagnostic.with_message(neutral(&error.message)).with_labels(labels);
    excerpt.render(&diagnostic, colour, out)
}
