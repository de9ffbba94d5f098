//! What the rules about key buffers have in common: origin, and words for the key's kind.
//!
//! **Invariant:** a message claims an exception only where the program raises at that very operation.

use crate::finding::{BufferAccess, BufferPart, Finding, FixHints};
use crate::judge::facts::{BufferOp, BufferUse, Facts, KeyKind};

use super::Rule;
use super::wording::{self, Text};

/// The uses whose operation is one of `ops`.
pub(super) fn find<'a>(facts: &'a Facts, ops: &[BufferOp]) -> Vec<&'a BufferUse> {
    facts.buffers.iter().filter(|used| ops.contains(&used.op)).collect()
}

/// The finding for a use of a key's buffer.
pub(super) fn finding(rule: &Rule, hit: &BufferUse, text: Text) -> Finding {
    let mut finding = wording::finding(rule, hit.place, hit.confidence, &hit.function, text);
    let origin = wording::origin(hit.origin.as_ref());
    wording::relate(&mut finding, origin.iter().cloned());
    // A typed key raises, and a key of unknown kind may.
    finding.buffer_access =
        part_of(hit.op).filter(|_| !hit.raises).map(|what| BufferAccess { what, derivation: hit.derivation.clone() });
    if hit.op.always_raises() {
        finding.fix_hints = Some(FixHints { always_raises: true, ..FixHints::default() });
    }
    finding.flow = origin.into_iter().chain([wording::label(hit.place, finding.label.clone())]).collect();
    finding
}

/// What an operation does with the words; `None` if it cannot be shown.
fn part_of(op: BufferOp) -> Option<BufferPart> {
    Some(match op {
        BufferOp::Reseed => BufferPart::Seed,
        BufferOp::Index => BufferPart::Word,
        BufferOp::Unpack => BufferPart::Words,
        BufferOp::Arithmetic => BufferPart::Sum,
        BufferOp::MapAxis | BufferOp::Transpose => BufferPart::Axis,
        _ => return None,
    })
}

/// "a raw key", "a typed key", "a key".
pub(super) fn a_key(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Typed => "a typed key",
        KeyKind::Raw => "a raw key",
        KeyKind::Unknown => "a key",
    }
}
