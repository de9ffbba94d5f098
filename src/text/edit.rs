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
