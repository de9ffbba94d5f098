//! One key in every iteration (KEY102): split it in each, or fold the iteration's number in.
//!
//! **Invariant:** a key is carried on from iteration to iteration only in variables that the loop's own function binds.

use super::attribute_keys::{Storage, storage_of};
use super::carry::{self, Carried};
use super::children;
use super::context::{FixContext, Proof, Proposal};
use super::display_loops::is_shown;
use super::intent::may_be_number;
use super::jax;
use super::layout;
use super::names::{Does, ScopeId};
use super::reuse::{Use, assigns, can_rebind, only_key, root_name};
use super::sweep_loops::{is_dropped, is_sweep};
use super::tree::{self, Step};
use super::writer::statement;
use crate::finding::{Applicability, Finding, RuleId, Sharing};
use crate::models::{Callable, Effect, Runs, Transform};
use crate::python::ast::{self, AnyNodeRef, Comprehension, Expr, Stmt};
use crate::python::{span_of, suites};
use crate::text::{Edit, Span};

/// What repeats a consumption.
enum Repeats<'a> {
    /// A `for` or `while` statement.
    Statement(&'a Stmt),
    /// A comprehension: all of its generators, and the whole of it.
    Comprehension(&'a [Comprehension], Span),
    /// A function that something else runs again and again.
    Body(&'a ast::StmtFunctionDef),
    /// The same, as a lambda.
    Lambda(&'a ast::ExprLambda),
}

/// The consumptions of one key in one loop.
struct Loop<'a> {
    repeats: Repeats<'a>,
    scope: ScopeId,
    calls: Vec<(&'a ast::ExprCall, &'a Expr)>,
    resolves: Vec<usize>,
}

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let Some(found) = of(cx, findings, index) else { return Vec::new() };
    if may_be_number(cx, found.calls.iter().map(|(call, _)| *call)) {
        return Vec::new();
    }
    let mut proposals = Vec::new();
    let holds = found.calls.first().map_or(Storage::None, |(_, key)| storage_of(cx, key));
    let is_kept = holds == Storage::Writable;
    match &found.repeats {
        Repeats::Statement(statement) => {
            proposals.extend(own_element(cx, &found, statement));
            proposals.extend(kept_parent(cx, &found));
            proposals.extend(idle_child(cx, &found));
            proposals.extend(split_each(cx, &found, suites(statement).first().copied()));
            if !is_kept {
                proposals.extend(fold_index(cx, &found, statement));
            }
            // One seed for several configurations is mostly meant.
            let is_made = found.calls.iter().any(|(_, key)| is_constant(cx, key));
            let is_configured = is_made && goes_through_configurations(cx, found.scope, statement);
            let calls: Vec<&ast::ExprCall> = found.calls.iter().map(|(call, _)| *call).collect();
            let is_compared = is_sweep(cx, statement) || is_shown(cx, found.scope, statement, &calls);
            if is_configured || is_compared || is_dropped(cx, found.scope, statement, calls) {
                for proposal in &mut proposals {
                    proposal.applicability = Applicability::Display;
                }
            }
        }
        Repeats::Comprehension(generators, _) => proposals.extend(each_element(cx, &found, generators, is_kept)),
        Repeats::Body(def) => {
            proposals.extend(kept_parent(cx, &found));
            proposals.extend(idle_child(cx, &found));
            proposals.extend(split_each(cx, &found, None));
            proposals.extend(fold_parameter(cx, &found, findings, index, &def.parameters));
            proposals.extend(scan_children(cx, &found, findings, index, &def.parameters));
            let place = findings[index].repair.as_ref().and_then(|repair| repair.repeated_by);
            let looped = place.and_then(|place| tree::call_at(cx.module, cx.here(place)?));
            let of = looped.map(|looped| {
                let (scope, calls, resolves) = (found.scope, &found.calls[..], &found.resolves[..]);
                Carried { looped, body: def, scope, calls, resolves }
            });
            proposals.extend(of.and_then(|of| carry::carried(cx, &of)));
        }
        Repeats::Lambda(lambda) => {
            if let Some(parameters) = lambda.parameters.as_deref() {
                proposals.extend(fold_parameter(cx, &found, findings, index, parameters));
            }
        }
    }
    // The next call would draw the same numbers again.
    if holds == Storage::Unknown {
        for proposal in &mut proposals {
            proposal.applicability = Applicability::Display;
        }
    }
    proposals
}

/// The loop of a finding, with all that is known of it.
fn of<'a>(cx: &FixContext<'a>, findings: &[Finding], index: usize) -> Option<Loop<'a>> {
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
    fn span(&self) -> Span {
        match self {
            Self::Statement(statement) => span_of(*statement),
            Self::Comprehension(_, whole) => *whole,
            Self::Body(def) => span_of(*def),
            Self::Lambda(lambda) => span_of(*lambda),
        }
    }
}

