//! KEY103: one key is both split and drawn from.
//!
//! **Invariant:** the message states which came second, because that is the line to change.

use crate::finding::Finding;
use crate::judge::facts::{Facts, KeyReuse, ReuseKind, Role};

use super::Rule;
use super::reuse;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&KeyReuse> {
    facts.reuses.iter().filter(|reuse| reuse.kind == ReuseKind::SplitAndSampled).collect()
}

pub(super) fn describe(rule: &Rule, hit: &KeyReuse) -> Finding {
    let subject = reuse::subject(hit);
    let name = hit.second.name.as_ref();
    let key = name.map_or_else(|| "the key".to_owned(), |name| wording::code(&name.text));
    let (message, what, help) = if hit.second.role == Role::Split {
        (
            format!("{subject} is split after {} consumed it", wording::callee(&hit.first.callee)),
            "split",
            match hit.first.role {
                _ if let Some(child) = &hit.intended_child => {
                    format!("pass `{}`, which is still unused, to {}", child.name, wording::callee(&hit.first.callee))
                }
                _ if hit.first.place != hit.first.leaf => {
                    format!("split {key} before the call that consumes it, and pass a child to that call")
                }
                Role::Sample => format!("split {key} before the first draw, and draw from a child"),
                _ => {
                    let first = wording::callee(&hit.first.callee);
                    format!("split {key} before the call of {first}, and pass a child to it")
                }
            },
        )
    } else {
        let help = match &hit.intended_child {
            Some(child) => format!("use `{}`, the child that is still unused", child.name),
            // A split in another function makes no child for this call.
            None if hit.first.place != hit.first.leaf => wording::split_help(name),
            None => format!("take one more child from the split of {key}, and use it here"),
        };
        (
            format!("{subject} is consumed by {} after it was split", wording::callee(&hit.second.callee)),
            "consumed",
            help,
        )
    };
    let text = Text { message, label: wording::here(&hit.second, what), help };
    reuse::finding(rule, hit, text)
}
