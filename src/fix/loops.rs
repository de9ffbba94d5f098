//! One key in every iteration (KEY102): split it in each, or fold in the number of the iteration.
//!
//! **Invariant:** a key is carried from one iteration to the next only in variables that the loop's own function binds.

use super::advance;
use super::attribute_keys::{NOT_STORED, Storage, storage_of};
use super::carry::{self, Carried};
use super::children::{self, SplitKey};
use super::context::{FixContext, Proposal};
use super::fold_index::{each_element, fold_index, fold_parameter, replace, scan_children};
use super::jax;
use super::key_uses::{Use, may_be_number, shared, unknown_uses};
use super::layout;
use super::liveness::Variable;
use super::names::{Action, ScopeId};
use super::repeats::{Loop, Repeats, loop_of};
use super::split_apart::{apart, assigns, can_rebind};
use super::tree::{self, Step};
use super::writer::statement;
use crate::finding::{Finding, RuleId};
use crate::models::Effect;
use crate::python::ast::{self, Expr, Stmt};
use crate::python::{span_of, suites};
use crate::text::{Edit, Span};

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    // A method that the loop calls through an object draws from the object's key.
    let Some(found) = loop_of(cx, findings, index) else {
        return advance::held(cx, findings, index).into_iter().collect();
    };
    if may_be_number(cx, found.calls.iter().map(|(call, _)| *call)) {
        return Vec::new();
    }
    let mut proposals = Vec::new();
    let holds = found.calls.first().map_or(Storage::None, |(_, key)| storage_of(cx, key));
    let is_kept = holds == Storage::Writable;
    match &found.repeats {
        Repeats::Statement(statement) => {
            if let Stmt::For(each) = statement {
                proposals.extend(own_element(cx, &found, (&each.target, &each.iter)));
            }
            proposals.extend(folded_before(cx, &found, findings));
            proposals.extend(kept_parent(cx, &found));
            proposals.extend(free_child_kept(cx, &found));
            proposals.extend(unused_child(cx, &found));
            proposals.extend(split_each(cx, &found, suites(statement).first().copied()));
            if !is_kept {
                proposals.extend(fold_index(cx, &found, statement));
            }
        }
        Repeats::Comprehension(generators, _) => {
            let own = |each: &ast::Comprehension| own_element(cx, &found, (&each.target, &each.iter));
            proposals.extend(generators.iter().find_map(own));
            proposals.extend(each_element(cx, &found, generators, is_kept));
        }
        Repeats::Body(def) => {
            proposals.extend(kept_parent(cx, &found));
            proposals.extend(free_child_returned(cx, &found, def));
            proposals.extend(free_child_kept(cx, &found));
            proposals.extend(unused_child(cx, &found));
            proposals.extend(split_each(cx, &found, None));
            proposals.extend(fold_parameter(cx, &found, findings, index, &def.parameters));
            proposals.extend(scan_children(cx, &found, findings, index, &def.parameters));
            let place = findings[index].fix_hints.as_ref().and_then(|fix_hints| fix_hints.repeated_by);
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
    // A key that unknown code derives may equal the one that is derived here.
    let given = found.calls.first().map(|(_, key)| unknown_uses(cx, found.scope, key, found.repeats.span()));
    let mut uses = given.unwrap_or_default();
    if !uses.is_empty() {
        for proposal in &mut proposals {
            proposal.make_display_only("unknown code gets the same key");
        }
        uses.extend(found.calls.iter().map(|(call, key)| Use { call, key, steps: cx.steps(span_of(*call)) }));
        uses.sort_by_key(Use::span);
        proposals.splice(0..0, apart(cx, &uses, &found.resolves));
    }
    // The next call would draw the same numbers again.
    if holds == Storage::Unknown {
        for proposal in &mut proposals {
            proposal.make_display_only(NOT_STORED);
        }
    }
    proposals
}

/// `fold_in(key, step)` before the draw, whose result is unused: the draw should have used it.
fn folded_before(cx: &FixContext<'_>, found: &Loop<'_>, findings: &[Finding]) -> Option<Proposal> {
    let [(call, key @ Expr::Name(_))] = found.calls[..] else { return None };
    let last = cx.steps(span_of(call)).pop()?;
    let folds = |expr: &Expr| {
        let Expr::Call(fold) = expr else { return false };
        let is_fold = cx.model_of(&fold.func).is_some_and(|callable| matches!(callable.effect, Effect::Fold { .. }));
        is_fold && fold.arguments.args.first().is_some_and(|parent| cx.code(parent) == cx.code(key))
    };
    let made = |index: usize| {
        let step = Step { suite: last.suite, index };
        let value = match step.statement() {
            Stmt::Assign(assign) if matches!(assign.targets[..], [Expr::Name(_)]) => &*assign.value,
            Stmt::Expr(statement) => &*statement.value,
            _ => return None,
        };
        folds(value).then_some((step, value))
    };
    let (step, value) = (0..last.index).rev().find_map(made)?;
    let fold = span_of(value);
    let is_unused = |other: &Finding| other.rule == RuleId::SplitDiscarded && cx.here(other.primary) == Some(fold);
    let mut resolves = found.resolves.clone();
    resolves.extend(cx.matching(findings, is_unused));
    if let Stmt::Assign(assign) = step.statement() {
        let [Expr::Name(name)] = &assign.targets[..] else { return None };
        let name = name.id.as_str();
        let is_unused = Variable::of(cx, found.scope, name).is_unneeded_from(&cx.statements_after(step));
        let message = format!("use `{name}`, which is still unused; the numbers change");
        return is_unused.then(|| Proposal::new(message, vec![replace(key, name.to_owned())], resolves));
    }
    let (lines, _) = layout::own_lines_with_comment(cx.text, span_of(step.statement()))?;
    let edits = vec![Edit::delete(lines), replace(key, cx.slice(fold).to_owned())];
    let is_near = cx.are_near(fold, span_of(call)) && !cx.slice(fold).contains('\n');
    is_near.then(|| {
        Proposal::new("draw from the key that is derived here; the numbers change".to_owned(), edits, resolves)
    })
}

/// `_, subkey = split(key)`: the discarded parent is kept.
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
    Some(Proposal::new(
        format!("keep the first child as the next `{}`; the numbers change", name.id.as_str()),
        vec![Edit::replace(span_of(dropped), name.id.as_str().to_owned())],
        found.resolves.clone(),
    ))
}

