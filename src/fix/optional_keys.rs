//! Optional keys: `key: Optional[PRNGKey] = None`, passed on to a function that needs it only in some modes.
//!
//! A fix that splits such a key runs in every mode, and `split(None)` raises. This file determines whether there is a key at all;
//! `attribute_keys.rs` determines whether an attribute can store the next key.
//!
//! **Invariant:** a key that the function itself compares with `None`, before it is passed on or drawn from, is left to the replay, which runs
//! both branches.

use super::context::FixContext;
use super::key_uses::draws;
use super::tree;
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::{span_of, suites};
use crate::text::{Edit, Span};

/// Most assignments that are followed from a variable to its value.
const STEPS: u32 = 4;

/// Whether edits derive from a key that may be `None` and that a call only passes on, or that a condition keeps from being drawn from.
pub(super) fn may_be_none(cx: &FixContext<'_>, calls: &[&ast::ExprCall], edits: &[Edit]) -> bool {
    let is_replaced = |expr: &Expr| edits.iter().any(|edit| edit.span == span_of(expr));
    let inserted: Vec<u32> = edits.iter().filter(|edit| edit.span.is_empty()).map(|edit| edit.span.start).collect();
    let is_optional = |call: &ast::ExprCall, key: &Expr| is_optional_key(cx, call, key, &inserted);
    calls.iter().any(|call| tree::arguments(call).any(|key| is_replaced(key) && is_optional(call, key)))
}

/// Whether a call gets a key that may be `None`: it only passes it on, or something other than a test of the key decides whether it is drawn
/// from after a derivation at one of these places.
pub(super) fn is_optional_key(cx: &FixContext<'_>, call: &ast::ExprCall, key: &Expr, derived: &[u32]) -> bool {
    let class = tree::ancestors(cx.module, span_of(call)).into_iter().rev().find_map(|node| match node {
        AnyNodeRef::StmtClassDef(class) => Some(class),
        _ => None,
    });
    let def = tree::function_around(cx.module, span_of(call));
    def.is_some_and(|def| {
        let is_drawn = draws(cx, call);
        if is_drawn && !derived.iter().any(|at| is_conditional(cx, call, *at) && !is_tested(cx, call, key, *at)) {
            return false;
        }
        is_none_possible(cx, (def, class), key, is_drawn, STEPS)
    })
}

/// Whether a call may not run although what precedes the statement at a place does: they are in different branches, loops or handlers.
fn is_conditional(cx: &FixContext<'_>, call: &ast::ExprCall, at: u32) -> bool {
    let (of, at) = (span_of(call), Span::new(at, at));
    let is_shared = |suite: &[Stmt]| suite.iter().any(|statement| span_of(statement).covers(at));
    let below = cx.steps(of).windows(2).any(|steps| match steps {
        [outer, inner] => is_optional_suite(outer.statement(), inner.suite) && !is_shared(inner.suite),
        _ => false,
    });
    below
        || tree::ancestors(cx.module, of).into_iter().any(|node| match node {
            AnyNodeRef::ExprIf(one) => !span_of(one).covers(at) && !span_of(&*one.test).covers(of),
            AnyNodeRef::ExprBoolOp(one) => !span_of(one).covers(at),
            _ => false,
        })
}

/// Whether a statement may run without running one of its suites.
fn is_optional_suite(statement: &Stmt, suite: &[Stmt]) -> bool {
    match statement {
        Stmt::If(_) | Stmt::For(_) | Stmt::While(_) | Stmt::Match(_) => true,
        Stmt::Try(one) => {
            let always = [&one.body, &one.finalbody];
            !always.into_iter().any(|always| std::ptr::eq(always.as_slice(), suite))
        }
        _ => false,
    }
}

