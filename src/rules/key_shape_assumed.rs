//! KEY204: logic on a key's shape that is true for only one kind of key.
//!
//! **Invariant:** a raw key has one axis more than a typed one; nothing else of the shapes differs.

use crate::finding::{Finding, Level};
use crate::judge::facts::{BufferOp, BufferUse, Facts};

use super::Rule;
use super::buffer;
use super::wording::Text;

pub(super) fn find(facts: &Facts) -> Vec<&BufferUse> {
    buffer::find(facts, &[BufferOp::ShapeLogic, BufferOp::RawShape])
}

pub(super) fn describe(rule: &Rule, hit: &BufferUse) -> Finding {
    let text = &hit.text;
    let (message, label) = if hit.raises {
        (format!("`{text}` uses an axis that a typed key does not have, which raises"), "raises here")
    } else {
        let message = format!("`{text}` differs between raw and typed keys: raw keys have one more axis");
        (message, "true for only one kind of key")
    };
    let text = Text {
        message,
        label: label.to_owned(),
        help: "pass the number of keys as an argument, or test for typed keys with \
               `jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)`"
            .to_owned(),
    };
    let mut finding = buffer::finding(rule, hit, text);
    if hit.op == BufferOp::RawShape {
        finding.level = Level::Note;
    }
    finding
}
