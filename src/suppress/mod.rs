//! What silences findings: comments, with those that are unused or wrong, and the baseline.
//!
//! **Invariant:** suppressions are matched against all findings of a file, before any is hidden for its level or confidence; whether a
//! comment is needed must not depend on what is shown.

mod apply;
mod baseline;
mod insert;
mod parse;
#[cfg(test)]
mod tests;

pub use apply::{Applied, Scope, Source, Suppressed, apply, can_be_ignored, is_about_comments};
pub use baseline::{Baseline, BaselineError, Entry};
pub use insert::{Wanted, insertions};
pub use parse::{Directive, Effect, Problem, parse};
