//! Source text as bytes and spans: nothing here knows Python.
//!
//! **Invariant:** every offset is a byte offset into the decoded UTF-8 text of one file, and spans are half open.

mod span;

pub use span::{FileId, Span};
