//! Keys that are not replaced after a draw: a stored key that stays the same (KEY107), a consumed key that is passed on (KEY109),
//! and a constant key used where the caller passes one (KEY111).
//!
//! **Invariant:** a key is split in the statement before the one that draws from it, and only that draw's argument is renamed.

use super::attribute_keys::{NOT_STORED, Storage, storage_of};
use super::children::SplitKey;
use super::context::{FixContext, Proof, Proposal, is_plain};
use super::jax;
use super::key_uses::{Use, only_key};
use super::layout;
use super::liveness::Variable;
use super::names::{Action, ScopeId, ScopeKind};
use super::split_apart::{assigns, can_rebind};
use super::tree;
use super::writer::statement;
use crate::finding::{Finding, Place};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// `self.key, subkey = split(self.key)` before the draw, which gets the child.
pub(super) fn stored(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let own = |cx: &FixContext<'_>, scope: ScopeId, key: &Expr| match key {
        // An attribute of a parameter still exists in the next call.
        Expr::Attribute(attribute) => match &*attribute.value {
            Expr::Name(object) => cx
                .names
                .occurrences(object.id.as_str())
                .iter()
                .any(|one| one.scope == scope && one.action == Action::Parameter),
            _ => false,
        },
        _ => false,
    };
    let mut proposals: Vec<Proposal> = split_before(cx, findings, index, &own).into_iter().collect();
    // A traced method that stores a key leaks a tracer.
    let key = key_of(cx, findings, index);
    if key.is_none_or(|key| storage_of(cx, key) != Storage::Writable) {
        for proposal in &mut proposals {
            proposal.make_display_only(NOT_STORED);
        }
    }
    proposals
}

/// Stores the next key before each of two draws in methods that get the object's key, if a caller reaches both through the object.
pub(super) fn held(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let mut uses: Vec<Use<'_>> = Vec::new();
    for way in ways(&findings[index])? {
        // The draw, or the call that leads to it and gets the object's key.
        let given = way.iter().skip(1).rev().find_map(|place| {
            let call = tree::call_at(cx.module, cx.here(*place)?)?;
            let key = only_key(cx, call, None).filter(|key| key.is_attribute_expr() && is_plain(key))?;
            Some(Use { call, key, steps: cx.steps(span_of(call)) })
        })?;
        let goes_on = given.steps.last().is_some_and(|step| assigns(cx, step.statement(), cx.code(given.key)));
        if !goes_on && !uses.iter().any(|known| known.span() == given.span()) {
            uses.push(given);
        }
    }
    let (first, others) = uses.split_first()?;
    // Two draws in one statement get their keys together, from other fixes.
    let is_apart = |one: &Use<'_>| !one.steps.last().zip(first.steps.last()).is_none_or(|(one, first)| one.is(*first));
    if !others.iter().all(is_apart) {
        return None;
    }
    let mut edits = Vec::new();
    let mut reserved = Vec::new();
    let mut is_doubtful = false;
    let mut extended: Vec<Span> = Vec::new();
    for one in &uses {
        let scope = cx.names.frame_at(one.span().start)?;
        match storage_of(cx, one.key) {
            Storage::None => return None,
            Storage::Unknown => is_doubtful = true,
            Storage::Writable => {}
        }
        let around = one.steps.last()?.statement();
        if cx.is_split(one.call)
            && let Some(unread) = unread_target(cx, around, one.call)
        {
            edits.push(Edit::replace(unread, cx.code(one.key).to_owned()));
            continue;
        }
        if let Some(child) = child_of_split(cx, one).filter(|child| !extended.contains(&child.statement)) {
            extended.push(child.statement);
            edits.extend(child.edits);
            reserved.extend(cx.claim_within(scope, &child.names, child.range));
            continue;
        }
        let start = span_of(one.steps.last()?.statement()).start;
        let code = cx.code(one.key);
        let split = cx.spelled(start, jax::SPLIT, Some(one.call))?;
        let range = Span::new(start, one.call_span().end);
        let names = cx.fresh_within(scope, code, 1, range);
        edits.push(layout::before(cx.text, start, &statement(code, &split, &names, true)));
        edits.push(Edit::replace(one.span(), names.first()?.clone()));
        reserved.extend(cx.claim_within(scope, &names, range));
    }
    let is_same = |other: &Finding| {
        let last = |finding: &Finding| ways(finding).map(|ways| ways.map(|way| way.last().copied()));
        other.evidence.is_some() && last(other) == last(&findings[index])
    };
    let message = format!("split `{}`, keep one child and draw from the other; the numbers change", cx.code(first.key));
    let mut proposal = Proposal::new(message, edits, cx.matching(findings, is_same)).naming(reserved);
    if is_doubtful {
        proposal.make_display_only(NOT_STORED);
    }
    Some(proposal)
}

