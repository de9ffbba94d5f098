//! The layout of the keys of a function.
//!
//! **Invariant:** a key is to the right of its parent, and no two boxes overlap: the rows next to and below a key are reserved for its
//! descendants.

use crate::engine::{FunctionKeys, LineageKey};

/// Width of a box, in pixels.
pub(super) const WIDTH: u32 = 300;

/// Height of a line of text, in pixels.
pub(super) const LINE: u32 = 18;

/// Space within a box above and below its lines.
pub(super) const PADDING: u32 = 8;

/// Horizontal space between a key and the keys derived from it.
const ACROSS: u32 = 56;

/// Vertical space between two boxes of a column.
const BETWEEN: u32 = 14;

/// The upper left corner and the height of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) height: u32,
}

/// The boxes of the keys by number, then width and height of the picture.
pub(super) fn layout(function: &FunctionKeys, lines: &dyn Fn(&LineageKey) -> u32) -> (Vec<Placed>, u32, u32) {
    let heights = function.keys.iter().map(|key| lines(key) * LINE + 2 * PADDING);
    let mut boxes: Vec<Placed> = heights.map(|height| Placed { height, ..Placed::default() }).collect();
    // Parents come before their children, so one pass computes the columns.
    for (index, key) in function.keys.iter().enumerate() {
        boxes[index].x = key.parent.map_or(0, |parent| boxes[parent].x + WIDTH + ACROSS);
    }
    // A backward pass computes the height that a key needs together with its descendants.
    let mut needed: Vec<u32> = vec![0; boxes.len()];
    for index in (0..boxes.len()).rev() {
        needed[index] = needed[index].max(boxes[index].height + BETWEEN);
        if let Some(parent) = function.keys[index].parent {
            needed[parent] += needed[index];
        }
    }
    let mut bottom = 0;
    for root in function.children(None) {
        boxes[root].y = bottom;
        bottom += needed[root];
    }
    for index in 0..boxes.len() {
        let mut children: Vec<usize> = function.children(Some(index)).collect();
        // Keys without children come first, to keep edges short.
        children.sort_by_key(|child| needed[*child]);
        let mut y = boxes[index].y;
        for child in children {
            boxes[child].y = y;
            y += needed[child];
        }
    }
    let width = boxes.iter().map(|placed| placed.x + WIDTH).max().unwrap_or_default();
    (boxes, width, bottom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parent: Option<usize>) -> LineageKey {
        LineageKey {
            parent,
            names: Vec::new(),
            kind: "key",
            derivation: crate::finding::Derivation::default(),
            key_data: None,
            place: crate::finding::Place { file: crate::text::FileId(0), span: crate::text::Span::default() },
            uses: Vec::new(),
        }
    }

    proptest::proptest! {
        #[test]
        fn no_two_boxes_overlap(parents in proptest::collection::vec(0..20_usize, 0..40), tall in 1..9_u32) {
            let keys: Vec<LineageKey> =
                parents.iter().enumerate().map(|(index, parent)| key((*parent < index).then_some(*parent))).collect();
            let function = FunctionKeys { keys, ..FunctionKeys::default() };
            let (boxes, width, height) = layout(&function, &|key| if key.parent.is_some() { 2 } else { 2 + tall });
            for (index, one) in boxes.iter().enumerate() {
                proptest::prop_assert!(one.x + WIDTH <= width && one.y + one.height <= height);
                for other in &boxes[index + 1..] {
                    let apart_x = one.x + WIDTH <= other.x || other.x + WIDTH <= one.x;
                    let apart_y = one.y + one.height <= other.y || other.y + other.height <= one.y;
                    proptest::prop_assert!(apart_x || apart_y, "{one:?} {other:?}");
                }
            }
        }
    }
}
