//! A key that a traced function leaves in a global variable (KEY401) becomes an argument and a result.
//!
//! **Invariant:** all callers are changed together with the function, or nothing is.

use super::context::{FixContext, Proof, Proposal};
use super::layout;
use super::names::Action;
use super::split_apart::assigns;
use super::tree;
use crate::finding::{Finding, Place};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// `def f(x): global key …; return y` becomes `def f(x, key): …; return y, key`, and `y = f(x)` becomes `y, key = f(x, key)`.
pub(super) fn leaked(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    threaded(cx, findings, index).into_iter().collect()
}

fn threaded(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let place = cx.here(findings[index].primary)?;
    let def = tree::function_around(cx.module, place)?;
    let is_top = cx.module.body.iter().any(|statement| span_of(statement) == span_of(def));
    let function = def.name.as_str();
    if !is_top || cx.is_exported(function) || !def.decorator_list.iter().all(is_bare) {
        return None;
    }
    let (declared, name) = def.body.iter().find_map(declares_one)?;
    let occurrences = cx.names.occurrences(name);
    // Other code that reads the variable would continue with a key that is not advanced.
    let is_elsewhere = |span: Span, scope| scope != 0 && !span_of(def).covers(span);
    if !assigns(cx, cx.steps(place).last()?.statement(), name)
        || cx.is_exported(name)
        || occurrences.iter().any(|one| is_elsewhere(one.span, one.scope))
    {
        return None;
    }
    let returned = returned(cx, def)?;
    let mut edits = vec![Edit::delete(layout::own_lines(cx.text, span_of(declared))?), parameter(cx, def, name)?];
    let (before, after) = if is_bare_tuple(returned) { ("(", format!("), {name}")) } else { ("", format!(", {name}")) };
    edits.extend(around(span_of(returned), before, after));
    let mut places = vec![findings[index].primary];
    let calls = calls_of(cx, function)?;
    for call in calls {
        let span = span_of(call);
        let is_plain = call.arguments.keywords.is_empty() && !call.arguments.args.iter().any(Expr::is_starred_expr);
        if cx.names.frame_at(span.start) != Some(0) || !is_plain {
            return None;
        }
        match cx.steps(span).last()?.statement() {
            Stmt::Assign(assign) if span_of(&*assign.value) == span => {
                let [target] = &assign.targets[..] else { return None };
                let (before, after) =
                    if is_bare_tuple(target) { ("(", format!("), {name}")) } else { ("", format!(", {name}")) };
                edits.extend(around(span_of(target), before, after));
            }
            Stmt::Expr(expr) if span_of(&*expr.value) == span => {
                edits.push(Edit::insert(span.start, format!("_, {name} = ")));
            }
            _ => return None,
        }
        let comma = if call.arguments.args.is_empty() { "" } else { ", " };
        edits.push(Edit::insert(closing(cx, call)?, format!("{comma}{name}")));
        places.push(Place { file: cx.file, span });
    }
    let message = format!("make `{name}` an argument and a result of `{function}`");
    Some(Proposal::new(message, edits, vec![index]).proved_by(Proof::Draws(places)))
}

/// A decorator without options, because options may number the parameters.
fn is_bare(decorator: &ast::Decorator) -> bool {
    matches!(decorator.expression, Expr::Name(_) | Expr::Attribute(_))
}

fn declares_one(statement: &Stmt) -> Option<(&Stmt, &str)> {
    match statement {
        Stmt::Global(global) => match &global.names[..] {
            [name] => Some((statement, name.as_str())),
            _ => None,
        },
        _ => None,
    }
}

/// The value that a function returns in its last statement, if it returns nowhere else.
fn returned<'a>(cx: &FixContext<'_>, def: &'a ast::StmtFunctionDef) -> Option<&'a Expr> {
    let Stmt::Return(last) = def.body.last()? else { return None };
    let inner = Span::new(span_of(def.body.first()?).start, span_of(last).start);
    let words = |code: &str| code.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(is_exit);
    if words(cx.slice(inner)) { None } else { last.value.as_deref() }
}

fn is_exit(word: &str) -> bool {
    matches!(word, "return" | "yield")
}

/// The edit that adds a last parameter.
fn parameter(cx: &FixContext<'_>, def: &ast::StmtFunctionDef, name: &str) -> Option<Edit> {
    let parameters = &*def.parameters;
    let is_plain = parameters.kwonlyargs.is_empty() && parameters.vararg.is_none() && parameters.kwarg.is_none();
    let mut all = parameters.iter_non_variadic_params();
    if !is_plain || all.any(|one| one.default.is_some() || one.parameter.name.as_str() == name) {
        return None;
    }
    if parameters.args.is_empty() && !parameters.posonlyargs.is_empty() {
        return None;
    }
    if let Some(last) = parameters.args.last() {
        return Some(Edit::insert(span_of(last).end, format!(", {name}")));
    }
    let written = span_of(parameters);
    (cx.slice(written).trim() == "()").then(|| Edit::insert(written.end - 1, name.to_owned()))
}

/// All uses of a function of the module, if it is only called.
fn calls_of<'a>(cx: &FixContext<'a>, function: &str) -> Option<Vec<&'a ast::ExprCall>> {
    let occurrences = cx.names.occurrences(function);
    let bound = occurrences.iter().filter(|one| !matches!(one.action, Action::Read)).count();
    let reads = occurrences.iter().filter(|one| one.action == Action::Read).count();
    let is_call = |call: &&ast::ExprCall| matches!(&*call.func, Expr::Name(called) if called.id.as_str() == function);
    let calls: Vec<&ast::ExprCall> = tree::calls(cx.module).into_iter().filter(is_call).collect();
    (bound == 1 && calls.len() == reads && reads > 0).then_some(calls)
}

/// A tuple without parentheses.
fn is_bare_tuple(expr: &Expr) -> bool {
    matches!(expr, Expr::Tuple(tuple) if !tuple.parenthesized)
}

fn around(span: Span, before: &str, after: String) -> Vec<Edit> {
    let opening = (!before.is_empty()).then(|| Edit::insert(span.start, before.to_owned()));
    opening.into_iter().chain([Edit::insert(span.end, after)]).collect()
}

/// The place of the closing parenthesis of a call; `None` after a trailing comma.
fn closing(cx: &FixContext<'_>, call: &ast::ExprCall) -> Option<u32> {
    let end = span_of(call).end.checked_sub(1)?;
    let before = call.arguments.args.last().map_or(span_of(&*call.func).end, |last| span_of(last).end);
    (!cx.slice(Span::new(before, end)).contains([',', '#'])).then_some(end)
}
