//! One key for several consumptions (KEY101, KEY103, KEY104): split it before the first, and give each a key of its own.
//!
//! **Invariant:** the statement that splits stands where every consumption passes it, in the function that holds them all, and
//! the key is not bound anew between there and the last of them.

use super::attribute_keys::{Storage, storage_of};
use super::carry::given;
use super::children;
use super::context::{FixContext, Proof, Proposal, is_keyish, is_plain};
use super::equality_asserts::are_asserted_equal;
use super::intent::{are_rows_alike, may_be_intended, may_be_number, pair};
use super::jax;
use super::layout;
use super::liveness::Variable;
use super::names::{Does, ScopeId, ScopeKind};
use super::purpose_names::Given;
use super::tree::{self, Step};
use super::writer::{Site, Split, Writer};
use crate::finding::{Applicability, Finding, RuleId, Sharing};
use crate::models::{Callable, Effect, Runs};
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// More uses of one key than a line of names should serve.
const MOST_USES: usize = 24;

/// One consumption: its call, the expression for its key, and the statements around it.
pub(super) struct Use<'a> {
    pub call: &'a ast::ExprCall,
    pub key: &'a Expr,
    pub steps: Vec<Step<'a>>,
}

impl<'a> Use<'a> {
    /// The call and the expression for its key.
    pub(super) fn given(&self) -> Given<'a> {
        (self.call, self.key)
    }

    pub(super) fn span(&self) -> Span {
        span_of(self.key)
    }

    /// What a key of its own stands for: the key, or the child that is taken of it at once, as in `split(key)[0]`.
    pub(super) fn replaceable(&self, cx: &FixContext<'_>) -> Span {
        let is_split = cx.is_split(self.call);
        if !is_split || self.call.arguments.len() != 1 {
            return self.span();
        }
        let call = span_of(self.call);
        let around = tree::ancestors(cx.module, call).into_iter().rev().find(|node| span_of(node) != call);
        match around {
            Some(AnyNodeRef::ExprSubscript(item))
                if span_of(&*item.value) == call && item.slice.is_number_literal_expr() =>
            {
                span_of(item)
            }
            _ => self.span(),
        }
    }

    /// Where the variable stands that the key's expression starts with.
    fn root_span(&self) -> Span {
        let mut root = self.key;
        loop {
            root = match root {
                Expr::Attribute(attribute) => &attribute.value,
                Expr::Subscript(subscript) => &subscript.value,
                other => return span_of(other),
            };
        }
    }

    /// Whether the call derives another key in each iteration of a loop: it folds in what the loop binds.
    fn is_told_apart(&self, cx: &FixContext<'_>, around: Step<'_>) -> bool {
        let Some(callable) = cx.model_of(&self.call.func) else { return false };
        let Effect::Fold { .. } = &callable.effect else { return false };
        let Stmt::For(each) = around.statement() else { return false };
        let bound = tree::names_bound(&each.target);
        let read = tree::arguments(self.call).flat_map(tree::expressions_within);
        read.filter_map(Expr::as_name_expr).any(|name| bound.iter().any(|target| target.id == name.id))
    }

    /// Whether the call maps over the key, which then is an array of keys.
    fn is_mapped(&self, cx: &FixContext<'_>) -> bool {
        let callable = |expr: &Expr| cx.model_of(expr);
        let transform = |callable: &'_ Callable| match &callable.effect {
            Effect::Transform(transform) => Some(transform.clone()),
            _ => None,
        };
        if let Expr::Call(maps) = &*self.call.func {
            let Some(callable) = callable(&maps.func) else { return false };
            let Some(transform) = transform(callable).filter(|transform| transform.runs == Runs::Lanes) else {
                return false;
            };
            // The axes of a call are read only where they are told apart: `None` leaves an argument whole.
            let axes = transform.axes.as_deref().and_then(|axes| given(callable, maps, axes));
            let position = self.call.arguments.args.iter().position(|one| span_of(one) == self.span());
            return match (axes, position) {
                (Some(Expr::Tuple(axes)), Some(at)) => {
                    axes.elts.get(at).is_some_and(|axis| !axis.is_none_literal_expr())
                }
                _ => true,
            };
        }
        let Some(callable) = callable(&self.call.func) else { return false };
        transform(callable).filter(|transform| matches!(transform.runs, Runs::Map | Runs::Scan)).is_some_and(|of| {
            let mut over = of.over.iter().filter_map(|over| given(callable, self.call, over));
            over.any(|over| span_of(over).covers(self.span()))
        })
    }
}

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let mut proposals = alone(cx, findings, index);
    if let Some(joined) = proposals.first().and_then(|own| with_other_branches(cx, findings, index, own)) {
        proposals.insert(0, joined);
    }
    proposals
}

