//! KEY105: two keys are made from one seed, and both are consumed.
//!
//! **Invariant:** where one seed is a fallback default only, the finding is a note.

use crate::finding::Finding;
use crate::judge::facts::{Collision, CollisionKind, Facts};

use super::Rule;
use super::collision;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&Collision> {
    facts.collisions.iter().filter(|collision| collision.kind == CollisionKind::SeededTwice).collect()
}

pub(super) fn describe(rule: &Rule, hit: &Collision) -> Finding {
    let key = wording::subject(None, &hit.derivation);
    let text = Text {
        message: format!(
            "{key} is created twice from the same seed, and both keys are consumed{}",
            collision::callees(hit, ":")
        ),
        label: wording::here(&hit.second, "an equal key is consumed"),
        help: "create one key from the seed, and split it with `jax.random.split`".to_owned(),
    };
    collision::finding(rule, hit, text)
}
