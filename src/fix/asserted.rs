//! Draws whose results an assertion takes for equal, or for close to what it computes from them.
//!
//! **Invariant:** a result only makes a fix display-only, so assignments are followed in source order, without paths.

use std::collections::BTreeSet;

use super::context::FixContext;
use super::tree;
use crate::python::ast::{self, CmpOp, Expr, Operator, Stmt};
use crate::python::{span_of, suites};
use crate::text::Span;

/// Statements of a function that are searched for assertions.
const STATEMENTS: usize = 2000;

/// Whether an assertion in the function of two calls measures what both return: `assert jnp.allclose(a, b)`, `assert (a == b).all()`.
pub(super) fn asserts_both(cx: &FixContext<'_>, calls: [&ast::ExprCall; 2]) -> bool {
    let [first, second] = calls.map(span_of);
    let body = match tree::function_around(cx.module, first) {
        Some(def) => &def.body[..],
        None => &cx.module.body[..],
    };
    let mut flat: Vec<&Stmt> = Vec::new();
    flatten(body, &mut flat);
    let mut results = [Results::of(first), Results::of(second)];
    for statement in flat {
        match statement {
            Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_) => {
                for results in &mut results {
                    results.follow(statement);
                }
            }
            Stmt::Assert(assert) if measures(cx, &assert.test, &results) => return true,
            // `np.testing.assert_allclose(a, b)`
            Stmt::Expr(expr) => {
                let is_assertion = |call: &ast::ExprCall| {
                    let name = name_of(&call.func);
                    name.starts_with("assert") && cx.models.words.tests_equality(name)
                };
                if matches!(&*expr.value, Expr::Call(call) if is_assertion(call)) && reads_both(&expr.value, &results) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The statements of some suites in source order, without those of nested functions.
fn flatten<'a>(body: &'a [Stmt], flat: &mut Vec<&'a Stmt>) {
    for statement in body {
        if flat.len() >= STATEMENTS || matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            continue;
        }
        flat.push(statement);
        for suite in suites(statement) {
            flatten(suite, flat);
        }
    }
}

/// What holds the result of a call, or what is computed from it.
struct Results<'a> {
    call: Span,
    names: BTreeSet<&'a str>,
}

impl<'a> Results<'a> {
    fn of(call: Span) -> Self {
        Self { call, names: BTreeSet::new() }
    }

    fn is_read_by(&self, expr: &Expr) -> bool {
        let parts = tree::expressions_within(expr);
        let shapes: Vec<Span> = parts.iter().filter(|&&part| is_of_shape(part)).map(|part| span_of(*part)).collect();
        let is_seen = |part: &&Expr| !shapes.iter().any(|shape| shape.covers(span_of(*part)));
        parts.into_iter().filter(is_seen).any(|part| match part {
            Expr::Name(name) => self.names.contains(name.id.as_str()),
            part => span_of(part) == self.call,
        })
    }

    /// Adds the names that an assignment computes from the result.
    fn follow(&mut self, statement: &'a Stmt) {
        let value = match statement {
            Stmt::Assign(assign) => Some(&*assign.value),
            Stmt::AnnAssign(assign) => assign.value.as_deref(),
            Stmt::AugAssign(assign) => Some(&*assign.value),
            _ => None,
        };
        if value.is_some_and(|value| self.is_read_by(value)) {
            let bound = tree::targets(statement).iter().flat_map(tree::names_bound);
            self.names.extend(bound.map(|name| name.id.as_str()));
        }
    }
}

fn reads_both(expr: &Expr, results: &[Results<'_>; 2]) -> bool {
    results.iter().all(|results| results.is_read_by(expr))
}

/// Whether a test that must be true measures both results. A test that must be false, as after `not`, asserts no equality.
fn measures(cx: &FixContext<'_>, test: &Expr, results: &[Results<'_>; 2]) -> bool {
    match test {
        Expr::BoolOp(all) if all.op == ast::BoolOp::And => all.values.iter().any(|one| measures(cx, one, results)),
        Expr::Compare(compare) => {
            let is_difference = |expr: &Expr| {
                let parts = tree::expressions_within(expr);
                let mut minus = parts.into_iter().filter_map(Expr::as_bin_op_expr);
                minus.any(|part| part.op == Operator::Sub) && reads_both(expr, results)
            };
            match &compare.ops[..] {
                [CmpOp::Eq] => reads_both(test, results),
                // `abs(a - b).max() < 1e-6`
                [CmpOp::Lt | CmpOp::LtE] => is_difference(&compare.left),
                _ => false,
            }
        }
        Expr::Call(call) => {
            let name = name_of(&call.func);
            if cx.models.words.tests_equality(name) {
                return reads_both(test, results);
            }
            // `(a == b).all()`, `jnp.all(a == b)`, `bool(a == b)`
            let of = match &*call.func {
                Expr::Attribute(attribute) if name == "all" && call.arguments.is_empty() => Some(&*attribute.value),
                _ if matches!(name, "all" | "bool") => call.arguments.args.first(),
                _ => None,
            };
            of.is_some_and(|of| measures(cx, of, results))
        }
        _ => false,
    }
}

/// Whether an expression depends on the shape or type of an array, and not on its numbers: `a.shape`, `len(a)`.
fn is_of_shape(expr: &Expr) -> bool {
    let is_shape = |name: &str| matches!(name, "shape" | "ndim" | "size" | "dtype" | "sharding" | "len");
    match expr {
        Expr::Attribute(attribute) => is_shape(attribute.attr.as_str()),
        Expr::Call(call) => is_shape(name_of(&call.func)),
        _ => false,
    }
}

/// The last part of a callee's name.
fn name_of(callee: &Expr) -> &str {
    match callee {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => "",
    }
}
