//! Findings about the run itself, which no analysis makes: unparsable and unreadable files, suppressions, failures of
//! keylint.
//!
//! **Invariant:** these findings have high confidence and belong to no function.

use crate::finding::{Confidence, Finding, Place, RuleId};

use super::wording::{self, MODULE, Text};

/// A file, or a part of it, that is not Python.
pub fn syntax_error(place: Place, problem: &str) -> Finding {
    let text = Text {
        message: format!("syntax error: {}", wording::sentence(problem)),
        label: "not valid Python from here".to_owned(),
        help: "the rest of the file may be checked only partially".to_owned(),
    };
    finding(RuleId::SyntaxError, place, text)
}

/// A suppression that hides nothing; `what` is the comment or the codes in it that are unused.
pub fn unused_suppression(place: Place, what: &str) -> Finding {
    let text = Text {
        message: format!("`{what}` suppresses nothing"),
        label: "no finding to suppress here".to_owned(),
        help: "remove it, so that it cannot hide a later mistake".to_owned(),
    };
    finding(RuleId::UnusedSuppression, place, text)
}

/// A suppression that cannot be understood: an unknown code, a missing bracket.
pub fn invalid_suppression(place: Place, problem: &str) -> Finding {
    let text = Text {
        message: format!("invalid suppression: {}", wording::sentence(problem)),
        label: "has no effect as written".to_owned(),
        help: "write `# keylint: ignore[KEY101] reason`; `keylint rule` lists the codes".to_owned(),
    };
    finding(RuleId::InvalidSuppression, place, text)
}

/// A file that cannot be read or decoded.
pub fn unreadable_file(place: Place, problem: &str) -> Finding {
    let text = Text {
        message: format!("cannot read the file: {}", wording::sentence(problem)),
        label: "nothing in this file was checked".to_owned(),
        help: "fix the file, or exclude it".to_owned(),
    };
    finding(RuleId::UnreadableFile, place, text)
}

/// A failure of keylint, contained to one file.
pub fn internal_error(place: Place, problem: &str) -> Finding {
    let text = Text {
        message: format!("keylint failed on this file: {}", wording::sentence(problem)),
        label: "nothing in this file was checked".to_owned(),
        help: format!("please report it, with the file if you can share it: {}/issues", env!("CARGO_PKG_REPOSITORY")),
    };
    finding(RuleId::InternalError, place, text)
}

fn finding(rule: RuleId, place: Place, text: Text) -> Finding {
    wording::finding(super::get(rule), place, Confidence::High, MODULE, text)
}
