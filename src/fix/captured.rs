//! A key that a function captures or has as a default (KEY106): it becomes an argument of each call.
//!
//! **Invariant:** every caller has to pass a key afterwards, and most callers are unknown. Such a fix is only displayed, unless no
//! caller relies on what it removes.

use super::context::{FixContext, Proof, Proposal};
use super::key_uses::only_key;
use super::names::Action;
use super::tree;
use crate::finding::Finding;
use crate::python::ast::{self, Expr};
use crate::python::span_of;
use crate::text::{Edit, Span};

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    // A default that the docstring mentions is part of the documented interface.
    if findings[index].intent.is_some() {
        return Vec::new();
    }
    required(cx, findings, index).or_else(|| passed_on(cx, findings, index)).into_iter().collect()
}

fn proposal(message: String, edits: Vec<Edit>, index: usize) -> Proposal {
    let proof = Proof::Own { instead: None };
    Proposal::new(message, edits, vec![index]).proved_by(proof)
}

/// `def f(x, key=jax.random.key(0))` becomes `def f(x, key)`.
fn required(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let fix_hints = findings[index].fix_hints.as_ref()?;
    let parameter = fix_hints.unused.as_deref()?;
    let def = tree::function_around(cx.module, cx.here(fix_hints.used_at?)?)?;
    let all: Vec<&ast::ParameterWithDefault> = def.parameters.iter_non_variadic_params().collect();
    let at = all.iter().position(|one| one.parameter.name.as_str() == parameter)?;
    let default = all[at].default.as_deref()?;
    // Parameters without a default come first, except keyword-only ones.
    let is_named = def.parameters.kwonlyargs.iter().any(|one| one.parameter.name.as_str() == parameter);
    if !is_named && all[..at].iter().any(|one| one.default.is_some()) {
        return None;
    }
    let edits = vec![Edit::delete(Span::new(span_of(&all[at].parameter).end, span_of(default).end))];
    let message = format!("require every caller to pass `{parameter}`");
    let proposal = proposal(message, edits, index);
    Some(
        proposal
            .display_only_if(!gives(cx, def, at, parameter), "callers that keylint does not see may omit the argument"),
    )
}

/// Whether the function is private to the file, has calls there, and all of them pass the parameter.
fn gives(cx: &FixContext<'_>, def: &ast::StmtFunctionDef, position: usize, parameter: &str) -> bool {
    let name = def.name.as_str();
    let is_local = name.starts_with('_') || cx.names.frame_at(span_of(def).start).is_some_and(|scope| scope != 0);
    let occurrences = cx.names.occurrences(name);
    let reads = occurrences.iter().filter(|one| one.action == Action::Read).count();
    let is_call = |call: &&ast::ExprCall| matches!(&*call.func, Expr::Name(called) if called.id.as_str() == name);
    let calls: Vec<&ast::ExprCall> = tree::calls(cx.module).into_iter().filter(is_call).collect();
    let is_given = |call: &&ast::ExprCall| {
        call.arguments.args.len() > position || call.arguments.find_keyword(parameter).is_some()
    };
    is_local && def.decorator_list.is_empty() && !calls.is_empty() && calls.len() == reads && calls.iter().all(is_given)
}

/// `def f(x)` becomes `def f(x, key)`, for the key that it captures.
fn passed_on(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let fix_hints = findings[index].fix_hints.as_ref().filter(|fix_hints| fix_hints.unused.is_none())?;
    let call = tree::call_at(cx.module, cx.here(fix_hints.used_at?)?)?;
    let key = only_key(cx, call, None).filter(|key| key.is_name_expr())?;
    let name = cx.code(key);
    let def = tree::function_around(cx.module, span_of(call))?;
    let scope = cx.names.frame_at(span_of(call).start)?;
    let parameters = &*def.parameters;
    let last = parameters.args.last().or(parameters.posonlyargs.last())?;
    let is_plain = parameters.kwonlyargs.is_empty() && parameters.vararg.is_none() && parameters.kwarg.is_none();
    if cx.names.binds(scope, name) || !is_plain || last.default.is_some() {
        return None;
    }
    let end = span_of(last).end;
    let edits = vec![Edit::insert(end, format!(", {name}"))];
    let message = format!("make `{name}` a parameter; every caller must pass a new key each time");
    Some(proposal(message, edits, index).display_only_if(true, "every caller must be changed"))
}
