//! KEY111: a function takes a key or seed and draws from a constant one.
//!
//! **Invariant:** the primary place is the constructor, because that is the line to change.

use crate::finding::{Finding, FixHints};
use crate::judge::facts::{Facts, IgnoredCaller};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&IgnoredCaller> {
    facts.ignored.iter().collect()
}

pub(super) fn describe(rule: &Rule, hit: &IgnoredCaller) -> Finding {
    let parameter = wording::code(&hit.parameter);
    let text = Text {
        message: format!(
            "this function takes {parameter} but draws from a constant key created by {}",
            wording::code(&hit.callee)
        ),
        label: format!("the caller's {parameter} is not used here"),
        help: format!("derive the key from {parameter}"),
    };
    let mut finding = wording::finding(rule, hit.place, hit.confidence, &hit.function, text);
    let declared = wording::label(hit.declared_at, format!("{parameter} is declared here"));
    let made = wording::label(hit.place, "a constant key is created here".to_owned());
    let used = wording::steps(&hit.used, "the constant key is consumed");
    wording::relate(&mut finding, [declared.clone()].into_iter().chain(used.iter().cloned()));
    finding.fix_hints = Some(FixHints { unused: Some(hit.parameter.clone()), ..wording::fix_hints(&hit.used) });
    finding.flow = [declared, made].into_iter().chain(used).collect();
    finding
}
