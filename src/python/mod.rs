//! Python as syntax: parsing, comments and cell markers, statement spans, and resolution of module names to files.
//!
//! **Invariant:** only this room uses the parser's crates; all others write `python::ast`. The result of [`parse()`] is at most
//! [`MAX_DEPTH`] nodes deep, so recursion over it on a stack of [`WORKER_STACK_BYTES`] cannot overflow.

pub mod commands;
mod marks;
mod mentions;
mod modules;
pub mod nesting;
mod normal;
mod notebook;
pub mod parse;
mod statements;

pub use ruff_python_ast as ast;

pub use marks::marks;
pub use mentions::mentions;
pub use modules::{ModuleGraph, Resolution, initialiser_of};
pub use normal::normal_form;
pub use notebook::{broken_cells, is_as_sound, parse_cells};
pub use parse::{Comment, MAX_DEPTH, Parsed, SourceKind, SyntaxProblem, WORKER_STACK_BYTES, parse};
pub use statements::{StatementKind, StatementSpan, statement_spans, suites};

use crate::text::Span;

/// The bytes of a node of the syntax tree.
pub fn span_of(node: &impl ruff_text_size::Ranged) -> Span {
    let range = node.range();
    Span::new(range.start().to_u32(), range.end().to_u32())
}
