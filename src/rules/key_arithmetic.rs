//! KEY202: operators, ufuncs and reductions on keys.
//!
//! **Invariant:** comparisons of keys with keys do not count as arithmetic.

use crate::finding::Finding;
use crate::judge::facts::{BufferOp, BufferUse, Facts};

use super::Rule;
use super::buffer;
use super::wording::Text;

pub(super) fn find(facts: &Facts) -> Vec<&BufferUse> {
    buffer::find(facts, &[BufferOp::Arithmetic, BufferOp::Numeric])
}

pub(super) fn describe(rule: &Rule, hit: &BufferUse) -> Finding {
    let (text, key) = (&hit.text, buffer::a_key(hit.kind));
    let (message, label) = match (hit.op, hit.raises) {
        (BufferOp::Arithmetic, true) => (format!("`{text}` does arithmetic on {key}, which raises"), "raises here"),
        (BufferOp::Arithmetic, false) => {
            let message = format!("`{text}` does arithmetic on {key}; the result can equal the key of another seed");
            (message, "keys are not numbers")
        }
        (_, true) => (format!("`{text}` treats {key} as numbers, which raises"), "raises here"),
        (_, false) => (format!("`{text}` treats {key} as numbers"), "keys are not numbers"),
    };
    let text = Text {
        message,
        label: label.to_owned(),
        help: "derive keys from a number with `jax.random.fold_in(key, number)`, or several with \
               `jax.random.split(key, n)`"
            .to_owned(),
    };
    buffer::finding(rule, hit, text)
}
