//! KEY402: a traced function, or the call of a module, makes its key from a constant seed.
//!
//! **Invariant:** reported only where no other rule reports that the numbers repeat; the primary place is the constructor, or
//! the call in the traced function that leads to it.

use crate::finding::Finding;
use crate::judge::facts::{ConstantKey, Facts, Trace, TraceKind};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<(&ConstantKey, &Trace)> {
    facts.constant.iter().filter_map(|key| Some((key, key.trace.as_ref()?))).collect()
}

pub(super) fn describe(rule: &Rule, (key, trace): &(&ConstantKey, &Trace)) -> Finding {
    let (function, transform) = (wording::traced(trace), wording::code(&trace.transform));
    let each = if trace.kind == TraceKind::Looped { "iteration" } else { "call" };
    let while_traced = match trace.kind {
        TraceKind::Forward => String::new(),
        _ => format!(" while {transform} traces it"),
    };
    let text = Text {
        message: format!(
            "{function} creates its key from a constant seed{while_traced}, so every {each} {}",
            wording::repetition(key.used.role)
        ),
        label: if key.made_at == trace.place { "the same key every time" } else { "creates the same key every time" }
            .to_owned(),
        help: format!("create the key outside, and pass a new one to each {each}"),
    };
    let mut finding = wording::finding(rule, trace.place, key.confidence, &trace.function, text);
    let made = wording::label(key.made_at, "the key is created here".to_owned());
    let used = wording::label(
        key.used.leaf,
        format!("{} by {}", key.used.role.participle(), wording::callee(&key.used.callee)),
    );
    let traced = wording::label(
        trace.at,
        match trace.kind {
            TraceKind::Forward => format!("a {transform}, whose call is a forward pass"),
            _ => format!("traced by {transform}"),
        },
    );
    wording::relate(&mut finding, [made, used, traced]);
    finding
}
