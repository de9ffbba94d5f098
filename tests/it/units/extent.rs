//! Tests of `analysis::domain::extent`.

use keylint::analysis::domain::extent::{Extent, must_overlap};
use keylint::analysis::domain::term::Terms;
use proptest::prelude::*;

fn range(terms: &mut Terms, start: i128, step: i64, length: i128) -> Extent {
    Extent::Range { start: terms.int(start), step, length: Some(terms.int(length)), to_end: false }
}

proptest! {
    #[test]
    fn overlap_of_known_ranges_is_intersection(
        start_a in 0i128..12, start_b in 0i128..12,
        step_a in 1i64..4, step_b in 1i64..4,
        length_a in 1i128..8, length_b in 1i128..8,
    ) {
        let mut terms = Terms::default();
        let a = range(&mut terms, start_a, step_a, length_a);
        let b = range(&mut terms, start_b, step_b, length_b);
        let members = |start: i128, step: i64, length: i128| -> Vec<i128> {
            (0..length).map(|i| start + i * i128::from(step)).collect()
        };
        let in_a = members(start_a, step_a, length_a);
        let in_b = members(start_b, step_b, length_b);
        let really = in_a.iter().any(|i| in_b.contains(i));
        // A whole array is only known to be one through `to_end`, which these ranges do not claim.
        prop_assert_eq!(must_overlap(&terms, a, b), really);
        prop_assert_eq!(must_overlap(&terms, a, b), must_overlap(&terms, b, a));
    }
}
