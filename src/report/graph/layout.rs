//! The layout of the keys of a function.
//!
//! **Invariant:** a key is to the right of its parent, and no two boxes overlap: the rows next to and below a key are reserved for its
//! descendants.

use crate::engine::{FunctionKeys, LineageKey};

/// Width of a box, in pixels.
pub const WIDTH: u32 = 300;

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
pub struct Placed {
    /// Its left side.
    pub x: u32,
    /// Its top.
    pub y: u32,
    /// How tall it is.
    pub height: u32,
}

/// The boxes of the keys by number, then width and height of the picture.
pub fn layout(function: &FunctionKeys, lines: &dyn Fn(&LineageKey) -> u32) -> (Vec<Placed>, u32, u32) {
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
