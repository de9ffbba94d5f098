//! KEY206: keys made from words rather than derived.
//!
//! **Invariant:** wrapping key data that was only stored and restored is not a finding.

use crate::finding::Finding;
use crate::judge::facts::{BufferOp, BufferUse, Facts};

use super::Rule;
use super::buffer;
use super::wording::Text;

pub(super) fn find(facts: &Facts) -> Vec<&BufferUse> {
    buffer::find(facts, &[BufferOp::Rewrap, BufferOp::Fabricate])
}

pub(super) fn describe(rule: &Rule, hit: &BufferUse) -> Finding {
    let text = &hit.text;
    let (message, label) = if hit.op == BufferOp::Fabricate {
        (format!("`{text}` fabricates a key that is always the same, whatever its argument"), "a fabricated key")
    } else {
        (
            format!("`{text}` wraps edited key data: the result can equal the key of another seed"),
            "key data edited by hand",
        )
    };
    let text = Text {
        message,
        label: label.to_owned(),
        help: "derive keys only with `jax.random.split` or `jax.random.fold_in`".to_owned(),
    };
    buffer::finding(rule, hit, text)
}
