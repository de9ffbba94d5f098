//! KEY502: an object with `__jax_array__` around a key crosses a transform, and its class is not a registered pytree.
//!
//! **Invariant:** the primary place is the call that runs the transformed function; if the pinned version accepts the
//! object, nothing is reported.

use crate::finding::Finding;
use crate::judge::facts::{Facts, WrappedKey, WrapperWay};

use super::Rule;
use super::array_wrapper_as_key::{Refused, refused, reported};
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<(&WrappedKey, Refused)> {
    refused(facts, |way| way != WrapperWay::Handed)
}

pub(super) fn describe(rule: &Rule, (wrapped, refused): &(&WrappedKey, Refused)) -> Finding {
    let WrappedKey { way, callee, class, written, .. } = wrapped;
    let returned = *way == WrapperWay::Result;
    let subject = match written.as_deref().filter(|_| !returned) {
        Some(written) => format!("{} (a `{class}`)", wording::code(written)),
        None => format!("an object of class `{class}`"),
    };
    let crosses = if returned { "is returned through" } else { "is passed through" };
    let instead = if returned {
        "return the key itself".to_owned()
    } else {
        format!("pass `jnp.asarray({})`", written.as_deref().unwrap_or("…"))
    };
    let text = Text {
        message: format!(
            "{subject} {crosses} `{callee}`, but the class is not a registered pytree{}",
            refused.ending()
        ),
        label: if returned { "returned by this call" } else { "passed through here" }.to_owned(),
        help: format!("register `{class}` as a pytree, or {instead}"),
    };
    reported(rule, wrapped, *refused, text)
}
