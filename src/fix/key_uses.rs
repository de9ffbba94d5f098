//! The uses of one key that a finding, or several findings that share a use, are about: the calls, and the expressions that pass
//! them the key.
//!
//! **Invariant:** uses are in source order; where one of them cannot be found, there are none.

use std::borrow::Borrow;

use super::carry::given;
use super::context::{FixContext, is_plain};
use super::names::{Action, ScopeId};
use super::purpose_names::KeyArgument;
use super::tree::{self, Step};
use crate::finding::{Finding, Place, RuleId, Sharing};
use crate::models::{Callable, Effect, Runs};
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::Span;

/// More uses of one key than one statement should split for.
pub(super) const MOST_USES: usize = 24;

/// One consumption: its call, the expression for its key, and the statements around it.
pub(super) struct Use<'a> {
    pub call: &'a ast::ExprCall,
    pub key: &'a Expr,
    pub steps: Vec<Step<'a>>,
}

impl<'a> Use<'a> {
    /// The call and the expression for its key.
    pub(super) fn given(&self) -> KeyArgument<'a> {
        (self.call, self.key)
    }

    pub(super) fn span(&self) -> Span {
        span_of(self.key)
    }

    pub(super) fn call_span(&self) -> Span {
        span_of(self.call)
    }

    /// The expression that a new key replaces: the key, or a child that is selected at once, as in `split(key)[0]`.
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

    /// The variable with which the key's expression starts.
    pub fn root_span(&self) -> Span {
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
    pub fn is_distinguished(&self, cx: &FixContext<'_>, around: Step<'_>) -> bool {
        let Some(callable) = cx.model_of(&self.call.func) else { return false };
        let Effect::Fold { .. } = &callable.effect else { return false };
        let Stmt::For(each) = around.statement() else { return false };
        let bound = tree::names_bound(&each.target);
        let read = tree::arguments(self.call).flat_map(tree::expressions_within);
        read.filter_map(Expr::as_name_expr).any(|name| bound.iter().any(|target| target.id == name.id))
    }

    /// Whether the call maps over the key, which then is an array of keys.
    pub fn is_mapped(&self, cx: &FixContext<'_>) -> bool {
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
            // The axes of a call are read only where they are distinguished: `None` leaves an argument whole.
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

/// The uses, and those of the same variable in branches that exclude one of them: one draw of several alternatives is reported.
pub(super) fn with_alternatives<'a>(cx: &FixContext<'a>, uses: Vec<Use<'a>>) -> Vec<Use<'a>> {
    let Some(Expr::Name(key)) = uses.first().map(|one| one.key) else { return uses };
    let (Some(first), Some(last)) = (uses.first(), uses.last()) else { return uses };
    let scope = cx.names.frame_at(first.span().start);
    let between = first.span().cover(last.span());
    let occurrences = cx.names.occurrences(key.id.as_str()).iter().filter(|one| between.covers(one.span));
    let is_known = |span: Span| uses.iter().any(|one| one.span() == span);
    let mut others = Vec::new();
    for one in occurrences.filter(|one| !is_known(one.span)) {
        let found = use_at(cx, one.span).filter(|found| {
            let excludes = |known: &Use<'_>| tree::exclude(&known.steps, &found.steps);
            one.action == Action::Read
                && uses.iter().any(excludes)
                && !uses.iter().all(excludes)
                && draws(cx, found.call)
        });
        match found {
            Some(found) if Some(one.scope) == scope => others.push(found),
            _ => return uses,
        }
    }
    let mut uses = uses;
    uses.extend(others);
    uses.sort_by_key(|one| one.span().start);
    uses
}

/// The use at an occurrence of a variable.
fn use_at<'a>(cx: &FixContext<'a>, span: Span) -> Option<Use<'a>> {
    let call = tree::ancestors(cx.module, span).into_iter().rev().find_map(|node| match node {
        AnyNodeRef::ExprCall(call) => Some(call),
        _ => None,
    })?;
    let key = only_key(cx, call, None).filter(|key| span_of(*key) == span)?;
    Some(Use { call, key, steps: cx.steps(span_of(call)) })
}