/// The child that nothing reads of the only split of the key, with its name as written.
fn free_child<'a>(cx: &FixContext<'a>, found: &Loop<'a>) -> Option<(&'a ast::ExprName, &'a str)> {
    let [(call, key @ Expr::Name(name))] = found.calls[..] else { return None };
    let splits = Use { call, key, steps: cx.steps(span_of(call)) };
    let made = SplitKey::by(cx, found.scope, &splits)?;
    let unused = made.unused_until(cx, span_of(call));
    let child = unused.into_iter().find(|child| child.id.as_str() != "_")?;
    Some((child, name.id.as_str()))
}

/// `next_key, subkey = split(key)` in a body that returns `key`, though nothing reads `next_key`: that child is returned.
fn free_child_returned(cx: &FixContext<'_>, found: &Loop<'_>, def: &ast::StmtFunctionDef) -> Option<Proposal> {
    let (child, key) = free_child(cx, found)?;
    let mut edits = Vec::new();
    for result in carry::results(def)? {
        let within = tree::expressions_within(result).into_iter();
        let mut reads = within.filter(|expr| matches!(expr, Expr::Name(read) if read.id.as_str() == key));
        let (read, None) = (reads.next()?, reads.next()) else { return None };
        edits.push(replace(read, child.id.to_string()));
    }
    let message = format!("pass `{}`, which is still unused, to the next iteration; the numbers change", child.id);
    Some(Proposal::new(message, edits, found.resolves.clone()))
}

/// The same in a loop: the child replaces the key.
fn free_child_kept(cx: &FixContext<'_>, found: &Loop<'_>) -> Option<Proposal> {
    let (child, key) = free_child(cx, found)?;
    let message = format!("keep the unused child `{}` as the next `{key}`; the numbers change", child.id);
    let edits = vec![Edit::replace(span_of(child), key.to_owned())];
    can_rebind(cx, found.scope, key).then(|| Proposal::new(message, edits, found.resolves.clone()))
}

/// The draw uses the unused child next to the key.
fn unused_child(cx: &FixContext<'_>, found: &Loop<'_>) -> Option<Proposal> {
    let uses: Vec<Use<'_>> =
        found.calls.iter().map(|(call, key)| Use { call, key, steps: cx.steps(span_of(*call)) }).collect();
    children::unused(cx, &uses, &found.resolves)
}

