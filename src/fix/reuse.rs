//! One key with several uses (KEY101, KEY103, KEY104): each gets its own key.
//!
//! **Invariant:** a child that already exists is preferred to a new one.

use super::advance;
use super::children;
use super::context::{FixContext, Proposal};
use super::elements;
use super::key_uses::{
    MOST_USES, Use, family, may_be_number, only_key, pair, uses_of, with_alternatives, with_ignored,
};
use super::layout;
use super::liveness::Variable;
use super::names::Action;
use super::split_apart::{apart, can_rebind};
use super::tree::{self, Step};
use crate::finding::{Finding, RuleId};
use crate::python::ast::{Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let mut proposals = alone(cx, findings, index);
    if let Some(joined) = proposals.first().and_then(|own| with_other_branches(cx, findings, index, own)) {
        proposals.insert(0, joined);
    }
    proposals
}

/// Other branches of one `if` that are fixed together.
const BRANCHES: usize = 8;

/// A fix together with the same fix in other branches of the same `if`; fixing only one would look like an oversight.
fn with_other_branches(cx: &FixContext<'_>, findings: &[Finding], index: usize, own: &Proposal) -> Option<Proposal> {
    let used = |at: usize| {
        let [call, _] = pair(cx, findings.get(at)?)?;
        Some((cx.code(only_key(cx, call, None)?), cx.steps(span_of(call))))
    };
    let (key, way) = used(index)?;
    let is_beside = |other: &[Step<'_>]| {
        let common = way.iter().zip(other).take_while(|(one, other)| one.is(**other)).count();
        let around = common.checked_sub(1).and_then(|last| way.get(last));
        let parts = || Some(!way.get(common)?.is_beside(*other.get(common)?));
        around.is_some_and(|around| matches!(around.statement(), Stmt::If(_))) && parts() == Some(true)
    };
    let others = cx.matching(findings, |other| {
        matches!(other.rule, RuleId::KeyReused | RuleId::KeyUsedAfterSplit | RuleId::KeyDerivedTwice)
            && other.function == findings[index].function
    });
    let mut joined = own.clone();
    let is_open = |at: &usize| !cx.is_resolved(*at);
    for at in others.into_iter().filter(is_open).take(BRANCHES) {
        if joined.resolves.contains(&at) || used(at).is_none_or(|(code, other)| code != key || !is_beside(&other)) {
            continue;
        }
        let Some(other) = alone(cx, findings, at).into_iter().next() else { continue };
        let meets = |edit: &Edit| {
            let mut known = joined.edits.iter();
            known.any(|one| one.span.start <= edit.span.end && edit.span.start <= one.span.end)
        };
        // If another branch needs different edits, it contains a different mistake.
        let is_alike = other.applicability == joined.applicability && other.message == joined.message;
        if !is_alike || other.edits.iter().any(meets) {
            continue;
        }
        joined.edits.extend(other.edits);
        joined.resolves.extend(other.resolves);
        joined.names.extend(other.names);
    }
    joined.edits.sort_by_key(|edit| edit.span);
    (joined.edits.len() > own.edits.len()).then_some(joined)
}

fn alone(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    if may_be_number(cx, pair(cx, &findings[index]).into_iter().flatten()) {
        return Vec::new();
    }
    let family = family(cx, findings, index);
    let uses = if family.len() < MOST_USES { uses_of(cx, findings, &family) } else { None };
    let mut proposals: Vec<Proposal> = Vec::new();
    proposals.extend(children::other_parent(cx, findings, index));
    proposals.extend(uses.as_ref().and_then(|uses| children::unused(cx, uses, &family)));
    proposals.extend(uses.as_ref().and_then(|uses| elements::free(cx, uses, &family)));
    proposals.extend(uses.as_ref().and_then(|uses| bound_result(cx, uses, &family)));
    proposals.extend(unused_sibling(cx, findings, index));
    proposals.extend(uses.as_ref().and_then(|uses| children::extend_split(cx, uses, &family)));
    if family.len() >= MOST_USES {
        return proposals;
    }
    if let Some(uses) = uses {
        let uses = with_alternatives(cx, with_ignored(cx, uses));
        proposals.extend(apart(cx, &uses, &family));
        proposals.extend(repeated_split(cx, &uses, &family));
        proposals.extend(advance::returned(cx, findings, index));
        return proposals;
    }
    proposals.extend(advance::held(cx, findings, index));
    proposals.extend(advance::returned(cx, findings, index));
    // If some uses do not get their key here, separating the others may be enough to separate all.
    let is_passed_on = |at: &usize| uses_of(cx, findings, &[*at]).is_some();
    let passed_on: Vec<usize> = family.iter().copied().filter(is_passed_on).collect();
    if let Some(uses) = uses_of(cx, findings, &passed_on).filter(|_| passed_on.contains(&index)) {
        proposals.extend(apart(cx, &uses, &family));
        proposals.extend(apart(cx, &uses, &passed_on));
    }
    proposals
}