/// Whether a condition around a call compares its key with `None`, or a statement before a place lets only keys through.
fn is_tested(cx: &FixContext<'_>, call: &ast::ExprCall, key: &Expr, at: u32) -> bool {
    let compares =
        |test: &Expr| tree::expressions_within(test).into_iter().any(|expr| compares_with_none(cx, expr, key));
    let is_around = tree::ancestors(cx.module, span_of(call)).into_iter().any(|node| match node {
        AnyNodeRef::StmtIf(one) => compares(&one.test),
        AnyNodeRef::StmtWhile(one) => compares(&one.test),
        AnyNodeRef::ExprIf(one) => compares(&one.test),
        AnyNodeRef::ExprBoolOp(one) => one.values.iter().any(compares),
        _ => false,
    });
    let before = cx.steps(Span::new(at, at)).into_iter().flat_map(|step| &step.suite[..step.index]);
    is_around || before.into_iter().any(|statement| lets_only_keys_through(cx, statement, key))
}

/// Whether a statement ends the function, or binds a key, wherever the key is `None`: `if key is None: raise ValueError`.
fn lets_only_keys_through(cx: &FixContext<'_>, statement: &Stmt, key: &Expr) -> bool {
    match statement {
        Stmt::Assert(one) => compares_with_none(cx, &one.test, key),
        Stmt::If(one) if compares_with_none(cx, &one.test, key) => one.body.iter().any(|inner| {
            matches!(inner, Stmt::Return(_) | Stmt::Raise(_))
                || tree::targets(inner).iter().any(|target| cx.code(target) == cx.code(key))
        }),
        _ => false,
    }
}

/// Whether the value of an expression in a function may be `None`, unless the function compares one that is not drawn from with `None`.
fn is_none_possible(
    cx: &FixContext<'_>,
    (def, class): (&ast::StmtFunctionDef, Option<&ast::StmtClassDef>),
    key: &Expr,
    is_drawn: bool,
    steps: u32,
) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    if stays_none(def, key) {
        return true;
    }
    if !is_drawn && is_compared(cx, def, key) {
        return false;
    }
    match key {
        Expr::Name(name) => {
            let values: Vec<Option<&Expr>> =
                values(def, |target| matches!(target, Expr::Name(one) if one.id == name.id));
            match &values[..] {
                [] => is_optional(cx, def, name.id.as_str()),
                [Some(value)] => {
                    !is_parameter(def, name.id.as_str()) && is_none_possible(cx, (def, class), value, is_drawn, steps)
                }
                _ => false,
            }
        }
        Expr::Attribute(attribute) if attribute.value.is_name_expr() => {
            class.is_some_and(|class| stores_none(cx, class, attribute.attr.as_str()))
        }
        _ => false,
    }
}

/// Whether a function binds a key to `None` on some paths: `key = None if key is None else split(key, 1)[0]`, or by an `if` statement.
fn stays_none(def: &ast::StmtFunctionDef, key: &Expr) -> bool {
    let Expr::Name(name) = key else { return false };
    statements(def).any(|statement| {
        value_of(statement).is_some_and(|value| {
            tree::targets(statement).iter().any(|target| binds_none(target, value, name.id.as_str(), STEPS))
        })
    })
}

/// Whether an assignment of a value to a target can bind a name to `None`.
fn binds_none(target: &Expr, value: &Expr, name: &str, steps: u32) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    let any = |target: &Expr, values: &[Expr]| values.iter().any(|value| binds_none(target, value, name, steps));
    match (target, value) {
        (_, Expr::If(choice)) => {
            [&choice.body, &choice.orelse].into_iter().any(|value| binds_none(target, value, name, steps))
        }
        (_, Expr::BoolOp(choice)) => any(target, &choice.values),
        (Expr::Name(one), value) => one.id.as_str() == name && value.is_none_literal_expr(),
        (Expr::Tuple(_) | Expr::List(_), Expr::BinOp(repeated)) => {
            let parts = [&*repeated.left, &*repeated.right].into_iter().filter_map(elements);
            tree::names_bound(target).iter().any(|one| one.id.as_str() == name)
                && parts.flatten().any(Expr::is_none_literal_expr)
        }
        (targets, values) => match (elements(targets), elements(values)) {
            (Some(targets), Some(values)) => {
                targets.iter().zip(values).any(|(target, value)| binds_none(target, value, name, steps))
            }
            _ => false,
        },
    }
}

