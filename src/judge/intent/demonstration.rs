//! The main block of a module: `if __name__ == "__main__":` demonstrates or tries its functions.
//!
//! Such a block often draws inputs and parameters from one key, because it only has to show that the module works.
//!
//! **Invariant:** only code in the block counts, and only if other modules import this one, or if it is a module of a package whose block has
//! no loop, as training has. A function that the block calls is judged like any other. The main block of any other file is the program.

use crate::finding::{Finding, Intent, IntentKind, Level, Place};
use crate::python::StatementKind;
use crate::text::Span;

use super::said_so::Written;

/// The reason if no other module is known to import the file.
const IN_PACKAGE: &str = "the main block of a module of a package only demonstrates it";

/// What uses a module besides the person who runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedBy {
    /// Other modules import it.
    Modules,
    /// No known module imports it, but it is in a package.
    Package,
}

/// Makes findings in the main block of a module notes.
pub fn note_demonstrations(written: Written<'_>, used_by: UsedBy, findings: &mut [Finding]) {
    for finding in findings.iter_mut() {
        if !finding.rule.may_be_intended() || finding.level <= Level::Note {
            continue;
        }
        let Some((header, block)) = direct_run(written, finding.primary.span) else { continue };
        if used_by == UsedBy::Package && has_loop(written, block) {
            continue;
        }
        let place = Some(Place { file: finding.primary.file, span: header });
        finding.note_intent(match used_by {
            UsedBy::Modules => Intent::new(IntentKind::Demonstration, place),
            UsedBy::Package => Intent::because(IntentKind::Demonstration, IN_PACKAGE, place),
        });
    }
}

/// The header of the `__main__` block that contains a place, and the whole block.
fn direct_run(written: Written<'_>, place: Span) -> Option<(Span, Span)> {
    let outermost = *written.around(place).last()?;
    (outermost.kind == StatementKind::DirectRun).then_some((outermost.header, outermost.full))
}

/// Whether a block has a loop statement.
fn has_loop(written: Written<'_>, block: Span) -> bool {
    written.statements.iter().any(|statement| statement.kind == StatementKind::Loop && block.covers(statement.full))
}
