//! A key that the body of a `scan`, `fori_loop` or `while_loop` captures (KEY102) becomes part of the carry: the body splits it,
//! carries one child on and draws from the others.
//!
//! **Invariant:** everything that uses the carry is known and simple: a body and a condition that nothing else runs and
//! whose results are displays, and a result that is unpacked where the loop is called.

use super::context::{FixContext, Proposal};
use super::jax;
use super::layout;
use super::names::{Action, ScopeId};
use super::split_apart::can_rebind;
use super::tree;
use super::writer::statement;
use crate::models::{Callable, Effect, Runs};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_stmt};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::{span_of, suites};
use crate::text::{Edit, Span};

/// The call of a loop-like function, and the body whose calls consume a captured key.
pub(super) struct Carried<'f, 'a> {
    /// What repeats.
    pub looped: &'a ast::ExprCall,
    /// Its body.
    pub body: &'a ast::StmtFunctionDef,
    /// The scope of the body.
    pub scope: ScopeId,
    /// What consumes the key there, and the key.
    pub calls: &'f [(&'a ast::ExprCall, &'a Expr)],
    /// The findings that this resolves.
    pub resolves: &'f [usize],
}

/// The fix that carries the key.
pub(super) fn carried(cx: &FixContext<'_>, of: &Carried<'_, '_>) -> Option<Proposal> {
    let (first, Expr::Name(key)) = *of.calls.first()? else { return None };
    let key = key.id.as_str();
    let callable = cx.model_of(&of.looped.func)?;
    let Effect::Transform(transform) = &callable.effect else { return None };
    let init = given(callable, of.looped, transform.carry.as_deref()?)?;
    let outer = cx.names.frame_at(span_of(of.looped).start)?;
    let is_reached = cx.names.binder(of.scope, key) == Some(outer) && can_rebind(cx, outer, key);
    let is_own = is_used_once(cx, of.body, outer);
    // All reads in the body are the consumptions: any other use of the key would see the carried one.
    let reads = cx.names.occurrences(key).iter().filter(|one| cx.names.is_within(one.scope, of.scope));
    let is_consumed = |span: Span| of.calls.iter().any(|(_, expr)| span_of(*expr) == span);
    let is_plain = reads.into_iter().all(|one| one.action == Action::Read && is_consumed(one.span));
    // The carry of `partial(body, …)` and `vmap(body)` is not that of the body.
    if !is_reached || !is_own || !is_plain || !is_passed(of.looped, of.body.name.as_str()) {
        return None;
    }
    // The first parameter of a `fori_loop` body is the index.
    let carry = plain_parameter(of.body, usize::from(transform.runs == Runs::Fori))?;
    let head = span_of(of.body.body.iter().find(|statement| !is_text(statement))?).start;
    let split = cx.spelled(head, jax::SPLIT, Some(first))?;
    let purposes = cx.purposes(of.scope, key, of.calls, cx.names.scopes[of.scope].full);
    let names = purposes.filter(|names| names.len() > 1).unwrap_or_else(|| cx.fresh(of.scope, key, of.calls.len()));
    let lines = [format!("{key}, {carry} = {carry}"), statement(key, &split, &names, true)];
    let mut edits = vec![joined(cx, head, &lines)];
    edits.extend(around(init, &format!("({key}, "), ")"));
    edits.extend(of.calls.iter().zip(&names).map(|((_, expr), new)| Edit::replace(span_of(*expr), new.clone())));
    let results = results(of.body)?;
    match transform.runs {
        Runs::Scan => {
            for result in results {
                let Expr::Tuple(pair) = result else { return None };
                let [next, _] = &pair.elts[..] else { return None };
                edits.extend(around(next, &format!("({key}, "), ")"));
            }
        }
        Runs::While | Runs::Fori => {
            for result in results {
                edits.extend(around(result, &format!("({key}, "), ")"));
            }
            if let Some(cond) = transform.cond.as_deref() {
                edits.extend(condition(cx, given(callable, of.looped, cond)?, outer)?);
            }
        }
        _ => return None,
    }
    edits.push(unpacked(cx, of.looped, transform.runs, key)?);
    Some(
        Proposal::new(
            format!("add `{key}` to the carry and split it in each iteration; the numbers change"),
            edits,
            of.resolves.to_vec(),
        )
        .naming(cx.claim(of.scope, &names)),
    )
}

/// The argument for a parameter of a loop-like function.
pub(super) fn given<'a>(callable: &Callable, call: &'a ast::ExprCall, name: &str) -> Option<&'a Expr> {
    let keyword = || call.arguments.find_keyword(name).map(|keyword| &keyword.value);
    callable.position(name).and_then(|position| call.arguments.args.get(position)).or_else(keyword)
}

/// Whether a function is passed by its name.
pub(super) fn is_passed(call: &ast::ExprCall, name: &str) -> bool {
    tree::arguments(call).any(|argument| matches!(argument, Expr::Name(read) if *read.id == *name))
}

