//! KEY301: raw keys are made with `PRNGKey`.
//!
//! **Invariant:** one finding a file; annotations and imports make no keys and are not counted.

use crate::finding::{Confidence, Finding};
use crate::judge::facts::{Facts, Reference, ReferenceKind};

use super::Rule;
use super::wording::{self, Text};

/// All places of one file, first one first; never empty.
pub(super) struct Hit<'a> {
    first: &'a Reference,
    others: Vec<&'a Reference>,
}

/// Whether a reference makes raw keys.
pub(super) fn makes_raw_key(reference: &Reference) -> bool {
    reference.path == "jax.random.PRNGKey" && matches!(reference.kind, ReferenceKind::Call | ReferenceKind::Value)
}

pub(super) fn find(facts: &Facts) -> Vec<Hit<'_>> {
    let mut places = facts.references.iter().filter(|reference| makes_raw_key(reference));
    places.next().map(|first| Hit { first, others: places.collect() }).into_iter().collect()
}

pub(super) fn describe(rule: &Rule, hit: &Hit<'_>) -> Finding {
    let text = Text {
        message: format!(
            "{} creates a raw key; JAX recommends typed keys (`jax.random.key`)",
            wording::code(&hit.first.written)
        ),
        label: "creates a raw key".to_owned(),
        help: "create typed keys with `jax.random.key`; the numbers drawn stay the same".to_owned(),
    };
    let mut finding = wording::finding(rule, hit.first.place, Confidence::High, &hit.first.function, text);
    let others = hit.others.iter().map(|other| wording::label(other.place, "also creates a raw key".to_owned()));
    wording::relate(&mut finding, others);
    finding
}
