//! Sweep loops: each iteration runs one of several settings, or nothing observes its numbers, so that one key may serve all.
//!
//! **Invariant:** a loop that is not understood is no sweep; only the function that holds it, and calls of that function in its
//! file, are looked at.

use super::context::FixContext;
use super::names::{Does, Occurrence, ScopeId};
use super::tree;
use crate::models::Callable;
use crate::python::ast::{self, Expr, Number, Stmt};
use crate::python::{span_of, suites};
use crate::text::Span;

/// How many variables and parameters are iterated over to find what a loop is over.
const DEPTH: u32 = 3;

/// What the elements of settings may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    /// Literals only.
    Literals,
    /// Whatever is written out one by one, objects that are made there as well.
    Written,
}

/// What a loop goes through side by side, each with what its elements are bound to; `None` where that is not understood.
pub(super) fn iterated<'a>(cx: &FixContext<'a>, each: &'a ast::StmtFor) -> Option<Vec<(&'a Expr, &'a Expr)>> {
    if let (Expr::Tuple(targets), Expr::Call(call)) = (&*each.target, &*each.iter)
        && let Expr::Name(callee) = &*call.func
        && cx.names.binder(cx.names.scope_at(span_of(call).start), callee.id.as_str()).is_none()
    {
        let given = &call.arguments.args;
        return match callee.id.as_str() {
            "enumerate" => Some(targets.elts.iter().skip(1).zip(given).collect()),
            "zip" if given.len() == targets.elts.len() => Some(targets.elts.iter().zip(given).collect()),
            _ => None,
        };
    }
    Some(vec![(&*each.target, &*each.iter)])
}

/// Whether a loop gathers one result for each of some settings that are written out, and nothing else distinguishes its iterations
/// apart: that they begin alike is how settings are compared.
pub(super) fn is_sweep<'a>(cx: &FixContext<'a>, statement: &'a Stmt) -> bool {
    let Stmt::For(each) = statement else { return false };
    let Some(settings) = iterated(cx, each) else { return false };
    let is_read = |target: &Expr| {
        tree::names_bound(target).into_iter().any(|name| {
            let mut occurrences = cx.names.occurrences(name.id.as_str()).iter();
            occurrences.any(|one| one.does == Does::Read && is_in(&each.body, one.span))
        })
    };
    settings.iter().any(|(target, _)| is_read(target))
        && settings.iter().all(|(_, over)| are_settings(cx, over, Elements::Literals))
        && gathers_only(cx, each)
}

fn is_in(suite: &[Stmt], span: Span) -> bool {
    suite.iter().any(|statement| span_of(statement).covers(span))
}

/// Whether values are written out and not merely counted, here or wherever a variable or a parameter gets them.
pub(super) fn are_settings(cx: &FixContext<'_>, over: &Expr, may_be: Elements) -> bool {
    are_settings_within(cx, over, may_be, DEPTH)
}

fn are_settings_within(cx: &FixContext<'_>, over: &Expr, may_be: Elements, depth: u32) -> bool {
    let all = |elements: &[Expr]| {
        let is_count = |(at, element): (usize, &Expr)| match element {
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(number) => number.as_u64() == u64::try_from(at).ok(),
                _ => false,
            },
            _ => false,
        };
        let is_one = |element: &Expr| match may_be {
            Elements::Literals => is_literal(element),
            Elements::Written => !element.is_starred_expr(),
        };
        elements.len() > 1 && elements.iter().all(is_one) && !elements.iter().enumerate().all(is_count)
    };
    match over {
        Expr::List(list) => all(&list.elts),
        Expr::Tuple(tuple) => all(&tuple.elts),
        Expr::Name(name) => depth > 0 && are_settings_bound(cx, name, may_be, depth - 1),
        _ => false,
    }
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => true,
        Expr::UnaryOp(unary) => is_literal(&unary.operand),
        Expr::BinOp(binary) => is_literal(&binary.left) && is_literal(&binary.right),
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_literal),
        _ => false,
    }
}

