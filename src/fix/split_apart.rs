//! Gives each of several uses its own key, by splitting the key before the first.
//!
//! **Invariant:** the statement that splits dominates all uses, is in the function that contains them all, and the key is not rebound
//! between it and the last of them.

use super::attribute_keys::{NOT_STORED, Storage, storage_of};
use super::context::{FixContext, Proposal};
use super::elements;
use super::jax;
use super::key_uses::{Use, root_name, shared};
use super::liveness::Variable;
use super::names::{Action, ScopeId, ScopeKind};
use super::optional_keys;
use super::tree::{self, Step};
use super::writer::{Site, Split, Writer};
use crate::python::ast::{Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// Proposals that give each use its own key.
pub(super) fn apart(cx: &FixContext<'_>, uses: &[Use<'_>], resolves: &[usize]) -> Vec<Proposal> {
    let Some(site) = site(cx, uses) else { return inline(cx, uses, resolves) };
    let Some(first) = uses.first() else { return Vec::new() };
    let start = span_of(site.step.statement()).start;
    let key = cx.code(first.key);
    let Some(split) = cx.spelled(start, jax::SPLIT, Some(first.call)) else { return Vec::new() };
    let split = if uses.iter().any(|one| one.is_mapped(cx)) {
        let Some(vmap) = cx.spelled(start, jax::VMAP, None) else { return Vec::new() };
        Split::Lanes { vmap, split }
    } else {
        Split::Plain(split)
    };
    let writer = Writer { cx, site: &site, start, key, split, resolves };
    let same = uses.iter().all(|one| cx.code(one.key) == key);
    // The container of the key holds others as well: `keys["params"]` and `keys`.
    let is_part = |one: &Use<'_>| cx.code(one.key) != key && root_name(one.key) == root_name(first.key);
    if uses.iter().any(is_part) {
        return Vec::new();
    }
    let name = match first.key {
        Expr::Name(name) if same => Some(name.id.as_str()),
        _ => None,
    };
    let holds = storage_of(cx, first.key);
    // Targets that can store the next key.
    let carrier = name.or(Some(key).filter(|_| same && holds == Storage::Writable));
    let last = uses.last().unwrap_or(first);
    let rebinds = carrier.is_some_and(|carrier| is_rebound_by(cx, last, carrier));
    let optional = || uses.iter().any(|one| optional_keys::is_optional_key(cx, one.call, one.key, &[start]));
    let writer = match writer.split {
        Split::Plain(split) if name.is_some() && !rebinds && uses.len() > 1 && optional() => {
            let whole = Writer { split: Split::Optional(split), ..writer };
            let is_once = !is_live(cx, &site, uses) && uses.iter().all(|one| loop_below(one, site.depth).is_none());
            return whole.split_into(uses, false).into_iter().filter(|_| is_once).collect();
        }
        _ => writer,
    };
    if is_bound_between(cx, &site, uses, rebinds) {
        return inline(cx, uses, resolves);
    }
    // A use that rebinds the key in every iteration needs no split.
    let goes_on = |one: &Use<'_>| carrier.is_some_and(|carrier| is_rebound_by(cx, one, carrier));
    let looped: Vec<Option<Step<'_>>> = uses
        .iter()
        .map(|one| loop_below(one, site.depth).filter(|around| !goes_on(one) && !one.is_distinguished(cx, *around)))
        .collect();
    let is_kept = holds == Storage::Writable && carrier.is_some();
    let can_rebind = is_kept || name.is_some_and(|name| can_rebind(cx, site.scope, name));
    let mut proposals: Vec<Proposal> = elements::rows(cx, uses, resolves).into_iter().collect();
    if looped.iter().any(Option::is_some) {
        if can_rebind {
            proposals.extend(writer.one_by_one(uses, &goes_on));
        }
        return proposals;
    }
    if can_rebind && cx.names.scopes[site.scope].kind == ScopeKind::Module && !cx.are_near(first.span(), last.span()) {
        proposals.extend(writer.one_by_one(uses, &|one| rebinds && std::ptr::eq(one, last)));
    }
    if can_rebind && is_bare_split(cx, first) {
        proposals.extend(writer.bind(first, &uses[1..]));
    }
    if name.is_some() && !rebinds && !is_live(cx, &site, uses) {
        proposals.extend(writer.widen(first, &uses[1..]));
    }
    if name.is_some() && (rebinds || !is_live(cx, &site, uses)) {
        proposals.extend(writer.hoist(last, &uses[..uses.len() - 1]));
    }
    // A statement that splits the key for a loop continues with it, rather than with one of two keys of the same name.
    let is_whole = last.replaceable(cx) == last.span();
    let goes_on_with = can_rebind && !rebinds && uses.len() == 2 && cx.is_split(last.call) && is_whole;
    if goes_on_with && cx.purposes(site.scope, key, &[first.given(), last.given()], writer.range(uses)).is_none() {
        proposals.extend(writer.split_into(&uses[..1], true));
    }
    if can_rebind && !rebinds {
        proposals.extend(before_branches(&writer, uses));
    }
    let names_only = || writer.split_into(uses, false);
    if !can_rebind {
        proposals.extend(names_only());
    } else if rebinds {
        proposals.extend(writer.split_into(&uses[..uses.len() - 1], true));
    } else if is_kept {
        proposals.extend(writer.split_into(uses, true));
    } else if is_live(cx, &site, uses) {
        proposals.extend(writer.split_into(uses, true));
        proposals.extend(names_only());
    } else {
        proposals.extend(names_only());
        proposals.extend(writer.split_into(uses, true));
    }
    proposals.extend(inline(cx, uses, resolves));
    // The next call would draw the same numbers again.
    if holds == Storage::Unknown {
        for proposal in &mut proposals {
            proposal.make_display_only(NOT_STORED);
        }
    }
    proposals
}

