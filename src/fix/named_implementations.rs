//! Keys of two implementations (KEY307): `impl=` names the one that fits.
//!
//! **Invariant:** only what was left to the default is named. If a program names two implementations, which of them is intended is not
//! known.

use super::arguments;
use super::context::{FixContext, Proof, Proposal};
use super::jax;
use super::names::Action;
use super::tree;
use crate::finding::{Family, Finding, Place};
use crate::models::Effect;
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// Most derivations between a key and its constructor.
const DERIVATIONS: usize = 8;

/// The keyword that names an implementation.
const KEYWORD: &str = "impl";

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let finding = &findings[index];
    let Some(call) = cx.here(finding.primary).and_then(|span| tree::call_at(cx.module, span)) else {
        return Vec::new();
    };
    let proposal = match cx.model_of(&call.func).map(|callable| &callable.effect) {
        Some(Effect::Wrap { .. }) => wrapped(cx, finding, call, index),
        Some(Effect::Sample { .. } | Effect::Split { .. } | Effect::Fold { .. }) => typed(cx, findings, index),
        _ => made_alike(cx, finding, index),
    };
    proposal.into_iter().collect()
}

/// `wrap_key_data(words)` becomes `wrap_key_data(words, impl="rbg")`.
fn wrapped(cx: &FixContext<'_>, finding: &Finding, call: &ast::ExprCall, index: usize) -> Option<Proposal> {
    let name = finding.fix_hints.as_ref()?.implementation.as_deref()?;
    let edit = naming(cx, call, name)?;
    let message = format!("wrap the words as a key of `{name}`, of which they are");
    Some(proposal(message, vec![edit], index, vec![finding.primary]))
}

/// `stack([key(0), key(1, impl="rbg")])` becomes `stack([key(0, impl="rbg"), key(1, impl="rbg")])`.
fn made_alike(cx: &FixContext<'_>, finding: &Finding, index: usize) -> Option<Proposal> {
    let name = finding.fix_hints.as_ref()?.implementation.as_deref()?;
    let [one, other] = &finding.related[..] else { return None };
    let one = constructor(cx, cx.here(one.place)?, DERIVATIONS)?;
    let other = constructor(cx, cx.here(other.place)?, DERIVATIONS)?;
    let named = |call: &'_ ast::ExprCall| call.arguments.find_keyword(KEYWORD).is_some();
    let unnamed = match (named(one), named(other)) {
        (false, true) => one,
        (true, false) => other,
        _ => return None,
    };
    if !is_private_to(cx, span_of(unnamed), cx.here(finding.primary)?) {
        return None;
    }
    let message = format!("make this key with `impl=\"{name}\"` as well; its numbers change");
    let place = Place { file: cx.file, span: span_of(unnamed) };
    let edits = vec![naming(cx, unnamed, name)?];
    Some(proposal(message, edits, index, vec![finding.primary, place]))
}

/// `PRNGKey(0, impl="rbg")` becomes `key(0, impl="rbg")`, which the functions of `jax.random` take as what it is.
fn typed(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let [origin] = &findings[index].related[..] else { return None };
    let made = constructor(cx, cx.here(origin.place)?, DERIVATIONS)?;
    if cx.path_of(&made.func)? != jax::RAW_KEY || made.arguments.find_keyword(KEYWORD).is_none() {
        return None;
    }
    // Operations on words raise for typed keys; they have fixes of their own.
    if !cx.matching(findings, |other| other.rule.family() == Family::Buffer).is_empty() {
        return None;
    }
    let start = span_of(made).start;
    let key = cx.spelled(start, jax::KEY, Some(made))?;
    let message = "make a typed key, which keeps its implementation".to_owned();
    let edits = vec![Edit::replace(span_of(&*made.func), key)];
    let place = Place { file: cx.file, span: span_of(made) };
    let proof = Proof::Implementation { places: vec![place], types_keys: true };
    Some(Proposal::new(message, edits, vec![index]).proved_by(proof))
}

fn proposal(message: String, edits: Vec<Edit>, index: usize, places: Vec<Place>) -> Proposal {
    Proposal::new(message, edits, vec![index]).proved_by(Proof::Implementation { places, types_keys: false })
}

/// The edit that names an implementation.
fn naming(cx: &FixContext<'_>, call: &ast::ExprCall, name: &str) -> Option<Edit> {
    arguments::added(cx, call, KEYWORD, &format!("{KEYWORD}=\"{name}\""))
}

/// The constructor of a key that a call makes or derives, directly or from a variable that is bound once.
fn constructor<'a>(cx: &FixContext<'a>, span: Span, left: usize) -> Option<&'a ast::ExprCall> {
    let left = left.checked_sub(1)?;
    let call = tree::call_at(cx.module, span)?;
    if cx.seed_of(call).is_some() {
        return Some(call);
    }
    let derives = matches!(cx.model_of(&call.func)?.effect, Effect::Split { .. } | Effect::Fold { .. });
    match call.arguments.args.first().filter(|_| derives)? {
        Expr::Call(parent) => constructor(cx, span_of(parent), left),
        Expr::Name(parent) => {
            let scope = cx.names.binder(cx.names.scope_at(span_of(parent).start), parent.id.as_str())?;
            let own = cx.names.occurrences(parent.id.as_str()).iter().filter(|one| one.scope == scope);
            let mut bound = own.filter(|one| one.action != Action::Read);
            let (only, None) = (bound.next()?, bound.next()) else { return None };
            match cx.steps(only.span).pop()?.statement() {
                Stmt::Assign(assign) if assign.targets.iter().all(Expr::is_name_expr) => {
                    constructor(cx, span_of(&*assign.value), left)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a key is made in the function that has the finding, or in the module's body for a variable that nothing else reads.
fn is_private_to(cx: &FixContext<'_>, made: Span, place: Span) -> bool {
    let outermost = |span: Span| cx.steps(span).first().map(|step| step.statement());
    let is_beside = |span: Span| match (outermost(span), outermost(place)) {
        (Some(one), Some(other)) => {
            span_of(one) == span_of(other) || !one.is_function_def_stmt() && !other.is_function_def_stmt()
        }
        _ => false,
    };
    let Some(statement) = outermost(made) else { return false };
    if statement.is_function_def_stmt() || statement.is_class_def_stmt() {
        return span_of(statement).covers(place);
    }
    let bound = tree::targets(statement).iter().flat_map(tree::names_bound).map(|name| name.id.as_str());
    let is_only_here = |name: &str| {
        !cx.is_exported(name) && cx.names.occurrences(name).iter().all(|one| is_beside(one.span) || one.span == made)
    };
    cx.steps(made).len() == 1 && bound.collect::<Vec<_>>().into_iter().all(is_only_here)
}