/// A key from `key, subkey = split(key)`: the same statement is repeated before each use but the first.
fn repeated_split(cx: &FixContext<'_>, uses: &[Use<'_>], resolves: &[usize]) -> Option<Proposal> {
    let (first, later) = uses.split_first()?;
    let Expr::Name(key) = first.key else { return None };
    let key = key.id.as_str();
    let scope = cx.names.frame_at(first.span().start)?;
    let is_same = |one: &Use<'_>| {
        matches!(one.key, Expr::Name(name) if name.id.as_str() == key)
            && cx.names.frame_at(one.span().start) == Some(scope)
    };
    // The last binding before the first use.
    let bindings = cx.names.occurrences(key).iter().filter(|one| one.scope == scope && one.action == Action::Bind);
    let made = bindings.map(|one| one.span).filter(|span| span.end <= first.span().start).max()?;
    let step = cx.steps(made).pop()?;
    let Stmt::Assign(assign) = step.statement() else { return None };
    let ([Expr::Tuple(targets)], Expr::Call(split)) = (&assign.targets[..], &*assign.value) else { return None };
    let parent = split.arguments.args.first().filter(|_| split.arguments.len() == 1)?;
    let names: Vec<&str> = targets.elts.iter().map(|target| cx.code(target)).collect();
    let threads = names.len() == 2 && names.contains(&key) && names.contains(&cx.code(parent));
    let is_split = cx.is_split(split);
    if !threads || !is_split || !uses.iter().all(is_same) || !can_rebind(cx, scope, key) {
        return None;
    }
    let code = cx.slice(span_of(step.statement()));
    let mut edits: Vec<Edit> = Vec::with_capacity(later.len());
    for one in later {
        edits.push(layout::before(cx.text, span_of(one.steps.last()?.statement()).start, code));
    }
    edits.dedup();
    let is_apart = edits.len() == later.len() && !code.contains('\n');
    is_apart.then(|| {
        Proposal::new(
            format!("split `{}` again for each call; the numbers change", cx.code(parent)),
            edits,
            resolves.to_vec(),
        )
    })
}

/// `advance(key)`, whose result is discarded, makes the next key: `key = advance(key)`.
fn bound_result(cx: &FixContext<'_>, uses: &[Use<'_>], resolves: &[usize]) -> Option<Proposal> {
    let (first, later) = uses.split_first()?;
    let Expr::Name(key) = first.key else { return None };
    let key = key.id.as_str();
    let Stmt::Expr(statement) = first.steps.last()?.statement() else { return None };
    let scope = cx.names.frame_at(first.span().start)?;
    // The result of a library function may be anything, and so may that of a method, which can keep what it computes in its object; a function
    // that takes only a key has nothing else to return.
    let is_function = first.call.func.is_name_expr() || cx.path_of(&first.call.func).is_some();
    let is_helper = is_function && cx.model_of(&first.call.func).is_none() && first.call.arguments.len() == 1;
    let is_same = later.iter().all(|one| cx.code(one.key) == key && cx.names.frame_at(one.span().start) == Some(scope));
    let is_statement = span_of(&*statement.value) == first.call_span();
    (is_statement && is_helper && is_same && can_rebind(cx, scope, key)).then(|| {
        Proposal::new(
            format!("keep the key that `{}` returns; the numbers change", cx.code(&first.call.func)),
            vec![Edit::insert(first.call_span().start, format!("{key} = "))],
            resolves.to_vec(),
        )
    })
}

