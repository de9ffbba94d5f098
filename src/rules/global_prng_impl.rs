//! KEY304: the implementation of all keys is chosen by an option or by the environment.
//!
//! **Invariant:** one finding for each place that chooses; the primary place is the whole statement or call.

use crate::finding::{Confidence, Finding};
use crate::judge::facts::{ChoiceKind, Facts, GlobalChoice};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> &[GlobalChoice] {
    &facts.choices
}

pub(super) fn describe(rule: &Rule, choice: &GlobalChoice) -> Finding {
    let by = wording::code(&choice.by);
    let chosen = choice.name.as_deref().map_or_else(String::new, |name| format!(" {}", wording::code(name)));
    let message = match choice.kind {
        ChoiceKind::Option => format!("{by} chooses the implementation{chosen} for every key in the process"),
        ChoiceKind::Block => {
            format!("{by} chooses the implementation{chosen} for every key that is made while the block runs")
        }
        ChoiceKind::Environment => {
            format!(
                "{by} chooses the implementation{chosen} for every key in the process, if it is set before JAX is imported"
            )
        }
    };
    let name = choice.name.as_deref().unwrap_or("…");
    let mut help = format!("choose it where a key is made: `jax.random.key(seed, impl=\"{name}\")`");
    if let Some(caveat) = &choice.caveat {
        help = format!("{help}; {caveat}");
    }
    let text = Text { message, label: "this changes the meaning of existing raw keys".to_owned(), help };
    wording::finding(rule, choice.place, Confidence::High, &choice.function, text)
}
