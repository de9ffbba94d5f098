//! Compares index maps with their definitions, element by element.

use keylint::arrays::{Entry, Map, axis, joint_shape, nearest, position, range_length, reshaped, size, slice};
use proptest::prelude::*;

#[test]
fn indices_are_those_of_python_and_of_jax() {
    assert_eq!([position(3, 2), position(3, -1), position(3, 3), position(3, -4)], [Some(2), Some(2), None, None]);
    assert_eq!([nearest(3, 9), nearest(3, -9), nearest(3, -1), nearest(0, 0)], [Some(2), Some(0), Some(2), None]);
    assert_eq!([axis(2, -1), axis(2, 2)], [Some(1), None]);
    assert_eq!([position(3, i128::MIN), nearest(3, i128::MAX)], [None, Some(2)]);
}

#[test]
fn slices_are_those_of_python() {
    assert_eq!(slice(5, None, None, None), Some(vec![0, 1, 2, 3, 4]));
    assert_eq!(slice(5, Some(1), Some(-1), Some(2)), Some(vec![1, 3]));
    assert_eq!(slice(5, None, None, Some(-2)), Some(vec![4, 2, 0]));
    assert_eq!(slice(5, Some(9), Some(-9), Some(-1)), Some(vec![4, 3, 2, 1, 0]));
    assert_eq!(slice(5, Some(3), Some(1), None), Some(vec![]));
    assert_eq!(slice(5, None, None, Some(0)), None);
    assert_eq!(slice(2, Some(i128::MIN), Some(i128::MAX), Some(i128::MAX)), Some(vec![0]));
    assert_eq!([range_length(0, 5, 2), range_length(5, 0, -2), range_length(0, 5, 0)], [3, 3, 0]);
}

#[test]
fn shapes_fit_or_do_not() {
    assert_eq!(reshaped(6, &[2, -1]), Some(vec![2, 3]));
    assert_eq!(reshaped(0, &[3, -1]), Some(vec![3, 0]));
    for wrong in [&[4, -1][..], &[-1, -1], &[5], &[-2, 3], &[i128::MAX, -1]] {
        assert_eq!(reshaped(6, wrong), None, "{wrong:?}");
    }
    assert_eq!(joint_shape(&[3, 1], &[2]), [3, 2]);
    assert_eq!(size(&[usize::MAX, 2]), None);
}

#[test]
fn arrays_are_concatenated_and_stacked() {
    assert_eq!(Map::stack(&[2], 2, 1), Some(Map { shape: vec![2, 2], positions: vec![0, 2, 1, 3] }));
    let joined = Map::concatenate(&[&[2, 1], &[2, 2]], 1);
    assert_eq!(joined, Some(Map { shape: vec![2, 3], positions: vec![0, 2, 3, 1, 4, 5] }));
    assert_eq!(Map::concatenate(&[&[2, 1], &[3, 1]], 1), None);
    assert_eq!(Map::moveaxis(&[2, 3], 0, 2), None);
}

/// The coordinates of an element.
fn coordinates(shape: &[usize], mut index: usize) -> Vec<usize> {
    let mut found: Vec<usize> = shape.iter().rev().map(|length| (index % length, index /= length).0).collect();
    found.reverse();
    found
}

/// The element at these coordinates.
fn element(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).fold(0, |index, (length, at)| index * length + at)
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0_usize..4, 0..4)
}

proptest! {
    #[test]
    fn transpose_reverses_coordinates(shape in shapes()) {
        let map = Map::transpose(&shape);
        prop_assert_eq!(Some(map.positions.len()), size(&map.shape));
        for (index, position) in map.positions.iter().enumerate() {
            let mut at = coordinates(&map.shape, index);
            at.reverse();
            prop_assert_eq!(*position, element(&shape, &at));
        }
        // Twice is the identity.
        let again = Map::transpose(&map.shape);
        let both: Vec<usize> = again.positions.iter().map(|position| map.positions[*position]).collect();
        prop_assert_eq!(both, (0..map.positions.len()).collect::<Vec<_>>());
    }

    #[test]
    fn moving_an_axis_back_is_the_identity(shape in shapes(), from in 0_usize..4, to in 0_usize..4) {
        let Some(there) = Map::moveaxis(&shape, from, to) else {
            prop_assert!(from >= shape.len() || to >= shape.len());
            return Ok(());
        };
        let back = Map::moveaxis(&there.shape, to, from).unwrap();
        prop_assert_eq!(&back.shape, &shape);
        let both: Vec<usize> = back.positions.iter().map(|position| there.positions[*position]).collect();
        prop_assert_eq!(both, (0..there.positions.len()).collect::<Vec<_>>());
    }

    #[test]
    fn elements_of_a_stack_are_the_arrays(shape in shapes(), count in 1_usize..4, axis in 0_usize..4) {
        let Some(stack) = Map::stack(&shape, count, axis) else { return Ok(()) };
        let each = size(&shape).unwrap();
        for lane in 0..count {
            let part = Map::element(&stack.shape, axis, lane).unwrap();
            prop_assert_eq!(&part.shape, &shape);
            let elements: Vec<usize> = part.positions.iter().map(|position| stack.positions[*position]).collect();
            prop_assert_eq!(elements, (lane * each..(lane + 1) * each).collect::<Vec<_>>());
        }
    }

    #[test]
    fn slices_match_enumeration(length in 0_usize..8, lower in -9_i128..9, upper in -9_i128..9, step in 1_i128..4) {
        let count = i128::try_from(length).unwrap();
        let bound = |at: i128| (if at < 0 { at + count } else { at }).clamp(0, count);
        let wanted: Vec<usize> = (0..length)
            .filter(|at| {
                let at = i128::try_from(*at).unwrap();
                at >= bound(lower) && at < bound(upper) && (at - bound(lower)) % step == 0
            })
            .collect();
        prop_assert_eq!(slice(length, Some(lower), Some(upper), Some(step)), Some(wanted));
    }

    #[test]
    fn selections_combine_their_entries(shape in shapes(), picks in proptest::collection::vec(0_usize..4, 0..3)) {
        let entries = [Entry::NewAxis, Entry::Take(picks.clone(), vec![picks.len()])];
        let Some(map) = Map::select(&shape, &entries) else {
            prop_assert!(shape.is_empty() || picks.iter().any(|pick| *pick >= shape[0]));
            return Ok(());
        };
        for (index, position) in map.positions.iter().enumerate() {
            let mut at = coordinates(&map.shape, index).split_off(1);
            at[0] = picks[at[0]];
            prop_assert_eq!(*position, element(&shape, &at));
        }
    }
}
