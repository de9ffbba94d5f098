//! Assertions of equality: results that are compared come from equal keys on purpose.
//!
//! **Invariant:** the outermost function around a place decides, with everything within it. For two calls, the variables that hold
//! their results are followed.

use rustc_hash::FxHashMap;

use super::context::FixContext;
use super::names::{Does, ScopeId};
use super::tree;
use crate::finding::Place;
use crate::python::ast::{self, Expr, Stmt};
use crate::python::{span_of, suites};
use crate::text::Span;

/// Names of assertions that things are equal, and parts of such names.
const EQUALITIES: [&str; 5] = ["allclose", "all_close", "AllClose", "assert_trees", "array_equal"];

/// Ends of such names.
const ENDINGS: [&str; 2] = ["Equal", "_equal"];

/// Parts of names of comparisons that leave numbers some room.
const TOLERANT: [&str; 7] = ["allclose", "all_close", "AllClose", "isclose", "is_close", "AlmostEqual", "almost_equal"];

/// What stands for all numbers around another.
const AROUND: &str = "approx";

/// Whether the function around a place asserts that things are equal.
pub fn is_compared(cx: &FixContext<'_>, place: Place) -> bool {
    let Some(span) = cx.here(place) else { return false };
    let steps = cx.steps(span);
    let function =
        steps.iter().map(|step| step.statement()).find(|statement| matches!(statement, Stmt::FunctionDef(_)));
    let Some(function) = function.map(span_of) else { return false };
    let mut inside = tree::calls(cx.module).into_iter().filter(|call| function.covers(span_of(*call)));
    inside.any(|call| {
        let name = cx.code(&call.func);
        EQUALITIES.iter().any(|part| name.contains(part)) || ENDINGS.iter().any(|end| name.ends_with(end))
    })
}

/// Whether an assertion compares the very variables that hold the results of two calls.
pub(super) fn are_results_compared(cx: &FixContext<'_>, calls: [&ast::ExprCall; 2]) -> bool {
    let bound = |call: &ast::ExprCall| {
        let step = cx.steps(span_of(call)).pop();
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
    let function = cx.names.scope_at(span_of(calls[0]).start);
    tree::expressions(cx.module).into_iter().any(|expr| match expr {
        // Names are looked at first: scopes are searched for, and a file may have many comparisons.
        Expr::Compare(compare) if compares(compare) => {
            let span = span_of(compare);
            cx.names.scope_at(span.start) == function
                && matches!(cx.steps(span).pop().map(tree::Step::statement), Some(Stmt::Assert(_)))
        }
        _ => false,
    })
}

/// Attributes of an array that do not depend on its numbers.
const SHAPES: [&str; 4] = ["shape", "ndim", "size", "dtype"];

/// Which of some calls a value comes from, one bit for each.
type Sources = u64;

/// Whether an assertion holds what comes of one of some calls against what comes of another: that they are equal, or that
/// nothing is between them.
pub(super) fn are_asserted_equal(cx: &FixContext<'_>, calls: &[&ast::ExprCall]) -> bool {
    let Some(first) = calls.first().filter(|_| calls.len() > 1 && calls.len() < Sources::BITS as usize) else {
        return false;
    };
    let function = tree::function_around(cx.module, span_of(*first));
    let body = function.map_or(&cx.module.body, |def| &def.body);
    Flow::of(cx, calls, Asks::Together, body).suite(body)
}

/// Whether an assertion compares, within some tolerance, numbers that come of one of some calls.
pub(super) fn is_compared_within_tolerance(cx: &FixContext<'_>, calls: &[&ast::ExprCall]) -> bool {
    let is_there = |part: &&str| cx.text.contains(*part);
    TOLERANT.iter().chain([&AROUND]).any(is_there)
        && calls.iter().any(|call| {
            // What a function within a test draws, the test may look at.
            let mut around = tree::ancestors(cx.module, span_of(*call)).into_iter().filter_map(|node| match node {
                ast::AnyNodeRef::StmtFunctionDef(def) => Some(&def.body),
                _ => None,
            });
            let body = around.next().unwrap_or(&cx.module.body);
            let calls = std::slice::from_ref(call);
            Flow::of(cx, calls, Asks::Tolerance, body).suite(body)
        })
}

/// Whether anything in the file may depend on the results of both of two calls.
pub(super) fn do_results_meet(cx: &FixContext<'_>, calls: [&ast::ExprCall; 2]) -> bool {
    Flow::of(cx, &calls, Asks::Meeting, &cx.module.body).suite(&cx.module.body)
}

/// What is asked of assertions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// Whether they hold the results of two calls together.
    Together,
    /// Whether they hold results to others within some tolerance.
    Tolerance,
    /// Whether any statement, be it an assertion or not, uses the results of two calls.
    Meeting,
}

/// Stands among sources for a comparison within some tolerance.
const COMPARED: Sources = 1 << (Sources::BITS - 1);

/// Follows the results of calls through the variables of a function, as far as assignments go in source order.
struct Flow<'b, 'a> {
    cx: &'b FixContext<'a>,
    calls: &'b [&'b ast::ExprCall],
    asks: Asks,
    /// The scope whose variables are followed.
    scope: ScopeId,
    of: FxHashMap<&'a str, Sources>,
}

