//! A key for each iteration: the number of the iteration folded in, or a child of a split that makes as many as there are.
//!
//! **Invariant:** the number counts up from zero and differs between iterations; a loop without such a number gets one
//! first.

use super::carry;
use super::context::{FixContext, Proposal};
use super::jax;
use super::key_uses::root_name;
use super::layout;
use super::names::{Action, ScopeId};
use super::repeats::{Loop, Repeats, is_constant};
use super::tree;
use super::writer::statement;
use crate::finding::Finding;
use crate::models::{Callable, Effect, Runs, Transform};
use crate::python::ast::{self, Comprehension, Expr, Stmt};
use crate::python::{span_of, suites};
use crate::text::{Edit, Span};

/// `fold_in(key, i)` with the index of a `for` loop, which gets an index first if it has none.
pub(super) fn fold_index(cx: &FixContext<'_>, found: &Loop<'_>, statement: &Stmt) -> Option<Proposal> {
    let Stmt::For(each) = statement else { return None };
    if each.is_async {
        return None;
    }
    let (index, mut edits, mut names) = match counted(cx, &each.target, &each.iter) {
        Some(index) => (index, Vec::new(), Vec::new()),
        None => numbered(cx, found.scope, &each.target, &each.iter)?,
    };
    // The loop must not change the key.
    let body = span_of(statement);
    let (first, key) = *found.calls.first()?;
    let is_bound =
        |root: &str| cx.names.occurrences(root).iter().any(|one| one.action == Action::Bind && body.covers(one.span));
    if !is_constant(cx, key) && root_name(key).is_none_or(is_bound) {
        return None;
    }
    if let ([(call, key)], false) = (&found.calls[..], key.is_subscript_expr()) {
        edits.push(folded(cx, call, key, &index)?);
    } else if are_alternatives(cx, found) {
        let mut of = cx.code(key).to_owned();
        if is_one_element(key, &is_bound) {
            // An element is indexed once: JAX's own checker would count a second index as a reuse.
            of = cx.fresh(found.scope, cx.code(key), 1).pop()?;
            edits.push(layout::before(cx.text, body.start, &format!("{of} = {}", cx.code(key))));
            names.push(of.clone());
        }
        for (call, key) in &found.calls {
            let fold = cx.spelled(span_of(*key).start, jax::FOLD_IN, Some(call))?;
            edits.push(replace(key, format!("{fold}({of}, {index})")));
        }
    } else {
        let start = span_of(each.body.first()?).start;
        let fold = cx.spelled(start, jax::FOLD_IN, Some(first))?;
        let split = cx.spelled(start, jax::SPLIT, Some(first))?;
        let code = cx.code(key);
        let end = found.calls.iter().map(|(call, _)| span_of(*call).end).fold(start, u32::max);
        let purposes = cx.purposes(found.scope, code, &found.calls, Span::new(start, end));
        let fresh = purposes.unwrap_or_else(|| cx.fresh(found.scope, code, found.calls.len()));
        let number = if fresh.len() == 2 { String::new() } else { format!(", {}", fresh.len()) };
        let line = format!("{} = {split}({fold}({code}, {index}){number})", fresh.join(", "));
        edits.push(layout::before(cx.text, start, &line));
        edits.extend(found.calls.iter().zip(&fresh).map(|((_, key), new)| replace(key, new.clone())));
        names.extend(fresh);
    }
    Some(proposal_of_fold(cx, found, key, edits, &names))
}

/// Whether a key is an element that all iterations take: nothing that selects it is bound by the loop.
fn is_one_element(key: &Expr, is_bound: &dyn Fn(&str) -> bool) -> bool {
    let Expr::Subscript(element) = key else { return false };
    match &*element.slice {
        Expr::Name(index) => !is_bound(index.id.as_str()),
        index => index.is_literal_expr(),
    }
}

