//! The identities of rules.

use keylint::finding::RuleId;

#[test]
fn the_order_of_rules_is_that_of_their_codes() {
    assert!(RuleId::ALL.is_sorted() && RuleId::ALL.is_sorted_by_key(|rule| rule.code()));
    assert_eq!(RuleId::from_code("key101"), Some(RuleId::KeyReused));
    assert_eq!(RuleId::from_code("KEY10"), None);
}
