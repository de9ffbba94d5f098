//! KEY403: Python draws a random number while a function is traced.
//!
//! **Invariant:** the primary place is in the traced function: the draw itself, or the call that leads to it.

use crate::finding::Finding;
use crate::judge::facts::{Facts, HostDraw, Trace, TraceKind};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<(&HostDraw, &Trace)> {
    facts.host.iter().filter_map(|draw| Some((draw, draw.trace.as_ref()?))).collect()
}

pub(super) fn describe(rule: &Rule, (draw, trace): &(&HostDraw, &Trace)) -> Finding {
    let (function, transform) = (wording::traced(trace), wording::code(&trace.transform));
    let source = wording::code(&draw.source);
    let how = match trace.kind {
        TraceKind::Mapped => format!("maps {function}, so all batch elements get the same number"),
        TraceKind::Recorded | TraceKind::Looped | TraceKind::Branch | TraceKind::Abstract | TraceKind::Forward => {
            format!("traces {function}, so every call repeats its result")
        }
    };
    let text = Text {
        message: format!("{source} is evaluated once, when {transform} {how}"),
        label: if draw.leaf == trace.place { "drawn once, by Python" } else { "drawn inside this call" }.to_owned(),
        help: "draw with `jax.random` from a key that is passed in, or draw outside and pass the numbers in".to_owned(),
    };
    let mut finding = wording::finding(rule, trace.place, draw.confidence, &trace.function, text);
    let drawn = wording::label(draw.leaf, "drawn here".to_owned());
    let traced = wording::label(
        trace.at,
        format!("{} by {transform}", if trace.kind == TraceKind::Mapped { "mapped" } else { "traced" }),
    );
    wording::relate(&mut finding, [drawn, traced]);
    finding
}