/// The calls of unknown functions outside a loop that also get its key: keys that they derive may equal those that a
/// fix derives in the loop. There are none if the key is rebound in between.
pub(super) fn unknown_uses<'a>(cx: &FixContext<'a>, scope: ScopeId, key: &Expr, around: Span) -> Vec<Use<'a>> {
    let Expr::Name(name) = key else { return Vec::new() };
    let own = cx.names.occurrences(name.id.as_str()).iter().filter(|one| one.scope == scope);
    let outside = own.clone().filter(|one| one.action == Action::Read && !around.covers(one.span));
    let uses = outside.filter_map(|one| use_at(cx, one.span)).filter(|one| is_unknown(cx, one.call));
    let is_same = |one: &Use<'_>| {
        let between = around.cover(one.span());
        !own.clone().any(|other| other.action == Action::Bind && between.covers(other.span))
    };
    let inside = cx.steps(around);
    uses.filter(|one| is_same(one) && !tree::exclude(&one.steps, &inside)).collect()
}

/// Whether the callee of a call is neither defined in this file nor described by a model.
fn is_unknown(cx: &FixContext<'_>, call: &ast::ExprCall) -> bool {
    let name = match &*call.func {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return false,
    };
    let is_builtin =
        call.func.is_name_expr() && cx.names.binder(cx.names.scope_at(span_of(call).start), name).is_none();
    let ir = cx.ir();
    let is_visible = ir.functions.iter().map(|function| &function.name).any(|known| &**known == name)
        || ir.classes.iter().any(|class| &*class.name == name);
    !is_builtin && !is_visible && cx.model_of(&call.func).is_none()
}

/// The uses, and those that must keep the key of one of them because a comment ignores their reuse.
pub(super) fn with_ignored<'a>(cx: &FixContext<'a>, mut uses: Vec<Use<'a>>) -> Vec<Use<'a>> {
    let mut next = 0;
    while let Some(one) = uses.get(next).filter(|_| uses.len() < MOST_USES) {
        let mut others: Vec<Use<'a>> = Vec::new();
        for span in cx.kept_with(one.call_span()) {
            let written = Some(cx.code(one.key));
            let found = tree::call_at(cx.module, span).and_then(|call| Some((call, only_key(cx, call, written)?)));
            let is_known = uses.iter().chain(&others).any(|known| known.call_span() == span);
            others.extend(found.filter(|_| !is_known).map(|(call, key)| Use { call, key, steps: cx.steps(span) }));
        }
        uses.extend(others);
        next += 1;
    }
    uses.sort_by_key(Use::span);
    uses
}

/// Which key each use gets, counted from zero: uses on exclusive paths share one, and so do those that must keep one key.
pub(super) fn shared<'a>(cx: &FixContext<'a>, uses: &[impl Borrow<Use<'a>>]) -> Vec<usize> {
    let mut keys: Vec<usize> = Vec::with_capacity(uses.len());
    let uses = || uses.iter().map(Borrow::borrow);
    for one in uses() {
        let kept = cx.kept_with(one.call_span());
        let is_kept = |other: &Use<'_>| kept.contains(&other.call_span());
        let same = keys.iter().zip(uses()).find(|(_, other)| is_kept(other)).map(|(key, _)| *key);
        let is_free = |key: &usize| {
            keys.iter().zip(uses()).all(|(known, other)| known != key || tree::exclude(&other.steps, &one.steps))
        };
        keys.push(same.or_else(|| (0..uses().len()).find(is_free)).unwrap_or_default());
    }
    keys
}

/// How many keys uses get that share them like this.
pub(super) fn number_of(shared: &[usize]) -> usize {
    shared.iter().max().map_or(0, |last| last + 1)
}