/// Keys for the uses before exclusive branches, each of which continues with the key.
fn before_branches(writer: &Writer<'_, '_>, uses: &[Use<'_>]) -> Option<Proposal> {
    let keys = shared(writer.cx, uses);
    let last = keys.iter().max()?;
    let (others, branches) = uses.split_at(keys.iter().filter(|key| *key < last).count());
    let are_last = branches.len() > 1 && keys[others.len()..].iter().all(|key| key == last);
    let is_branch = |one: &Use<'_>| branches.iter().any(|other| std::ptr::eq(one, other));
    match others {
        _ if !are_last => None,
        [] => None,
        [_] => writer.one_by_one(uses, &is_branch),
        _ => writer.split_into(others, true),
    }
}

/// Where a split has to be inserted to dominate all uses.
pub(super) fn site<'a>(cx: &FixContext<'_>, uses: &[Use<'a>]) -> Option<Site<'a>> {
    let first = uses.first()?;
    let mut common = 0;
    while uses.iter().all(|one| match (one.steps.get(common), first.steps.get(common)) {
        (Some(step), Some(other)) => step.is(*other),
        _ => false,
    }) {
        common += 1;
    }
    // The differing statements may be siblings; otherwise the split goes before the enclosing one.
    let beside = uses.iter().all(|one| match (one.steps.get(common), first.steps.get(common)) {
        (Some(step), Some(other)) => step.is_beside(*other),
        _ => false,
    });
    let depth = if beside { common } else { common.checked_sub(1)? };
    let earliest = uses.iter().filter_map(|one| one.steps.get(depth)).min_by_key(|step| step.index)?;
    let scope = cx.names.frame_at(span_of(earliest.statement()).start)?;
    // Statements in a class body, or in a nested function, belong elsewhere. A lambda that a use passes on runs with
    // it.
    let is_passed = |one: &Use<'_>| {
        let within = cx.names.scope_at(one.span().start);
        let root = root_name(one.key);
        cx.names.scopes[within].kind == ScopeKind::Lambda
            && cx.names.scopes[within].parent == scope
            && one.call_span().covers(cx.names.scopes[within].full)
            && root.is_some_and(|root| cx.names.binder(within, root) == Some(scope))
    };
    let is_own = uses.iter().all(|one| cx.names.frame_at(one.span().start) == Some(scope) || is_passed(one));
    (is_own && cx.names.scopes[scope].kind != ScopeKind::Class).then_some(Site { scope, step: *earliest, depth })
}

/// The innermost loop between the split and a use, whose body would see the same key in each iteration.
pub(super) fn loop_below<'a>(one: &Use<'a>, depth: usize) -> Option<Step<'a>> {
    let inner = one.steps.get(depth + 1..)?.iter().enumerate().rev();
    for (offset, step) in inner {
        let around = one.steps[depth + offset];
        let is_body = match around.statement() {
            Stmt::For(each) => step.is_in(&each.body),
            Stmt::While(repeat) => step.is_in(&repeat.body),
            _ => false,
        };
        if is_body {
            return Some(around);
        }
    }
    None
}

/// Whether the statement of a use gives the variable or attribute its next key, as `key, subkey = split(key)` does.
fn is_rebound_by(cx: &FixContext<'_>, one: &Use<'_>, carrier: &str) -> bool {
    let Some(step) = one.steps.last() else { return false };
    matches!(step.statement(), Stmt::Assign(_)) && assigns(cx, step.statement(), carrier)
}

/// Whether a simple statement assigns to a variable or attribute, as written.
pub(super) fn assigns(cx: &FixContext<'_>, statement: &Stmt, carrier: &str) -> bool {
    let assigned = tree::targets(statement).iter().flat_map(tree::assigned);
    assigned.into_iter().any(|target| cx.code(target) == carrier)
}

