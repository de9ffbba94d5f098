//! Comments that silence findings: which findings they reach, and which of them are unused or wrong.
//!
//! **Invariant:** suppressions are judged against all findings of a file, before any is hidden for its level or
//! confidence; whether a comment is needed must not depend on what one happens to look at.

mod apply;
mod parse;
#[cfg(test)]
mod tests;

pub use apply::{Applied, Scope, Silenced, Source, apply};
pub use parse::{Directive, Effect, Problem, parse};
