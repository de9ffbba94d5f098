//! Whether the uses of one key may be intended to be alike: rows that stay together, parameters with equal initial values,
//! antithetic variates, results that are compared.
//!
//! **Invariant:** an answer only ever leaves a fix to people; the judge alone says what is intended.

use super::context::FixContext;
use super::equality_asserts::{are_results_compared, do_results_meet};
use super::seeds;
use super::tree;
use crate::finding::{Finding, Place, Sharing};
use crate::models::Effect;
use crate::python::ast::{self, AnyNodeRef, Expr};
use crate::python::span_of;

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

/// Whether two arrays are put in one order, or the same of their rows are chosen: that is what one key is for.
pub(super) fn are_rows_alike(cx: &FixContext<'_>, [first, second]: [&ast::ExprCall; 2]) -> bool {
    let path = cx.path_of(&first.func);
    let arranges = |path: &str| {
        cx.models.callable(path).is_some_and(|one| matches!(one.effect, Effect::Sample { rows: Some(_), .. }))
    };
    path == cx.path_of(&second.func) && path.is_some_and(|path| arranges(&path))
}

/// Whether what is taken for a key may be a number: nothing but streams are made of it, and it is called a seed.
pub(super) fn may_be_number<'e>(cx: &FixContext<'_>, calls: impl IntoIterator<Item = &'e ast::ExprCall>) -> bool {
    let mut calls = calls.into_iter().peekable();
    let is_seed = |expr: &Expr| cx.code(expr).to_ascii_lowercase().contains("seed");
    calls.peek().is_some() && calls.all(|call| cx.stream_seed_of(call).is_some() && tree::arguments(call).any(is_seed))
}

/// Whether two calls are so alike that one key may be what was intended: of one function of the program, which does with some data
/// what it did with others, or of one of a library, with the very same arguments.
pub(super) fn may_be_intended(cx: &FixContext<'_>, finding: &Finding) -> bool {
    let (Some(evidence), Some([first, second])) = (&finding.evidence, pair(cx, finding)) else { return false };
    let code = |call: &ast::ExprCall| cx.slice(span_of(call));
    let of_program = evidence.first.len() > 1 && evidence.second.len() > 1;
    // What a library does with one image it may have to do with its mask.
    let is_modelled = |call: &ast::ExprCall| cx.model_of(&call.func).is_some();
    // Numbers and their mirror images, as antithetic variates are.
    let is_mirrored = |call: &ast::ExprCall| {
        let around = tree::ancestors(cx.module, span_of(call)).into_iter().rev();
        let mut around = around.filter(|node| span_of(node) != span_of(call));
        match around.next() {
            Some(AnyNodeRef::ExprUnaryOp(minus)) => minus.op == ast::UnaryOp::USub,
            Some(AnyNodeRef::ExprBinOp(difference)) => {
                difference.op == ast::Operator::Sub
                    && difference.left.is_number_literal_expr()
                    && span_of(&*difference.right) == span_of(call)
            }
            _ => false,
        }
    };
    if code(first) == code(second) && is_mirrored(first) != is_mirrored(second) {
        return true;
    }
    let narrows = |call: &ast::ExprCall| {
        let callable = cx.model_of(&call.func);
        matches!(callable.map(|callable| &callable.effect), Some(Effect::Consume { only: Some(only), .. })
            if call.arguments.find_keyword(only).is_some())
    };
    let is_dummy = |written: &Option<String>| written.as_deref().is_some_and(seeds::is_called_dummy);
    let are_dummies = finding.repair.as_ref().is_some_and(|repair| repair.written.iter().any(is_dummy));
    if is_repeated_in_cell(cx, finding, [first, second]) {
        return true;
    }
    if are_results_compared(cx, [first, second]) || narrows(first) && narrows(second) || are_dummies {
        return true;
    }
    evidence.sharing == Sharing::Twice
        && span_of(first) != span_of(second)
        && cx.code(&first.func) == cx.code(&second.func)
        && (of_program || !draws(cx, first) && (code(first) == code(second) || is_modelled(first)))
}

/// Whether two cells of a notebook do one thing in two ways: they call one function with arguments of which one at most differs,
/// and what comes of the two calls never meets.
fn is_repeated_in_cell(cx: &FixContext<'_>, finding: &Finding, [first, second]: [&ast::ExprCall; 2]) -> bool {
    let Some(evidence) = finding.evidence.as_ref().filter(|_| cx.is_notebook()) else { return false };
    let leads_alike = evidence.first.len() > 1 && evidence.first.last() == evidence.second.last();
    let is_one = leads_alike || cx.code(&first.func) == cx.code(&second.func) && !draws(cx, first);
    let keywords = |call: &ast::ExprCall| -> Vec<Option<String>> {
        call.arguments.keywords.iter().map(|keyword| keyword.arg.as_ref().map(ToString::to_string)).collect()
    };
    let counts = |call: &ast::ExprCall| call.arguments.args.len();
    let arguments = tree::arguments(first).zip(tree::arguments(second));
    let different = arguments.filter(|(left, right)| cx.code(left) != cx.code(right)).count();
    is_one
        && different <= 1
        && counts(first) == counts(second)
        && keywords(first) == keywords(second)
        && !cx.is_in_one_cell(span_of(first), span_of(second))
        && !do_results_meet(cx, [first, second])
}

/// Whether a call is known to draw or derive for itself, which it has no reason to do twice alike; what makes parameters or a
/// state has.
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
