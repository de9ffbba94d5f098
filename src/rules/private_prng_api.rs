//! KEY303: names of JAX's random machinery that are not public.
//!
//! **Invariant:** only private names of the random machinery are reported; other private modules are out of scope.

use crate::finding::{Confidence, Finding};
use crate::judge::facts::Facts;
use crate::models::NameStatus;

use super::Rule;
use super::references::{self, Group};
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<Group<'_>> {
    references::grouped(facts, |reference| {
        reference.reported.as_ref().is_some_and(|name| name.status == NameStatus::Private)
    })
}

pub(super) fn describe(rule: &Rule, hit: &Group<'_>) -> Finding {
    let text = Text {
        message: format!("{} is private to JAX and may change without notice", wording::code(&hit.lead.path)),
        label: "not a public name".to_owned(),
        help: hit.lead.reported.as_ref().map_or_else(String::new, |name| name.instead.clone()),
    };
    let mut finding = wording::finding(rule, hit.lead.place, Confidence::High, &hit.lead.function, text);
    wording::relate(&mut finding, hit.uses.iter().map(|used| wording::label(used.place, "used here".to_owned())));
    finding
}