/// Other branches of one `if` that are repaired together.
const BRANCHES: usize = 8;

/// A repair with those of its kind in other branches of the same `if`, of which one alone would look forgotten.
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
        // What another branch needs otherwise is another mistake.
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
    let of_both = pair(cx, &findings[index]);
    if of_both.is_some_and(|pair| are_rows_alike(cx, pair)) || may_be_number(cx, of_both.into_iter().flatten()) {
        return Vec::new();
    }
    let mut proposals = proposed(cx, findings, index);
    for proposal in &mut proposals {
        let resolved = || proposal.resolves.iter().map(|at| &findings[*at]);
        let mut calls: Vec<&ast::ExprCall> = resolved().filter_map(|finding| pair(cx, finding)).flatten().collect();
        calls.sort_by_key(|call| span_of(*call));
        calls.dedup_by_key(|call| span_of(*call));
        if resolved().any(|finding| may_be_intended(cx, finding)) || are_asserted_equal(cx, &calls) {
            proposal.applicability = Applicability::Display;
        }
    }
    proposals
}

fn proposed(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let family = family(cx, findings, index);
    let uses = if family.len() < MOST_USES { uses_of(cx, findings, &family) } else { None };
    let mut proposals: Vec<Proposal> = Vec::new();
    proposals.extend(children::other_parent(cx, findings, index));
    proposals.extend(uses.as_ref().and_then(|uses| children::idle(cx, uses, &family)));
    proposals.extend(unused_sibling(cx, findings, index));
    proposals.extend(uses.as_ref().and_then(|uses| children::more(cx, uses, &family)));
    if family.len() >= MOST_USES {
        return proposals;
    }
    if let Some(uses) = uses {
        proposals.extend(apart(cx, &uses, &family));
        proposals.extend(renewed(cx, &uses, &family));
        return proposals;
    }
    // Where the key of some goes through what nobody hands on here, those of the others may still be told apart, and with
    // them all.
    let is_told = |at: &usize| uses_of(cx, findings, &[*at]).is_some();
    let told: Vec<usize> = family.iter().copied().filter(is_told).collect();
    if let Some(uses) = uses_of(cx, findings, &told).filter(|_| told.contains(&index)) {
        proposals.extend(apart(cx, &uses, &family));
        proposals.extend(apart(cx, &uses, &told));
    }
    proposals
}

/// A key that `key, subkey = split(key)` made is made once more, by the same statement, before each use but the first.
fn renewed(cx: &FixContext<'_>, uses: &[Use<'_>], resolves: &[usize]) -> Option<Proposal> {
    let (first, later) = uses.split_first()?;
    let Expr::Name(key) = first.key else { return None };
    let key = key.id.as_str();
    let scope = cx.names.frame_at(first.span().start)?;
    let is_same = |one: &Use<'_>| {
        matches!(one.key, Expr::Name(name) if name.id.as_str() == key)
            && cx.names.frame_at(one.span().start) == Some(scope)
    };
    // The last binding before the first use.
    let bindings = cx.names.occurrences(key).iter().filter(|one| one.scope == scope && one.does == Does::Bind);
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
    is_apart.then(|| Proposal {
        message: format!("split `{}` again for each call; the numbers change", cx.code(parent)),
        applicability: Applicability::Unsafe,
        proof: Proof::Claim,
        edits,
        resolves: resolves.to_vec(),
        names: Vec::new(),
    })
}

/// The unused child that was meant.
fn unused_sibling(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let finding = findings.get(index)?;
    let repair = finding.repair.as_ref()?;
    let unused = repair.unused.as_ref()?;
    let span = cx.here(*finding.evidence.as_ref()?.second.first()?)?;
    let call = tree::call_at(cx.module, span)?;
    // What an object stores is split again by others, and must not be drawn from first.
    let key = only_key(cx, call, repair.written[1].as_deref()).filter(|key| !key.is_attribute_expr())?;
    let scope = cx.names.frame_at(span.start)?;
    // What is made of the key afterwards would meet the draw that stays with it.
    let behind = cx.behind(cx.steps(span).pop()?);
    let is_alive = |name: &str| Variable::of(cx, scope, name).is_read_from(&behind);
    if matches!(key, Expr::Name(name) if is_alive(name.id.as_str())) {
        return None;
    }
    // What other modules draw from is used.
    let is_exported = cx.is_exported_from(scope, unused);
    let is_free = !cx.is_promised(scope, unused) && !cx.names.deletes(scope, unused);
    if !cx.names.binds(scope, unused) || !is_free || is_exported {
        return None;
    }
    Some(Proposal {
        message: format!("use `{unused}`, which is still unused; the numbers change"),
        applicability: Applicability::Unsafe,
        proof: Proof::Claim,
        edits: vec![Edit { span: span_of(key), content: unused.clone() }],
        resolves: vec![index],
        names: cx.promise(scope, std::slice::from_ref(unused)),
    })
}

