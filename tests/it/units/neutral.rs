//! Text that no terminal interprets.

use keylint::report::{LONGEST, escape_json, is_dangerous, neutral};
use proptest::prelude::*;

#[test]
fn control_characters_are_made_visible() {
    assert_eq!(neutral("a\u{1b}[31mb\u{7f}\u{202e}c\td\ne"), "a␛[31mb␡\\u{202e}c d e");
    assert_eq!(neutral("é漢😀"), "é漢😀");
}

#[test]
fn long_messages_are_cut() {
    assert_eq!(neutral(&"é".repeat(10_000)).chars().count(), LONGEST + 1);
}

proptest! {
    #[test]
    fn no_dangerous_characters_remain(text in any::<String>()) {
        let out = neutral(&text);
        prop_assert!(!out.chars().any(|c| c.is_control() || is_dangerous(c)));
    }

    #[test]
    fn escaped_json_means_the_same(text in any::<String>()) {
        let json = serde_json::to_string(&text).unwrap();
        let escaped = escape_json(&json);
        prop_assert!(!escaped.chars().any(is_dangerous));
        prop_assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
