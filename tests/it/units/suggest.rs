//! Tests of `config::suggest`.

use keylint::config::suggest;

#[test]
fn suggestions_are_near_words_only() {
    let words = ["select", "ignore", "exclude"];
    assert_eq!(suggest("selct", words), Some("select"));
    assert_eq!(suggest("IGNORE", words), Some("ignore"));
    assert_eq!(suggest("colour", words), None);
    assert_eq!(suggest(&"x".repeat(10_000), words), None);
}
