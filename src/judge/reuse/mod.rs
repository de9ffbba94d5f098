//! Reuse of keys: how it is detected, and where and how it is reported.
//!
//! **Invariant:** detection comes first and only determines whether two keys must be equal on a path; whether that matters is decided
//! afterwards.

mod detect;
mod repetition;
mod report;
mod unlikely_paths;

pub use detect::{Reuse, Reuses, detect, is_tested_for_a_class, others, returns_what_it_draws};
pub use repetition::loop_kind;
pub use report::{Placed, is_known_key, placed, report, use_at};