/// The unused child that was intended.
fn unused_sibling(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let finding = findings.get(index)?;
    let fix_hints = finding.fix_hints.as_ref()?;
    let unused = fix_hints.unused.as_ref()?;
    let span = cx.here(*finding.evidence.as_ref()?.second.first()?)?;
    let call = tree::call_at(cx.module, span)?;
    // A key that an object stores is split again by other code, and must not be drawn from first.
    let key = only_key(cx, call, fix_hints.written[1].as_deref()).filter(|key| !key.is_attribute_expr())?;
    let scope = cx.names.frame_at(span.start)?;
    // Keys that are derived afterwards would collide with the draw that keeps the key.
    let behind = cx.statements_after(cx.steps(span).pop()?);
    let is_alive = |name: &str| Variable::of(cx, scope, name).is_read_from(&behind);
    if matches!(key, Expr::Name(name) if is_alive(name.id.as_str())) {
        return None;
    }
    // A key from which other modules draw is used.
    let is_exported = cx.is_exported_from(scope, unused);
    // From the place where it was made.
    let bindings = cx.names.occurrences(unused).iter().filter(|one| one.scope == scope && one.action == Action::Bind);
    let made = bindings.map(|one| one.span).filter(|bound| bound.end <= span.start).max();
    // `key` of `key, a = split(key)` is for later splits.
    let is_carried = |made: Span| {
        let step = cx.steps(made).pop()?;
        let (split, _) = children::split_of(cx, step.statement())?;
        Some(cx.code(split.arguments.args.first()?) == unused)
    };
    if made.and_then(is_carried) == Some(true) {
        return None;
    }
    let (mut resolves, mut edits) = (vec![index], vec![Edit::replace(span_of(key), unused.clone())]);
    for (other, key) in exclusive_with(cx, findings, index, key) {
        resolves.push(other);
        edits.push(Edit::replace(span_of(key), unused.clone()));
    }
    edits.sort_by_key(|edit| edit.span);
    let span = edits.last().map_or(span, |last| span.cover(last.span));
    let range = made.map_or(cx.names.scopes[scope].full, |made| made.cover(span));
    let is_free = !cx.is_claimed(scope, unused, range) && !cx.names.deletes(scope, unused);
    if !cx.names.binds(scope, unused) || !is_free || is_exported {
        return None;
    }
    Some(
        Proposal::new(format!("use `{unused}`, which is still unused; the numbers change"), edits, resolves)
            .naming(cx.claim_within(scope, std::slice::from_ref(unused), range)),
    )
}

/// Findings with the same first consumption whose second ones are on paths that exclude each other and that of this finding, so that one
/// child is enough for all, with the expressions for their keys. None of them has an unused child of its own.
fn exclusive_with<'a>(cx: &FixContext<'a>, findings: &[Finding], index: usize, key: &Expr) -> Vec<(usize, &'a Expr)> {
    let Some(own) = findings.get(index).and_then(|finding| finding.evidence.as_ref()) else { return Vec::new() };
    let scope = cx.names.frame_at(span_of(key).start);
    let mut ways = vec![cx.steps(span_of(key))];
    let mut found = Vec::new();
    let candidates = cx.matching(findings, |other| {
        other.function == findings[index].function
            && other.evidence.as_ref().is_some_and(|evidence| evidence.first == own.first)
            && other.fix_hints.as_ref().is_some_and(|fix_hints| fix_hints.unused.is_none())
    });
    for other in candidates.into_iter().filter(|other| *other != index && !cx.is_resolved(*other)) {
        let place = findings[other].evidence.as_ref().and_then(|evidence| evidence.second.first());
        let call = place.and_then(|place| tree::call_at(cx.module, cx.here(*place)?));
        let Some(same) = call.and_then(|call| only_key(cx, call, Some(cx.code(key)))) else { continue };
        let steps = cx.steps(span_of(same));
        let is_same = cx.code(same) == cx.code(key) && cx.names.frame_at(span_of(same).start) == scope;
        if is_same && found.len() < MOST_USES && ways.iter().all(|way| tree::exclude(way, &steps)) {
            ways.push(steps);
            found.push((other, same));
        }
    }
    found
}
