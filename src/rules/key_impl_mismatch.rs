//! KEY307: keys of one implementation where another one is expected.
//!
//! **Invariant:** both implementations are known by name; the primary place is the call where they meet.

use crate::finding::{Finding, FixHints};
use crate::judge::facts::{Facts, ImplementationConflict, Mismatch};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> &[Mismatch] {
    &facts.mismatches
}

pub(super) fn describe(rule: &Rule, found: &Mismatch) -> Finding {
    let [one, other] = &found.names;
    let callee = wording::code(&found.callee);
    let default = if found.is_by_default() { " (the default)" } else { "" };
    let (message, label) = match found.kind {
        ImplementationConflict::Joined => (
            format!("{callee} puts keys of `{one}` and `{other}` into one array"),
            "an array of keys has one implementation",
        ),
        ImplementationConflict::Carried => (
            format!("the carry of {callee} starts with a key of `{one}` and continues with a key of `{other}`"),
            "the type of a carry must not change",
        ),
        ImplementationConflict::Branches => (
            format!("one branch of {callee} returns a key of `{one}`, another a key of `{other}`"),
            "all branches must return the same types",
        ),
        ImplementationConflict::Wrapped => (
            format!("{callee} wraps the words of a key of `{one}` as a key of `{other}`{default}"),
            "another implementation",
        ),
        ImplementationConflict::Width => (
            format!(
                "{callee} wraps {} words as a key of `{other}`{default}, which has {}",
                found.widths[0], found.widths[1]
            ),
            "the last axis has the wrong length",
        ),
        ImplementationConflict::Taken => (
            format!("{callee} treats the words of a key of `{one}` as a key of `{other}`{default}"),
            "a raw key does not record its implementation",
        ),
    };
    let how = match (found.kind, found.raises()) {
        (_, true) => "JAX raises an error",
        (_, false) => "the result is a different key",
    };
    let help = match found.kind {
        ImplementationConflict::Joined | ImplementationConflict::Carried | ImplementationConflict::Branches => {
            "make all of these keys with the same `impl`".to_owned()
        }
        ImplementationConflict::Wrapped => {
            format!("name the implementation of the key: `jax.random.wrap_key_data(words, impl=\"{one}\")`")
        }
        ImplementationConflict::Width => "name the implementation of the words with `impl=`".to_owned(),
        ImplementationConflict::Taken => {
            format!("make a typed key, which keeps its implementation: `jax.random.key(seed, impl=\"{one}\")`")
        }
    };
    let text = Text { message: format!("{message}: {how}"), label: label.to_owned(), help };
    let mut finding = wording::finding(rule, found.place, found.confidence, &found.function, text);
    // Words of no known key have no implementation.
    if let Some(name) = found.named().filter(|name| !name.is_empty()) {
        finding.fix_hints = Some(FixHints { implementation: Some(name.to_owned()), ..FixHints::default() });
    }
    for origin in found.origins.iter().flatten() {
        wording::relate(&mut finding, wording::origin(Some(origin)));
    }
    finding
}
