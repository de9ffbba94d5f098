//! KEY101: a key is consumed by two calls on one path.
//!
//! **Invariant:** a draw from a key and one from its `fold_in` child are reported only with low confidence, because
//! `fold_in` derives and does not consume.

use crate::finding::{Confidence, Finding};
use crate::judge::facts::{Facts, KeyName, KeyReuse, ReuseKind, Role};

use super::Rule;
use super::reuse;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&KeyReuse> {
    let mine = |kind| matches!(kind, ReuseKind::Sampled | ReuseKind::FoldAndSampled);
    facts.reuses.iter().filter(|reuse| mine(reuse.kind)).collect()
}

pub(super) fn describe(rule: &Rule, hit: &KeyReuse) -> Finding {
    let subject = reuse::subject(hit);
    if hit.kind == ReuseKind::FoldAndSampled {
        let text = Text {
            message: format!(
                "{subject} is passed to {} and to {}, but a key that is folded should not be used for anything else",
                wording::callee(&hit.first.callee),
                wording::callee(&hit.second.callee)
            ),
            label: wording::here(&hit.second, "used again"),
            help: "use separate keys for `fold_in` and for sampling".to_owned(),
        };
        let mut finding = reuse::finding(rule, hit, text);
        finding.confidence = Confidence::Low;
        return finding;
    }
    let help = match &hit.intended_child {
        Some(child) => format!("use `{}`, which is still unused", child.name),
        None if let Some(index) = reuse::index_beyond(hit) => {
            format!(
                "an index beyond the last key takes the last key: split into more keys, if there is no index {index}"
            )
        }
        // An element with two indices: neither is a separate key that could be split.
        None if is_element(hit.second.name.as_ref()) && reuse::two_names(hit).is_some() => {
            "use an element that no other call uses".to_owned()
        }
        None => wording::split_help(hit.second.name.as_ref()),
    };
    let label = wording::here(&hit.second, &reuse::again(&hit.first, &hit.second));
    reuse::finding(rule, hit, Text { message: message(&subject, hit), label, help })
}

/// Whether a key is known as an element: `keys[i]`.
fn is_element(name: Option<&KeyName>) -> bool {
    name.is_some_and(|name| name.text.ends_with(']'))
}

/// Claims a draw if both calls are samplers, a consumption if both are known to consume, otherwise a possible one.
fn message(subject: &str, hit: &KeyReuse) -> String {
    let (first, second) = (wording::callee(&hit.first.callee), wording::callee(&hit.second.callee));
    if let [one, other, ..] = hit.entries.as_slice() {
        return format!(
            "{subject} is passed to {second} twice, as {} and as {}",
            wording::code(one),
            wording::code(other)
        );
    }
    // One key under two names.
    let subject =
        reuse::two_names(hit).map_or_else(|| subject.to_owned(), |names| format!("{names} are the same key, which"));
    match (hit.first.role, hit.second.role) {
        (Role::Unresolved, Role::Unresolved) => {
            format!("{subject} may be consumed twice{}", reuse::callees(hit, ","))
        }
        (Role::Unresolved, _) => {
            format!("{subject} is consumed by {second}, and may already have been consumed by {first}")
        }
        (_, Role::Unresolved) => format!("{subject} is consumed by {first}, and may be consumed again by {second}"),
        (Role::Sample, Role::Sample) => {
            format!("{subject} is consumed twice{}{}", reuse::callees(hit, ","), reuse::NOT_INDEPENDENT)
        }
        (_, _) => format!("{subject} is consumed twice{}", reuse::callees(hit, ",")),
    }
}
