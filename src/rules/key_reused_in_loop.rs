//! KEY102: a later iteration consumes the key of an earlier one.
//!
//! **Invariant:** the repetition is reported for the loop; a key consumed twice within one iteration belongs to another
//! rule.

use crate::finding::{DerivationKind, Finding};
use crate::judge::facts::{Facts, IterationDistance, KeyBinding, KeyReuse, LoopKind, Origin, ReuseKind, Role, Use};

use super::Rule;
use super::reuse;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&KeyReuse> {
    facts.reuses.iter().filter(|reuse| reuse.kind == ReuseKind::Iterated).collect()
}

pub(super) fn describe(rule: &Rule, hit: &KeyReuse) -> Finding {
    let subject = reuse::subject(hit);
    let callee = wording::callee(&hit.second.callee);
    let (each, later) = match hit.loop_kind {
        LoopKind::Leaves => ("for every leaf of the tree", "for a later leaf"),
        _ => ("in every iteration", "in a later iteration"),
    };
    let message = if hit.derived_at.is_some() {
        let first = wording::callee(&hit.first.callee);
        format!(
            "{subject} equals the key that {first} consumed in an earlier iteration: {}",
            reuse::folds_like_split(&hit.derivation)
        )
    } else if hit.is_seeded_again && (hit.second.name.is_some() || hit.first.leaf == hit.second.leaf) {
        let first = wording::callee(&hit.first.callee);
        let effect = if hit.first.leaf == hit.second.leaf {
            format!("{callee} {} again", wording::repetition(hit.second.role))
        } else {
            format!("{first} and {callee} get the same key")
        };
        match hit.second.name {
            Some(_) => format!("{subject} is created from the same seed {each}, so {effect}"),
            None => format!("every iteration starts from {subject}, so {effect}"),
        }
    } else if is_folded_with_sum(hit) {
        let repetition = wording::repetition(hit.second.role);
        format!("`fold_in` gets equal data in two iterations of these nested loops, so {callee} {repetition} again")
    } else if hit.first.leaf == hit.second.leaf
        && (hit.distance == IterationDistance::Apart || hit.binding != KeyBinding::Constant)
    {
        let (does, repetition) = (hit.second.role.participle(), wording::repetition(hit.second.role));
        format!("{subject} is the same key in two iterations, and {does} in both, so {callee} {repetition} again")
    } else if hit.first.leaf == hit.second.leaf {
        match hit.second.role {
            role if is_folded_within(hit) => {
                let repetition = wording::repetition(role);
                format!("{subject} is derived from equal data {each}, so {callee} {repetition} each time")
            }
            Role::Split => {
                format!("{subject} is split {each} but never replaced, so {callee} returns the same keys each time")
            }
            Role::Fold => {
                format!(
                    "{subject} and the data folded into it are the same {each}, so {callee} returns the same key each \
                     time"
                )
            }
            // The index of the element, or the number folded in, may be that of the iteration.
            Role::Sample | Role::Library | Role::Protocol
                if hit.second.name.is_none() && !matches!(hit.derivation.kind(), DerivationKind::Seed(..)) =>
            {
                format!(
                    "{subject} is consumed in two iterations, so {callee} {} again",
                    wording::repetition(hit.second.role)
                )
            }
            Role::Sample => {
                format!("{subject} is consumed {each}, so {callee} draws the same numbers each time")
            }
            Role::Library | Role::Protocol => {
                format!("{subject} is consumed {each}, so {callee} gets the same key each time")
            }
            Role::Unresolved => format!("{subject} is passed to {callee} {each}, and never replaced"),
        }
    } else {
        let name = hit.first.name.as_ref().filter(|_| reuse::two_names(hit).is_some());
        let before = name.map_or_else(|| subject.clone(), |name| wording::code(&name.text));
        let again = name.map_or_else(String::new, |_| format!(", as {subject},"));
        let first = wording::callee(&hit.first.callee);
        let (first, second) = match (hit.first.role, hit.second.role) {
            (Role::Split, Role::Split) => ("split".to_owned(), "split again".to_owned()),
            (Role::Split, _) => ("split".to_owned(), format!("consumed by {callee}")),
            (_, Role::Split) => (format!("consumed by {first}"), "split".to_owned()),
            _ if hit.first.callee == hit.second.callee => {
                (format!("consumed by {first}"), format!("by another call of {callee}"))
            }
            _ => (format!("consumed by {first}"), format!("by {callee}")),
        };
        format!("{before} is {first} in one iteration and{again} {second} in a later one")
    };
    let text = Text {
        message,
        label: format!("{} {later}", wording::here(&hit.second, &reuse::again(&hit.first, &hit.second))),
        help: help(hit),
    };
    reuse::finding(rule, hit, text)
}

