//! `workspace/executeCommand` with `keylint.showLineage`: the keys of a function, from where they come to where they end.
//!
//! **Invariant:** keys are listed in the order of the program, each once, below the key that it was derived from.

use std::fmt::Write;

use gen_lsp_types::{ExecuteCommandParams, Position, Uri};
use serde::Deserialize;
use serde_json::Value;

use super::client::SHOW_LINEAGE;
use super::hover::row;
use super::places::Page;
use super::workers::{Asked, Failure, code};
use crate::engine::{KeyNote, Keys};
use crate::text::{LineIndex, Span};

/// Where the command was called.
#[derive(Debug, Deserialize)]
struct At {
    uri: Uri,
    #[serde(default)]
    position: Position,
}

pub(super) fn execute(asked: &Asked<'_>, params: &ExecuteCommandParams) -> Result<Value, Failure> {
    if params.command != SHOW_LINEAGE {
        return Err(Failure::new(code::INVALID_PARAMS, format!("no command {}", params.command)));
    }
    let argument = params.arguments.as_ref().and_then(|arguments| arguments.first()).cloned().unwrap_or_default();
    let expected = |error| Failure::new(code::INVALID_PARAMS, format!("expected {{uri, position}}: {error}"));
    let At { uri, position } = serde_json::from_value(argument).map_err(expected)?;
    let (path, opened) = asked.document(&uri).ok_or_else(Failure::gone)?;
    let nothing = || Value::String("No known keys here.\n".to_owned());
    let Some(keys) = asked.snapshot.keys(path, asked.is_cancelled)? else { return Ok(nothing()) };
    let text = keys.files.text(keys.file);
    let lines = LineIndex::new(text);
    let page = Page { text, lines: &lines, cells: keys.files.cells(keys.file), unit: asked.snapshot.client.unit };
    let offset = page.offset(opened, &uri, position).unwrap_or_default();
    Ok(lineage(&keys, page, offset).map_or_else(nothing, Value::String))
}

/// The keys of the innermost function around an offset, as text.
fn lineage(keys: &Keys, page: Page<'_>, offset: u32) -> Option<String> {
    let around = |span: Span| span.start <= offset && offset <= span.end;
    let own = |note: &&KeyNote| note.place.file == keys.file && !note.is_called;
    let within = keys.notes.iter().filter(own).map(|note| note.within).filter(|within| around(*within));
    let within = within.min_by_key(|within| within.len())?;
    let mut notes: Vec<&KeyNote> = Vec::new();
    for note in keys.notes.iter().filter(own).filter(|note| note.within == within) {
        if !notes.iter().any(|known| known.derivation == note.derivation) {
            notes.push(note);
        }
    }
    let mut text = format!("Keys of {} ({})\n", notes.first()?.function, page.row(within.start));
    let tree = Tree { keys, page, notes: &notes };
    for (index, note) in notes.iter().enumerate() {
        if tree.parent(note).is_none() {
            tree.write(&mut text, index, 1);
        }
    }
    Some(text)
}

/// The keys of one function, each below the one that it was derived from.
struct Tree<'a> {
    keys: &'a Keys,
    page: Page<'a>,
    notes: &'a [&'a KeyNote],
}

impl Tree<'_> {
    /// The nearest key that one was derived from.
    fn parent(&self, note: &KeyNote) -> Option<usize> {
        let above = self.notes.iter().enumerate().filter(|(_, other)| note.derivation.is_made_of(&other.derivation));
        above.max_by_key(|(_, other)| other.derivation.len()).map(|(index, _)| index)
    }

    /// Writes a key, what is done with it, and what was derived from it. A parent's derivation is shorter than its
    /// child's, so
    /// that this ends.
    fn write(&self, text: &mut String, index: usize, depth: usize) {
        let Some(note) = self.notes.get(index) else { return };
        let indent = "  ".repeat(depth);
        let _ = write!(text, "{indent}{} ({}, {})", note.derivation, note.kind, self.page.row(note.place.span.start));
        if let Some(data) = &note.key_data {
            let _ = write!(text, " {data}");
        }
        text.push('\n');
        let below: Vec<usize> =
            (0..self.notes.len()).filter(|other| self.parent(self.notes[*other]) == Some(index)).collect();
        for used in &note.uses {
            // What is done with one key of an array is listed under that key.
            let is_told_below = below.iter().any(|child| self.notes[*child].uses.contains(used));
            if !is_told_below {
                let again = self.keys.again.iter().any(|(second, _)| *second == used.place);
                let row = row(self.keys, self.page, used.place).replace('`', "");
                let _ = writeln!(
                    text,
                    "{indent}  {} {} ({row}{})",
                    used.callee,
                    used.verb,
                    if again { ", again" } else { "" }
                );
            }
        }
        for child in below {
            self.write(text, child, depth + 1);
        }
    }
}
