//! Functions that assert an equality: what is alike there is meant to be.
//!
//! **Invariant:** the outermost function around a place decides; what is within it helps. Of two calls it is the variables that
//! hold their results.

use rustc_hash::FxHashMap;

use super::bench::Bench;
use super::tree;
use crate::finding::Place;
use crate::python::ast::{self, Expr, Stmt};
use crate::python::{span_of, suites};
use crate::text::Span;

/// Names of assertions that things are equal, and parts of such names.
const EQUALITIES: [&str; 5] = ["allclose", "all_close", "AllClose", "assert_trees", "array_equal"];

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

/// What is read off an array that its numbers do not tell.
const SHAPES: [&str; 4] = ["shape", "ndim", "size", "dtype"];

/// Which of some calls a value comes from, one bit for each.
type Sources = u64;

/// Whether an assertion holds what comes of one of some calls against what comes of another: that they are equal, or that
/// nothing is between them.
pub(super) fn are_held_together(bench: &Bench<'_>, calls: &[&ast::ExprCall]) -> bool {
    let Some(first) = calls.first().filter(|_| calls.len() > 1 && calls.len() <= Sources::BITS as usize) else {
        return false;
    };
    let around = tree::ancestors(bench.module, span_of(*first)).into_iter().rev();
    let mut functions = around.filter_map(|node| match node {
        ast::AnyNodeRef::StmtFunctionDef(def) => Some(&def.body),
        _ => None,
    });
    let body = functions.next().unwrap_or(&bench.module.body);
    let mut flow = Flow { bench, calls, of: FxHashMap::default() };
    flow.suite(body)
}

/// Follows the results of calls through the variables of a function, as far as assignments go in source order.
struct Flow<'b, 'a> {
    bench: &'b Bench<'a>,
    calls: &'b [&'b ast::ExprCall],
    of: FxHashMap<&'a str, Sources>,
}

impl<'a> Flow<'_, 'a> {
    fn suite(&mut self, suite: &'a [Stmt]) -> bool {
        suite.iter().any(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &'a Stmt) -> bool {
        match statement {
            Stmt::Assign(assign) => {
                let sources = self.sources(&assign.value);
                for name in assign.targets.iter().flat_map(tree::names_bound) {
                    self.of.insert(name.id.as_str(), sources);
                }
                false
            }
            Stmt::Assert(assert) => self.equates(&assert.test),
            Stmt::Expr(expr) => self.equates(&expr.value),
            Stmt::For(each) => {
                let sources = self.sources(&each.iter);
                for name in tree::names_bound(&each.target) {
                    self.of.insert(name.id.as_str(), sources);
                }
                self.suite(&each.body) || self.suite(&each.orelse)
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => false,
            other => suites(other).into_iter().any(|suite| self.suite(suite)),
        }
    }

    fn sources(&self, expr: &'a Expr) -> Sources {
        let within = tree::expressions_within(expr);
        let is_shape = |expr: &&&Expr| match expr {
            Expr::Attribute(attribute) => SHAPES.contains(&attribute.attr.as_str()),
            Expr::Call(call) => matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "len"),
            _ => false,
        };
        let shapes: Vec<Span> = within.iter().filter(is_shape).map(|expr| span_of(*expr)).collect();
        let counted = within.into_iter().filter(|expr| !shapes.iter().any(|shape| shape.covers(span_of(*expr))));
        counted.fold(0, |sources, expr| {
            sources
                | match expr {
                    Expr::Name(name) => self.of.get(name.id.as_str()).copied().unwrap_or_default(),
                    Expr::Call(call) => {
                        let at = self.calls.iter().position(|one| span_of(*one) == span_of(call));
                        at.map_or(0, |at| 1 << at)
                    }
                    _ => 0,
                }
        })
    }

    /// Whether an assertion within an expression holds two of the calls together.
    fn equates(&self, asserted: &'a Expr) -> bool {
        tree::expressions_within(asserted).into_iter().any(|expr| match expr {
            Expr::Compare(compare) => match (&compare.ops[..], &compare.comparators[..]) {
                ([ast::CmpOp::Eq], [right]) => {
                    let is_zero = |side: &Expr| ["0", "0.0", "0."].contains(&self.bench.code(side));
                    let (left, right) = ((&*compare.left, self.sources(&compare.left)), (right, self.sources(right)));
                    let is_nothing_between =
                        is_zero(right.0) && left.1.count_ones() > 1 || is_zero(left.0) && right.1.count_ones() > 1;
                    is_nothing_between || are_apart(left.1, right.1)
                }
                _ => false,
            },
            Expr::Call(call) => {
                let name = self.bench.code(&call.func);
                let is_equality =
                    EQUALITIES.iter().any(|part| name.contains(part)) || ENDINGS.iter().any(|end| name.ends_with(end));
                let sides: Vec<Sources> = tree::arguments(call).map(|argument| self.sources(argument)).collect();
                is_equality && matches!(sides[..], [left, right, ..] if are_apart(left, right))
            }
            _ => false,
        })
    }
}

/// Whether each of two values comes from a call that the other does not come from.
fn are_apart(left: Sources, right: Sources) -> bool {
    left & !right != 0 && right & !left != 0
}
