//! KEY305: words of a key are passed to code that expects raw keys.
//!
//! **Invariant:** the primary place is the call that takes the words.

use crate::finding::{Confidence, Finding};
use crate::judge::facts::{Facts, RawBridge};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> &[RawBridge] {
    &facts.bridges
}

pub(super) fn describe(rule: &Rule, bridge: &RawBridge) -> Finding {
    let callee = wording::code(&bridge.callee);
    let (whereto, label, help) = match &bridge.passed_to {
        Some(name) => (
            format!("passes key data to {}", wording::code(name)),
            "passed on here",
            format!("pass the key itself, if {} takes typed keys", wording::code(name)),
        ),
        None => (
            "returns key data".to_owned(),
            "returned here",
            "return the key itself; callers that need its words can call `jax.random.key_data`".to_owned(),
        ),
    };
    let text = Text {
        message: format!("{callee} {whereto}; key data does not carry its PRNG implementation"),
        label: "a typed key becomes a raw one".to_owned(),
        help,
    };
    let mut finding = wording::finding(rule, bridge.place, Confidence::High, &bridge.function, text);
    wording::relate(&mut finding, [wording::label(bridge.leaves_at, label.to_owned())]);
    finding
}
