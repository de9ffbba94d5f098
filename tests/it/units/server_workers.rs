//! The responses of workers to requests.

use keylint::server::workers::{Failure, code, respond};
use serde_json::{Value, json};

/// The code and the message of a failure.
fn failure(result: Result<Value, Failure>) -> (i32, String) {
    let error = result.unwrap_err().error;
    (error.code, error.message)
}

#[test]
fn panics_are_answered_and_the_worker_survives() {
    let (code, message) = failure(respond(json!(1), |_: &u32| -> Result<u32, Failure> { panic!("lost") }));
    assert_eq!(code, code::INTERNAL);
    assert!(message.starts_with("keylint failed: lost (tests/it/units/server_workers.rs"), "{message}");
    assert_eq!(failure(respond(json!("x"), |n: &u32| Ok(*n))).0, code::INVALID_PARAMS);
    assert_eq!(respond(json!(3), |n: &u32| Ok(n + 1)).unwrap(), json!(4));
}
