//! KEY103: one key is both split and drawn from.
//!
//! **Invariant:** the message states which came second, since that is the line to change.

use crate::finding::Finding;
use crate::judge::facts::{Collision, CollisionKind, Facts, Role};

use super::Rule;
use super::collision;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&Collision> {
    facts.collisions.iter().filter(|collision| collision.kind == CollisionKind::SplitAndSampled).collect()
}

pub(super) fn describe(rule: &Rule, hit: &Collision) -> Finding {
    let subject = collision::subject(hit);
    let key = wording::code(wording::variable(hit.second.name.as_ref()));
    let (message, what, help) = if hit.second.role == Role::Split {
        (
            format!("{subject} is split after {} consumed it", wording::code(&hit.first.callee)),
            "split",
            format!("split {key} before the first draw, and draw from a child"),
        )
    } else {
        let help = match &hit.meant {
            Some(meant) => format!("use `{meant}`, the child that is still unused"),
            None => format!("split {key} into one more child, and use that one here"),
        };
        (format!("{subject} is consumed by {} after it was split", wording::code(&hit.second.callee)), "consumed", help)
    };
    let text = Text { message, label: wording::here(&hit.second, what), help };
    collision::finding(rule, hit, text)
}
