//! KEY404: a seed that no other run repeats.
//!
//! **Invariant:** the primary place is the call that takes the seed.

use crate::finding::Finding;
use crate::judge::facts::{Facts, UnstableSeed};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> &[UnstableSeed] {
    &facts.unstable
}

pub(super) fn describe(rule: &Rule, seed: &UnstableSeed) -> Finding {
    let short = seed.source.strip_prefix("builtins.").unwrap_or(&seed.source);
    let source = wording::code(short);
    let callee = wording::code(&seed.callee);
    let (message, help) = if seed.is_hash {
        (
            format!("{callee} is seeded from {source}, which differs between processes for strings and most objects"),
            "use a hash that is the same everywhere: `zlib.crc32(text.encode())`, or bytes of `hashlib.sha256`",
        )
    } else {
        (
            format!("{callee} is seeded from {source}, so no two runs draw the same numbers"),
            "take the seed from the configuration, or log the one that was drawn, so that the run can be repeated",
        )
    };
    let text = Text { message, label: "this run cannot be repeated".to_owned(), help: help.to_owned() };
    let mut finding = wording::finding(rule, seed.place, seed.confidence, &seed.function, text);
    wording::relate(&mut finding, [wording::label(seed.source_at, "the number comes from here".to_owned())]);
    finding
}