/// Whether each iteration makes at most one of the calls.
fn are_alternatives(cx: &FixContext<'_>, found: &Loop<'_>) -> bool {
    let ways: Vec<_> = found.calls.iter().map(|(call, _)| cx.steps(span_of(*call))).collect();
    let excludes_later = |at: usize| ways[at + 1..].iter().all(|later| tree::exclude(&ways[at], later));
    (0..ways.len()).all(excludes_later)
}

fn proposal_of_fold(cx: &FixContext<'_>, found: &Loop<'_>, key: &Expr, edits: Vec<Edit>, names: &[String]) -> Proposal {
    Proposal::new(
        format!("derive a key for each iteration from `{}`; the numbers change", cx.code(key)),
        edits,
        found.resolves.clone(),
    )
    .naming(cx.claim(found.scope, names))
}

/// The variable that counts up from zero: over a `range`, or the first of an `enumerate`.
fn counted(cx: &FixContext<'_>, target: &Expr, iter: &Expr) -> Option<String> {
    let Expr::Call(call) = iter else { return None };
    let name = match target {
        Expr::Name(name) if is_range(cx, shown(cx, call).unwrap_or(iter)) => name,
        Expr::Tuple(pair) if cx.is_builtin(&call.func, "enumerate") => pair.elts.first()?.as_name_expr()?,
        _ => return None,
    };
    (name.id.as_str() != "_").then(|| name.id.to_string())
}

/// Numbers the elements of an iterable: the index, the edits and the new name.
fn numbered(
    cx: &FixContext<'_>,
    scope: ScopeId,
    target: &Expr,
    iter: &Expr,
) -> Option<(String, Vec<Edit>, Vec<String>)> {
    let index = ["i", "index", "step"].into_iter().find(|name| !cx.is_taken(scope, name))?.to_owned();
    let (left, right) = (span_of(target), span_of(iter));
    let is_counting = |call: &ast::ExprCall| is_range(cx, shown(cx, call).unwrap_or(iter));
    if iter.as_call_expr().is_some_and(is_counting) && cx.code(target) == "_" {
        return Some((index.clone(), vec![Edit::replace(left, index.clone())], vec![index]));
    }
    if cx.names.binder(scope, "enumerate").is_some() {
        return None;
    }
    let written = cx.code(target);
    let is_bare = matches!(target, Expr::Tuple(tuple) if !tuple.parenthesized);
    let element = if is_bare { format!("({written})") } else { written.to_owned() };
    let iterable = match iter {
        Expr::Tuple(tuple) if !tuple.parenthesized => format!("enumerate(({}))", cx.code(iter)),
        _ => format!("enumerate({})", cx.code(iter)),
    };
    let edits = vec![Edit::replace(left, format!("{index}, {element}")), Edit::replace(right, iterable)];
    Some((index.clone(), edits, vec![index]))
}

/// The iterable that a function other than a builtin passes on, as a progress bar does: its only positional argument.
fn shown<'e>(cx: &FixContext<'_>, call: &'e ast::ExprCall) -> Option<&'e Expr> {
    let is_bound =
        |name: &ast::ExprName| cx.names.binder(cx.names.scope_at(span_of(name).start), name.id.as_str()).is_some();
    let is_builtin = call.func.as_name_expr().is_some_and(|name| !is_bound(name));
    match &call.arguments.args[..] {
        [only] if !is_builtin => Some(only),
        _ => None,
    }
}

pub(super) fn is_range(cx: &FixContext<'_>, iter: &Expr) -> bool {
    matches!(iter, Expr::Call(call) if cx.is_builtin(&call.func, "range")
        && !call.arguments.args.iter().any(|argument| matches!(argument, Expr::UnaryOp(_))))
}

