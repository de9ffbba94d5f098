//! KEY201: an index, an unpacking or a seed reaches the words of a key.
//!
//! **Invariant:** selecting a key from an array of keys is not a finding, because the facts contain only indices below
//! rank 0; an index within a seed is reported with the seed.

use crate::finding::Finding;
use crate::judge::facts::{BufferOp, BufferUse, Facts};

use super::Rule;
use super::buffer;
use super::wording::Text;

pub(super) fn find(facts: &Facts) -> Vec<&BufferUse> {
    let uses = buffer::find(facts, &[BufferOp::Index, BufferOp::Unpack, BufferOp::Miscount, BufferOp::Reseed]);
    let is_reported_by_seed = |index: &BufferUse| {
        index.op == BufferOp::Index && uses.iter().any(|seed| seed.op == BufferOp::Reseed && holds(seed, index))
    };
    uses.iter().copied().filter(|used| !is_reported_by_seed(used)).collect()
}

/// Whether `inner` is within `outer`, as the index in `PRNGKey(key[1])` is.
fn holds(outer: &BufferUse, inner: &BufferUse) -> bool {
    outer.place.file == inner.place.file && outer.place.span.covers(inner.place.span)
}

pub(super) fn describe(rule: &Rule, hit: &BufferUse) -> Finding {
    let (text, key) = (&hit.text, buffer::a_key(hit.kind));
    let unpacked = if text.is_empty() { "this".to_owned() } else { format!("`{text}`") };
    let (message, label, help) = match (hit.op, hit.raises) {
        (BufferOp::Reseed, _) => (
            format!("`{text}` seeds a key with a word of another key"),
            "a seed of at most 32 bits, often the old key's own seed",
            "derive the new key: `new_key, key = jax.random.split(key)`",
        ),
        (BufferOp::Miscount, _) => (
            format!("this unpacks {text}, which raises"),
            "raises here",
            "split the key into as many keys as there are names: `jax.random.split(key, n)`",
        ),
        (BufferOp::Unpack, true) => (
            format!("unpacking {unpacked} raises: {key} is not a sequence"),
            "raises here",
            "split the key: `key, subkey = jax.random.split(key)`",
        ),
        (BufferOp::Unpack, false) => (
            format!("unpacking {unpacked} gives the words of {key}, which are not keys"),
            "the words of one key, not new keys",
            "split the key: `key, subkey = jax.random.split(key)`",
        ),
        (_, true) => (
            format!("`{text}` indexes {key}, which raises: a single key has no elements"),
            "raises here",
            "create an array of keys to index: `jax.random.split(key, n)`",
        ),
        (_, false) => (
            format!("`{text}` selects one word of {key}; a word is not a key"),
            "a word of a key, not a key",
            "create an array of keys to index, `jax.random.split(key, n)`; keys from `jax.random.key` would raise here",
        ),
    };
    buffer::finding(rule, hit, Text { message, label: label.to_owned(), help: help.to_owned() })
}
