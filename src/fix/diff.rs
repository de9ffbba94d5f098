//! What changed, as a unified diff or as edits.
//!
//! **Invariant:** the lines of the diff are those of the texts, byte for byte; edits are sorted and turn one text into
//! the other.

use similar::{ChangeTag, TextDiff};

use crate::text::{Edit, Span};

/// The unified diff of two versions of the file at `path`; empty where they are equal.
pub fn unified(path: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(before, after).unified_diff().header(path, path).to_string()
}

/// The lines that differ, as edits of the first text that give the second.
pub fn hunks(before: &str, after: &str) -> Vec<Edit> {
    // A text holds less than 4 GiB.
    let length = |line: &str| u32::try_from(line.len()).unwrap_or(u32::MAX);
    let mut edits: Vec<Edit> = Vec::new();
    let mut at = 0;
    let mut is_open = false;
    for change in TextDiff::from_lines(before, after).iter_all_changes() {
        let line = change.value();
        if change.tag() == ChangeTag::Equal {
            is_open = false;
            at += length(line);
            continue;
        }
        if !std::mem::replace(&mut is_open, true) {
            edits.push(Edit::delete(Span::new(at, at)));
        }
        let Some(edit) = edits.last_mut() else { continue };
        if change.tag() == ChangeTag::Delete {
            at += length(line);
            edit.span.end = at;
        } else {
            edit.content.push_str(line);
        }
    }
    edits
}
