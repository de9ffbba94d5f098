//! What changed, as a unified diff or as edits.
//!
//! **Invariant:** the lines of the diff are those of the texts, byte for byte; edits are sorted and make the one text of the
//! other.

use similar::{DiffOp, DiffTag, TextDiff};

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
    if before == after {
        return Vec::new();
    }
    let diff = TextDiff::from_lines(before, after);
    let starts = |lines: &[&str]| -> Vec<usize> {
        let ends = lines.iter().scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    };
    let (old, new) = (starts(diff.old_slices()), starts(diff.new_slices()));
    let at = |starts: &[usize], line: usize| starts.get(line).or(starts.last()).copied().unwrap_or_default();
    let edit = |op: &DiffOp| {
        let (from, to) = (op.old_range(), op.new_range());
        // A text holds less than 4 GiB.
        let offset = |line: usize| u32::try_from(at(&old, line)).unwrap_or(u32::MAX);
        let content = after.get(at(&new, to.start)..at(&new, to.end)).unwrap_or_default();
        Edit { span: Span::new(offset(from.start), offset(from.end)), content: content.to_owned() }
    };
    diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal).map(edit).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::apply_edits;

    proptest! {
        #[test]
        fn hunks_make_the_other_text(before in "[ab\r\né]{0,12}", after in "[ab\r\né]{0,12}") {
            prop_assert_eq!(apply_edits(&before, &hunks(&before, &after)), Ok(after));
        }
    }
}
