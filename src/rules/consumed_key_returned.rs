//! KEY109: a consumed key is used elsewhere afterwards.
//!
//! **Invariant:** reported only if the later use is not visible.

use crate::finding::Finding;
use crate::judge::facts::{CarriedKey, CarryKind, Facts, Role};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&CarriedKey> {
    facts.carried.iter().collect()
}

pub(super) fn describe(rule: &Rule, hit: &CarriedKey) -> Finding {
    let name = hit.used.name.as_ref();
    let subject = wording::subject(name, &hit.derivation);
    let how = match hit.kind {
        CarryKind::Returned => "returned",
        CarryKind::Stored => "stored",
        CarryKind::Held => return describe_held(rule, hit, "state"),
        CarryKind::Copied => return describe_held(rule, hit, "copy"),
        CarryKind::Kept => return describe_kept(rule, hit),
        CarryKind::Left => return describe_left(rule, hit),
    };
    let consumed = if hit.used.role == Role::Unresolved { "may have consumed" } else { "consumed" };
    let text = Text {
        message: format!("{subject} is {how} after {} {consumed} it", wording::callee(&hit.used.callee)),
        label: format!("a consumed key is {how} here"),
        help: wording::rebinding(name)
            .map_or_else(String::new, |split| format!("draw from a child, {split}, so that the key {how} is fresh")),
    };
    let mut finding = wording::finding(rule, hit.place, hit.confidence, &hit.function, text);
    finding.doubt = Some("the later use is not visible".to_owned());
    let used = wording::steps(&hit.used, hit.used.role.participle());
    wording::relate(&mut finding, used.iter().cloned());
    finding.fix_hints = Some(wording::fix_hints(&hit.used));
    finding.flow = used.into_iter().chain([wording::label(hit.place, format!("{how} here"))]).collect();
    finding
}

/// A state that the caller gets back holds the key that it came with.
fn describe_held(rule: &Rule, hit: &CarriedKey, state: &str) -> Finding {
    let name = hit.used.name.as_ref();
    let subject = wording::subject(name, &hit.derivation);
    let participle = hit.used.role.participle();
    let text = Text {
        message: format!(
            "{subject} is {participle} by {}, and the returned {state} still holds it",
            wording::callee(&hit.used.callee)
        ),
        label: "returned with the consumed key".to_owned(),
        help: "split the key, draw from one child, and return the state with the other".to_owned(),
    };
    let mut finding = wording::finding(rule, hit.place, hit.confidence, &hit.function, text);
    finding.doubt = Some("the later use is not visible".to_owned());
    let used = wording::steps(&hit.used, participle);
    wording::relate(&mut finding, used.iter().cloned());
    finding.flow = used.into_iter().chain([wording::label(hit.place, "returned here".to_owned())]).collect();
    finding
}

/// A key that the caller gets is the one that the next call derives from.
fn describe_kept(rule: &Rule, hit: &CarriedKey) -> Finding {
    let subject = wording::subject(hit.used.name.as_ref(), &hit.derivation);
    let callee = wording::callee(&hit.used.callee);
    let text = Text {
        message: format!(
            "{subject} is returned and also kept, so {callee} splits it in the next call, after the caller has used it"
        ),
        label: "the caller gets the key that is kept".to_owned(),
        help: "keep one child of the split and return another".to_owned(),
    };
    let mut finding = wording::finding(rule, hit.place, hit.confidence, &hit.function, text);
    let used = wording::steps(&hit.used, "split again in the next call");
    wording::relate(&mut finding, used.iter().cloned());
    finding.flow = vec![wording::label(hit.place, "returned here".to_owned())].into_iter().chain(used).collect();
    finding
}

/// A key that a constructor has consumed is the one that a method derives from.
fn describe_left(rule: &Rule, hit: &CarriedKey) -> Finding {
    let name = hit.used.name.as_ref();
    let subject = wording::subject(name, &hit.derivation);
    let participle = hit.used.role.participle();
    let text = Text {
        message: format!(
            "{subject} is {participle} by {} and left in an attribute from which a method derives keys",
            wording::callee(&hit.used.callee)
        ),
        label: wording::here(&hit.used, participle),
        help: wording::rebinding(name)
            .map_or_else(String::new, |split| format!("draw from a child, {split}, so that the key stored is fresh")),
    };
    let mut finding = wording::finding(rule, hit.used.place, hit.confidence, &hit.function, text);
    let derived = wording::label(hit.place, "derived from again here".to_owned());
    wording::relate(&mut finding, [derived.clone()]);
    finding.fix_hints = Some(wording::fix_hints(&hit.used));
    finding.flow = wording::steps(&hit.used, participle).into_iter().chain([derived]).collect();
    finding
}
