//! The capabilities of editors.

use keylint::server::client::Client;
use keylint::text::Unit;
use serde_json::{Value, json};

#[test]
fn encodings_are_negotiated() {
    let of = |offered: Value| Client::new(&json!({"general": {"positionEncodings": offered}})).unit;
    assert_eq!(of(json!(["utf-16", "utf-8"])), Unit::Utf8);
    assert_eq!(of(json!(["utf-16", "utf-32"])), Unit::Utf32);
    assert_eq!(of(json!(["utf-16"])), Unit::Utf16);
    assert_eq!(Client::new(&Value::Null).unit, Unit::Utf16);
    assert_eq!(Client::new(&Value::Null).offer()["positionEncoding"], "utf-16");
}

#[test]
fn missing_capabilities_are_absent() {
    let client = Client::new(&json!({}));
    assert!(!client.pulls && !client.document_changes && !client.watches_files && !client.related_information);
    let client = Client::new(&json!({"textDocument": {"diagnostic": {}}, "window": {"workDoneProgress": false}}));
    assert!(client.pulls && !client.progress);
}
