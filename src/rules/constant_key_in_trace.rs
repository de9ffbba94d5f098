//! KEY402: a traced function, or the call of a module, makes its key from a constant seed, or reads one that its trace keeps.
//!
//! **Invariant:** reported only where no other rule reports that the numbers repeat; the primary place is the constructor or the read, or
//! the call in the traced function that leads to it.

use crate::finding::{Confidence, Finding};
use crate::judge::facts::{ConstantKey, Facts, FrozenKey, Trace, TraceKind};

use super::Rule;
use super::wording::{self, Text};

/// Why a key is a constant of a trace.
pub(super) enum Cause<'f> {
    /// It is made from a constant seed.
    Made(&'f ConstantKey),
    /// It is read from outside, once.
    Read(&'f FrozenKey),
}

pub(super) fn find(facts: &Facts) -> Vec<(Cause<'_>, &Trace)> {
    let made = facts.constant.iter().filter_map(|key| Some((Cause::Made(key), key.trace.as_ref()?)));
    let read = facts.frozen.iter().filter_map(|key| Some((Cause::Read(key), key.trace.as_ref()?)));
    made.chain(read).collect()
}

pub(super) fn describe(rule: &Rule, (cause, trace): &(Cause<'_>, &Trace)) -> Finding {
    match cause {
        Cause::Made(key) => describe_made(rule, key, trace),
        Cause::Read(key) => describe_read(rule, key, trace),
    }
}

fn describe_read(rule: &Rule, key: &FrozenKey, trace: &Trace) -> Finding {
    let (name, transform, function) =
        (wording::code(&key.name), wording::code(&trace.transform), wording::traced(trace));
    let text = Text {
        message: format!(
            "{function} reads {name} only while {transform} traces it, so every call {}, although {name} is replaced",
            wording::repetition(key.used.role),
        ),
        label: "the key of the first call is used by all calls".to_owned(),
        help: format!("pass {name} to {function} as an argument"),
    };
    // Arguments of other types and shapes lead to another trace.
    let mut finding = wording::finding(rule, trace.place, Confidence::Medium, &trace.function, text);
    let read = wording::label(key.read_at, "the key is read here".to_owned());
    let used = wording::label(
        key.used.leaf,
        format!("{} by {}", key.used.role.participle(), wording::callee(&key.used.callee)),
    );
    let again = if key.before == key.again {
        "called here, each time after the key was replaced"
    } else {
        "called again here, with another key"
    };
    let again = wording::label(key.again, again.to_owned());
    let made = key.made_at.map(|place| wording::label(place, "the key of a later call is made here".to_owned()));
    let traced = wording::label(trace.at, format!("traced by {transform}"));
    wording::relate(&mut finding, [read, used, again].into_iter().chain(made).chain([traced]));
    finding
}

fn describe_made(rule: &Rule, key: &ConstantKey, trace: &Trace) -> Finding {
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
