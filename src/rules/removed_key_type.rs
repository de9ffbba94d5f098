//! KEY302: names that JAX removed.
//!
//! **Invariant:** only names that no longer exist are listed; deprecated ones that still work are not.

use crate::finding::{Confidence, Finding, Level};
use crate::judge::facts::Facts;
use crate::models::NameStatus;

use super::Rule;
use super::references::{self, Group};
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<Group<'_>> {
    // If the project pins an older JAX, the name still exists.
    let is_gone = |status: NameStatus| match status {
        NameStatus::Removed(version) => facts.jax.is_none_or(|newest| newest >= version),
        NameStatus::Private => false,
    };
    references::grouped(facts, |reference| {
        !reference.is_guarded && reference.reported.as_ref().is_some_and(|name| is_gone(name.status))
    })
}

pub(super) fn describe(rule: &Rule, hit: &Group<'_>) -> Finding {
    let reported = hit.lead.reported.as_ref();
    let name = reported.map_or(&hit.lead.path, |reported| &reported.path);
    let version = match reported.map(|reported| reported.status) {
        Some(NameStatus::Removed([major, minor, patch])) => format!(" in JAX {major}.{minor}.{patch}"),
        _ => String::new(),
    };
    let text = Text {
        message: format!("`{name}` was removed{version}"),
        label: "no longer exists".to_owned(),
        help: reported.map_or_else(String::new, |reported| reported.instead.clone()),
    };
    let mut finding = wording::finding(rule, hit.lead.place, Confidence::High, &hit.lead.function, text);
    if !hit.lead.is_evaluated {
        finding.level = Level::Note;
    }
    wording::relate(&mut finding, hit.uses.iter().map(|used| wording::label(used.place, "used here".to_owned())));
    finding
}