/// The finding and those of its function that share a consumption with it, directly or through others.
fn family(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<usize> {
    let lead = &findings[index];
    let is_derived = lead.repair.as_ref().is_some_and(|repair| repair.derived_at.is_some());
    let candidates = cx.matching(findings, |other| {
        matches!(other.rule, RuleId::KeyReused | RuleId::KeyUsedAfterSplit | RuleId::KeyDerivedTwice)
            && other.function == lead.function
            && other.evidence.as_ref().is_some_and(|evidence| evidence.sharing == Sharing::Twice)
            && other.repair.as_ref().is_some_and(|repair| repair.derived_at.is_some() == is_derived)
    });
    let places = |at: usize| {
        let evidence = findings[at].evidence.as_ref();
        let first = evidence.and_then(|evidence| evidence.first.first().copied());
        [first, evidence.and_then(|evidence| evidence.second.first().copied())].into_iter().flatten()
    };
    let mut family = vec![index];
    let mut known: Vec<_> = places(index).collect();
    loop {
        let more: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|at| !family.contains(at) && places(*at).any(|place| known.contains(&place)))
            .collect();
        if more.is_empty() {
            family.sort_unstable();
            return family;
        }
        known.extend(more.iter().flat_map(|at| places(*at)));
        family.extend(more);
        if family.len() >= MOST_USES {
            return family;
        }
    }
}

/// The consumptions of a family in source order; `None` where one of them cannot be made out.
pub(super) fn uses_of<'a>(cx: &FixContext<'a>, findings: &[Finding], family: &[usize]) -> Option<Vec<Use<'a>>> {
    let mut calls: Vec<(Span, Option<&str>)> = Vec::new();
    let mut known_text = None;
    for at in family {
        let finding = &findings[*at];
        let (evidence, repair) = (finding.evidence.as_ref()?, finding.repair.as_ref()?);
        for (way, written) in [&evidence.first, &evidence.second].into_iter().zip(&repair.written) {
            let span = cx.here(*way.first()?)?;
            // What is written at the consuming call says nothing of a call that leads there.
            let written = written.as_deref().filter(|_| way.len() == 1);
            known_text = known_text.or(written);
            calls.push((span, written));
        }
        if evidence.first == evidence.second || evidence.first.first() == evidence.second.first() {
            return within_one_call(cx, &calls);
        }
    }
    calls.sort_unstable_by_key(|(span, written)| (*span, written.is_none()));
    calls.dedup_by_key(|(span, _)| *span);
    let mut uses = Vec::with_capacity(calls.len());
    for (span, written) in calls {
        let call = tree::call_at(cx.module, span)?;
        let mut keys = written_keys(cx, call, written.or(known_text));
        if keys.len() < 2 {
            keys = vec![only_key(cx, call, written).or_else(|| only_key(cx, call, known_text))?];
        }
        uses.extend(keys.into_iter().map(|key| Use { call, key, steps: cx.steps(span) }));
    }
    uses.sort_by_key(Use::span);
    Some(uses)
}

/// One call that is given the key twice.
fn within_one_call<'a>(cx: &FixContext<'a>, calls: &[(Span, Option<&str>)]) -> Option<Vec<Use<'a>>> {
    let [(span, _), _] = calls else { return None };
    let call = tree::call_at(cx.module, *span)?;
    let plain: Vec<&Expr> = tree::arguments(call).filter(|argument| is_plain(argument)).collect();
    let twice = plain
        .iter()
        .map(|argument| cx.code(argument))
        .find(|code| is_keyish(code) && plain.iter().filter(|argument| cx.code(argument) == *code).count() > 1)?;
    let keys = plain.into_iter().filter(|argument| cx.code(argument) == twice);
    Some(keys.map(|key| Use { call, key, steps: cx.steps(*span) }).collect())
}

/// The arguments of a call that are written so.
fn written_keys<'a>(cx: &FixContext<'a>, call: &'a ast::ExprCall, written: Option<&str>) -> Vec<&'a Expr> {
    tree::arguments(call).filter(|argument| Some(cx.code(argument)) == written).collect()
}