/// The finding and those of its function that share a consumption with it, directly or through others.
pub(super) fn family(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<usize> {
    let lead = &findings[index];
    let is_derived = lead.fix_hints.as_ref().is_some_and(|fix_hints| fix_hints.derived_at.is_some());
    let candidates = cx.matching(findings, |other| {
        matches!(other.rule, RuleId::KeyReused | RuleId::KeyUsedAfterSplit | RuleId::KeyDerivedTwice)
            && other.function == lead.function
            && other.evidence.as_ref().is_some_and(|evidence| evidence.sharing == Sharing::Twice)
            && other.fix_hints.as_ref().is_some_and(|fix_hints| fix_hints.derived_at.is_some() == is_derived)
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

/// The consumptions of a family in source order; `None` where one of them cannot be found.
pub(super) fn uses_of<'a>(cx: &FixContext<'a>, findings: &[Finding], family: &[usize]) -> Option<Vec<Use<'a>>> {
    let mut calls: Vec<(Span, Option<&str>)> = Vec::new();
    let mut known_text = None;
    for at in family {
        let finding = &findings[*at];
        let (evidence, fix_hints) = (finding.evidence.as_ref()?, finding.fix_hints.as_ref()?);
        for (way, written) in [&evidence.first, &evidence.second].into_iter().zip(&fix_hints.written) {
            let span = cx.here(*way.first()?)?;
            // The argument of the consuming call says nothing about a call that leads to it.
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
            let only = only_key(cx, call, written).or_else(|| only_key(cx, call, known_text));
            keys = vec![only.or_else(|| put_before(cx, call, known_text?))?];
        }
        uses.extend(keys.into_iter().map(|key| Use { call, key, steps: cx.steps(span) }));
    }
    uses.sort_by_key(Use::span);
    Some(uses)
}

/// The key in a tuple, list or dict that a statement binds to a variable before a call gets it: `carry = (x, key)`, `scan(step, carry, xs)`. Nothing
/// reads the variable in between.
fn put_before<'a>(cx: &FixContext<'a>, call: &'a ast::ExprCall, written: &str) -> Option<&'a Expr> {
    let scope = cx.names.frame_at(span_of(call).start)?;
    let steps = cx.steps(span_of(call));
    let start = span_of(steps.last()?.statement()).start;
    let mut variables = tree::arguments(call).filter_map(Expr::as_name_expr);
    variables.find_map(|variable| {
        let own = cx.names.occurrences(variable.id.as_str()).iter().filter(|one| one.scope == scope);
        let earlier = own.clone().filter(|one| one.action == Action::Bind && one.span.end <= start);
        let bound = earlier.map(|one| one.span).max()?;
        let between = bound.start..start;
        let is_read_between = own.clone().any(|one| one.action != Action::Bind && between.contains(&one.span.start));
        let step = cx.steps(bound).pop()?;
        let is_beside = steps.iter().any(|other| other.is_beside(step));
        let Stmt::Assign(assign) = step.statement() else { return None };
        let is_container = matches!(&*assign.value, Expr::Tuple(_) | Expr::List(_) | Expr::Dict(_));
        if !is_container || !is_beside || is_read_between || !matches!(&assign.targets[..], [Expr::Name(_)]) {
            return None;
        }
        let within = tree::expressions_within(&assign.value).into_iter();
        let mut keys = within.filter(|expr| is_plain(expr) && cx.code(expr) == written);
        keys.next().filter(|_| keys.next().is_none())
    })
}

/// One call that gets the key twice.
fn within_one_call<'a>(cx: &FixContext<'a>, calls: &[(Span, Option<&str>)]) -> Option<Vec<Use<'a>>> {
    let [(span, _), _] = calls else { return None };
    let call = tree::call_at(cx.module, *span)?;
    // `rngs={"params": key, "dropout": key}`
    let entries = |argument: &'a Expr| -> Vec<&'a Expr> {
        match argument {
            Expr::Dict(dict) => dict.items.iter().map(|entry| &entry.value).collect(),
            Expr::Tuple(tuple) => tuple.elts.iter().collect(),
            Expr::List(list) => list.elts.iter().collect(),
            other => vec![other],
        }
    };
    let plain: Vec<&Expr> = tree::arguments(call).flat_map(entries).filter(|argument| is_plain(argument)).collect();
    let twice = plain
        .iter()
        .map(|argument| cx.code(argument))
        .find(|code| cx.is_keyish(code) && plain.iter().filter(|argument| cx.code(argument) == *code).count() > 1)?;
    let keys = plain.into_iter().filter(|argument| cx.code(argument) == twice);
    Some(keys.map(|key| Use { call, key, steps: cx.steps(*span) }).collect())
}

