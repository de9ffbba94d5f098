//! Words of a key that are passed on (KEY305): the key itself is passed, if a function of the file only passes it on to functions of JAX
//! that take keys.
//!
//! **Invariant:** all that the receiver does with the parameter is known. What a library accepts depends on its version, so there the words
//! stay.

use super::callers::keeps_arguments;
use super::context::{FixContext, Proof, Proposal};
use super::names::{Action, Occurrence, ScopeId};
use super::tree;
use crate::finding::{Family, Finding};
use crate::models::Effect;
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// Most functions through which a parameter is passed on.
const DEPTH: u32 = 3;

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    whole(cx, findings, index).into_iter().collect()
}

/// `draw(jax.random.key_data(key))` becomes `draw(key)`.
fn whole(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let finding = &findings[index];
    let span = cx.here(finding.primary)?;
    let call = tree::call_at(cx.module, span)?;
    let ([key], true) = (&call.arguments.args[..], call.arguments.keywords.is_empty()) else { return None };
    let scope = cx.names.frame_at(span.start)?;
    // Operations on words raise for typed keys; they have fixes of their own.
    let touches_words = !cx.matching(findings, |other| other.rule.family() == Family::Buffer).is_empty();
    let is_taken = match bound(cx, scope, span) {
        Some(name) => {
            let own = own(cx, scope, name);
            let mut reads = own.iter().filter(|one| one.action == Action::Read);
            let is_bound_once = own.iter().filter(|one| one.action != Action::Read).count() == 1;
            is_bound_once && reads.all(|one| takes_key(cx, one.span, DEPTH))
        }
        None => takes_key(cx, span, DEPTH),
    };
    if touches_words || !is_taken {
        return None;
    }
    let message = "pass the key itself, which the function only passes on".to_owned();
    let proof = Proof::Implementation { places: vec![finding.primary], types_keys: true };
    Some(Proposal::new(message, vec![Edit::replace(span, cx.code(key))], vec![index]).proved_by(proof))
}

/// The variable that a statement binds to the value at a span.
fn bound<'a>(cx: &FixContext<'a>, scope: ScopeId, value: Span) -> Option<&'a str> {
    match cx.steps(value).pop()?.statement() {
        Stmt::Assign(assign) if span_of(&*assign.value) == value => match &assign.targets[..] {
            [Expr::Name(name)] if cx.names.binds(scope, name.id.as_str()) => Some(name.id.as_str()),
            _ => None,
        },
        _ => None,
    }
}

/// The occurrences of a variable of a scope.
fn own<'c>(cx: &'c FixContext<'_>, scope: ScopeId, name: &str) -> Vec<&'c Occurrence> {
    let is_own = |one: &&Occurrence| cx.names.binder(one.scope, name) == Some(scope);
    cx.names.occurrences(name).iter().filter(is_own).collect()
}

/// Whether the expression at a span is an argument of a call that takes typed keys like raw ones.
fn takes_key(cx: &FixContext<'_>, span: Span, left: u32) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    let nodes = tree::ancestors(cx.module, span);
    let mut around = nodes.iter().rev().filter(|node| span_of(*node) != span);
    let mut keyword = None;
    let call = loop {
        match around.next() {
            Some(AnyNodeRef::Keyword(one)) => keyword = Some(one.arg.as_ref().map(ast::Identifier::as_str)),
            Some(AnyNodeRef::Arguments(_)) => {}
            Some(AnyNodeRef::ExprCall(call)) if span_of(&*call.func) != span => break *call,
            _ => return false,
        }
    };
    if let Some(callable) = cx.model_of(&call.func) {
        return matches!(callable.effect, Effect::Sample { .. } | Effect::Split { .. } | Effect::Fold { .. });
    }
    let Some(def) = definition(cx, call) else { return false };
    let parameter = match keyword {
        Some(Some(name)) => def.parameters.iter_non_variadic_params().find(|one| one.parameter.name.as_str() == name),
        Some(None) => None,
        None => {
            let is_plain = !call.arguments.args.iter().any(Expr::is_starred_expr);
            let at = call.arguments.args.iter().position(|one| span_of(one) == span).filter(|_| is_plain);
            at.and_then(|at| def.parameters.posonlyargs.iter().chain(&def.parameters.args).nth(at))
        }
    };
    parameter.is_some_and(|parameter| only_passes_on(cx, def, parameter.parameter.name.as_str(), left))
}

/// The function of the module that a call calls, if its name means nothing else.
fn definition<'a>(cx: &FixContext<'a>, call: &ast::ExprCall) -> Option<&'a ast::StmtFunctionDef> {
    let Expr::Name(name) = &*call.func else { return None };
    let name = name.id.as_str();
    let is_of_module = cx.names.binder(cx.names.scope_at(span_of(call).start), name) == Some(0);
    let bound = own(cx, 0, name).iter().filter(|one| one.action != Action::Read).count();
    let def = cx.module.body.iter().filter_map(Stmt::as_function_def_stmt).find(|def| def.name.as_str() == name)?;
    let keeps = def.decorator_list.iter().all(|decorator| keeps_arguments(cx, &decorator.expression));
    (is_of_module && bound == 1 && keeps && !def.is_async).then_some(def)
}

/// Whether a function only splits a parameter, draws from it or passes it on, whatever it is rebound to.
fn only_passes_on(cx: &FixContext<'_>, def: &ast::StmtFunctionDef, name: &str, left: u32) -> bool {
    let inner = def.body.first().map_or(0, tree::start_of);
    let Some(scope) = cx.names.frame_at(inner) else { return false };
    let own = own(cx, scope, name);
    let is_child = |one: &Occurrence| match cx.steps(one.span).pop().map(tree::Step::statement) {
        Some(Stmt::Assign(assign)) => matches!(&*assign.value, Expr::Call(call) if cx.is_split(call)),
        _ => false,
    };
    let is_known = |one: &&Occurrence| match one.action {
        Action::Read => takes_key(cx, one.span, left),
        Action::Bind => is_child(one),
        Action::Parameter => true,
        Action::Import | Action::Declare => false,
    };
    own.iter().any(|one| one.action == Action::Read) && own.iter().all(is_known)
}
