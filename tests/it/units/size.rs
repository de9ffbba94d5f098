//! The size of values.

use keylint::analysis::domain::size::{NESTED, STEPS, Walk, parts};
use keylint::analysis::domain::value::{Val, Value};

fn tuple(parts: Vec<Value>) -> Value {
    Value::of(Val::Tuple(parts.into()))
}

#[test]
fn huge_values_are_rejected_before_counting() {
    let mut doubled = tuple(Vec::new());
    for _ in 0..10 {
        doubled = tuple(vec![doubled.clone(), doubled]);
    }
    assert_eq!(parts(&doubled), Some(2_047));
    for _ in 0..40 {
        doubled = tuple(vec![doubled.clone(), doubled]);
    }
    assert_eq!(parts(&doubled), None);
    let mut nested = tuple(Vec::new());
    for _ in 0..NESTED - 1 {
        nested = tuple(vec![nested]);
    }
    assert_eq!(parts(&nested), Some(NESTED as usize));
    assert_eq!(parts(&tuple(vec![nested])), None);
}

#[test]
fn walks_terminate() {
    let mut walk = Walk::to(2);
    assert!(walk.down() && walk.down() && !walk.down());
    let mut steps = 3;
    loop {
        walk.back();
        if !walk.down() {
            break;
        }
        steps += 1;
    }
    assert!(steps == STEPS && walk.is_over());
}
