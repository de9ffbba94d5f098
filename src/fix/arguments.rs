//! Edits of the argument lists of calls and definitions.
//!
//! **Invariant:** an argument or parameter is added at the end, and the meaning of those that are there does not change.

use super::context::FixContext;
use super::tree;
use crate::python::ast::{self, Expr};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// How calls pass a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passing {
    /// After this number of positional arguments.
    After(usize),
    /// By name.
    Named,
}

/// The edit that adds a last parameter, and how calls pass it.
pub(super) fn parameter(cx: &FixContext<'_>, def: &ast::StmtFunctionDef, name: &str) -> Option<(Edit, Passing)> {
    let parameters = &*def.parameters;
    let is_plain = parameters.kwonlyargs.is_empty() && parameters.vararg.is_none() && parameters.kwarg.is_none();
    let mut all = parameters.iter_non_variadic_params();
    if !is_plain || all.any(|one| one.parameter.name.as_str() == name) {
        return None;
    }
    let count = parameters.posonlyargs.len() + parameters.args.len();
    let Some(last) = parameters.args.last() else {
        let written = span_of(parameters);
        let is_empty = cx.slice(written).trim() == "()";
        return is_empty.then(|| (Edit::insert(written.end - 1, name.to_owned()), Passing::After(0)));
    };
    let has_defaults = parameters.iter_non_variadic_params().any(|one| one.default.is_some());
    let (code, passing) = if has_defaults {
        (format!(", *, {name}"), Passing::Named)
    } else {
        (format!(", {name}"), Passing::After(count))
    };
    let end = span_of(last).end;
    // The default of the last parameter may be in parentheses, which do not belong to it.
    let rest = cx.slice(Span::new(end, span_of(parameters).end.checked_sub(1)?));
    Some((Edit::insert(end + parentheses(rest)?, code), passing))
}

/// The edit that passes another argument.
pub(super) fn passed(
    cx: &FixContext<'_>,
    call: &ast::ExprCall,
    (name, value): (&str, &str),
    passing: Passing,
) -> Option<Edit> {
    let is_positional = Passing::After(call.arguments.args.len()) == passing && call.arguments.keywords.is_empty();
    let code = if is_positional { value.to_owned() } else { format!("{name}={value}") };
    added(cx, call, name, &code)
}

/// The edit that adds an argument, unless the call has one of that name, or may have.
pub(super) fn added(cx: &FixContext<'_>, call: &ast::ExprCall, name: &str, code: &str) -> Option<Edit> {
    let is_named = |keyword: &ast::Keyword| keyword.arg.as_ref().is_none_or(|arg| arg.as_str() == name);
    if call.arguments.keywords.iter().any(is_named) || call.arguments.args.iter().any(Expr::is_starred_expr) {
        return None;
    }
    let end = span_of(call).end.checked_sub(1)?;
    match tree::arguments(call).map(|argument| span_of(argument).end).max() {
        Some(last) => {
            let rest = cx.slice(Span::new(last, end));
            // A generator without parentheses of its own needs them beside another argument.
            let is_bare = matches!(tree::arguments(call).last(), Some(Expr::Generator(of)) if !of.parenthesized);
            let at = last + parentheses(rest).filter(|_| !is_bare)?;
            Some(Edit::insert(at, format!(", {code}")))
        }
        None => Some(Edit::insert(end, code.to_owned())),
    }
}

/// How far the parentheses around an expression reach, given what follows it up to the end of the list; `None` after a comment.
fn parentheses(rest: &str) -> Option<u32> {
    let is_plain = rest.chars().all(|one| one.is_whitespace() || one == ',' || one == ')');
    let after = rest.rfind(')').map_or(0, |at| at + 1);
    u32::try_from(after).ok().filter(|_| is_plain)
}