/// The calls that a finding speaks of, and what they are given; those of the frame that is told, or, where something runs a
/// function again and again, those within it.
fn keys_of<'a>(cx: &FixContext<'a>, finding: &Finding) -> Option<Vec<(&'a ast::ExprCall, &'a Expr)>> {
    let (evidence, repair) = (finding.evidence.as_ref()?, finding.repair.as_ref()?);
    if evidence.sharing != Sharing::Iteration {
        return None;
    }
    let repeats = repair.repeated_by.and_then(|place| cx.here(place));
    let mut keys: Vec<(&ast::ExprCall, &Expr)> = Vec::new();
    for (way, written) in [&evidence.first, &evidence.second].into_iter().zip(&repair.written) {
        let mut place = *way.first()?;
        // The call that repeats is not the one that is given the key.
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

/// The one argument of a call that makes a key of a number.
fn made_key<'a>(cx: &FixContext<'_>, call: &'a ast::ExprCall) -> Option<&'a Expr> {
    let mut made = tree::arguments(call).filter(|argument| is_constant(cx, argument));
    made.next().filter(|_| made.next().is_none())
}

/// Whether an expression makes a key of a number.
fn is_constant(cx: &FixContext<'_>, key: &Expr) -> bool {
    let Expr::Call(call) = key else { return false };
    call.arguments.len() == 1 && cx.seed_of(call).is_some_and(Expr::is_number_literal_expr)
}

/// What repeats a place, from within: the innermost loop or comprehension, else the innermost function if a call repeats it.
fn innermost<'a>(cx: &FixContext<'a>, span: Span, finding: &Finding) -> Option<Repeats<'a>> {
    let repeated_by = finding.repair.as_ref().and_then(|repair| repair.repeated_by).and_then(|place| cx.here(place));
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

/// The statement that a node is.
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

/// `_, subkey = split(key)`: the parent that was thrown away is kept.
fn kept_parent(cx: &FixContext<'_>, found: &Loop<'_>) -> Option<Proposal> {
    let [(call, key)] = found.calls[..] else { return None };
    let Expr::Name(name) = key else { return None };
    if !cx.is_split(call) {
        return None;
    }
    let step = cx.steps(span_of(call)).pop()?;
    let Stmt::Assign(assign) = step.statement() else { return None };
    let ([Expr::Tuple(targets)], true) = (&assign.targets[..], span_of(&*assign.value) == span_of(call)) else {
        return None;
    };
    if !can_rebind(cx, found.scope, name.id.as_str()) {
        return None;
    }
    let dropped = targets.elts.iter().find(|target| cx.code(target) == "_")?;
    Some(Proposal {
        message: format!("keep the first child as the next `{}`; the numbers change", name.id.as_str()),
        applicability: Applicability::Unsafe,
        proof: Proof::Claim,
        edits: vec![Edit { span: span_of(dropped), content: name.id.as_str().to_owned() }],
        resolves: found.resolves.clone(),
        names: Vec::new(),
    })
}

/// The child that was made beside the key and that nothing uses is drawn from.
fn idle_child(cx: &FixContext<'_>, found: &Loop<'_>) -> Option<Proposal> {
    let uses: Vec<Use<'_>> =
        found.calls.iter().map(|(call, key)| Use { call, key, steps: cx.steps(span_of(*call)) }).collect();
    children::idle(cx, &uses, &found.resolves)
}

/// Whether a loop goes through settings: anything but numbers that are counted.
fn goes_through_configurations(cx: &FixContext<'_>, scope: ScopeId, statement: &Stmt) -> bool {
    let Stmt::For(each) = statement else { return false };
    !is_range(cx, scope, &each.iter)
}

/// `keys[0]` in a loop over `keys` whose variable nothing reads: that variable was meant.
fn own_element(cx: &FixContext<'_>, found: &Loop<'_>, statement: &Stmt) -> Option<Proposal> {
    let Stmt::For(each) = statement else { return None };
    let (target, over) = match (&*each.target, &*each.iter) {
        (Expr::Tuple(pair), Expr::Call(call)) if is_builtin(cx, found.scope, &call.func, "enumerate") => {
            (pair.elts.get(1)?, call.arguments.args.first()?)
        }
        (target, over) => (target, over),
    };
    let ([(_, key)], Expr::Name(element)) = (&found.calls[..], target) else { return None };
    let Expr::Subscript(item) = key else { return None };
    let name = element.id.as_str();
    let is_read = |one: &super::names::Occurrence| one.does == Does::Read && span_of(statement).covers(one.span);
    let is_unused = name != "_" && !cx.names.occurrences(name).iter().any(is_read);
    (is_unused && cx.code(&item.value) == cx.code(over)).then(|| Proposal {
        message: format!("use `{name}`, the key of this iteration; the numbers change"),
        applicability: Applicability::Unsafe,
        proof: Proof::Claim,
        edits: vec![replace(key, name.to_owned())],
        resolves: found.resolves.clone(),
        names: Vec::new(),
    })
}

/// Whether a callee is a builtin of this name.
fn is_builtin(cx: &FixContext<'_>, scope: ScopeId, callee: &Expr, builtin: &str) -> bool {
    matches!(callee, Expr::Name(name) if name.id.as_str() == builtin && cx.names.binder(scope, builtin).is_none())
}

/// `key, subkey = split(key)` at the start of the body, and each call gets a `subkey` of its own. In the body of a loop-like
/// transform the split goes before the first call, since the key comes in with the carry.
fn split_each(cx: &FixContext<'_>, found: &Loop<'_>, body: Option<&[Stmt]>) -> Option<Proposal> {
    let (_, key) = *found.calls.first()?;
    let name = cx.code(key);
    let is_kept = !key.is_name_expr() && storage_of(cx, key) == Storage::Writable;
    if !is_kept && !key.is_name_expr() {
        return None;
    }
    // What makes the next key itself, as `key, subkey = split(key)` does, is left as it is where others use that key.
    let goes_on =
        |call: &ast::ExprCall| cx.steps(span_of(call)).pop().is_some_and(|step| assigns(cx, step.statement(), name));
    let others: Vec<_> = found.calls.iter().copied().filter(|(call, _)| !goes_on(call)).collect();
    let calls = if others.is_empty() { &found.calls } else { &others };
    let (first, _) = *calls.first()?;
    let is_free = is_kept || can_rebind(cx, found.scope, name);
    if cx.names.frame_at(span_of(first).start) != Some(found.scope) || !is_free {
        return None;
    }
    let span = found.repeats.span();
    let is_bound_inside = is_kept
        || cx
            .names
            .occurrences(name)
            .iter()
            .any(|one| one.scope == found.scope && one.does == Does::Bind && span.covers(one.span));
    // What is split at the head of a body is wanted in sight of it, unless iterations that come by none of the calls read the key.
    let is_read_beside = cx.names.occurrences(name).iter().any(|one| {
        let is_own = calls.iter().any(|(_, key)| span_of(*key).covers(one.span));
        one.does == Does::Read && span.covers(one.span) && !is_own
    });
    let is_at_head = |head: Span| is_read_beside || cx.are_near(Span::new(head.start, head.start), span_of(first));
    let start = match body.and_then(<[Stmt]>::first).map(span_of) {
        Some(head) if !is_bound_inside && is_at_head(head) => head.start,
        _ => common_statement(cx, &calls.iter().map(|(call, _)| span_of(*call)).collect::<Vec<_>>())?,
    };
    let split = cx.spelled(start, jax::SPLIT, Some(first))?;
    let range = Span::new(start, calls.iter().map(|(call, _)| span_of(*call).end).fold(start, u32::max));
    let names = cx.fresh_for(found.scope, name, calls, range);
    let mut edits = vec![layout::before(cx.text, start, &statement(name, &split, &names, true))];
    edits.extend(calls.iter().zip(&names).map(|((_, key), new)| replace(key, new.clone())));
    Some(Proposal {
        message: format!("split `{name}` in each iteration; the numbers change"),
        applicability: Applicability::Unsafe,
        proof: Proof::Claim,
        edits,
        resolves: found.resolves.clone(),
        names: cx.promise_within(found.scope, &names, range),
    })
}

/// The start of the innermost statement of one suite that all places pass.
pub(super) fn common_statement(cx: &FixContext<'_>, places: &[Span]) -> Option<u32> {
    let ways: Vec<Vec<Step<'_>>> = places.iter().map(|place| cx.steps(*place)).collect();
    let first = ways.first()?;
    let mut depth = 0;
    while ways.iter().all(|way| match (way.get(depth + 1), first.get(depth + 1)) {
        (Some(step), Some(other)) => step.is_beside(*other),
        _ => false,
    }) && ways.iter().all(|way| way[depth].is(first[depth]))
    {
        depth += 1;
    }
    let earliest = ways.iter().filter_map(|way| way.get(depth)).min_by_key(|step| step.index)?;
    Some(span_of(earliest.statement()).start)
}

/// `fold_in(key, i)` with the index of a `for` loop, which is numbered first where it has none.
fn fold_index(cx: &FixContext<'_>, found: &Loop<'_>, statement: &Stmt) -> Option<Proposal> {
    let Stmt::For(each) = statement else { return None };
    if each.is_async {
        return None;
    }
    let (index, mut edits, mut names) = match counted(cx, found.scope, &each.target, &each.iter) {
        Some(index) => (index, Vec::new(), Vec::new()),
        None => numbered(cx, found.scope, &each.target, &each.iter)?,
    };
    // The key must be one that the loop leaves alone.
    let body = span_of(statement);
    let (first, key) = *found.calls.first()?;
    let is_bound =
        |root: &str| cx.names.occurrences(root).iter().any(|one| one.does == Does::Bind && body.covers(one.span));
    if !is_constant(cx, key) && root_name(key).is_none_or(is_bound) {
        return None;
    }
    if let ([(call, key)], Expr::Subscript(_)) = (&found.calls[..], key) {
        // An element is taken out once: JAX's own checker takes it for consumed when it is taken out again.
        let element = cx.fresh(found.scope, cx.code(key), 1).pop()?;
        let fold = cx.spelled(span_of(*key).start, jax::FOLD_IN, Some(call))?;
        edits.push(layout::before(cx.text, body.start, &format!("{element} = {}", cx.code(key))));
        edits.push(replace(key, format!("{fold}({element}, {index})")));
        names.push(element);
    } else if let [(call, key)] = found.calls[..] {
        edits.push(folded(cx, call, key, &index)?);
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
    edits.sort_by_key(|edit| edit.span);
    Some(proposal_of_fold(cx, found, key, edits, &names))
}

fn proposal_of_fold(cx: &FixContext<'_>, found: &Loop<'_>, key: &Expr, edits: Vec<Edit>, names: &[String]) -> Proposal {
    Proposal {
        message: format!("derive a key for each iteration from `{}`; the numbers change", cx.code(key)),
        applicability: Applicability::Unsafe,
        proof: Proof::Claim,
        edits,
        resolves: found.resolves.clone(),
        names: cx.promise(found.scope, names),
    }
}

/// The variable that counts from zero up: over a `range`, or the first of an `enumerate`.
fn counted(cx: &FixContext<'_>, scope: ScopeId, target: &Expr, iter: &Expr) -> Option<String> {
    let Expr::Call(call) = iter else { return None };
    let Expr::Name(callee) = &*call.func else { return None };
    if cx.names.binder(scope, callee.id.as_str()).is_some() {
        return None;
    }
    let is_negative = |expr: &Expr| matches!(expr, Expr::UnaryOp(_));
    let name = match (callee.id.as_str(), target) {
        ("range", Expr::Name(name)) if !call.arguments.args.iter().any(is_negative) => name,
        ("enumerate", Expr::Tuple(pair)) => match pair.elts.first() {
            Some(Expr::Name(name)) => name,
            _ => return None,
        },
        _ => return None,
    };
    let name = name.id.as_str();
    (name != "_").then(|| name.to_owned())
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
    if is_range(cx, scope, iter) && cx.code(target) == "_" {
        return Some((index.clone(), vec![Edit { span: left, content: index.clone() }], vec![index]));
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
    let edits =
        vec![Edit { span: left, content: format!("{index}, {element}") }, Edit { span: right, content: iterable }];
    Some((index.clone(), edits, vec![index]))
}

fn is_range(cx: &FixContext<'_>, scope: ScopeId, iter: &Expr) -> bool {
    matches!(iter, Expr::Call(call) if is_builtin(cx, scope, &call.func, "range")
        && !call.arguments.args.iter().any(|argument| matches!(argument, Expr::UnaryOp(_))))
}

/// A comprehension draws from a key for each element: one of a split where elements are only counted, else by their number.
///
/// What an object keeps for the next call is split before.
fn each_element(
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
        Expr::Call(range) if is_range(cx, found.scope, &generator.iter) => match &range.arguments.args[..] {
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
            .any(|one| one.does == Does::Read && cx.names.is_within(one.scope, found.scope)),
        _ => false,
    };
    let mut edits;
    let mut names = Vec::new();
    let mut before = None;
    let mut code = cx.code(key).to_owned();
    if is_kept {
        let statement = cx.steps(span_of(call)).pop()?.statement();
        // A condition may be looked at again and again.
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
        let (index, more, new) = match counted(cx, found.scope, &generator.target, &generator.iter) {
            Some(index) => (index, Vec::new(), Vec::new()),
            None => numbered(cx, found.scope, &generator.target, &generator.iter)?,
        };
        edits = more;
        names.extend(new);
        let fold = cx.spelled(span_of(key).start, jax::FOLD_IN, Some(call))?;
        edits.push(replace(key, format!("{fold}({code}, {index})")));
    }
    edits.extend(before);
    edits.sort_by_key(|edit| edit.span);
    Some(proposal_of_fold(cx, found, key, edits, &names))
}

/// `fold_in(key, i)` where `i` is the parameter of a body that a loop-like call counts with.
fn fold_parameter(
    cx: &FixContext<'_>,
    found: &Loop<'_>,
    findings: &[Finding],
    index: usize,
    parameters: &ast::Parameters,
) -> Option<Proposal> {
    let place = findings[index].repair.as_ref()?.repeated_by?;
    let call = tree::call_at(cx.module, cx.here(place)?)?;
    // Behind `partial` the parameters of the body are others.
    let is_itself = match &found.repeats {
        Repeats::Body(def) => carry::is_handed_over(call, def.name.as_str()),
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
        .any(|one| one.does == Does::Bind && cx.names.is_within(one.scope, found.scope));
    let ([(call, key)], false) = (&found.calls[..], is_rebound || name == "_") else { return None };
    let edits = vec![folded(cx, call, key, name)?];
    Some(proposal_of_fold(cx, found, key, edits, &[]))
}

/// How a call runs the function that it is given, by the models.
fn run_by<'a>(cx: &FixContext<'a>, call: &ast::ExprCall) -> Option<(&'a Transform, &'a Callable)> {
    let callable = cx.model_of(&call.func)?;
    match &callable.effect {
        Effect::Transform(transform) => Some((transform, callable)),
        _ => None,
    }
}

/// A `scan` over nothing but a length, whose body ignores what it is given, scans over children of the key instead.
fn scan_children(
    cx: &FixContext<'_>,
    found: &Loop<'_>,
    findings: &[Finding],
    index: usize,
    parameters: &ast::Parameters,
) -> Option<Proposal> {
    let place = findings[index].repair.as_ref()?.repeated_by?;
    let scan = tree::call_at(cx.module, cx.here(place)?)?;
    let (transform, callable) = run_by(cx, scan)?;
    if transform.runs != Runs::Scan {
        return None;
    }
    let given = |name: &str| {
        let keyword = || scan.arguments.find_keyword(name).map(|keyword| &keyword.value);
        callable.position(name).and_then(|position| scan.arguments.args.get(position)).or_else(keyword)
    };
    let ([elements], Some(number)) = (&transform.over[..], transform.length.as_deref()) else { return None };
    let (xs, length) = (given(elements), given(number)?);
    let [(call, key)] = found.calls[..] else { return None };
    let Expr::Name(name) = key else { return None };
    // The key has to mean the same where the scan is called.
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
        .any(|one| one.does != Does::Parameter && cx.names.is_within(one.scope, found.scope));
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
        Edit { span: Span::new(start, start), content: format!("{elements}={children}, ") }
    };
    let mut edits =
        vec![Edit { span: span_of(&element.name), content: fresh.clone() }, replace(key, fresh.clone()), over];
    edits.sort_by_key(|edit| edit.span);
    Some(proposal_of_fold(cx, found, key, edits, &[fresh]))
}

/// Replaces a key by one that a number is folded into.
fn folded(cx: &FixContext<'_>, call: &ast::ExprCall, key: &Expr, number: &str) -> Option<Edit> {
    let fold = cx.spelled(span_of(key).start, jax::FOLD_IN, Some(call))?;
    Some(replace(key, format!("{fold}({}, {number})", cx.code(key))))
}

fn replace(expr: &Expr, content: String) -> Edit {
    Edit { span: span_of(expr), content }
}
