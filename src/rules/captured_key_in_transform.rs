//! KEY106: a function captures a key and consumes it at every call.
//!
//! **Invariant:** reported only where no second call is visible; a visible second call is a reuse. A note if the
//! judge knows why each call may start from the same key.

use crate::finding::{Finding, FixHints};
use crate::judge::facts::{CaptureKind, CapturedUse, Facts};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&CapturedUse> {
    facts.captured.iter().collect()
}

pub(super) fn describe(rule: &Rule, hit: &CapturedUse) -> Finding {
    let (name, callee) = (wording::code(&hit.name), wording::code(&hit.callee));
    let repetition = wording::repetition(hit.used.role);
    let (message, defined) = match hit.kind {
        CaptureKind::Transformed => {
            (format!("{callee} captures {name} and is transformed, so every call {repetition}"), "transformed here")
        }
        CaptureKind::Stored => (
            format!("{callee} captures {name} and is stored or returned, so every call of it {repetition}"),
            "defined here",
        ),
        CaptureKind::Default => (
            format!(
                "the default value of {name} is one key, created when {callee} is defined, so every call \
                 that omits {name} {repetition}"
            ),
            "defined here",
        ),
    };
    let help = match hit.kind {
        CaptureKind::Default => format!("make {name} a parameter without a default value"),
        CaptureKind::Transformed | CaptureKind::Stored => format!("pass {name} to {callee} as an argument"),
    };
    let what = "the captured key is consumed";
    let text = Text { message, label: wording::here(&hit.used, what), help };
    let mut finding = wording::finding(rule, hit.used.place, hit.confidence, &hit.function, text);
    finding.doubt = Some(format!("no second call of {callee} is visible"));
    hit.intent.clone().into_iter().for_each(|intent| finding.note_intent(intent));
    let origin = wording::origin(hit.origin.as_ref());
    let defined = wording::label(hit.defined_at, defined.to_owned());
    wording::relate(&mut finding, origin.iter().cloned().chain([defined.clone()]));
    wording::relate(&mut finding, wording::inner_steps(&hit.used, what));
    finding.fix_hints = Some(FixHints {
        used_at: Some(hit.used.place),
        unused: (hit.kind == CaptureKind::Default).then(|| hit.name.clone()),
        ..FixHints::default()
    });
    finding.flow = origin.into_iter().chain([defined]).chain(wording::steps(&hit.used, "consumed each time")).collect();
    finding
}
