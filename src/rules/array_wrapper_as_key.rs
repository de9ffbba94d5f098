//! KEY501: an object with `__jax_array__` is used as a key in a function that does not convert it.
//!
//! **Invariant:** the primary place is the call; if the pinned version accepts the object, nothing is reported.

use crate::finding::{Finding, FixHints, Level};
use crate::judge::facts::{Facts, WrappedKey, WrapperWay};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<(&WrappedKey, Refused)> {
    refused(facts, |way| way == WrapperWay::Handed)
}

pub(super) fn describe(rule: &Rule, (wrapped, refused): &(&WrappedKey, Refused)) -> Finding {
    let WrappedKey { callee, class, method, written, .. } = wrapped;
    let subject = written.as_deref().map_or_else(String::new, |written| format!("{}, ", wording::code(written)));
    let comma = if written.is_some() { "," } else { "" };
    let array = written.as_deref().unwrap_or("…");
    let text = Text {
        message: format!(
            "{subject}an object of class `{class}`{comma} is passed to `{callee}`, which does not call its `{method}`{}",
            refused.ending()
        ),
        label: "a key is needed here".to_owned(),
        help: format!("convert it first: `jnp.asarray({array})`"),
    };
    reported(rule, wrapped, *refused, text)
}

/// When a call fails, given the version that the project pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It fails.
    Now,
    /// It warns, and fails from this version on.
    Later([u32; 3]),
}

impl Refused {
    /// What a message adds.
    pub(super) fn ending(self) -> String {
        match self {
            Self::Now => String::new(),
            Self::Later([major, minor, _]) => format!("; JAX {major}.{minor} raises an error"),
        }
    }
}

/// The facts of some kinds that are harmful in the version that the project pins.
pub(super) fn refused(facts: &Facts, is_wanted: impl Fn(WrapperWay) -> bool) -> Vec<(&WrappedKey, Refused)> {
    let when = |wrapped: &WrappedKey| match (facts.jax, wrapped.since, wrapped.warns) {
        (Some(pinned), Some(since), warns) if pinned < since => {
            warns.is_some_and(|warns| pinned >= warns).then_some(Refused::Later(since))
        }
        _ => Some(Refused::Now),
    };
    let wanted = facts.wrapped.iter().filter(|wrapped| is_wanted(wrapped.way));
    wanted.filter_map(|wrapped| Some((wrapped, when(wrapped)?))).collect()
}

/// The finding, with the class and the call.
pub(super) fn reported(rule: &Rule, wrapped: &WrappedKey, refused: Refused, text: Text) -> Finding {
    let mut finding = wording::finding(rule, wrapped.place, wrapped.confidence, &wrapped.function, text);
    if refused != Refused::Now {
        finding.level = finding.level.min(Level::Warning);
    }
    let call = (wrapped.leaf != wrapped.place)
        .then(|| wording::label(wrapped.leaf, "the conversion is missing in this call".to_owned()));
    let class = wrapped.class_at.map(|place| wording::label(place, format!("`{}` is defined here", wrapped.class)));
    finding.fix_hints = Some(FixHints {
        written: [wrapped.written.clone(), None],
        wrapper: Some((wrapped.class.clone(), wrapped.class_at.unwrap_or(wrapped.place))),
        ..FixHints::default()
    });
    wording::relate(&mut finding, call.into_iter().chain(class));
    finding
}
