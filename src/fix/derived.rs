//! Derivations made twice (KEY104), or never used (KEY110).
//!
//! **Invariant:** equal `fold_in` calls each get their own key; no data is invented for them.

use super::context::{FixContext, Proof, Proposal};
use super::dead_splits;
use super::key_uses::{Use, only_key};
use super::names::{Action, Occurrence, ScopeId, ScopeKind};
use super::reuse;
use super::split_apart;
use super::tree;
use crate::finding::{Applicability, Finding, Place, RuleId};
use crate::models::Effect;
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::Edit;

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let derived = findings[index].fix_hints.as_ref().and_then(|fix_hints| fix_hints.derived_at);
    let Some((first, again)) = derived else { return reuse::propose(cx, findings, index) };
    let used = |place: Place| {
        let span = cx.here(place)?;
        let call = tree::call_at(cx.module, span)?;
        Some(Use { call, key: only_key(cx, call, None)?, steps: cx.steps(span) })
    };
    let mut proposals = Vec::new();
    if let (Some(first), Some(again)) = (used(first), used(again)) {
        let mut uses = vec![first, again];
        uses.sort_by_key(|one| span_of(one.key));
        proposals = split_apart::apart(cx, &uses, &[index]);
    }
    if proposals.is_empty() {
        // If a callee derives, the calls that lead to it get their own keys.
        proposals = reuse::propose(cx, findings, index);
    }
    proposals
}

/// A `split` whose result is not bound: a fix of the later draw from the parent resolves this as well.
pub(super) fn bind_discarded(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let unused = findings[index].fix_hints.as_ref().and_then(|fix_hints| fix_hints.unused.as_deref());
    if let Some(unused) = unused {
        return rename_unused(cx, findings, index, unused).into_iter().collect();
    }
    let place = findings[index].primary;
    let later = cx.matching(findings, |other| {
        matches!(other.rule, RuleId::KeyUsedAfterSplit | RuleId::KeyDerivedTwice)
            && other.evidence.as_ref().is_some_and(|evidence| evidence.first.first() == Some(&place))
    });
    let Some(later) = later.first() else { return dead_splits::deleted(cx, findings, index).into_iter().collect() };
    let mut proposals = reuse::propose(cx, findings, *later);
    for proposal in &mut proposals {
        proposal.resolves.push(index);
    }
    proposals
}

/// Whether a finding is about a key that should have been another one.
fn is_mistaken(finding: &Finding) -> bool {
    finding.evidence.is_some() || finding.fix_hints.as_ref().is_some_and(|fix_hints| fix_hints.used_at.is_some())
}

/// A child that nothing uses is renamed to `_`, if its name has no other use.
fn rename_unused(cx: &FixContext<'_>, findings: &[Finding], index: usize, unused: &str) -> Option<Proposal> {
    let span = cx.here(findings[index].primary)?;
    let step = cx.steps(span).pop()?;
    let scope = cx.names.frame_at(span.start)?;
    let target = tree::targets(step.statement()).iter().flat_map(tree::names_bound);
    let mut named = target.filter(|name| name.id.as_str() == unused);
    let (only, None) = (named.next()?, named.next()) else { return None };
    // If no other child is used, nothing should be derived.
    let bound = tree::targets(step.statement()).iter().flat_map(tree::names_bound);
    let kept: Vec<&str> = bound.map(|name| name.id.as_str()).filter(|name| !["_", unused].contains(name)).collect();
    let after = span_of(step.statement()).end;
    // In a loop, earlier code may read it in the next iteration; `_` may be a function that translates messages.
    let is_repeated = cx.steps(span).iter().any(|step| matches!(step.statement(), Stmt::For(_) | Stmt::While(_)));
    let is_read =
        |one: &Occurrence, name: &str| one.action == Action::Read && cx.names.binder(one.scope, name) == Some(scope);
    let is_declared = |one: &Occurrence| one.action == Action::Declare && cx.names.is_within(one.scope, scope);
    // The fix of a mistake with keys may use the child.
    let is_wanted = findings.iter().any(|other| {
        is_mistaken(other) && cx.here(other.primary).is_some_and(|span| cx.names.frame_at(span.start) == Some(scope))
    });
    let is_used = |name: &str| {
        let mut occurrences = cx.names.occurrences(name).iter();
        occurrences.any(|one| {
            is_read(one, name) && (one.span.start >= after || one.scope != scope || is_repeated) || is_declared(one)
        })
    };
    let is_needed = is_wanted || is_used(unused) || !kept.iter().any(|name| is_used(name));
    let is_translated = cx.names.occurrences("_").iter().any(|one| one.action == Action::Read);
    let is_local = cx.names.scopes[scope].kind == ScopeKind::Function;
    let Stmt::Assign(assign) = step.statement() else { return None };
    let is_doubtful = draws_from_carried_parent(cx, scope, assign, &kept) || is_mentioned(cx, scope, unused);
    (is_local && !is_needed && !is_translated).then(|| {
        Proposal::new(
            format!("rename the unused `{unused}` to `_`"),
            vec![Edit::replace(span_of(only), "_")],
            vec![index],
        )
        .proved_by(Proof::Nothing)
        .applied(Applicability::Safe)
        .display_only_if(
            is_doubtful,
            "the unused child may be the one that should have been used, or a comment mentions it",
        )
    })
}

/// Whether the parent that a split carries on is drawn from after it: `key, subkey = split(key)`, and then
/// `normal(key)`. The child may have been intended; renaming it to `_` would hide that.
fn draws_from_carried_parent(cx: &FixContext<'_>, scope: ScopeId, split: &ast::StmtAssign, kept: &[&str]) -> bool {
    let read = tree::expressions_within(&split.value).into_iter().filter_map(Expr::as_name_expr);
    let carried: Vec<&str> = read.map(|name| name.id.as_str()).filter(|name| kept.contains(name)).collect();
    let is_carried = |argument: &Expr| argument.as_name_expr().is_some_and(|name| carried.contains(&name.id.as_str()));
    let is_draw = |call: &ast::ExprCall| {
        cx.model_of(&call.func).is_some_and(|callable| matches!(callable.effect, Effect::Sample { .. }))
    };
    tree::calls(cx.module).into_iter().any(|call| {
        let start = span_of(call).start;
        start >= span_of(split).end
            && cx.names.frame_at(start) == Some(scope)
            && is_draw(call)
            && tree::arguments(call).any(is_carried)
    })
}

/// Whether the text of a function contains a name where it is not a variable: in a comment or a string, which would become wrong.
pub(super) fn is_mentioned(cx: &FixContext<'_>, scope: ScopeId, name: &str) -> bool {
    let full = cx.names.scopes[scope].full;
    let text = cx.slice(full);
    let is_part = |one: Option<char>| one.is_some_and(|one| one.is_alphanumeric() || one == '_');
    let mut found = text.match_indices(name).filter(|(at, _)| {
        !is_part(text[..*at].chars().next_back()) && !is_part(text[at + name.len()..].chars().next())
    });
    found.any(|(at, _)| {
        let start = u32::try_from(at).map_or(u32::MAX, |at| full.start.saturating_add(at));
        let is_variable = cx.names.occurrences(name).iter().any(|one| one.span.start == start);
        // An attribute or an argument of that name is something else.
        let is_other = text[..at].ends_with('.') || text[at + name.len()..].starts_with('=');
        !is_variable && !is_other
    })
}
