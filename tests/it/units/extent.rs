//! Tests of `analysis::domain::extent`.

use keylint::analysis::domain::extent::{Extent, must_overlap};
use keylint::analysis::domain::term::{Symbol, Terms};
use keylint::ir::Operator;
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

/// The numbers of a loop after its first iterations, times a step, plus an offset.
fn numbers(terms: &mut Terms, [first, count]: [u32; 2], [step, offset]: [i128; 2]) -> Extent {
    let symbol = Symbol::Iteration { first, count: Some(count) };
    let (number, step) = (terms.fresh(symbol, "<iteration>", None), terms.int(step));
    let product = terms.operate(Operator::Mul, &[number, step]);
    Extent::Index(terms.offset(product, offset))
}

proptest! {
    #[test]
    fn two_loops_overlap_if_both_take_a_number(
        first in 0u32..4, count_a in 1u32..30, count_b in 1u32..30,
        step_a in -6i128..7, step_b in -6i128..7,
        offset_a in -20i128..60, offset_b in -20i128..60,
    ) {
        let taken = |count: u32, step: i128, offset: i128| -> Vec<i128> {
            (first..count).map(|number| step * i128::from(number) + offset).collect()
        };
        let (in_a, in_b) = (taken(count_a, step_a, offset_a), taken(count_b, step_b, offset_b));
        let mut terms = Terms::default();
        let a = numbers(&mut terms, [first, count_a], [step_a, offset_a]);
        let b = numbers(&mut terms, [first, count_b], [step_b, offset_b]);
        prop_assume!(!in_a.is_empty() && !in_b.is_empty());
        prop_assert_eq!(must_overlap(&terms, a, b), in_a.iter().any(|number| in_b.contains(number)));
        prop_assert_eq!(must_overlap(&terms, b, a), must_overlap(&terms, a, b));
        let constant = Extent::Index(terms.int(offset_b));
        prop_assert_eq!(must_overlap(&terms, a, constant), in_a.contains(&offset_b));
    }
}