/// Whether each iteration of a loop statement derives the key anew with `fold_in`.
fn is_folded_within(hit: &KeyReuse) -> bool {
    let is_made_within = |origin: &Origin| {
        hit.repeated_by.is_some_and(|head| head.file == origin.place.file && head.span.end <= origin.place.span.start)
    };
    hit.second.name.is_some()
        && matches!(hit.derivation.kind(), DerivationKind::Fold(..))
        && hit.origin.as_ref().is_some_and(is_made_within)
}

/// Whether a number that nested loops compute together is folded in, and is the same in two iterations: `epoch * 10 + step`.
fn is_folded_with_sum(hit: &KeyReuse) -> bool {
    hit.first.leaf == hit.second.leaf
        && hit.distance == IterationDistance::OfNestedLoops
        && matches!(hit.derivation.kind(), DerivationKind::Fold(..))
}

/// Whether the call that the loop makes creates the key, in the called function and not in an argument.
fn is_made_in_call(hit: &KeyReuse) -> bool {
    let Use { place, leaf, name, .. } = &hit.second;
    let is_argument = |origin: &Origin| origin.place.file == place.file && place.span.contains(origin.place.span.start);
    name.is_none() && place != leaf && !hit.origin.as_ref().is_some_and(is_argument)
}

/// The advice on how each iteration gets its own key.
fn help(hit: &KeyReuse) -> String {
    let name = hit.second.name.as_ref();
    if hit.derived_at.is_some() {
        return "derive from a key with either `split` or `fold_in`, not with both".to_owned();
    }
    if hit.is_seeded_again && is_made_in_call(hit) {
        return "let the function that creates the key take one as a parameter, and pass a new key in each iteration"
            .to_owned();
    }
    if hit.is_seeded_again || name.is_none() && matches!(hit.derivation.kind(), DerivationKind::Seed(..)) {
        return "create the key once, before the loop, and split it for each iteration".to_owned();
    }
    if hit.carried_at.is_some() || reuse::two_names(hit).is_some() {
        return "pass an unused key to the next iteration".to_owned();
    }
    if hit.binding == KeyBinding::Target {
        return "iterate over as many keys as there are iterations, such as the result of `jax.random.split`"
            .to_owned();
    }
    if is_folded_with_sum(hit) {
        return "fold in the number of each loop by itself: `jax.random.fold_in(jax.random.fold_in(key, i), j)`"
            .to_owned();
    }
    let Some(known) = name else { return "give each iteration its own key".to_owned() };
    let key = &known.text;
    if is_folded_within(hit) {
        return "also fold in a number that differs in every iteration of this loop".to_owned();
    }
    if known.is_several {
        return format!("give each iteration its own keys, not the same `{key}`");
    }
    // The loop already contains `key, subkey = split(key)`.
    let is_split_for_the_next = hit.second.role == Role::Split && hit.second.via.is_empty();
    let is_split_here = is_split_for_the_next && hit.second.place == hit.second.leaf;
    if is_split_here && hit.first.place != hit.second.place && hit.loop_kind == LoopKind::Statement {
        let callee = wording::callee(&hit.first.callee);
        let what = if hit.first.place == hit.first.leaf {
            format!("{callee} a child of")
        } else {
            "the other call a child of".to_owned()
        };
        return format!("give {what} `{key}` instead of `{key}`, which is split for the next iteration");
    }
    match hit.loop_kind {
        LoopKind::Statement => {
            let number = format!("from the number of the iteration, `jax.random.fold_in({key}, number)`");
            wording::rebinding(name).map_or(format!("derive a key {number}"), |split| {
                format!("split it in each iteration, {split}, or derive one {number}")
            })
        }
        LoopKind::Comprehension => format!("also iterate over `jax.random.split({key}, n)`"),
        LoopKind::Call if hit.second.role == Role::Split && known.can_rebind => {
            format!("pass a child of `{key}` that nothing draws from to the next iteration, not `{key}` itself")
        }
        LoopKind::Call => {
            format!(
                "pass a key to each call: map over `jax.random.split({key}, n)` too, or derive one from the index, `jax.random.fold_in({key}, index)`"
            )
        }
        LoopKind::Leaves => {
            format!("split {} into one key for each leaf, and map over those too", wording::code(key))
        }
    }
}
