//! KEY203: the buffer axis of raw keys is mapped, moved or mixed with another.
//!
//! **Invariant:** typed keys have no buffer axis, so their arrays may be transposed and reshaped at will.

use crate::finding::Finding;
use crate::judge::facts::{BufferOp, BufferUse, Facts};

use super::Rule;
use super::buffer;
use super::wording::Text;

pub(super) fn find(facts: &Facts) -> Vec<&BufferUse> {
    buffer::find(facts, &[BufferOp::MapAxis, BufferOp::Transpose, BufferOp::Reshape])
}

pub(super) fn describe(rule: &Rule, hit: &BufferUse) -> Finding {
    let text = &hit.text;
    let (message, label) = match (hit.op, hit.raises) {
        (BufferOp::MapAxis, true) => {
            (format!("`{text}` maps over the key-data axis of keys, which raises"), "raises here")
        }
        (BufferOp::MapAxis, false) => (
            format!(
                "`{text}` maps over the key-data axis of raw keys, so each batch element gets words of \
                 different keys"
            ),
            "the last axis of raw keys holds their words",
        ),
        (BufferOp::Reshape, _) => (
            format!("`{text}` mixes the key-data axis of raw keys with other axes"),
            "the last axis of raw keys holds their words",
        ),
        (_, _) => (
            format!("`{text}` moves the key-data axis of raw keys, so rows hold words of different keys"),
            "the last axis of raw keys holds their words",
        ),
    };
    let text = Text {
        message,
        label: label.to_owned(),
        help:
            "create typed keys with `jax.random.key`, which have no such axis; with raw keys, leave the last axis in \
             place"
                .to_owned(),
    };
    buffer::finding(rule, hit, text)
}
