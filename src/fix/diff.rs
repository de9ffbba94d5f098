//! What changed, as a unified diff.
//!
//! **Invariant:** the lines of the diff are those of the texts, byte for byte.

use similar::TextDiff;

/// The unified diff of two versions of the file at `path`; empty where they are equal.
pub fn unified(path: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(before, after).unified_diff().header(path, path).to_string()
}
