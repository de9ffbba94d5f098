//! KEY207: a key is converted to a number, a truth value, a hash or an array of words.
//!
//! **Invariant:** `is None` and comparisons with other keys are not conversions.

use crate::finding::Finding;
use crate::judge::facts::{BufferOp, BufferUse, Facts};

use super::Rule;
use super::buffer;
use super::wording::Text;

pub(super) fn find(facts: &Facts) -> Vec<&BufferUse> {
    buffer::find(facts, &[BufferOp::Number, BufferOp::Truth, BufferOp::Search])
}

pub(super) fn describe(rule: &Rule, hit: &BufferUse) -> Finding {
    let (text, key) = (&hit.text, buffer::a_key(hit.kind));
    let (message, label) = match hit.op {
        BufferOp::Truth => (format!("`{text}` is tested for truth, but {key} has no truth value"), "raises here"),
        BufferOp::Search => (format!("`{text}` needs the hash of {key}, which has none"), "raises here"),
        _ if hit.raises => (format!("`{text}` converts {key} to a plain value, which raises"), "raises here"),
        _ => (format!("`{text}` converts {key} to a plain value"), "a key is not a plain value"),
    };
    let text = Text {
        message,
        label: label.to_owned(),
        help: "use `jax.random.key_data(key)` to log or save a key, and `key is None` to test for a missing one"
            .to_owned(),
    };
    buffer::finding(rule, hit, text)
}
