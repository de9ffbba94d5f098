//! KEY006: a function that was not analysed in full.
//!
//! **Invariant:** one finding for each function, whatever bounds it reaches.

use crate::finding::{Confidence, Finding};
use crate::judge::facts::{Exhausted, Facts};

use super::Rule;
use super::wording::{self, MODULE, Text};

/// The bound that smaller functions do not avoid.
const NESTED: &str = "nested calls";

pub(super) fn find(facts: &Facts) -> Vec<&Exhausted> {
    facts.exhausted.iter().collect()
}

pub(super) fn describe(rule: &Rule, hit: &Exhausted) -> Finding {
    let function = if hit.function == MODULE { "the module".to_owned() } else { wording::code(&hit.function) };
    let text = Text {
        message: format!("{function} was not analysed in full: it exceeds the limit on {}", hit.budget),
        label: "mistakes in here may be missed".to_owned(),
        help: "no change is needed; to have more of it analysed, move the code that uses keys into a separate function"
            .to_owned(),
    };
    let mut finding = wording::finding(rule, hit.function_at, Confidence::High, &hit.function, text);
    if hit.budget == NESTED {
        finding.help = None;
    }
    if hit.place != hit.function_at {
        let others = match hit.others {
            0 => String::new(),
            1 => ", also from another function".to_owned(),
            others => format!(", also from {others} other functions"),
        };
        wording::relate(&mut finding, [wording::label(hit.place, format!("the limit is reached here{others}"))]);
    }
    finding
}
