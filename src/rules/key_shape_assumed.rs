//! KEY204: logic on a key's shape that holds for one kind of key only.
//!
//! **Invariant:** a raw key has one axis more than a typed one; nothing else of the shapes differs.

use crate::finding::Finding;
use crate::judge::facts::{BufferOp, BufferUse, Facts};

use super::Rule;
use super::buffer;
use super::wording::Text;

pub(super) fn find(facts: &Facts) -> Vec<&BufferUse> {
    buffer::find(facts, &[BufferOp::ShapeLogic])
}

pub(super) fn describe(rule: &Rule, hit: &BufferUse) -> Finding {
    let text = &hit.text;
    let (message, label) = if hit.raises {
        (format!("`{text}` asks a typed key for an axis it does not have, which raises"), "raises here")
    } else {
        let message = format!("`{text}` does not mean the same for raw and typed keys: raw ones have one axis more");
        (message, "holds for one kind of key only")
    };
    let text = Text {
        message,
        label: label.to_owned(),
        help: "pass the number of keys along, or test for typed keys with \
               `jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)`"
            .to_owned(),
    };
    buffer::finding(rule, hit, text)
}
