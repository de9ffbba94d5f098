//! Functions that assert an equality: what is alike there is meant to be.
//!
//! **Invariant:** the outermost function around a place decides; what is within it helps. Of two calls it is the variables that
//! hold their results.

use super::bench::Bench;
use super::tree;
use crate::finding::Place;
use crate::python::ast::{self, Expr, Stmt};
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

/// Whether an assertion compares the very variables that hold the results of two calls.
pub(super) fn are_results_compared(bench: &Bench<'_>, calls: [&ast::ExprCall; 2]) -> bool {
    let bound = |call: &ast::ExprCall| {
        let step = bench.steps(span_of(call)).pop();
        let names = step.into_iter().flat_map(|step| tree::targets(step.statement())).flat_map(tree::names_bound);
        names.map(|name| name.id.as_str()).collect::<Vec<_>>()
    };
    let [first, second] = calls.map(bound);
    let is_one = |expr: &Expr, names: &[&str]| matches!(expr, Expr::Name(name) if names.contains(&name.id.as_str()));
    let compares = |compare: &ast::ExprCompare| match &compare.comparators[..] {
        [right] => {
            let (left, right) = (&*compare.left, right);
            is_one(left, &first) && is_one(right, &second) || is_one(left, &second) && is_one(right, &first)
        }
        _ => false,
    };
    if first.is_empty() || second.is_empty() {
        return false;
    }
    let function = bench.names.scope_at(span_of(calls[0]).start);
    tree::expressions(bench.module).into_iter().any(|expr| match expr {
        // Names are looked at first: scopes are searched for, and a file may have many comparisons.
        Expr::Compare(compare) if compares(compare) => {
            let span = span_of(compare);
            bench.names.scope_at(span.start) == function
                && matches!(bench.steps(span).pop().map(tree::Step::statement), Some(Stmt::Assert(_)))
        }
        _ => false,
    })
}