/// A child of the split that made a key, for one use of it.
struct Child {
    /// The statement of the split.
    statement: Span,
    edits: Vec<Edit>,
    names: Vec<String>,
    range: Span,
}

/// `self.key, _ = split(self.key)` before the draw: the draw gets the child that is left aside, or one more.
fn child_of_split(cx: &FixContext<'_>, one: &Use<'_>) -> Option<Child> {
    let made = SplitKey::of(cx, one).filter(|made| made.can_replace(cx, one) && made.is_carried(cx))?;
    let mut unused = made.unused_until(cx, one.span());
    unused.truncate(1);
    let (mut edits, names, range) = made.assign(cx, &[one], &unused)?;
    edits.push(Edit::replace(one.span(), names.first()?.clone()));
    Some(Child { statement: span_of(made.step.statement()), edits, names, range })
}

/// The ways to the two draws of a finding that are in functions it calls.
fn ways(finding: &Finding) -> Option<[&[Place]; 2]> {
    let evidence = finding.evidence.as_ref()?;
    Some([&evidence.first[..], &evidence.second[..]])
}

/// The key of a finding's draw.
fn key_of<'a>(cx: &FixContext<'a>, findings: &[Finding], index: usize) -> Option<&'a Expr> {
    let fix_hints = findings[index].fix_hints.as_ref()?;
    let call = tree::call_at(cx.module, cx.here(fix_hints.used_at?)?)?;
    only_key(cx, call, fix_hints.written[0].as_deref()).filter(|key| is_plain(key))
}

/// `key, subkey = split(key)` before the draw, so that the key passed on is a fresh one.
pub(super) fn passed_on(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    // The value that the attribute already holds must be split at the assignment.
    let is_held =
        findings[index].fix_hints.as_ref().is_some_and(|fix_hints| fix_hints.used_at == Some(findings[index].primary));
    if is_held {
        return stored(cx, findings, index);
    }
    let sibling = unused_sibling(cx, findings, index);
    sibling.into_iter().chain(split_before(cx, findings, index, &is_rebindable)).collect()
}

/// `rng, subkey = split(rng)` before the draw, if `subkey` is passed on and nothing reads `rng`: that child is passed on instead.
fn unused_sibling(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let passed = cx.here(findings[index].primary)?;
    let used_at = findings[index].fix_hints.as_ref()?.used_at?;
    let call = tree::call_at(cx.module, cx.here(used_at)?)?;
    let key = key_of(cx, findings, index)?;
    let Expr::Name(name) = key else { return None };
    let made = SplitKey::of(cx, &Use { call, key, steps: cx.steps(span_of(call)) })?;
    let child = made.unused_until(cx, passed).into_iter().find(|child| !child.id.as_str().starts_with('_'))?;
    let reads = cx.names.occurrences(name.id.as_str()).iter();
    let mut within = reads.filter(|one| one.action == Action::Read && passed.covers(one.span));
    let (Some(read), None) = (within.next(), within.next()) else { return None };
    // A lambda or comprehension may have a variable of the child's name.
    if read.scope != cx.names.frame_at(span_of(key).start)? {
        return None;
    }
    let message = format!("pass on `{}`, which is still unused; the numbers change", child.id);
    let edits = vec![Edit::replace(read.span, child.id.to_string())];
    Some(Proposal::new(message, edits, vec![index]).proved_by(Proof::Own { instead: None }))
}

