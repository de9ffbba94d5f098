//! Suppression of findings by comments and by the baseline, and findings about unused and invalid comments.
//!
//! **Invariant:** suppressions are matched against all findings of a file, before any are hidden because of level or confidence. Whether a
//! comment is unused must not depend on what is shown.

mod apply;
mod baseline;
mod insert;
mod parse;
pub use apply::{Applied, Scope, Source, Suppressed, apply, can_be_ignored, is_about_comments};
pub use baseline::{Baseline, BaselineError, Entry};
pub use insert::{FindingToSuppress, insertions};
pub use parse::{Directive, Effect, Problem, parse};
