//! `workspace/executeCommand` with `keylint.showLineage`: the keys of a function, from where they come to where they end.
//!
//! **Invariant:** keys are told in the order of the program, each once, below the key that it was derived from.

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
    let nothing = || Value::String("No keys are known here.\n".to_owned());
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
    for note in &notes {
        let above = notes.iter().filter(|other| is_derived(&note.derivation, &other.derivation)).count();
        let indent = "  ".repeat(above + 1);
        let _ = write!(text, "{indent}{} ({}, {})", note.derivation, note.kind, page.row(note.place.span.start));
        if let Some(data) = &note.key_data {
            let _ = write!(text, " {data}");
        }
        text.push('\n');
        for used in &note.uses {
            let again = if keys.again.iter().any(|(second, _)| *second == used.place) { ", again" } else { "" };
            let _ = writeln!(
                text,
                "{indent}  {} {} ({}{again})",
                used.callee,
                used.verb,
                row(keys, page, used.place).replace('`', "")
            );
        }
    }
    Some(text)
}

/// Whether a derivation is made from another: that stands in it as a whole expression.
fn is_derived(derivation: &str, from: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
    derivation.len() > from.len()
        && derivation.match_indices(from).any(|(at, found)| {
            let (before, after) = (&derivation[..at], &derivation[at + found.len()..]);
            !is_part(before.chars().next_back()) && !is_part(after.chars().next())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivations_contain_what_they_come_from() {
        assert!(is_derived("split(key(0))[1]", "key(0)") && is_derived("split(key(0))[1]", "split(key(0))"));
        assert!(is_derived("split(self.key)[0]", "self.key"));
        assert!(
            !is_derived("key(0)", "key(0)")
                && !is_derived("split(keys)[0]", "key")
                && !is_derived("split(k)", "key(0)")
        );
    }
}
