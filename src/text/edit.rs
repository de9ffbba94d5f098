//! Edits of a text.
//!
//! **Invariant:** [`apply_edits`] applies either all edits or none. All spans refer to the original text.

use serde::{Deserialize, Serialize};

use super::Span;

/// Replaces the bytes of a span. An edit with an empty span inserts, one with empty content deletes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Edit {
    /// The replaced bytes, in the original text.
    pub span: Span,
    /// The replacement.
    pub content: String,
}

impl Edit {
    /// Inserts text at an offset.
    pub fn insert(at: u32, content: impl Into<String>) -> Self {
        Self::replace(Span::new(at, at), content)
    }

    /// Replaces the text of a span.
    pub fn replace(span: Span, content: impl Into<String>) -> Self {
        Self { span, content: content.into() }
    }

    /// Deletes the text of a span.
    pub fn delete(span: Span) -> Self {
        Self::replace(span, String::new())
    }
}

/// Why edits cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// An edit starts before the one before it ends: they overlap, or are not sorted.
    #[error("the edit at bytes {}..{} starts before the edit at bytes {}..{} ends", .later.start, .later.end, .earlier.start, .earlier.end)]
    Overlap {
        /// The first of the two in the list.
        earlier: Span,
        /// The second.
        later: Span,
    },
    /// An edit extends beyond the text, or starts or ends within a character.
    #[error("the edit at bytes {}..{} does not lie within the text, on boundaries of characters", .span.start, .span.end)]
    OutOfText {
        /// The span of the edit.
        span: Span,
    },
}

/// Applies edits, which must be sorted by start and must not overlap. Adjacent edits are allowed, and insertions at the same
/// offset keep their order.
pub fn apply_edits(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let mut result = String::with_capacity(text.len() + edits.iter().map(|edit| edit.content.len()).sum::<usize>());
    let mut previous = Span::default();
    for edit in edits {
        let (start, end) = (edit.span.start, edit.span.end);
        if start < previous.end {
            return Err(EditError::Overlap { earlier: previous, later: edit.span });
        }
        let (Some(kept), Some(_)) =
            (text.get(previous.end as usize..start as usize), text.get(start as usize..end as usize))
        else {
            return Err(EditError::OutOfText { span: edit.span });
        };
        result.push_str(kept);
        result.push_str(&edit.content);
        previous = edit.span;
    }
    // The last edit was checked to lie within the text.
    result.push_str(text.get(previous.end as usize..).unwrap_or_default());
    Ok(result)
}

/// The span of an edit's text in the text after all edits; `None` for a deletion.
pub fn written(edit: &Edit, edits: &[Edit]) -> Option<Span> {
    let others: Vec<Edit> = edits.iter().filter(|other| other.span.start < edit.span.start).cloned().collect();
    let start = moved(edit.span.start, &others);
    let length = u32::try_from(edit.content.trim_end().len()).ok().filter(|length| *length > 0)?;
    Some(Span::new(start, start.saturating_add(length)))
}

/// The new offset of an offset of the original text.
pub fn moved(offset: u32, edits: &[Edit]) -> u32 {
    let end = edits.iter().filter(|edit| edit.span.end <= offset).fold(i64::from(offset), |at, edit| {
        at + i64::try_from(edit.content.len()).unwrap_or_default() - i64::from(edit.span.len())
    });
    u32::try_from(end).unwrap_or(offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
}