/// The expression that hands a call its key: the one argument that is written so, else the one expression within the
/// arguments, else, where nothing is known of how it is written, the first argument of a library function, or the only
/// argument that is called like a key.
pub(super) fn only_key<'a>(cx: &FixContext<'a>, call: &'a ast::ExprCall, written: Option<&str>) -> Option<&'a Expr> {
    if let Some(written) = written {
        let direct: Vec<&Expr> = tree::arguments(call).filter(|argument| cx.code(argument) == written).collect();
        if let [only] = direct[..] {
            return Some(only);
        }
        let within = tree::arguments(call).flat_map(tree::expressions_within);
        let deep: Vec<&Expr> = within.filter(|expr| is_plain(expr) && cx.code(expr) == written).collect();
        match deep[..] {
            [only] => return Some(only),
            // A callee was given what the caller writes otherwise.
            [] => {}
            _ => return None,
        }
    }
    if cx.path_of(&call.func).is_some_and(|path| path.starts_with("jax.random.")) {
        let by_name = call.arguments.find_keyword("key").map(|keyword| &keyword.value);
        return call.arguments.args.first().or(by_name).filter(|key| is_plain(key));
    }
    let mut keys = tree::arguments(call).filter(|argument| is_plain(argument) && is_keyish(cx.code(argument)));
    let only = keys.next()?;
    keys.next().is_none().then_some(only)
}

/// Proposals that give each use a key of its own.
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
    // What holds the key holds others as well: `keys["params"]` and `keys`.
    let is_part = |one: &Use<'_>| cx.code(one.key) != key && root_name(one.key) == root_name(first.key);
    if uses.iter().any(is_part) {
        return Vec::new();
    }
    let name = match first.key {
        Expr::Name(name) if same => Some(name.id.as_str()),
        _ => None,
    };
    let holds = storage_of(cx, first.key);
    // What can be given the next key.
    let carrier = name.or(Some(key).filter(|_| same && holds == Storage::Writable));
    let last = uses.last().unwrap_or(first);
    let rebinds = carrier.is_some_and(|carrier| is_rebound_by(cx, last, carrier));
    if is_bound_between(cx, &site, uses, rebinds) {
        return inline(cx, uses, resolves);
    }
    // What binds the key anew in every iteration needs no help with it.
    let goes_on = |one: &Use<'_>| carrier.is_some_and(|carrier| is_rebound_by(cx, one, carrier));
    let looped: Vec<Option<Step<'_>>> = uses
        .iter()
        .map(|one| loop_below(one, site.depth).filter(|around| !goes_on(one) && !one.is_told_apart(cx, *around)))
        .collect();
    let is_kept = holds == Storage::Writable && carrier.is_some();
    let can_rebind = is_kept || name.is_some_and(|name| can_rebind(cx, site.scope, name));
    let mut proposals = Vec::new();
    if looped.iter().any(Option::is_some) {
        if can_rebind {
            proposals.extend(writer.one_by_one(uses, &goes_on));
        }
        return proposals;
    }
    if can_rebind && cx.names.scopes[site.scope].kind == ScopeKind::Module && !cx.are_near(first.span(), last.span()) {
        proposals.extend(writer.one_by_one(uses, &|one| rebinds && std::ptr::eq(one, last)));
    }
    if can_rebind && is_bare_split(first) {
        proposals.extend(writer.bind(first, &uses[1..]));
    }
    if name.is_some() && !rebinds && !is_alive(cx, &site, uses) {
        proposals.extend(writer.widen(first, &uses[1..]));
    }
    let names_only = || writer.split_into(uses, false);
    if !can_rebind {
        proposals.extend(names_only());
    } else if rebinds {
        proposals.extend(writer.split_into(&uses[..uses.len() - 1], true));
    } else if is_kept {
        proposals.extend(writer.split_into(uses, true));
    } else if is_alive(cx, &site, uses) {
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
            proposal.applicability = Applicability::Display;
        }
    }
    proposals
}

