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
    let transform = wording::code(&trace.transform);
    let each = if trace.kind == TraceKind::Looped { "iteration" } else { "call" };
    let (cause, way, help) = match trace.kind {
        TraceKind::Forward => (
            format!("{} creates its key from a constant seed", wording::code(&trace.function)),
            format!("a {transform}, whose call is a forward pass"),
            "take the key as an argument, or request it from the module, so that each call gets another one".to_owned(),
        ),
        _ => (
            format!("{} creates its key from a constant seed while {transform} traces it", wording::traced(trace)),
            format!("traced by {transform}"),
            format!("create the key outside, and pass a new one to each {each}"),
        ),
    };
    let text = Text {
        message: format!("{cause}, so every {each} {}", wording::repetition(key.used.role)),
        label: if key.made_at == trace.place { "the same key every time" } else { "creates the same key every time" }
            .to_owned(),
        help,
    };
    let mut finding = wording::finding(rule, trace.place, key.confidence, &trace.function, text);
    finding.created_anew = Some(key.made_at);
    let made = wording::label(key.made_at, "the key is created here".to_owned());
    let used = wording::label(
        key.used.leaf,
        format!("{} by {}", key.used.role.participle(), wording::callee(&key.used.callee)),
    );
    let traced = wording::label(trace.at, way);
    wording::relate(&mut finding, [made, used, traced]);
    finding
}
