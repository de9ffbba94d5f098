//! KEY102: a later iteration consumes the key of an earlier one.
//!
//! **Invariant:** the repetition is told of the loop; a key consumed twice within one iteration is another rule's.

use crate::finding::Finding;
use crate::judge::facts::{Collision, CollisionKind, Facts, Role};

use super::Rule;
use super::collision;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&Collision> {
    facts.collisions.iter().filter(|collision| collision.kind == CollisionKind::Iterated).collect()
}

pub(super) fn describe(rule: &Rule, hit: &Collision) -> Finding {
    let subject = collision::subject(hit);
    let callee = wording::code(&hit.second.callee);
    let message = if hit.derived_at.is_some() {
        let first = wording::code(&hit.first.callee);
        format!(
            "{subject} equals the key that {first} consumed in an earlier iteration: `fold_in` and `split` derive \
             the same key"
        )
    } else if hit.first.leaf == hit.second.leaf {
        match hit.second.role {
            Role::Split => {
                format!(
                    "{subject} is split in every iteration but never replaced, so {callee} returns the same keys \
                     each time"
                )
            }
            Role::Fold => {
                format!(
                    "{subject} and the data folded into it are the same in every iteration, so {callee} returns \
                     the same key each time"
                )
            }
            Role::Sample => {
                format!("{subject} is consumed in every iteration, so {callee} draws the same numbers each time")
            }
            Role::Library | Role::Protocol => {
                format!("{subject} is consumed in every iteration, so {callee} gets the same randomness each time")
            }
            Role::Unresolved => format!("{subject} is passed unchanged to {callee} in every iteration"),
        }
    } else {
        let first = wording::code(&hit.first.callee);
        format!("{subject} is consumed by {first} in one iteration and by {callee} in a later one")
    };
    let key = wording::variable(hit.name.as_deref());
    let text = Text {
        message,
        label: format!(
            "{} in a later iteration",
            wording::here(&hit.second, &collision::again(&hit.first, &hit.second))
        ),
        help: format!(
            "rebind the key in each iteration, `{key}, subkey = jax.random.split({key})`, or derive a key from the \
             index, `jax.random.fold_in({key}, i)`"
        ),
    };
    collision::finding(rule, hit, text)
}
