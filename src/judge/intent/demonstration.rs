//! The main block of a module that others import: `if __name__ == "__main__":` demonstrates or tries its functions.
//!
//! Such a block often draws inputs and parameters from one key, because it only has to show that the module works.
//!
//! **Invariant:** only code in the block counts. A function that it calls is judged like any other, and the main block of a module that is
//! never imported is the program.

use crate::finding::{Finding, Intent, IntentKind, Level, Place};
use crate::python::StatementKind;
use crate::text::Span;

use super::said_so::Written;

/// Makes findings in the main block of a module that other modules import notes.
pub fn note_demonstrations(written: Written<'_>, findings: &mut [Finding]) {
    for finding in findings.iter_mut() {
        if !finding.rule.may_be_intended() || finding.level <= Level::Note {
            continue;
        }
        if let Some(header) = direct_run(written, finding.primary.span) {
            let place = Place { file: finding.primary.file, span: header };
            finding.note_intent(Intent::new(IntentKind::Demonstration, Some(place)));
        }
    }
}

/// The header of the `__main__` block that contains a place.
fn direct_run(written: Written<'_>, place: Span) -> Option<Span> {
    let outermost = *written.around(place).last()?;
    (outermost.kind == StatementKind::DirectRun).then_some(outermost.header)
}
