//! KEY107: an attribute's or global's key is consumed and stays in its place.
//!
//! **Invariant:** reported only where no second consumption is visible.

use crate::finding::Finding;
use crate::judge::facts::{Facts, StaleState};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&StaleState> {
    facts.stale.iter().collect()
}

pub(super) fn describe(rule: &Rule, hit: &StaleState) -> Finding {
    let name = &hit.name;
    let callee = wording::callee(&hit.used.callee);
    let (message, omission) = if let Some((method, _)) = &hit.advanced_at {
        let message = format!("`{name}` is consumed by {callee} and not replaced, and `{method}` consumes it again");
        (message, "not replaced")
    } else {
        let repetition = wording::repetition(hit.used.role);
        let message = format!("`{name}` is consumed by {callee} and never replaced, so the next call {repetition}");
        (message, "never replaced")
    };
    let text = Text {
        message,
        label: format!("{}, but {omission}", wording::here(&hit.used, "consumed")),
        help: if name.contains('.') || name.ends_with(']') {
            format!("store a new key each time you use one: `{name}, subkey = jax.random.split({name})`")
        } else {
            format!("take the key as a parameter instead of reading `{name}`")
        },
    };
    let mut finding = wording::finding(rule, hit.used.place, hit.confidence, &hit.function, text);
    finding.doubt = Some("the next call is not visible".to_owned());
    let stored = hit.stored_at.map(|place| wording::label(place, format!("`{name}` is set here")));
    let advanced = hit.advanced_at.as_ref();
    let advanced =
        advanced.map(|(by, place)| wording::label(*place, format!("`{by}` consumes the same key and replaces it")));
    let stored: Vec<_> = stored.into_iter().chain(advanced).collect();
    wording::relate(&mut finding, stored.iter().cloned().chain(wording::inner_steps(&hit.used, "consumed each time")));
    finding.fix_hints = Some(wording::fix_hints(&hit.used));
    finding.flow = stored.into_iter().chain(wording::steps(&hit.used, "consumed each time")).collect();
    finding
}
