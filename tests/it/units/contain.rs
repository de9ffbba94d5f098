//! Tests of `engine::contained`.

use keylint::engine::contained;

#[test]
fn panics_become_sentences() {
    assert_eq!(contained(|| 1), Ok(1));
    let message = contained(|| -> u8 { panic!("lost {}\nmore", 3) }).unwrap_err();
    assert!(message.starts_with("lost 3 (tests/it/units/contain.rs:"), "{message}");
    let outer = contained(|| contained(|| -> u8 { panic!("inner") }).is_err());
    assert_eq!(outer, Ok(true));
}
