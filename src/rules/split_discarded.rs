//! KEY110: a derivation whose result goes nowhere.
//!
//! **Invariant:** a single unused child is a note, since spare keys are harmless; an unused result is a warning.

use crate::finding::{Confidence, Finding, FixHints, Level};
use crate::judge::facts::{Discarded, Facts};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&Discarded> {
    facts.discarded.iter().collect()
}

pub(super) fn describe(rule: &Rule, hit: &Discarded) -> Finding {
    let callee = wording::callee(&hit.callee);
    let text = if hit.whole {
        let help = match &hit.name {
            Some(name) => format!("draw from {}, or remove the call", wording::code(name)),
            None => "bind the keys that it returns, or remove the call".to_owned(),
        };
        Text {
            message: format!("the result of {callee} is never used"),
            label: "returns new keys and leaves its argument unchanged".to_owned(),
            help,
        }
    } else {
        let child = hit.name.as_ref().map_or_else(|| "one of the keys".to_owned(), |name| wording::code(name));
        Text {
            message: format!("{child} from this {callee} is never used"),
            label: "creates a key that nothing uses".to_owned(),
            help: "derive only as many keys as you use, or name the unused one `_`".to_owned(),
        }
    };
    let mut finding = wording::finding(rule, hit.place, Confidence::High, &hit.function, text);
    if !hit.whole {
        finding.level = Level::Note;
        finding.fix_hints = Some(FixHints { unused: hit.name.clone(), ..FixHints::default() });
    }
    finding
}
