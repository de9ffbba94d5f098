//! KEY306: a public function takes a key and does not require a typed one. For authors of libraries.
//!
//! **Invariant:** opt-in; the primary place is the parameter.

use crate::finding::{Finding, FixHints};
use crate::judge::facts::{Facts, UntypedKey};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> &[UntypedKey] {
    &facts.untyped
}

pub(super) fn describe(rule: &Rule, hit: &UntypedKey) -> Finding {
    let UntypedKey { name, function, used, .. } = hit;
    let text = Text {
        message: format!("`{function}` accepts a raw key as `{name}`"),
        label: "raw keys are accepted too".to_owned(),
        help: format!(
            "raise a `TypeError` unless `jnp.issubdtype({name}.dtype, jax.dtypes.prng_key)`, before `{name}` is used"
        ),
    };
    let mut finding = wording::finding(rule, hit.place, hit.confidence, function, text);
    let label = format!("{} by {} here", used.role.participle(), wording::callee(&used.callee));
    wording::relate(&mut finding, [wording::label(used.leaf, label)]);
    finding.fix_hints = Some(FixHints { written: [Some(name.clone()), None], ..FixHints::default() });
    finding
}
