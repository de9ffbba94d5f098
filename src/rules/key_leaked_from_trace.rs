//! KEY401: a traced function leaves a key in something that outlives the trace.
//!
//! **Invariant:** the primary place is in the traced function: the write itself, or the call that leads to it.

use crate::finding::Finding;
use crate::judge::facts::{Facts, LeakKind, LeakedKey, Trace};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<(&LeakedKey, &Trace)> {
    facts.leaked.iter().filter_map(|leak| Some((leak, leak.trace.as_ref()?))).collect()
}

pub(super) fn describe(rule: &Rule, (leak, trace): &(&LeakedKey, &Trace)) -> Finding {
    let (function, transform) = (wording::traced(trace), wording::code(&trace.transform));
    let name = if leak.name.is_empty() { "an object from outside".to_owned() } else { wording::code(&leak.name) };
    let is_direct = leak.leaf == trace.place;
    let when = format!("while {transform} traces {function}");
    // A method adds it to a container: `KEYS.append(key)`.
    let is_added = leak.kind == LeakKind::Part && !leak.name.contains(['.', '[']);
    let written = if is_added { "added" } else { "assigned" };
    let text = match leak.kind {
        LeakKind::Iterator => Text {
            message: format!("a key is taken from {name} only {when}, so every call uses the same key"),
            label: if is_direct { "advances only once, during tracing" } else { "advances inside this call" }
                .to_owned(),
            help: "take the key outside the traced function, and pass it as an argument".to_owned(),
        },
        LeakKind::Global | LeakKind::Variable | LeakKind::Part => Text {
            message: {
                let happens = if is_added { "gets a key" } else { "is assigned" };
                let repeats = if trace.depends_on_argument { "" } else { ", and every call draws the same numbers" };
                format!("{name} {happens} {when}: it will hold a leaked tracer{repeats}")
            },
            label: format!("{written} {}", if is_direct { "only during tracing" } else { "inside this call" }),
            help: "return the new key, and store it outside the traced function".to_owned(),
        },
    };
    let mut finding = wording::finding(rule, trace.place, leak.confidence, &trace.function, text);
    let stored = wording::label(
        leak.leaf,
        if leak.kind == LeakKind::Iterator { "taken here".to_owned() } else { format!("{written} here") },
    );
    let traced = wording::label(trace.at, format!("traced by {transform}"));
    wording::relate(&mut finding, [stored, traced]);
    finding
}