/// The arguments of a call that are written like this.
fn written_keys<'a>(cx: &FixContext<'a>, call: &'a ast::ExprCall, written: Option<&str>) -> Vec<&'a Expr> {
    tree::arguments(call).filter(|argument| Some(cx.code(argument)) == written).collect()
}

/// The expression that passes the key to a call: the one argument that is written like this; otherwise the one
/// expression within the arguments; otherwise, if it is unknown how the key is written, the first argument of a library
/// function, or the only argument that is named like a key.
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
            // The key may have another name in the callee.
            [] => {}
            _ => return None,
        }
    }
    if cx.path_of(&call.func).is_some_and(|path| path.starts_with("jax.random.")) {
        let by_name = call.arguments.find_keyword("key").map(|keyword| &keyword.value);
        return call.arguments.args.first().or(by_name).filter(|key| is_plain(key));
    }
    let mut keys = tree::arguments(call).filter(|argument| is_plain(argument) && cx.is_keyish(cx.code(argument)));
    let only = keys.next()?;
    keys.next().is_none().then_some(only)
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

/// The two calls of a finding in its own frame.
pub(super) fn pair<'a>(cx: &FixContext<'a>, finding: &Finding) -> Option<[&'a ast::ExprCall; 2]> {
    let evidence = finding.evidence.as_ref()?;
    let call = |way: &[Place]| tree::call_at(cx.module, cx.here(*way.first()?)?);
    Some([call(&evidence.first)?, call(&evidence.second)?])
}

/// The calls of some findings in their own frames.
pub(super) fn calls<'a, 'f>(
    cx: &FixContext<'a>,
    findings: impl Iterator<Item = &'f Finding>,
) -> Vec<&'a ast::ExprCall> {
    let mut calls: Vec<&ast::ExprCall> = findings.filter_map(|finding| pair(cx, finding)).flatten().collect();
    calls.sort_by_key(|call| span_of(*call));
    calls.dedup_by_key(|call| span_of(*call));
    calls
}

/// Whether a value that is used as a key may be a number: only streams are made from it, and it is named like a seed.
pub(super) fn may_be_number<'e>(cx: &FixContext<'_>, calls: impl IntoIterator<Item = &'e ast::ExprCall>) -> bool {
    let mut calls = calls.into_iter().peekable();
    let is_seed = |expr: &Expr| cx.code(expr).to_ascii_lowercase().contains("seed");
    calls.peek().is_some() && calls.all(|call| cx.stream_seed_of(call).is_some() && tree::arguments(call).any(is_seed))
}

/// Whether a call itself is known to draw or derive, which it has no reason to do twice in the same way; a call that
/// makes parameters or a state may have one.
pub(super) fn draws(cx: &FixContext<'_>, call: &ast::ExprCall) -> bool {
    let effect = |expr: &Expr| cx.model_of(expr).map(|callable| &callable.effect);
    match &*call.func {
        // `vmap(normal)(keys)`, `vmap(lambda key: normal(key))(keys)`
        Expr::Call(maps) if matches!(effect(&maps.func), Some(Effect::Transform { .. })) => {
            match maps.arguments.args.first() {
                Some(Expr::Lambda(lambda)) => tree::expressions_within(&lambda.body)
                    .into_iter()
                    .any(|expr| matches!(expr, Expr::Call(call) if draws(cx, call))),
                Some(function) => effect(function).is_some_and(|effect| !matches!(effect, Effect::Consume { .. })),
                None => false,
            }
        }
        function => effect(function).is_some_and(|effect| !matches!(effect, Effect::Consume { .. })),
    }
}
