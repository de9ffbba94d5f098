//! KEY105: two keys are made from one seed, and both are consumed.
//!
//! **Invariant:** if one seed is only a fallback, the finding is a note.

use crate::finding::{DerivationKind, Finding};
use crate::judge::facts::{Facts, KeyReuse, ReuseKind};

use super::Rule;
use super::reuse;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&KeyReuse> {
    facts.reuses.iter().filter(|reuse| reuse.kind == ReuseKind::SeededTwice).collect()
}

pub(super) fn describe(rule: &Rule, hit: &KeyReuse) -> Finding {
    let seed = match hit.derivation.kind() {
        DerivationKind::Seed(Some(seed), _) => format!("seed {seed}"),
        _ => "the same seed".to_owned(),
    };
    let callees = reuse::callees(hit, ":");
    // One constructor that two calls reach, or two constructors.
    let is_one = hit.derived_at.is_some_and(|(first, again)| first == again);
    let (message, help) = if is_one {
        (
            format!("both calls create their key from {seed}, and the two equal keys are consumed{callees}"),
            "create the key once, outside the function, and give each call a child of it",
        )
    } else {
        (
            format!("two keys are created from {seed}, and both are consumed{callees}"),
            "create one key from the seed, and split it with `jax.random.split`",
        )
    };
    let text = Text { message, label: wording::here(&hit.second, "an equal key is consumed"), help: help.to_owned() };
    reuse::finding(rule, hit, text)
}
