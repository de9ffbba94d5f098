//! KEY302: names that JAX removed.
//!
//! **Invariant:** only names that no longer exist are listed; deprecated ones that still work are not.

use crate::finding::{Confidence, Finding, Level};
use crate::judge::facts::Facts;

use super::Rule;
use super::references::{self, Group};
use super::wording::{self, Text};

/// The first version that removed one of them.
const FIRST: [u32; 3] = [0, 4, 24];

/// Removed names: path, the version that removed it, what to use instead.
const REMOVED: [(&str, [u32; 3], &str); 10] = [
    ("jax.prng", [0, 4, 24], "use the public parts in `jax.extend.random`"),
    (
        "jax.random.KeyArray",
        [0, 4, 24],
        "annotate with `jax.Array`, and test with `jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)`",
    ),
    (
        "jax.random.PRNGKeyArray",
        [0, 4, 24],
        "annotate with `jax.Array`, and test with `jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)`",
    ),
    (
        "jax.random.default_prng_impl",
        [0, 4, 24],
        "pass the implementation when you create a key: `jax.random.key(seed, impl=...)`",
    ),
    ("jax.random.rbg_key", [0, 4, 24], "write `jax.random.key(seed, impl=\"rbg\")`"),
    ("jax.random.shuffle", [0, 4, 31], "write `jax.random.permutation(key, x, independent=True)`"),
    ("jax.random.threefry2x32_key", [0, 4, 24], "write `jax.random.key(seed, impl=\"threefry2x32\")`"),
    ("jax.random.threefry2x32_p", [0, 4, 24], "import it from `jax.extend.random`"),
    ("jax.random.threefry_2x32", [0, 4, 24], "import it from `jax.extend.random`"),
    ("jax.random.unsafe_rbg_key", [0, 4, 24], "write `jax.random.key(seed, impl=\"unsafe_rbg\")`"),
];

pub(super) fn find(facts: &Facts) -> Vec<Group<'_>> {
    // If the project pins an older JAX, the name still exists.
    let is_gone = |(_, version, _)| facts.jax.is_none_or(|newest| newest >= version);
    references::grouped(facts, |reference| !reference.is_guarded && removal(&reference.path).is_some_and(is_gone))
}

pub(super) fn describe(rule: &Rule, hit: &Group<'_>) -> Finding {
    let (name, [major, minor, patch], instead) = removal(&hit.lead.path).unwrap_or((hit.lead.path.as_str(), FIRST, ""));
    let text = Text {
        message: format!("`{name}` was removed in JAX {major}.{minor}.{patch}"),
        label: "no longer exists".to_owned(),
        help: instead.to_owned(),
    };
    let mut finding = wording::finding(rule, hit.lead.place, Confidence::High, &hit.lead.function, text);
    if !hit.lead.is_evaluated {
        finding.level = Level::Note;
    }
    wording::relate(&mut finding, hit.uses.iter().map(|used| wording::label(used.place, "used here".to_owned())));
    finding
}

/// The removed name that `path` is or is below.
fn removal(path: &str) -> Option<(&'static str, [u32; 3], &'static str)> {
    REMOVED.iter().copied().find(|(name, ..)| references::is_within(path, name))
}