/// `keys[0]` in a loop over `keys` whose variable nothing reads: that variable was intended.
fn own_element(cx: &FixContext<'_>, found: &Loop<'_>, (target, over): (&Expr, &Expr)) -> Option<Proposal> {
    let [(_, key)] = found.calls[..] else { return None };
    let span = found.repeats.span();
    let is_read = |one: &super::names::Occurrence| one.action == Action::Read && span.covers(one.span);
    let is_unused = |name: &str| name != "_" && !cx.names.occurrences(name).iter().any(is_read);
    let elements = iterated(cx, target, over).into_iter().filter_map(|(target, over)| match target {
        Expr::Name(element) if is_element_of(cx, found.scope, (key, over), SOURCES) => Some(element.id.as_str()),
        _ => None,
    });
    let name = { elements }.find(|name| is_unused(name))?;
    Some(Proposal::new(
        format!("use `{name}`, the key of this iteration; the numbers change"),
        vec![replace(key, name.to_owned())],
        found.resolves.clone(),
    ))
}

/// The targets of a loop with what each of them iterates over, through `enumerate` and `zip`.
fn iterated<'a>(cx: &FixContext<'_>, target: &'a Expr, over: &'a Expr) -> Vec<(&'a Expr, &'a Expr)> {
    match (target, over) {
        (Expr::Tuple(pair), Expr::Call(call)) if cx.is_builtin(&call.func, "enumerate") => {
            match (pair.elts.get(1), call.arguments.args.first()) {
                (Some(inner @ Expr::Name(_)), Some(over)) => vec![(inner, over)],
                _ => Vec::new(),
            }
        }
        (Expr::Tuple(targets), Expr::Call(call)) if cx.is_builtin(&call.func, "zip") => {
            targets.elts.iter().zip(&call.arguments.args).collect()
        }
        _ => vec![(target, over)],
    }
}

/// Most variables and calls between a loop and the split whose children it iterates over.
const SOURCES: u32 = 4;

/// Whether the loop that consumes a key in each iteration was intended to consume its elements: `for k in keys: normal(keys[0])`,
/// `for k in split(key, n): normal(key)`, also if a variable holds the children.
fn is_element_of(cx: &FixContext<'_>, scope: ScopeId, (key, over): (&Expr, &Expr), left: u32) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    match (key, over) {
        (Expr::Subscript(item), _) if cx.code(&item.value) == cx.code(over) => true,
        (_, Expr::Call(call)) if ["iter", "list", "tuple"].iter().any(|name| cx.is_builtin(&call.func, name)) => {
            call.arguments.args.first().is_some_and(|inner| is_element_of(cx, scope, (key, inner), left))
        }
        (_, Expr::Call(split)) => cx.is_split(split) && first_argument_is(cx, split, key),
        (_, Expr::Name(children)) => {
            let name = children.id.as_str();
            let occurrences = cx.names.occurrences(name).iter();
            let Some(owner) = cx.names.binder(scope, name) else { return false };
            let mut bindings = occurrences.filter(|one| one.action == Action::Bind && one.scope == owner);
            let (Some(only), None) = (bindings.next(), bindings.next()) else { return false };
            let Some(step) = cx.steps(only.span).pop() else { return false };
            let Stmt::Assign(assign) = step.statement() else { return false };
            match (&assign.targets[..], &*assign.value) {
                ([Expr::Name(_)], value) => is_element_of(cx, scope, (key, value), left),
                // `key, *subkeys = split(key, n)`
                ([Expr::Tuple(targets)], Expr::Call(split)) => {
                    let is_it = |target: &Expr| cx.code(target) == cx.code(key);
                    let is_starred = |target: &Expr| matches!(target, Expr::Starred(of) if cx.code(&of.value) == name);
                    cx.is_split(split) && targets.elts.iter().any(is_starred) && targets.elts.iter().any(is_it)
                }
                _ => false,
            }
        }
        _ => false,
    }
}

fn first_argument_is(cx: &FixContext<'_>, call: &ast::ExprCall, key: &Expr) -> bool {
    call.arguments.args.first().is_some_and(|parent| cx.code(parent) == cx.code(key))
}