/// A comprehension draws from a key for each element: from the children of a split if elements are only counted,
/// otherwise from a fold of their number.
///
/// A key that an object stores for the next call is split first.
pub(super) fn each_element(
    cx: &FixContext<'_>,
    found: &Loop<'_>,
    generators: &[Comprehension],
    is_kept: bool,
) -> Option<Proposal> {
    let [generator] = generators else { return None };
    let [(call, key)] = found.calls[..] else { return None };
    if generator.is_async || found.scope != cx.names.scope_at(span_of(&generator.target).start) {
        return None;
    }
    if !is_constant(cx, key) && root_name(key).is_none_or(|root| cx.names.binds(found.scope, root)) {
        return None;
    }
    let count = match &generator.iter {
        Expr::Call(range) if is_range(cx, &generator.iter) => match &range.arguments.args[..] {
            [count] if range.arguments.keywords.is_empty() => Some(count),
            _ => None,
        },
        _ => None,
    };
    let is_unused = |target: &Expr| match target {
        Expr::Name(name) => !cx
            .names
            .occurrences(name.id.as_str())
            .iter()
            .any(|one| one.action == Action::Read && cx.names.is_within(one.scope, found.scope)),
        _ => false,
    };
    let mut edits;
    let mut names = Vec::new();
    let mut before = None;
    let mut code = cx.code(key).to_owned();
    if is_kept {
        let statement = cx.steps(span_of(call)).pop()?.statement();
        // A condition may be evaluated repeatedly.
        let is_simple = suites(statement).is_empty();
        let start = span_of(statement).start;
        let outer = cx.names.frame_at(start).filter(|_| is_simple)?;
        let child = cx.fresh(outer, &code, 1);
        let split = cx.spelled(start, jax::SPLIT, Some(call))?;
        before = Some(layout::before(cx.text, start, &self::statement(&code, &split, &child, true)));
        code.clone_from(child.first()?);
        names.extend(child);
    }
    if let Some(count) = count.filter(|_| generator.ifs.is_empty() && is_unused(&generator.target)) {
        let offset = span_of(&generator.iter).start;
        let split = cx.spelled(offset, jax::SPLIT, Some(call))?;
        let mut free = cx.fresh(found.scope, cx.code(key), 2).into_iter();
        let name = match &before {
            Some(_) => free.next()?,
            None => cx.fresh(found.scope, cx.code(key), 1).pop()?,
        };
        let children = format!("{split}({code}, {})", cx.code(count));
        edits = vec![
            replace(key, name.clone()),
            replace(&generator.target, name.clone()),
            replace(&generator.iter, children),
        ];
        names.push(name);
    } else {
        let (index, more, new) = match counted(cx, &generator.target, &generator.iter) {
            Some(index) => (index, Vec::new(), Vec::new()),
            None => numbered(cx, found.scope, &generator.target, &generator.iter)?,
        };
        edits = more;
        names.extend(new);
        let fold = cx.spelled(span_of(key).start, jax::FOLD_IN, Some(call))?;
        edits.push(replace(key, format!("{fold}({code}, {index})")));
    }
    edits.extend(before);
    Some(proposal_of_fold(cx, found, key, edits, &names))
}

/// `fold_in(key, i)` where `i` is the parameter of a body that a loop-like call counts with.
pub(super) fn fold_parameter(
    cx: &FixContext<'_>,
    found: &Loop<'_>,
    findings: &[Finding],
    index: usize,
    parameters: &ast::Parameters,
) -> Option<Proposal> {
    let place = findings[index].fix_hints.as_ref()?.repeated_by?;
    let call = tree::call_at(cx.module, cx.here(place)?)?;
    // With `partial`, the parameters of the body are shifted.
    let is_itself = match &found.repeats {
        Repeats::Body(def) => carry::is_passed(call, def.name.as_str()),
        Repeats::Lambda(lambda) => tree::arguments(call).any(|argument| span_of(argument) == span_of(*lambda)),
        _ => false,
    };
    if !is_itself {
        return None;
    }
    let (transform, callable) = run_by(cx, call)?;
    let counts = || {
        let [over] = &transform.over[..] else { return false };
        match callable.position(over).and_then(|position| call.arguments.args.get(position)) {
            Some(count) => cx.counted(count).is_some(),
            None => false,
        }
    };
    // Which parameter of the body is the number.
    let position = match transform.runs {
        Runs::Fori => 0,
        Runs::Scan if counts() => 1,
        Runs::Map if counts() => 0,
        _ => return None,
    };
    let parameter = parameters.iter_non_variadic_params().nth(position)?;
    let name = parameter.parameter.name.as_str();
    let is_rebound = cx
        .names
        .occurrences(name)
        .iter()
        .any(|one| one.action == Action::Bind && cx.names.is_within(one.scope, found.scope));
    let ([(call, key)], false) = (&found.calls[..], is_rebound || name == "_") else { return None };
    let edits = vec![folded(cx, call, key, name)?];
    Some(proposal_of_fold(cx, found, key, edits, &[]))
}