/// Where a split has to stand so that every use passes it.
fn site<'a>(cx: &FixContext<'_>, uses: &[Use<'a>]) -> Option<Site<'a>> {
    let first = uses.first()?;
    let mut common = 0;
    while uses.iter().all(|one| match (one.steps.get(common), first.steps.get(common)) {
        (Some(step), Some(other)) => step.is(*other),
        _ => false,
    }) {
        common += 1;
    }
    // The statements that differ may stand side by side; otherwise the split goes before the one around them.
    let beside = uses.iter().all(|one| match (one.steps.get(common), first.steps.get(common)) {
        (Some(step), Some(other)) => step.is_beside(*other),
        _ => false,
    });
    let depth = if beside { common } else { common.checked_sub(1)? };
    let earliest = uses.iter().filter_map(|one| one.steps.get(depth)).min_by_key(|step| step.index)?;
    let scope = cx.names.frame_at(span_of(earliest.statement()).start)?;
    // Statements that a class body holds, or that only run when a function within is called, are somebody else's.
    let is_own = uses.iter().all(|one| cx.names.frame_at(one.span().start) == Some(scope));
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

/// Whether a simple statement assigns to a variable or attribute, as it is written.
pub(super) fn assigns(cx: &FixContext<'_>, statement: &Stmt, carrier: &str) -> bool {
    let assigned = tree::targets(statement).iter().flat_map(tree::assigned);
    assigned.into_iter().any(|target| cx.code(target) == carrier)
}

/// Whether a variable can be assigned to in a scope without turning another into it.
pub(super) fn can_rebind(cx: &FixContext<'_>, scope: ScopeId, name: &str) -> bool {
    cx.names.binds(scope, name)
        && !cx.names.declares(scope, name)
        && !cx.names.occurrences(name).iter().any(|one| one.scope == scope && one.does == Does::Import)
}

/// Whether the key is bound anew after the split and before the last use.
fn is_bound_between(cx: &FixContext<'_>, site: &Site<'_>, uses: &[Use<'_>], last_rebinds: bool) -> bool {
    let start = span_of(site.step.statement()).start;
    let Some(last) = uses.last() else { return true };
    let exempt = last.steps.last().filter(|_| last_rebinds).map(|step| span_of(step.statement()));
    // A rebinding after the last use, in its own statement or later, comes too late to matter.
    let end = last.span().end;
    let counts = |at: Span| start <= at.start && at.start < end && !exempt.is_some_and(|exempt| exempt.covers(at));
    let mut keys = uses.iter().map(|one| one.key).filter(|key| !key.is_name_expr()).peekable();
    let is_stored = |key: &Expr| {
        let stored = tree::expressions(cx.module).into_iter().filter(|expr| match expr {
            Expr::Attribute(attribute) => attribute.ctx.is_store(),
            Expr::Subscript(item) => item.ctx.is_store(),
            _ => false,
        });
        stored.into_iter().any(|target| counts(span_of(target)) && cx.code(target) == cx.code(key))
    };
    if keys.peek().is_some() && keys.any(is_stored) {
        return true;
    }
    uses.iter().any(|one| {
        let Some(root) = root_name(one.key) else { return true };
        cx.names.occurrences(root).iter().any(|found| {
            let binds = matches!(found.does, Does::Bind | Does::Import);
            binds && counts(found.span) && cx.names.is_within(found.scope, site.scope)
        })
    })
}

/// The variable that an expression starts with.
pub(super) fn root_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => root_name(&attribute.value),
        Expr::Subscript(subscript) => root_name(&subscript.value),
        _ => None,
    }
}

/// Whether anything but the uses may read the variable after the split: later statements, functions within, the split
/// itself where
/// a loop comes back to it.
fn is_alive(cx: &FixContext<'_>, site: &Site<'_>, uses: &[Use<'_>]) -> bool {
    let Some((first, name)) = uses.first().and_then(|first| Some((first, root_name(first.key)?))) else { return false };
    let exempt: Vec<Span> = uses.iter().map(Use::root_span).collect();
    let way: Vec<Step<'_>> = first.steps.iter().take(site.depth).chain([&site.step]).copied().collect();
    let split = Some(span_of(site.step.statement()));
    Variable { cx, scope: site.scope, name, exempt: &exempt, split }.is_read_from(&way)
}

/// Whether a use is a statement that splits and drops the result.
fn is_bare_split(one: &Use<'_>) -> bool {
    one.steps.last().is_some_and(|step| match step.statement() {
        Stmt::Expr(statement) => span_of(&*statement.value) == span_of(one.call),
        _ => false,
    })
}

/// Where no statement can be put, or the key cannot be bound anew: a derived key for each use, written in its place.
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
        .map(|(number, one)| Edit { span: one.span(), content: format!("{fold}({key}, {number})") })
        .collect();
    vec![Proposal {
        message: format!("derive a key from `{key}` for each call; the numbers change"),
        applicability: Applicability::Unsafe,
        proof: Proof::Claim,
        edits,
        resolves: resolves.to_vec(),
        names: Vec::new(),
    }]
}