/// Whether a variable is bound to nothing but settings.
fn are_settings_bound(cx: &FixContext<'_>, name: &ast::ExprName, may_be: Elements, depth: u32) -> bool {
    let written = name.id.as_str();
    let Some(scope) = cx.names.binder(cx.names.scope_at(span_of(name).start), written) else { return false };
    let is_bound = |one: &&Occurrence| one.scope == scope && matches!(one.does, Does::Bind | Does::Parameter);
    let mut bound = cx.names.occurrences(written).iter().filter(is_bound).peekable();
    bound.peek().is_some()
        && bound.all(|one| {
            if one.does == Does::Parameter {
                return are_settings_given(cx, one.span, written, may_be, depth);
            }
            match cx.steps(one.span).pop().map(tree::Step::statement) {
                Some(Stmt::Assign(assign)) => match &assign.targets[..] {
                    [Expr::Name(_)] => are_settings_within(cx, &assign.value, may_be, depth),
                    _ => false,
                },
                _ => false,
            }
        })
}

/// Whether all calls of a function in its file give a parameter nothing but settings.
fn are_settings_given(cx: &FixContext<'_>, parameter: Span, name: &str, may_be: Elements, depth: u32) -> bool {
    let Some(def) = tree::function_around(cx.module, parameter) else { return false };
    let mut parameters = def.parameters.iter_non_variadic_params();
    let Some(position) = parameters.position(|one| one.parameter.name.as_str() == name) else { return false };
    let is_call = |call: &&ast::ExprCall| matches!(&*call.func, Expr::Name(callee) if callee.id == def.name.id);
    let mut calls = tree::calls(cx.module).into_iter().filter(is_call).peekable();
    calls.peek().is_some()
        && calls.all(|call| {
            let keyword = || call.arguments.find_keyword(name).map(|keyword| &keyword.value);
            let given = call.arguments.args.get(position).or_else(keyword);
            given.is_some_and(|given| are_settings_within(cx, given, may_be, depth))
        })
}

/// Whether a loop adds a result to a list and hands nothing else on to its next iteration.
fn gathers_only(cx: &FixContext<'_>, each: &ast::StmtFor) -> bool {
    let gathered = each.body.iter().filter_map(|statement| match statement {
        Stmt::Expr(expr) => match &*expr.value {
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) if method.attr.as_str() == "append" => method.value.as_name_expr(),
                _ => None,
            },
            _ => None,
        },
        Stmt::AugAssign(assign) if assign.value.is_list_expr() => assign.target.as_name_expr(),
        _ => None,
    });
    let gathered: Vec<&str> = gathered.map(|name| name.id.as_str()).collect();
    !gathered.is_empty() && !carries(cx, each, &gathered)
}

/// Whether the body of a loop reads variables that it binds before it binds them, but for some.
pub(super) fn carries(cx: &FixContext<'_>, each: &ast::StmtFor, but: &[&str]) -> bool {
    let mut first: Vec<(&str, &Stmt)> = Vec::new();
    note_bindings(&each.body, &mut first);
    first.iter().any(|(name, statement)| {
        let span = span_of(*statement);
        // What a `for` or a `def` binds is there in its body.
        let made = if suites(statement).is_empty() { span.end } else { span.start };
        let is_before =
            |one: &Occurrence| one.does == Does::Read && is_in(&each.body, one.span) && one.span.start < made;
        !but.contains(name) && (statement.is_aug_assign_stmt() || cx.names.occurrences(name).iter().any(is_before))
    })
}