/// Whether a function is defined in a scope, is read once, has no decorators, and is not `async`.
fn is_used_once(cx: &FixContext<'_>, def: &ast::StmtFunctionDef, scope: ScopeId) -> bool {
    let name = def.name.as_str();
    let occurrences = cx.names.occurrences(name).iter();
    let own: Vec<_> = occurrences.filter(|one| cx.names.binder(one.scope, name) == Some(scope)).collect();
    let bound: Vec<_> = own.iter().filter(|one| one.action != Action::Read).collect();
    let is_defined = matches!(bound[..], [one] if one.scope == scope && span_of(def).covers(one.span));
    is_defined && own.len() == 2 && def.decorator_list.is_empty() && !def.is_async
}

/// The name of a parameter that has neither a default nor an annotation.
fn plain_parameter(def: &ast::StmtFunctionDef, position: usize) -> Option<&str> {
    let parameter = def.parameters.iter_non_variadic_params().nth(position)?;
    let is_plain = parameter.default.is_none() && parameter.parameter.annotation.is_none();
    is_plain.then(|| parameter.parameter.name.as_str())
}

fn is_text(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(expr) if expr.value.is_string_literal_expr())
}

/// Two statements before another.
fn joined(cx: &FixContext<'_>, start: u32, lines: &[String; 2]) -> Edit {
    let first = layout::before(cx.text, start, &lines[0]);
    let second = layout::before(cx.text, start, &lines[1]);
    Edit::replace(first.span, format!("{}{}", first.content, second.content))
}

/// Puts text before and after an expression.
fn around(expr: &Expr, before: &str, behind: &str) -> [Edit; 2] {
    let span = span_of(expr);
    // A tuple without parentheses needs them within another tuple.
    let is_bare = matches!(expr, Expr::Tuple(tuple) if !tuple.parenthesized);
    let (open, close) = if is_bare { ("(", ")") } else { ("", "") };
    [Edit::insert(span.start, format!("{before}{open}")), Edit::insert(span.end, format!("{close}{behind}"))]
}

/// The result of a function, if every return is explicit.
pub(super) fn results(def: &ast::StmtFunctionDef) -> Option<Vec<&Expr>> {
    struct ReturnCollector<'a>(Vec<Option<&'a Expr>>);
    impl<'a> SourceOrderVisitor<'a> for ReturnCollector<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            match statement {
                Stmt::Return(result) => self.0.push(result.value.as_deref()),
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                other => walk_stmt(self, other),
            }
        }
    }
    let mut collector = ReturnCollector(Vec::new());
    for statement in &def.body {
        collector.visit_stmt(statement);
    }
    let ends = matches!(def.body.last(), Some(Stmt::Return(_)));
    let results: Option<Vec<&Expr>> = collector.0.into_iter().collect();
    results.filter(|_| ends)
}

/// The condition of a `while_loop` sees the carry as it was.
fn condition(cx: &FixContext<'_>, cond: &Expr, outer: ScopeId) -> Option<Vec<Edit>> {
    match cond {
        Expr::Lambda(lambda) => {
            let mut parameters = lambda.parameters.as_deref()?.iter_non_variadic_params();
            let (parameter, None) = (parameters.next()?, parameters.next()) else { return None };
            let name = parameter.parameter.name.as_str();
            let reads = tree::expressions_within(&lambda.body).into_iter();
            let reads = reads.filter(|expr| matches!(expr, Expr::Name(read) if read.id.as_str() == name));
            Some(
                reads
                    .map(|read| {
                        let end = span_of(read).end;
                        Edit::insert(end, "[1]")
                    })
                    .collect(),
            )
        }
        Expr::Name(name) => {
            let mut defs = cx.module.body.iter().flat_map(functions).filter(|def| def.name == *name.id);
            let def = defs.find(|def| is_used_once(cx, def, outer))?;
            let carry = plain_parameter(def, 0)?;
            let head = span_of(def.body.iter().find(|statement| !is_text(statement))?).start;
            Some(vec![layout::before(cx.text, head, &format!("_, {carry} = {carry}"))])
        }
        _ => None,
    }
}

/// The functions that a statement defines, at any depth.
pub(super) fn functions(statement: &Stmt) -> Vec<&ast::StmtFunctionDef> {
    let mut found: Vec<&ast::StmtFunctionDef> = match statement {
        Stmt::FunctionDef(def) => vec![def],
        _ => Vec::new(),
    };
    found.extend(suites(statement).into_iter().flatten().flat_map(functions));
    found
}

/// The key that comes out of the loop is the next one.
fn unpacked(cx: &FixContext<'_>, looped: &ast::ExprCall, runs: Runs, key: &str) -> Option<Edit> {
    let step = cx.steps(span_of(looped)).pop()?;
    let Stmt::Assign(assign) = step.statement() else { return None };
    let ([target], true) = (&assign.targets[..], span_of(&*assign.value) == span_of(looped)) else { return None };
    let carry = match (runs, target) {
        (Runs::Scan, Expr::Tuple(pair)) if pair.elts.len() == 2 => pair.elts.first()?,
        (Runs::While | Runs::Fori, target) => target,
        _ => return None,
    };
    if matches!(carry, Expr::Starred(_)) {
        return None;
    }
    let is_bare = matches!(carry, Expr::Tuple(tuple) if !tuple.parenthesized);
    let code = cx.code(carry);
    let code = if is_bare { format!("({code})") } else { code.to_owned() };
    let content = if runs == Runs::Scan { format!("({key}, {code})") } else { format!("{key}, {code}") };
    Some(Edit::replace(span_of(carry), content))
}
