//! KEY111: a function takes a key or seed and draws from a constant one, or makes a record that keeps one.
//!
//! **Invariant:** the primary place is the constructor of the key or record, because that is the line to change.

use crate::finding::{Finding, FixHints};
use crate::judge::facts::{CallerKeyLoss, Facts, IgnoredCaller, KeptDefault};

use super::Rule;
use super::wording::{self, Text};

/// What is reported.
pub(super) enum Hit<'a> {
    /// A constant key in place of the caller's.
    Constant(&'a IgnoredCaller),
    /// A record with a constant default key.
    Kept(&'a KeptDefault),
}

pub(super) fn find(facts: &Facts) -> Vec<Hit<'_>> {
    facts.ignored.iter().map(Hit::Constant).chain(facts.kept_defaults.iter().map(Hit::Kept)).collect()
}

pub(super) fn describe(rule: &Rule, hit: &Hit<'_>) -> Finding {
    match hit {
        Hit::Constant(hit) => describe_constant(rule, hit),
        Hit::Kept(hit) => describe_kept(rule, hit),
    }
}

fn describe_kept(rule: &Rule, hit: &KeptDefault) -> Finding {
    let (class, field, parameter) =
        (wording::code(&hit.class), wording::code(&hit.field), wording::code(&hit.parameter));
    let name = hit.entry.rsplit('.').next().unwrap_or(&hit.entry);
    let entry = if hit.entry == hit.function { "this function".to_owned() } else { wording::code(name) };
    let text = Text {
        message: format!(
            "this {class} keeps the default of {field}, a constant key, although {entry} takes {parameter}"
        ),
        label: format!("{field} is not passed, so it is the same key in every call"),
        help: format!("split {parameter}, and pass one of the new keys as {field}"),
    };
    let mut finding = wording::finding(rule, hit.place, hit.confidence, &hit.function, text);
    let made = wording::label(hit.made_at, "the default is created here".to_owned());
    let declared = wording::label(hit.declared_at, format!("{parameter} is declared here"));
    let consumed = wording::label(hit.consumed_at, format!("{field} is consumed here"));
    wording::relate(&mut finding, [made.clone(), declared, consumed.clone()]);
    let kept = wording::label(hit.place, format!("{class} is created without {field}"));
    finding.flow = vec![made, kept, consumed];
    finding
}

fn describe_constant(rule: &Rule, hit: &IgnoredCaller) -> Finding {
    let parameter = wording::code(&hit.parameter);
    let callee = wording::code(&hit.callee);
    let text = match hit.loss {
        CallerKeyLoss::Unread => Text {
            message: format!("this function takes {parameter} but draws from a constant key created by {callee}"),
            label: format!("the caller's {parameter} is not used here"),
            help: format!("derive the key from {parameter}"),
        },
        CallerKeyLoss::Replaced => Text {
            message: format!(
                "{callee} replaces the caller's {parameter} with a constant key, so every caller gets the same numbers from \
                 here on"
            ),
            label: format!("the caller's {parameter} is lost here"),
            help: "give the constant key a name of its own".to_owned(),
        },
    };
    let mut finding = wording::finding(rule, hit.place, hit.confidence, &hit.function, text);
    let declared = wording::label(hit.declared_at, format!("{parameter} is declared here"));
    let made = wording::label(hit.place, "a constant key is created here".to_owned());
    let used = wording::steps(&hit.used, "the constant key is consumed");
    wording::relate(&mut finding, [declared.clone()].into_iter().chain(used.iter().cloned()));
    // A comment there may say that the key is fixed on purpose.
    finding.created_anew = Some(hit.place);
    let unused = (hit.loss == CallerKeyLoss::Unread).then(|| hit.parameter.clone());
    finding.fix_hints = Some(FixHints { unused, ..wording::fix_hints(&hit.used) });
    finding.flow = [declared, made].into_iter().chain(used).collect();
    finding
}