/// The elements of a display of a tuple or list.
fn elements(display: &Expr) -> Option<&[Expr]> {
    match display {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        _ => None,
    }
}

/// Whether a class declares that an attribute may be `None`, or a method stores an optional argument there.
fn stores_none(cx: &FixContext<'_>, class: &ast::StmtClassDef, name: &str) -> bool {
    class.body.iter().any(|statement| match statement {
        Stmt::AnnAssign(field) => {
            matches!(&*field.target, Expr::Name(target) if target.id.as_str() == name)
                && (admits_none(cx, &field.annotation) || field.value.as_deref().is_some_and(Expr::is_none_literal_expr))
        }
        Stmt::FunctionDef(def) => {
            let stored = values(def, |target| {
                matches!(target, Expr::Attribute(one) if one.attr.as_str() == name && one.value.is_name_expr())
            });
            stored.into_iter().flatten().any(|value| match value {
                Expr::Name(value) => {
                    let is_bound = |target: &Expr| matches!(target, Expr::Name(one) if one.id == value.id);
                    values(def, is_bound).is_empty() && is_optional(cx, def, value.id.as_str())
                }
                value => value.is_none_literal_expr(),
            })
        }
        _ => false,
    })
}

/// The values that a function assigns to targets like these; `None` for a part of a value.
fn values(def: &ast::StmtFunctionDef, is_intended: impl Fn(&Expr) -> bool) -> Vec<Option<&Expr>> {
    let mut found = Vec::new();
    for statement in statements(def) {
        for target in tree::targets(statement) {
            if is_intended(target) {
                found.push(value_of(statement));
            } else if tree::assigned(target).into_iter().any(&is_intended) {
                found.push(None);
            }
        }
    }
    found
}

/// The value that a statement assigns as a whole.
fn value_of(statement: &Stmt) -> Option<&Expr> {
    match statement {
        Stmt::Assign(assign) => Some(&assign.value),
        Stmt::AnnAssign(assign) => assign.value.as_deref(),
        _ => None,
    }
}

/// The statements of a function, without those of functions and classes within it, in no order.
fn statements<'a>(def: &'a ast::StmtFunctionDef) -> impl Iterator<Item = &'a Stmt> {
    let mut open: Vec<&'a Stmt> = def.body.iter().collect();
    std::iter::from_fn(move || {
        loop {
            let statement = open.pop()?;
            if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
                open.extend(suites(statement).into_iter().flatten());
                return Some(statement);
            }
        }
    })
}

fn is_parameter(def: &ast::StmtFunctionDef, name: &str) -> bool {
    def.parameters.iter().any(|parameter| parameter.name().as_str() == name)
}

/// Whether a parameter of a function is optional, or its annotation admits `None`.
fn is_optional(cx: &FixContext<'_>, def: &ast::StmtFunctionDef, name: &str) -> bool {
    def.parameters.iter_non_variadic_params().filter(|given| given.parameter.name.as_str() == name).any(|given| {
        given.default.as_deref().is_some_and(Expr::is_none_literal_expr)
            || given.parameter.annotation.as_deref().is_some_and(|annotation| admits_none(cx, annotation))
    })
}

/// `Optional[T]`, `T | None`, `Union[T, None]`, also as strings.
fn admits_none(cx: &FixContext<'_>, annotation: &Expr) -> bool {
    let mut words = cx.code(annotation).split(|part: char| !part.is_alphanumeric() && part != '_');
    words.any(|word| matches!(word, "None" | "Optional"))
}

/// Whether a function compares a key with `None`.
fn is_compared(cx: &FixContext<'_>, def: &ast::StmtFunctionDef, key: &Expr) -> bool {
    def.body.iter().flat_map(tree::expressions_of).any(|expr| compares_with_none(cx, expr, key))
}

fn compares_with_none(cx: &FixContext<'_>, expr: &Expr, key: &Expr) -> bool {
    match expr {
        Expr::Compare(compare) => {
            cx.code(&compare.left) == cx.code(key) && compare.comparators.iter().any(Expr::is_none_literal_expr)
        }
        _ => false,
    }
}
