//! Hovers of rules.

use keylint::server::hover::rule_at;
use keylint::text::LineIndex;

fn rule(text: &str, at: &str) -> Option<&'static str> {
    let lines = LineIndex::new(text);
    let offset = u32::try_from(text.find(at).unwrap()).unwrap();
    rule_at(text, &lines, offset).map(|(rule, span)| {
        assert!(rule.is_called(&text[span.range()]));
        rule.code()
    })
}

#[test]
fn codes_and_names_in_comments_lead_to_rules() {
    let text = "x = 1\nf(k)  # keylint: ignore[KEY101, key-arithmetic] é reason\nKEY101  # é noqa KEY101\n";
    assert_eq!(rule(text, "KEY101"), Some("KEY101"));
    assert_eq!(rule(text, "arithmetic]"), Some("KEY202"));
    assert_eq!(rule(text, "reason"), None);
    assert_eq!(rule(text, "f(k)"), None);
    assert_eq!(rule("x  # noqa: KEY103", "Y103"), Some("KEY103"));
    assert_eq!(rule("KEY103", "KEY103"), None);
}
