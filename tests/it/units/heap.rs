//! Copies of the abstract state.

use keylint::analysis::{Layered, Shared};

#[test]
fn copies_do_not_share_writes() {
    let mut first: Shared<u32> = Shared::default();
    first.push(1);
    first.push(2);
    first.freeze();
    first.push(3);
    let mut second = first.clone();
    second[0] = 10;
    second[2] = 30;
    second.push(40);
    assert_eq!(first.iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(second.iter().copied().collect::<Vec<_>>(), [10, 2, 30, 40]);
    assert_eq!(second.own().map(|(index, element)| (index, *element)).collect::<Vec<_>>(), [(2, 30), (3, 40)]);
    second.freeze();
    assert_eq!((second.len(), second.own().count(), second[0], second[3]), (4, 0, 10, 40));
}

#[test]
fn layers_cover_frozen_values() {
    let mut first: Layered<u32, u32> = Layered::default();
    first.insert(1, 1);
    first.insert(2, 2);
    first.freeze();
    let mut second = first.clone();
    second.insert(1, 10);
    *second.or_default(2) += 20;
    *second.or_default(3) += 3;
    if let Some(value) = second.get_mut(&2) {
        *value += 200;
    }
    let all = |map: &Layered<u32, u32>| [1, 2, 3].map(|key| map.get(&key).copied());
    assert_eq!(all(&first), [Some(1), Some(2), None]);
    assert_eq!(all(&second), [Some(10), Some(222), Some(3)]);
    assert!(second.get_mut(&4).is_none() && !second.contains_key(&4));
    second.freeze();
    assert_eq!(all(&second), [Some(10), Some(222), Some(3)]);
}
