//! Reuse of keys: finding it, and saying where and how it happens.
//!
//! **Invariant:** finding comes first and asks only whether two keys must be equal on a path; what that is worth is asked afterwards.

mod detect;
mod repetition;
mod report;

pub use detect::{Reuse, Reuses, detect, others};
pub use report::{is_known_key, report, use_at};
