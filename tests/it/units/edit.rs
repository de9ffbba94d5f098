//! Tests of `text::apply_edits`.

use keylint::text::{Edit, EditError, Span, apply_edits};
use proptest::prelude::*;

fn edit(start: u32, end: u32, content: &str) -> Edit {
    Edit { span: Span::new(start, end), content: content.to_owned() }
}

#[test]
fn replaces_inserts_and_deletes() {
    let edits = [edit(0, 0, "# "), edit(0, 1, "A"), edit(2, 4, ""), edit(5, 5, "1"), edit(5, 5, "2")];
    assert_eq!(apply_edits("abcdé", &edits[..3]).as_deref(), Ok("# Abé"));
    assert_eq!(apply_edits("abcde", &edits).as_deref(), Ok("# Abe12"));
    assert_eq!(apply_edits("", &[]).as_deref(), Ok(""));
}

#[test]
fn refuses_overlap_disorder_and_places_outside() {
    let overlap = apply_edits("abcdef", &[edit(0, 3, "x"), edit(2, 4, "y")]);
    assert_eq!(overlap, Err(EditError::Overlap { earlier: Span::new(0, 3), later: Span::new(2, 4) }));
    assert!(apply_edits("abcdef", &[edit(4, 5, ""), edit(0, 1, "")]).is_err());
    assert_eq!(apply_edits("ab", &[edit(1, 3, "")]), Err(EditError::OutOfText { span: Span::new(1, 3) }));
    assert!(apply_edits("é", &[edit(1, 2, "")]).is_err());
    assert!(apply_edits("é", &[edit(1, 1, "x")]).is_err());
}

proptest! {
    /// Applying all edits at once equals applying them one by one, starting with the last.
    #[test]
    fn batches_of_edits_equal_single_edits(
        text in "[a-zé\n]{0,40}",
        pieces in prop::collection::vec((0_usize..6, 0_usize..4, "[A-Zä]{0,3}"), 0..8),
    ) {
        let bounds: Vec<u32> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).map(|at| u32::try_from(at).unwrap()).collect();
        let mut edits = Vec::new();
        let mut at = 0;
        for (skip, len, content) in pieces {
            let start = at + skip;
            let end = start + len;
            if end < bounds.len() {
                edits.push(Edit { span: Span::new(bounds[start], bounds[end]), content });
                at = end;
            }
        }
        let mut expected = text.clone();
        for edit in edits.iter().rev() {
            expected.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.content);
        }
        prop_assert_eq!(apply_edits(&text, &edits), Ok(expected));
    }

    #[test]
    fn never_panics(text in "\\PC{0,20}", edits in prop::collection::vec((0_u32..90, 0_u32..90, "\\PC{0,3}"), 0..6)) {
        let edits: Vec<Edit> = edits.iter().map(|(start, end, content)| edit(*start, *end, content)).collect();
        let _ = apply_edits(&text, &edits);
    }
}