impl<'b, 'a> Flow<'b, 'a> {
    fn of(cx: &'b FixContext<'a>, calls: &'b [&'b ast::ExprCall], asks: Asks, body: &[Stmt]) -> Self {
        let start = body.first().map_or(0, |statement| span_of(statement).start);
        Self { cx, calls, asks, scope: cx.names.scope_at(start), of: FxHashMap::default() }
    }

    fn suite(&mut self, suite: &'a [Stmt]) -> bool {
        suite.iter().any(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &'a Stmt) -> bool {
        if self.asks == Asks::Meeting {
            let all = tree::expressions_of(statement).into_iter();
            let sources = all.fold(0, |sources, expr| sources | self.source(expr));
            self.note_kept(statement, sources);
            if sources.count_ones() > 1 && suites(statement).is_empty() {
                return true;
            }
        }
        match statement {
            Stmt::Assign(assign) => {
                let sources = self.sources(&assign.value);
                for name in assign.targets.iter().flat_map(tree::names_bound) {
                    self.of.insert(name.id.as_str(), sources);
                }
                false
            }
            Stmt::AugAssign(assign) => {
                let sources = self.sources(&assign.value);
                for name in tree::names_bound(&assign.target) {
                    *self.of.entry(name.id.as_str()).or_default() |= sources;
                }
                false
            }
            Stmt::Assert(assert) => match self.asks {
                Asks::Together => self.equates(&assert.test),
                Asks::Tolerance => self.measures(&assert.test),
                Asks::Meeting => false,
            },
            Stmt::Expr(expr) => match self.asks {
                Asks::Together => self.equates(&expr.value),
                Asks::Meeting => false,
                Asks::Tolerance => {
                    self.note_kept(statement, self.sources(&expr.value));
                    let name = expr.value.as_call_expr().map(|call| last_name(self.cx.code(&call.func)));
                    name.is_some_and(|name| name.starts_with("assert")) && self.measures(&expr.value)
                }
            },
            Stmt::FunctionDef(def) if self.asks != Asks::Together => {
                let within = tree::expressions_of(statement);
                let sources = within.into_iter().fold(0, |sources, expr| sources | self.source(expr));
                self.of.insert(def.name.as_str(), sources);
                false
            }
            Stmt::ClassDef(def) if self.asks == Asks::Meeting => {
                let within = tree::expressions_of(statement);
                let sources = within.into_iter().fold(0, |sources, expr| sources | self.source(expr));
                self.of.insert(def.name.as_str(), sources);
                false
            }
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
        counted.fold(0, |sources, expr| sources | self.source(expr))
    }

    /// The sources that an expression adds to those of what is within it.
    fn source(&self, expr: &Expr) -> Sources {
        match expr {
            Expr::Name(name) => {
                let names = &self.cx.names;
                let is_own = || names.binder(names.scope_at(span_of(name).start), name.id.as_str()) == Some(self.scope);
                self.of.get(name.id.as_str()).copied().filter(|_| is_own()).unwrap_or_default()
            }
            Expr::Call(call) => {
                let at = self.calls.iter().position(|one| span_of(*one) == span_of(call));
                let name = last_name(self.cx.code(&call.func));
                let is_tolerant = name == AROUND || TOLERANT.iter().any(|part| name.contains(part));
                let compared = if is_tolerant && self.asks == Asks::Tolerance { COMPARED } else { 0 };
                compared | at.map_or(0, |at| 1 << at)
            }
            _ => 0,
        }
    }

    /// Whether what is asserted compares numbers of the calls within some tolerance.
    fn measures(&self, asserted: &'a Expr) -> bool {
        let sources = self.sources(asserted);
        sources & COMPARED != 0 && sources & !COMPARED != 0
    }

    /// An object may keep what its methods are given, or what is put into it.
    fn note_kept(&mut self, statement: &'a Stmt, sources: Sources) {
        let keepers: Vec<&Expr> = match statement {
            Stmt::Expr(expr) => match &*expr.value {
                Expr::Call(call) if self.cx.path_of(&call.func).is_none() => vec![&call.func],
                _ => Vec::new(),
            },
            other => tree::targets(other).iter().flat_map(tree::assigned).collect(),
        };
        for keeper in keepers.into_iter().filter(|keeper| !keeper.is_name_expr()) {
            let mut root = keeper;
            while let Expr::Attribute(ast::ExprAttribute { value, .. })
            | Expr::Subscript(ast::ExprSubscript { value, .. }) = root
            {
                root = value;
            }
            if let Expr::Name(name) = root
                && name.id.as_str() != "self"
                && !self.cx.names.occurrences(name.id.as_str()).iter().any(|one| one.does == Does::Import)
            {
                *self.of.entry(name.id.as_str()).or_default() |= sources;
            }
        }
    }

    /// Whether an assertion within an expression holds two of the calls together.
    fn equates(&self, asserted: &'a Expr) -> bool {
        tree::expressions_within(asserted).into_iter().any(|expr| match expr {
            Expr::Compare(compare) => match (&compare.ops[..], &compare.comparators[..]) {
                ([ast::CmpOp::Eq], [right]) => {
                    let is_zero = |side: &Expr| ["0", "0.0", "0."].contains(&self.cx.code(side));
                    let (left, right) = ((&*compare.left, self.sources(&compare.left)), (right, self.sources(right)));
                    let is_nothing_between =
                        is_zero(right.0) && left.1.count_ones() > 1 || is_zero(left.0) && right.1.count_ones() > 1;
                    is_nothing_between || are_apart(left.1, right.1)
                }
                _ => false,
            },
            Expr::Call(call) => {
                let name = self.cx.code(&call.func);
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

/// The name at the end of an attribute chain.
fn last_name(code: &str) -> &str {
    code.rsplit('.').next().unwrap_or(code)
}
