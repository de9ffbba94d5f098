//! KEY205: logic on a key's dtype, and casts of keys.
//!
//! **Invariant:** `issubdtype(key.dtype, prng_key)` is the supported test and not a finding.

use crate::finding::Finding;
use crate::judge::facts::{BufferOp, BufferUse, Facts};

use super::Rule;
use super::buffer;
use super::wording::Text;

pub(super) fn find(facts: &Facts) -> Vec<&BufferUse> {
    buffer::find(facts, &[BufferOp::DtypeLogic])
}

pub(super) fn describe(rule: &Rule, hit: &BufferUse) -> Finding {
    let text = &hit.text;
    let (message, label) = if hit.raises {
        (format!("`{text}` treats the dtype of a typed key as a number type, which raises"), "raises here")
    } else {
        (format!("`{text}` relies on keys being `uint32`, which typed keys are not"), "true only for raw keys")
    };
    let text = Text {
        message,
        label: label.to_owned(),
        help: "test for typed keys with `jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)`; get the words with \
               `jax.random.key_data`"
            .to_owned(),
    };
    buffer::finding(rule, hit, text)
}
