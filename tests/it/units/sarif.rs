//! Texts in SARIF.

use keylint::report::sarif::{LONGEST_TEXT, cut, escape_links, first_paragraph, pascal_case, plain, sentence};
use keylint::rules;

#[test]
fn texts_keep_within_the_limits() {
    assert_eq!(cut(&"é".repeat(5_000)).chars().count(), LONGEST_TEXT);
    assert_eq!(sentence("a key is consumed"), "A key is consumed.");
    assert_eq!(pascal_case("key-reused-in-loop"), "KeyReusedInLoop");
    assert_eq!(escape_links("split(key)[1]"), "split(key)\\[1\\]");
}

#[test]
fn every_rule_describes_itself() {
    for rule in rules::all() {
        let (description, help) = (cut(&first_paragraph(rule.page)), plain(rule.page));
        assert!(description.len() > 20, "{}", rule.name());
        assert!(!description.starts_with('#'), "{}", rule.name());
        let marks = help.lines().filter(|line| line.starts_with(['#', '`']));
        assert_eq!(marks.count(), 0, "{help}");
    }
}
