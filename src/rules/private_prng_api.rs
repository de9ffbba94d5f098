//! KEY303: names of JAX's random machinery that are not public.
//!
//! **Invariant:** only private names of the random machinery are reported; other private modules are no business of
//! this linter.

use crate::finding::{Confidence, Finding};
use crate::judge::facts::Facts;

use super::Rule;
use super::references::{self, Group};
use super::wording::{self, Text};

/// Private modules and packages.
const PRIVATE: [&str; 2] = ["jax._src.prng", "jax._src.random"];

/// Private attributes of a key's dtype.
const PRIVATE_ATTRIBUTES: [&str; 2] = [".dtype._impl", ".dtype._rules"];

pub(super) fn find(facts: &Facts) -> Vec<Group<'_>> {
    references::grouped(facts, |reference| is_private(&reference.path))
}

pub(super) fn describe(rule: &Rule, hit: &Group<'_>) -> Finding {
    let help = if hit.lead.path.ends_with("._impl") {
        "use `jax.random.key_impl(key)`"
    } else {
        "use `jax.random` and `jax.extend.random`; `jax.dtypes.prng_key` is the public test for typed keys"
    };
    let text = Text {
        message: format!("{} is private to JAX and may change without notice", wording::code(&hit.lead.path)),
        label: "not a public name".to_owned(),
        help: help.to_owned(),
    };
    let mut finding = wording::finding(rule, hit.lead.place, Confidence::High, &hit.lead.function, text);
    wording::relate(&mut finding, hit.uses.iter().map(|used| wording::label(used.place, "used here".to_owned())));
    finding
}

/// Whether `path` names private random machinery.
fn is_private(path: &str) -> bool {
    PRIVATE.iter().any(|root| references::is_within(path, root))
        || PRIVATE_ATTRIBUTES.iter().any(|tail| path.ends_with(tail))
}
