//! Kinds of code actions.

use keylint::server::client::FIX_ALL;
use keylint::server::code_action::is_within;

#[test]
fn kinds_are_trees() {
    assert!(is_within(FIX_ALL, "source.fixAll") && is_within(FIX_ALL, "") && is_within("quickfix", "quickfix"));
    assert!(!is_within(FIX_ALL, "source.fix") && !is_within("quickfix", "quickfix.keylint"));
}
