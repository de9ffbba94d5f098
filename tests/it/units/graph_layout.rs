//! The layout of graphs.

use keylint::engine::{FunctionKeys, LineageKey};
use keylint::finding::{Derivation, Place};
use keylint::report::graph::layout::{WIDTH, layout};
use keylint::text::{FileId, Span};

fn key(parent: Option<usize>) -> LineageKey {
    LineageKey {
        parent,
        names: Vec::new(),
        kind: "key",
        derivation: Derivation::default(),
        key_data: None,
        place: Place { file: FileId(0), span: Span::default() },
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
