//! Draws the lineage of keys: as Mermaid, DOT, or an HTML page.
//!
//! **Invariant:** text of the program is escaped in each format: no name of a key and no line of source becomes markup.

mod dot;
mod html;
pub mod layout;
mod mermaid;

use serde::Deserialize;

use crate::engine::{FunctionKeys, Lineage, LineageKey, LineageUse};
use crate::finding::Place;
use crate::report::neutral;
use crate::text::LineIndex;

/// The format of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphFormat {
    /// A Mermaid flowchart, for Markdown.
    Mermaid,
    /// A digraph for Graphviz.
    Dot,
    /// A self-contained HTML page.
    Html,
}

impl GraphFormat {
    /// Every format.
    pub const ALL: &[Self] = &[Self::Mermaid, Self::Dot, Self::Html];

    /// The name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mermaid => "mermaid",
            Self::Dot => "dot",
            Self::Html => "html",
        }
    }

    /// The suffixes of files in the format, the usual one first.
    pub const fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Mermaid => &["md", "mmd", "mermaid"],
            Self::Dot => &["dot", "gv"],
            Self::Html => &["html", "htm"],
        }
    }

    /// The format for a file's suffix.
    pub fn of_suffix(suffix: &str) -> Option<Self> {
        let suffix = suffix.to_ascii_lowercase();
        Self::ALL.iter().copied().find(|format| format.suffixes().contains(&suffix.as_str()))
    }

    /// A description for help texts.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Mermaid => "A Mermaid flowchart, for Markdown",
            Self::Dot => "A digraph for Graphviz",
            Self::Html => "A self-contained HTML page",
        }
    }
}

/// Draws the keys of these functions.
pub fn draw(lineage: &Lineage, functions: &[&FunctionKeys], format: GraphFormat) -> String {
    let picture = Picture::new(lineage, functions);
    match format {
        GraphFormat::Mermaid => mermaid::write(&picture),
        GraphFormat::Dot => dot::write(&picture),
        GraphFormat::Html => html::write(&picture),
    }
}

/// The file and functions to draw.
struct Picture<'a> {
    lineage: &'a Lineage,
    functions: &'a [&'a FunctionKeys],
    lines: LineIndex,
}

impl<'a> Picture<'a> {
    fn new(lineage: &'a Lineage, functions: &'a [&'a FunctionKeys]) -> Self {
        Self { lineage, functions, lines: LineIndex::new(lineage.files.text(lineage.file)) }
    }

    /// The path of the file.
    fn path(&self) -> String {
        neutral(&self.lineage.files.path(self.lineage.file).display().to_string())
    }

    /// The row of the file's text on which a place starts; `None` if it is in another file.
    fn row(&self, place: Place) -> Option<u32> {
        (place.file == self.lineage.file).then(|| self.lines.row(place.span.start))
    }

    /// A location for people: `line 3`, `cell 2, line 3`, or path, row and column in another file.
    fn place(&self, place: Place) -> String {
        let Lineage { files, file, .. } = self.lineage;
        if place.file != *file {
            return neutral(&files.locus(place));
        }
        let (start, cells) = (place.span.start, files.cells(*file));
        let row = cells.line_column(&self.lines, files.text(*file), start, start).row;
        match cells.around(start) {
            Some(cell) => format!("cell {}, line {row}", cell.number),
            None => format!("line {row}"),
        }
    }

    /// The details of a key besides its name: derivation, words, place.
    fn details(&self, key: &LineageKey) -> Vec<String> {
        let mut details = Vec::new();
        if key.title() != *key.derivation {
            details.push(neutral(&key.derivation));
        }
        details.push(format!("{}, {}", key.kind, self.place(key.place)));
        details.extend(key.key_data.as_ref().map(|data| format!("key data {data}")));
        details
    }

    /// A use, as text: `jax.random.normal draws from it, line 3`.
    fn used(&self, used: &LineageUse) -> String {
        let again = if used.is_reuse { " (reuse)" } else { "" };
        format!("{} {}, {}{again}", neutral(&used.callee), used.verb, self.place(used.place))
    }
}

/// The line that says that keys were omitted.
fn omitted(function: &FunctionKeys) -> Option<String> {
    (function.omitted > 0).then(|| format!("{} more keys are left out", function.omitted))
}