/// `key, subkey = split(key)` at the start of the body, and each call gets its own `subkey`. In the body of a loop-like transform the split
/// goes before the first call, because the key comes in with the carry.
fn split_each(cx: &FixContext<'_>, found: &Loop<'_>, body: Option<&[Stmt]>) -> Option<Proposal> {
    let (_, key) = *found.calls.first()?;
    let name = cx.code(key);
    let is_kept = !key.is_name_expr() && storage_of(cx, key) == Storage::Writable;
    if !is_kept && !key.is_name_expr() {
        return None;
    }
    // A statement that makes the next key itself, like `key, subkey = split(key)`, is not changed if others use that key.
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
            .any(|one| one.scope == found.scope && one.action == Action::Bind && span.covers(one.span));
    // Iterations that reach none of the calls read the key.
    let is_read_beside = cx.names.occurrences(name).iter().any(|one| {
        let is_own = calls.iter().any(|(_, key)| span_of(*key).covers(one.span));
        one.action == Action::Read && span.covers(one.span) && !is_own
    });
    let common = common_statement(cx, &calls.iter().map(|(call, _)| span_of(*call)).collect::<Vec<_>>())?;
    // A split at the head of a body should be near the calls, and pass no branch that makes none of them.
    let is_at_head = |head: &Step<'_>| {
        let is_own = common.is_beside(*head);
        let from = span_of(head.statement()).start;
        is_read_beside || is_own && cx.are_near(Span::new(from, from), span_of(first))
    };
    let head = body.filter(|body| !body.is_empty()).map(|suite| Step { suite, index: 0 });
    let at = head.filter(|head| !is_bound_inside && is_at_head(head)).unwrap_or(common);
    let start = span_of(at.statement()).start;
    let uses: Vec<Use<'_>> =
        calls.iter().map(|(call, key)| Use { call, key, steps: cx.steps(span_of(*call)) }).collect();
    let edits = match &uses[..] {
        [one] if key.is_name_expr() => children::with_next_key(cx, one),
        _ => None,
    };
    let message = format!("split `{name}` in each iteration; the numbers change");
    if let Some(edits) = edits {
        return Some(Proposal::new(message, edits, found.resolves.clone()));
    }
    let split = cx.spelled(start, jax::SPLIT, Some(first))?;
    // A split that discards its result was intended to make the keys of the other uses.
    let is_bare = matches!(cx.steps(span_of(first)).pop()?.statement(), Stmt::Expr(statement) if span_of(&*statement.value) == span_of(first));
    if is_bare && cx.is_split(first) && first.arguments.len() == 1 && calls.len() > 1 {
        let range = Span::new(span_of(first).start, span_of(calls.last()?.0).end);
        let names = cx.fresh_for(found.scope, name, &calls[1..], range);
        let mut edits = vec![Edit::replace(span_of(first), statement(name, &split, &names, true))];
        edits.extend(calls[1..].iter().zip(&names).map(|((_, key), new)| replace(key, new.clone())));
        let proposal = Proposal::new(message, edits, found.resolves.clone());
        return Some(proposal.naming(cx.claim_within(found.scope, &names, range)));
    }
    let range = Span::new(start, calls.iter().map(|(call, _)| span_of(*call).end).fold(start, u32::max));
    // Exclusive branches share a child.
    let keys = shared(cx, &uses);
    let first_of = |key: usize| keys.iter().position(|known| *known == key).map(|at| calls[at]);
    let firsts: Vec<_> = (0..calls.len()).map_while(first_of).collect();
    let names = cx.fresh_for(found.scope, name, &firsts, range);
    let mut edits = vec![cx.before(start, &statement(name, &split, &names, true))];
    let children = keys.iter().filter_map(|key| names.get(*key));
    edits.extend(calls.iter().zip(children).map(|((_, key), new)| replace(key, new.clone())));
    let proposal = Proposal::new(message, edits, found.resolves.clone());
    Some(proposal.naming(cx.claim_within(found.scope, &names, range)))
}

/// The innermost statement of one suite that all places pass.
pub(super) fn common_statement<'a>(cx: &FixContext<'a>, places: &[Span]) -> Option<Step<'a>> {
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
    ways.iter().filter_map(|way| way.get(depth)).min_by_key(|step| step.index).copied()
}