/// The same for a function that consumes its key and then returns it, so that its caller consumes it again. What draws again elsewhere may
/// need the same numbers: to decode what was encoded, or to differentiate what was computed.
pub(super) fn returned(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let evidence = findings[index].evidence.as_ref()?;
    let mut proposal = split_before(cx, findings, index, &is_rebindable)?.proved_by(Proof::Claim);
    if !evidence.ends_in_split && evidence.first.last() != evidence.second.last() {
        proposal.make_display_only(DRAWN_AGAIN);
    }
    Some(proposal)
}

/// Why a returned key may be consumed again on purpose.
const DRAWN_AGAIN: &str = "the caller may need the same numbers";

/// Whether a key is a variable that a statement in this scope can bind.
fn is_rebindable(cx: &FixContext<'_>, scope: ScopeId, key: &Expr) -> bool {
    matches!(key, Expr::Name(name) if can_rebind(cx, scope, name.id.as_str()))
}

fn split_before(
    cx: &FixContext<'_>,
    findings: &[Finding],
    index: usize,
    can_store: &dyn Fn(&FixContext<'_>, ScopeId, &Expr) -> bool,
) -> Option<Proposal> {
    let finding = &findings[index];
    let fix_hints = finding.fix_hints.as_ref()?;
    let call = tree::call_at(cx.module, cx.here(fix_hints.used_at?)?)?;
    let key = key_of(cx, findings, index)?;
    let scope = cx.names.frame_at(span_of(key).start)?;
    if cx.names.scopes[scope].kind == ScopeKind::Class || !can_store(cx, scope, key) {
        return None;
    }
    let code = cx.code(key);
    let step = cx.steps(span_of(call)).pop()?;
    let start = span_of(step.statement()).start;
    let split = cx.spelled(start, jax::SPLIT, Some(call))?;
    let message = format!("split `{code}`, keep one child and draw from the other; the numbers change");
    let proposal = |edits: Vec<Edit>, names: &[String]| {
        Proposal::new(message, edits, vec![index])
            .proved_by(Proof::Own { instead: None })
            .naming(cx.claim(scope, names))
    };
    // `_, subkey = split(self.key)`: the discarded child is kept, and `a, b = split(key)` makes one more.
    if cx.is_split(call) {
        let edits = one_more(cx, step.statement(), call, code)?;
        return Some(proposal(edits, &[]));
    }
    let used = Use { call, key, steps: cx.steps(span_of(call)) };
    if let Some(child) = child_of_split(cx, &used) {
        return Some(proposal(child.edits, &child.names));
    }
    // A suite that is repeated would pass on a key that its earlier statements used.
    let names = cx.fresh(scope, code, 1);
    let edits = vec![
        layout::before(cx.text, start, &statement(code, &split, &names, true)),
        Edit::replace(span_of(key), names.first()?.clone()),
    ];
    Some(proposal(edits, &names))
}

/// The edits that make `a, b = split(key)` into `key, a, b = split(key, 3)`, and `_, a = split(key)` into `key, a = split(key)`.
fn one_more(cx: &FixContext<'_>, statement: &Stmt, call: &ast::ExprCall, key: &str) -> Option<Vec<Edit>> {
    let Stmt::Assign(assign) = statement else { return None };
    let ([Expr::Tuple(targets)], true) = (&assign.targets[..], span_of(&*assign.value) == span_of(call)) else {
        return None;
    };
    if let Some(dropped) = targets.elts.iter().find(|target| cx.code(target) == "_") {
        // A variable named `_` may still be read.
        if cx.names.occurrences("_").iter().any(|one| one.action == Action::Read) {
            return None;
        }
        return Some(vec![Edit::replace(span_of(dropped), key.to_owned())]);
    }
    if let Some(unread) = unread_target(cx, statement, call) {
        return Some(vec![Edit::replace(unread, key.to_owned())]);
    }
    let first = span_of(targets.elts.first()?).start;
    let count = targets.elts.len() + 1;
    let is_plain_split = !targets.elts.iter().any(|target| matches!(target, Expr::Starred(_)));
    let number = match (&call.arguments.args[..], &call.arguments.keywords[..]) {
        ([_], []) => {
            let end = span_of(call).end - 1;
            Edit::insert(end, format!(", {count}"))
        }
        ([_, number], []) => Edit::replace(span_of(number), count.to_string()),
        ([_], [number]) => Edit::replace(span_of(&number.value), count.to_string()),
        _ => return None,
    };
    is_plain_split.then(|| vec![Edit::insert(first, format!("{key}, ")), number])
}

/// The child of a split that is a statement which nothing reads: the next key, which should have been stored.
fn unread_target(cx: &FixContext<'_>, statement: &Stmt, call: &ast::ExprCall) -> Option<Span> {
    let Stmt::Assign(assign) = statement else { return None };
    let ([Expr::Tuple(targets)], true) = (&assign.targets[..], span_of(&*assign.value) == span_of(call)) else {
        return None;
    };
    let scope = cx.names.frame_at(span_of(call).start)?;
    let after = cx.statements_after(cx.steps(span_of(call)).pop()?);
    let is_unread = |target: &&Expr| match target {
        Expr::Name(name) => {
            let name = name.id.as_str();
            name != "_" && Variable::of(cx, scope, name).is_unneeded_from(&after)
        }
        _ => false,
    };
    targets.elts.iter().find(is_unread).map(span_of)
}

/// `key(0)` in a function with a parameter `key` becomes `key`; with a parameter `seed` it becomes `key(seed)`.
pub(super) fn ignored(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    callers(cx, findings, index).into_iter().collect()
}

fn callers(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let finding = &findings[index];
    let parameter = finding.fix_hints.as_ref()?.unused.as_deref()?;
    let call = tree::call_at(cx.module, cx.here(finding.primary)?)?;
    let seed = cx.seed_of(call)?;
    let scope = cx.names.scope_at(span_of(call).start);
    let binder = cx.names.binder(scope, parameter)?;
    let occurrences = cx.names.occurrences(parameter);
    let is_parameter = |one: &super::names::Occurrence| one.scope == binder && one.action == Action::Parameter;
    let declared = occurrences.iter().find(|one| is_parameter(one))?;
    // A parameter that may be `None` does not count as a key, and one that is rebound is no longer the caller's.
    let is_bound = occurrences.iter().any(|one| one.scope == binder && one.action == Action::Bind);
    let default = default_of(cx, declared.span);
    if is_bound || default.is_some_and(Expr::is_none_literal_expr) {
        return None;
    }
    let is_seed = parameter.to_ascii_lowercase().contains("seed")
        || default.is_some_and(|default| matches!(default, Expr::NumberLiteral(_)));
    let annotation = annotation_of(cx, declared.span).map(|annotation| cx.code(annotation));
    let is_intended = match annotation {
        Some(annotation) if is_seed => annotation.trim_matches(['"', '\'']) == "int",
        Some(annotation) => annotation.contains("Key") || annotation.contains("Array"),
        // Several keys are not a single key.
        None => is_seed || !parameter.ends_with('s'),
    };
    if !is_intended {
        return None;
    }
    let span = if is_seed { span_of(seed) } else { span_of(call) };
    Some(
        Proposal::new(
            format!("use the caller's `{parameter}`; the numbers change"),
            vec![Edit::replace(span, parameter.to_owned())],
            vec![index],
        )
        .proved_by(Proof::Own { instead: None }),
    )
}

/// The default of the parameter whose name is at a span.
fn default_of<'a>(cx: &FixContext<'a>, name: Span) -> Option<&'a Expr> {
    tree::ancestors(cx.module, name).into_iter().find_map(|node| match node {
        ast::AnyNodeRef::ParameterWithDefault(parameter) => parameter.default.as_deref(),
        _ => None,
    })
}

/// The annotation of the parameter whose name is at a span.
fn annotation_of<'a>(cx: &FixContext<'a>, name: Span) -> Option<&'a Expr> {
    tree::ancestors(cx.module, name).into_iter().find_map(|node| match node {
        ast::AnyNodeRef::Parameter(parameter) => parameter.annotation.as_deref(),
        _ => None,
    })
}
