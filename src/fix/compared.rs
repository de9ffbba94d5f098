//! Functions that assert an equality: what is alike there is meant to be.
//!
//! **Invariant:** the outermost function around a place decides; what is within it helps.

use super::bench::Bench;
use super::tree;
use crate::finding::Place;
use crate::python::ast::Stmt;
use crate::python::span_of;

/// Names of assertions that things are equal, and parts of such names.
const EQUALITIES: [&str; 4] = ["allclose", "all_close", "AllClose", "assert_trees"];

/// Ends of such names.
const ENDINGS: [&str; 2] = ["Equal", "_equal"];

/// Whether the function around a place asserts that things are equal.
pub fn is_compared(bench: &Bench<'_>, place: Place) -> bool {
    let Some(span) = bench.here(place) else { return false };
    let steps = bench.steps(span);
    let function =
        steps.iter().map(|step| step.statement()).find(|statement| matches!(statement, Stmt::FunctionDef(_)));
    let Some(function) = function.map(span_of) else { return false };
    let mut inside = tree::calls(bench.module).into_iter().filter(|call| function.covers(span_of(*call)));
    inside.any(|call| {
        let name = bench.code(&call.func);
        EQUALITIES.iter().any(|part| name.contains(part)) || ENDINGS.iter().any(|end| name.ends_with(end))
    })
}
