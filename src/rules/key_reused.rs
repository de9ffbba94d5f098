//! KEY101: a key is consumed by two calls on one path.
//!
//! **Invariant:** a sampler beside a `fold_in` child of the same key is reported at low confidence only, since `fold_in`
//! derives and does not consume.

use crate::analysis::facts::{Collision, CollisionKind, Facts};
use crate::finding::{Confidence, Finding};

use super::Rule;
use super::collision;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&Collision> {
    let mine = |kind| matches!(kind, CollisionKind::Sampled | CollisionKind::FoldAndSampled);
    facts.collisions.iter().filter(|collision| mine(collision.kind)).collect()
}

pub(super) fn describe(rule: &Rule, hit: &Collision) -> Finding {
    let subject = collision::subject(hit);
    if hit.kind == CollisionKind::FoldAndSampled {
        let text = Text {
            message: format!(
                "{subject} is both drawn from and folded: {} and {}",
                wording::code(&hit.first.callee),
                wording::code(&hit.second.callee)
            ),
            label: wording::here(&hit.second, "used again"),
            help: "keep keys that are folded apart from keys that are drawn from".to_owned(),
        };
        let mut finding = collision::finding(rule, hit, text);
        finding.confidence = Confidence::Low;
        return finding;
    }
    let verb = collision::verb(&hit.first, &hit.second);
    let help = match &hit.meant {
        Some(meant) => format!("use `{meant}`, which nothing uses yet"),
        None => wording::split_help(hit.name.as_deref()),
    };
    let text = Text {
        message: format!("{subject} is {verb} twice, {}", collision::callees(hit)),
        label: wording::here(&hit.second, &format!("{} again", wording::participle(hit.second.role))),
        help,
    };
    collision::finding(rule, hit, text)
}