/// Notes for each variable the first statement that binds it.
fn note_bindings<'a>(suite: &'a [Stmt], first: &mut Vec<(&'a str, &'a Stmt)>) {
    for statement in suite {
        let (targets, defined) = match statement {
            Stmt::For(each) => (std::slice::from_ref(&*each.target), None),
            Stmt::FunctionDef(def) => (&[][..], Some(def.name.as_str())),
            Stmt::ClassDef(def) => (&[][..], Some(def.name.as_str())),
            other => (tree::targets(other), None),
        };
        let targets = targets.iter().flat_map(tree::names_bound).map(|name| name.id.as_str());
        for name in targets.chain(defined) {
            if !first.iter().any(|(known, _)| *known == name) {
                first.push((name, statement));
            }
        }
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            for inner in suites(statement) {
                note_bindings(inner, first);
            }
        }
    }
}

/// Whether nothing that comes of some calls leaves the iteration of the loop that makes them: it is waited for, deleted or
/// dropped.
pub(super) fn is_dropped<'a>(
    cx: &FixContext<'a>,
    scope: ScopeId,
    repeats: &Stmt,
    calls: impl IntoIterator<Item = &'a ast::ExprCall>,
) -> bool {
    let mut lost = Dropped { cx, scope, repeats: span_of(repeats), names: Vec::new() };
    calls.into_iter().all(|call| lost.goes_nowhere(span_of(call)))
}

struct Dropped<'b, 'a> {
    cx: &'b FixContext<'a>,
    scope: ScopeId,
    repeats: Span,
    names: Vec<&'a str>,
}

impl<'a> Dropped<'_, 'a> {
    /// Whether the value at a span, in the statement around it, goes nowhere.
    fn goes_nowhere(&mut self, value: Span) -> bool {
        let Some(step) = self.cx.steps(value).pop() else { return false };
        if !self.repeats.covers(span_of(step.statement())) {
            return false;
        }
        match step.statement() {
            Stmt::Delete(_) => true,
            Stmt::Expr(expr) => {
                let awaited = self.awaited(&expr.value);
                span_of(awaited).covers(value) && self.is_pure(awaited, value)
            }
            Stmt::Assign(assign) if span_of(&*assign.value).covers(value) => {
                let targets = assign.targets.iter().flat_map(tree::assigned);
                let names: Option<Vec<&str>> = targets.map(|target| Some(target.as_name_expr()?.id.as_str())).collect();
                self.is_pure(&assign.value, value)
                    && names.is_some_and(|names| names.into_iter().all(|name| self.is_dropped(name)))
            }
            _ => false,
        }
    }

    /// What is waited for.
    fn awaited<'e>(&self, expr: &'e Expr) -> &'e Expr {
        let Expr::Call(call) = expr else { return expr };
        match (&*call.func, &call.arguments.args[..]) {
            (Expr::Attribute(method), []) if self.cx.models.awaits(&method.attr) => self.awaited(&method.value),
            (function, [awaited]) if self.cx.model_of(function).is_some_and(Callable::awaits) => self.awaited(awaited),
            _ => expr,
        }
    }

    /// Whether all calls that are given a value are of functions: an object may keep what its methods are given.
    fn is_pure(&self, whole: &Expr, value: Span) -> bool {
        tree::expressions_within(whole).into_iter().all(|expr| match expr {
            Expr::Call(call) if span_of(call).covers(value) => match &*call.func {
                Expr::Name(name) => name.id.as_str() != "print",
                function => span_of(function).covers(value) || self.cx.path_of(function).is_some(),
            },
            _ => true,
        })
    }

    /// Whether a variable is read only where its value goes nowhere.
    fn is_dropped(&mut self, name: &'a str) -> bool {
        if self.names.contains(&name) {
            return true;
        }
        self.names.push(name);
        let (cx, scope) = (self.cx, self.scope);
        if cx.names.declares(scope, name) || cx.is_exported(name) {
            return false;
        }
        let reads = cx.names.occurrences(name).iter().filter(|one| one.does == Does::Read);
        let mut reads = reads.filter(|one| cx.names.binder(one.scope, name) == Some(scope));
        reads.all(|one| one.scope == scope && self.goes_nowhere(one.span))
    }
}