/// How a call runs its function argument, according to the models.
fn run_by<'a>(cx: &FixContext<'a>, call: &ast::ExprCall) -> Option<(&'a Transform, &'a Callable)> {
    let callable = cx.model_of(&call.func)?;
    match &callable.effect {
        Effect::Transform(transform) => Some((transform, callable)),
        _ => None,
    }
}

/// A `scan` over a length only, whose body ignores its element, scans over children of the key instead.
pub(super) fn scan_children(
    cx: &FixContext<'_>,
    found: &Loop<'_>,
    findings: &[Finding],
    index: usize,
    parameters: &ast::Parameters,
) -> Option<Proposal> {
    let place = findings[index].fix_hints.as_ref()?.repeated_by?;
    let scan = tree::call_at(cx.module, cx.here(place)?)?;
    let (transform, callable) = run_by(cx, scan)?;
    if transform.runs != Runs::Scan {
        return None;
    }
    let given = |name: &str| carry::given(callable, scan, name);
    let ([elements], Some(number)) = (&transform.over[..], transform.length.as_deref()) else { return None };
    let (xs, length) = (given(elements), given(number)?);
    let [(call, key)] = found.calls[..] else { return None };
    let Expr::Name(name) = key else { return None };
    // The key must denote the same value where the scan is called.
    let (inner, outer) = (cx.names.scope_at(span_of(call).start), cx.names.scope_at(span_of(scan).start));
    let binder = cx.names.binder(inner, name.id.as_str())?;
    if binder == found.scope || cx.names.binder(outer, name.id.as_str()) != Some(binder) {
        return None;
    }
    let element = &parameters.iter_non_variadic_params().nth(1)?.parameter;
    let is_used = cx
        .names
        .occurrences(element.name.as_str())
        .iter()
        .any(|one| one.action != Action::Parameter && cx.names.is_within(one.scope, found.scope));
    let is_nothing = xs.is_none_or(Expr::is_none_literal_expr);
    if is_used || !is_nothing || element.annotation.is_some() {
        return None;
    }
    let split = cx.spelled(span_of(scan).start, jax::SPLIT, Some(call))?;
    let fresh = cx.fresh(found.scope, name.id.as_str(), 1).pop()?;
    let children = format!("{split}({}, {})", name.id.as_str(), cx.code(length));
    let over = if let Some(xs) = xs {
        replace(xs, children)
    } else {
        let start = span_of(scan.arguments.find_keyword(number)?).start;
        Edit::insert(start, format!("{elements}={children}, "))
    };
    let edits = vec![Edit::replace(span_of(&element.name), fresh.clone()), replace(key, fresh.clone()), over];
    Some(proposal_of_fold(cx, found, key, edits, &[fresh]))
}

/// Replaces a key by one that a number is folded into.
fn folded(cx: &FixContext<'_>, call: &ast::ExprCall, key: &Expr, number: &str) -> Option<Edit> {
    let fold = cx.spelled(span_of(key).start, jax::FOLD_IN, Some(call))?;
    Some(replace(key, format!("{fold}({}, {number})", cx.code(key))))
}

pub(super) fn replace(expr: &Expr, content: String) -> Edit {
    Edit::replace(span_of(expr), content)
}
