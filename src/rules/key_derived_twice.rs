//! KEY104: one derivation is made twice, so that two names hold equal keys.
//!
//! **Invariant:** where the children in use are disjoint, the finding is a note.

use crate::finding::{Finding, IntentKind};
use crate::judge::facts::{Collision, CollisionKind, Facts};

use super::Rule;
use super::collision;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&Collision> {
    let mine =
        |kind| matches!(kind, CollisionKind::SplitTwice | CollisionKind::FoldedTwice | CollisionKind::FoldMeetsChild);
    facts.collisions.iter().filter(|collision| mine(collision.kind)).collect()
}

pub(super) fn describe(rule: &Rule, hit: &Collision) -> Finding {
    let subject = collision::subject(hit);
    let derivation = wording::code(&hit.derivation);
    let is_disjoint = hit.intent.as_ref().is_some_and(|intent| intent.kind == IntentKind::DisjointChildren);
    let (message, help) = match hit.kind {
        CollisionKind::FoldedTwice => (
            format!(
                "two `fold_in` calls with equal data give the same key {derivation}, and both results are \
                 consumed"
            ),
            "fold in different data, or first fold in a distinct constant to separate the streams".to_owned(),
        ),
        CollisionKind::FoldMeetsChild => (
            format!("`fold_in` gives the same key as a child of `split`, {derivation}, and both results are consumed"),
            "derive from a key with either `split` or `fold_in`, not with both".to_owned(),
        ),
        _ if is_disjoint => (
            format!("{subject} is split twice; both splits give the same children, but the code uses different ones"),
            "split once and index the result".to_owned(),
        ),
        _ => (
            format!("{subject} is split twice, and both splits give the same children"),
            format!(
                "split once into as many keys as you need, or keep the new parent: \
                 `{0}, subkey = jax.random.split({0})`",
                wording::variable(hit.name.as_deref())
            ),
        ),
    };
    let what = match hit.kind {
        CollisionKind::SplitTwice => "split again",
        _ => "an equal key is consumed",
    };
    collision::finding(rule, hit, Text { message, label: wording::here(&hit.second, what), help })
}
