//! KEY202: operators, ufuncs and reductions on keys.
//!
//! **Invariant:** comparisons of keys with keys are no arithmetic.

use crate::analysis::facts::{BufferOp, BufferUse, Facts};
use crate::finding::Finding;

use super::Rule;
use super::buffer;
use super::wording::Text;

pub(super) fn find(facts: &Facts) -> Vec<&BufferUse> {
    buffer::find(facts, &[BufferOp::Arithmetic, BufferOp::Numeric])
}

pub(super) fn describe(rule: &Rule, hit: &BufferUse) -> Finding {
    let (text, key) = (&hit.text, buffer::a_key(hit.kind));
    let what = if hit.op == BufferOp::Arithmetic { "calculates with" } else { "takes as numbers" };
    let (message, label) = if hit.raises {
        (format!("`{text}` {what} {key}, which raises: keys are not numbers"), "raises here")
    } else {
        (format!("`{text}` {what} {key}: the result can equal the key of another seed"), "keys are not numbers")
    };
    let text = Text {
        message,
        label: label.to_owned(),
        help: "derive keys from a number with `jax.random.fold_in(key, number)`, or several with `jax.random.split(key, n)`"
            .to_owned(),
    };
    buffer::finding(rule, hit, text)
}
