//! Fixes that are applied together.

use keylint::finding::{Applicability, Fix, Verdict};
use keylint::fix::apply::{NameEffects, targets};
use keylint::text::{Edit, Span};

/// The fix that replaces pieces of a text, each of which occurs once.
fn fix(text: &str, pieces: &[(&str, &str)]) -> Fix {
    let edit = |(old, new): &(&str, &str)| {
        let start = u32::try_from(text.find(old).unwrap()).unwrap();
        Edit::replace(Span::new(start, start + u32::try_from(old.len()).unwrap()), *new)
    };
    let edits = pieces.iter().map(edit).collect();
    let (message, applicability) = (String::new(), Applicability::Unsafe);
    Fix { message, applicability, verdict: Verdict::Verified, reason: None, edits }
}

#[test]
fn fixes_do_not_remove_names_that_others_need() {
    let text = "a, b = split(key)\nx = normal(b)\ny = normal(key=c)\n";
    let renamed = fix(text, &[("a, b = ", "key, b = ")]);
    let meets = |pieces: &[(&str, &str)]| {
        let other = fix(text, pieces);
        let (one, other) = (NameEffects::of(text, &renamed), NameEffects::of(text, &other));
        !(one.leave(&other) && other.leave(&one))
    };
    assert!(meets(&[("normal(b)", "normal(a)")]));
    assert!(!meets(&[("normal(b)", "normal(d)")]));
    // An argument's name is no target.
    assert!(!meets(&[("key=c", "key=d")]));
    assert_eq!(targets("a, (b, c[0]) = f(x=1)"), Some("a, (b, c[0]) ".len()));
    assert_eq!(targets("key=c)"), Some(3));
    assert_eq!(targets("c), d = 1"), None);
}
