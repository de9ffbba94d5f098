//! Source text as bytes, spans, lines and edits. Nothing here knows Python.
//!
//! **Invariant:** every offset is a byte offset into the decoded UTF-8 text of one file, and spans are half open.

mod cells;
mod digest;
mod edit;
mod lines;
mod span;

pub use cells::{Cell, Cells};
pub use digest::{Digest, Digester};
pub use edit::{Edit, EditError, apply_edits, moved, written};
pub use lines::{EditorPosition, LineColumn, LineIndex, Unit};
pub use span::{FileId, Span};