/// Whether a variable can be assigned to in a scope without turning another into it.
pub(super) fn can_rebind(cx: &FixContext<'_>, scope: ScopeId, name: &str) -> bool {
    cx.names.binds(scope, name)
        && !cx.names.declares(scope, name)
        && !cx.names.occurrences(name).iter().any(|one| one.scope == scope && one.action == Action::Import)
}

/// Whether the key is rebound after the split and before the last use.
fn is_bound_between(cx: &FixContext<'_>, site: &Site<'_>, uses: &[Use<'_>], last_rebinds: bool) -> bool {
    let start = span_of(site.step.statement()).start;
    let Some(last) = uses.last() else { return true };
    let exempt = last.steps.last().filter(|_| last_rebinds).map(|step| span_of(step.statement()));
    // A rebinding after the last use, in its own statement or later, comes too late to matter.
    let end = last.span().end;
    let counts = |at: Span| start <= at.start && at.start < end && !exempt.is_some_and(|exempt| exempt.covers(at));
    let mut keys = uses.iter().map(|one| one.key).filter(|key| !key.is_name_expr()).peekable();
    let is_stored =
        |key: &Expr| tree::stored(cx.module).any(|target| counts(span_of(target)) && cx.code(target) == cx.code(key));
    if keys.peek().is_some() && keys.any(is_stored) {
        return true;
    }
    uses.iter().any(|one| {
        let Some(root) = root_name(one.key) else { return true };
        cx.names.occurrences(root).iter().any(|found| {
            let binds = matches!(found.action, Action::Bind | Action::Import);
            binds && counts(found.span) && cx.names.is_within(found.scope, site.scope)
        })
    })
}

/// Whether the variable is live after the split, apart from the uses: in later statements, in nested functions, in the split itself if a
/// loop repeats it.
fn is_live(cx: &FixContext<'_>, site: &Site<'_>, uses: &[Use<'_>]) -> bool {
    let Some((first, name)) = uses.first().and_then(|first| Some((first, root_name(first.key)?))) else { return false };
    let exempt: Vec<Span> = uses.iter().map(Use::root_span).collect();
    let way: Vec<Step<'_>> = first.steps.iter().take(site.depth).chain([&site.step]).copied().collect();
    let split = Some(span_of(site.step.statement()));
    let start = span_of(site.step.statement()).start;
    let is_looped = way.iter().any(|step| matches!(step.statement(), Stmt::For(_) | Stmt::While(_)));
    let is_other = |one: &super::names::Occurrence| {
        one.action == Action::Read
            && one.span.start >= start
            && cx.names.is_within(one.scope, site.scope)
            && !exempt.contains(&one.span)
    };
    // A variable that is read only by lambdas that the uses pass on is not read later.
    let is_passed = uses.iter().any(|one| cx.names.frame_at(one.span().start).is_none());
    if is_passed && !is_looped && !cx.names.occurrences(name).iter().any(is_other) {
        return false;
    }
    Variable { cx, scope: site.scope, name, exempt: &exempt, split }.is_read_from(&way)
}

/// Whether a use is a statement that splits and discards the result.
fn is_bare_split(cx: &FixContext<'_>, one: &Use<'_>) -> bool {
    cx.is_split(one.call)
        && one.steps.last().is_some_and(|step| match step.statement() {
            Stmt::Expr(statement) => span_of(&*statement.value) == span_of(one.call),
            _ => false,
        })
}

/// If no statement can be inserted, or the key cannot be rebound: a derived key for each use, written in its place.
fn inline(cx: &FixContext<'_>, uses: &[Use<'_>], resolves: &[usize]) -> Vec<Proposal> {
    let Some(first) = uses.first() else { return Vec::new() };
    let is_lambda = uses.iter().all(|one| {
        let scope = cx.names.scope_at(one.span().start);
        cx.names.scopes[scope].kind == ScopeKind::Lambda && scope == cx.names.scope_at(first.span().start)
    });
    let same = uses.iter().all(|one| cx.code(one.key) == cx.code(first.key));
    if !is_lambda || !same {
        return Vec::new();
    }
    let Some(fold) = cx.spelled(first.span().start, jax::FOLD_IN, Some(first.call)) else {
        return Vec::new();
    };
    let key = cx.code(first.key);
    let edits = uses
        .iter()
        .enumerate()
        .map(|(number, one)| Edit::replace(one.span(), format!("{fold}({key}, {number})")))
        .collect();
    vec![Proposal::new(
        format!("derive a key from `{key}` for each call; the numbers change"),
        edits,
        resolves.to_vec(),
    )]
}
