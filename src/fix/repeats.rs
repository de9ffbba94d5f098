//! What repeats the use of a key: a loop, a comprehension, or a function that something else calls again and again.
//!
//! **Invariant:** the innermost thing that repeats a use counts; all uses of a [`Loop`] are of one key in one of them.

use super::context::FixContext;
use super::key_uses::only_key;
use super::names::ScopeId;
use super::tree;
use crate::finding::{Finding, RuleId, Sharing};
use crate::python::ast::{self, AnyNodeRef, Comprehension, Expr, Stmt};
use crate::python::span_of;
use crate::text::Span;

/// What repeats a consumption.
pub(super) enum Repeats<'a> {
    /// A `for` or `while` statement.
    Statement(&'a Stmt),
    /// A comprehension: all of its generators, and the whole expression.
    Comprehension(&'a [Comprehension], Span),
    /// A function that something else runs again and again.
    Body(&'a ast::StmtFunctionDef),
    /// The same, as a lambda.
    Lambda(&'a ast::ExprLambda),
}

/// The consumptions of one key in one loop.
pub(super) struct Loop<'a> {
    pub repeats: Repeats<'a>,
    pub scope: ScopeId,
    pub calls: Vec<(&'a ast::ExprCall, &'a Expr)>,
    pub resolves: Vec<usize>,
}

/// The loop of a finding, with everything that is known about it.
pub(super) fn loop_of<'a>(cx: &FixContext<'a>, findings: &[Finding], index: usize) -> Option<Loop<'a>> {
    let lead = &findings[index];
    let keys = keys_of(cx, lead)?;
    let (call, key) = *keys.last()?;
    let repeats = innermost(cx, span_of(call), lead)?;
    let scope = cx.names.scope_at(span_of(call).start);
    let mut calls = keys;
    let mut resolves = vec![index];
    for other in cx.matching(findings, |other| other.rule == RuleId::KeyReusedInLoop && other.function == lead.function)
    {
        let Some(more) = keys_of(cx, &findings[other]).filter(|_| other != index) else { continue };
        let is_same = more.iter().all(|(more_call, more_key)| {
            cx.code(more_key) == cx.code(key)
                && cx.names.scope_at(span_of(*more_call).start) == scope
                && innermost(cx, span_of(*more_call), &findings[other]).is_some_and(|one| one.span() == repeats.span())
        });
        if is_same {
            calls.extend(more);
            resolves.push(other);
        }
    }
    calls.sort_by_key(|(_, key)| span_of(*key));
    calls.dedup_by_key(|(_, key)| span_of(*key));
    let within = repeats.span();
    let same = calls.iter().all(|(call, other)| within.covers(span_of(*call)) && cx.code(other) == cx.code(key));
    same.then_some(Loop { repeats, scope, calls, resolves })
}

impl Repeats<'_> {
    /// The whole construct that repeats.
    pub fn span(&self) -> Span {
        match self {
            Self::Statement(statement) => span_of(*statement),
            Self::Comprehension(_, whole) => *whole,
            Self::Body(def) => span_of(*def),
            Self::Lambda(lambda) => span_of(*lambda),
        }
    }
}

/// The calls of a finding and their keys: those of the reported frame, or, if it runs a function repeatedly, those within that function.
fn keys_of<'a>(cx: &FixContext<'a>, finding: &Finding) -> Option<Vec<(&'a ast::ExprCall, &'a Expr)>> {
    let (evidence, fix_hints) = (finding.evidence.as_ref()?, finding.fix_hints.as_ref()?);
    if evidence.sharing != Sharing::Iteration {
        return None;
    }
    let repeats = fix_hints.repeated_by.and_then(|place| cx.here(place));
    let mut keys: Vec<(&ast::ExprCall, &Expr)> = Vec::new();
    for (way, written) in [&evidence.first, &evidence.second].into_iter().zip(&fix_hints.written) {
        let mut place = *way.first()?;
        // The repeating call does not take the key itself.
        let mut leads = way.len() > 1;
        if leads && cx.here(place).is_some_and(|span| Some(span) == repeats) {
            place = *way.get(1)?;
            leads = way.len() > 2;
        }
        let call = tree::call_at(cx.module, cx.here(place)?)?;
        let key = only_key(cx, call, written.as_deref().filter(|_| !leads)).or_else(|| made_key(cx, call))?;
        keys.push((call, key));
    }
    Some(keys)
}

/// The one argument of a call that makes a key from a number.
fn made_key<'a>(cx: &FixContext<'_>, call: &'a ast::ExprCall) -> Option<&'a Expr> {
    let mut made = tree::arguments(call).filter(|argument| is_constant(cx, argument));
    made.next().filter(|_| made.next().is_none())
}

/// Whether an expression makes a key from a number.
pub(super) fn is_constant(cx: &FixContext<'_>, key: &Expr) -> bool {
    let Expr::Call(call) = key else { return false };
    call.arguments.len() == 1 && cx.seed_of(call).is_some_and(Expr::is_number_literal_expr)
}

/// What repeats a place: the innermost loop or comprehension, otherwise the innermost function if a call repeats it.
fn innermost<'a>(cx: &FixContext<'a>, span: Span, finding: &Finding) -> Option<Repeats<'a>> {
    let repeated_by =
        finding.fix_hints.as_ref().and_then(|fix_hints| fix_hints.repeated_by).and_then(|place| cx.here(place));
    let by_call = repeated_by.is_some_and(|place| tree::call_at(cx.module, place).is_some());
    for node in tree::ancestors(cx.module, span).into_iter().rev() {
        let repeats = match node {
            AnyNodeRef::StmtFor(each) if covers(&each.body, span) => statement_of(cx, node)?,
            AnyNodeRef::StmtWhile(repeat) if covers(&repeat.body, span) => statement_of(cx, node)?,
            AnyNodeRef::StmtFor(_) | AnyNodeRef::StmtWhile(_) | AnyNodeRef::StmtClassDef(_) => return None,
            AnyNodeRef::ExprListComp(list) => comprehension(&list.generators, span_of(list), span)?,
            AnyNodeRef::ExprSetComp(set) => comprehension(&set.generators, span_of(set), span)?,
            AnyNodeRef::ExprDictComp(dict) => comprehension(&dict.generators, span_of(dict), span)?,
            AnyNodeRef::ExprGenerator(generator) => comprehension(&generator.generators, span_of(generator), span)?,
            AnyNodeRef::StmtFunctionDef(def) => {
                return (by_call && covers(&def.body, span)).then_some(Repeats::Body(def));
            }
            AnyNodeRef::ExprLambda(lambda) => return by_call.then_some(Repeats::Lambda(lambda)),
            _ => continue,
        };
        return Some(repeats);
    }
    None
}

fn covers(suite: &[Stmt], span: Span) -> bool {
    suite.iter().any(|statement| span_of(statement).covers(span))
}

/// The node as a statement, if it is one.
fn statement_of<'a>(cx: &FixContext<'a>, node: AnyNodeRef<'a>) -> Option<Repeats<'a>> {
    let span = span_of(&node);
    let step = cx.steps(span).into_iter().rev().find(|step| span_of(step.statement()) == span)?;
    Some(Repeats::Statement(step.statement()))
}

/// Generators that repeat a place: not those whose first iterable holds it, which runs once.
fn comprehension(generators: &[Comprehension], whole: Span, span: Span) -> Option<Repeats<'_>> {
    let first = generators.first()?;
    (!span_of(&first.iter).covers(span)).then_some(Repeats::Comprehension(generators, whole))
}
