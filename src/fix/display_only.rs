//! Whether two draws that share a key may have to be equal, although nothing shows that this is intended.
//!
//! **Invariant:** a result only makes a fix display-only; whether a finding is shown is decided by the judge alone.

use super::asserted::asserts_both;
use super::context::FixContext;
use super::key_uses::{draws, only_key, pair, root_name};
use super::names::Action;
use super::tree;
use crate::finding::{ConsequenceKind, Finding, Sharing};
use crate::models::Effect;
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::Span;

/// Why a finding's two draws may need one key.
pub(super) fn reason(cx: &FixContext<'_>, finding: &Finding) -> Option<String> {
    let is_only_looked_at = finding.consequence.as_ref().is_some_and(|consequence| {
        matches!(consequence.kind, ConsequenceKind::Compared | ConsequenceKind::Timed | ConsequenceKind::ShapeOnly)
    });
    let intent = finding.intent.as_ref().map(|intent| format!("this may be intended because {}", intent.reason));
    let fate = || finding.consequence.as_ref().filter(|_| is_only_looked_at).map(|fate| fate.message.clone());
    // Two draws that go into one value are not two runs of the same thing.
    let are_combined =
        finding.consequence.as_ref().is_some_and(|consequence| consequence.kind == ConsequenceKind::Meet);
    let alike = || {
        (!are_combined && are_calls_alike(cx, finding)).then(|| "the two calls may need the same numbers".to_owned())
    };
    let asserted = || {
        let is_asserted = pair(cx, finding).is_some_and(|calls| asserts_both(cx, calls));
        is_asserted.then(|| "an assertion compares the two results".to_owned())
    };
    let words = || pair(cx, finding)?.into_iter().find_map(|call| of_a_key_in_use(cx, call));
    intent.or_else(fate).or_else(alike).or_else(asserted).or_else(words)
}

/// `words = key_data(key)` after a call that takes `key`: a split of the words comes too late for that call.
fn of_a_key_in_use(cx: &FixContext<'_>, call: &ast::ExprCall) -> Option<String> {
    let Expr::Name(key) = only_key(cx, call, None)? else { return None };
    let scope = cx.names.frame_at(span_of(call).start)?;
    let last_bound = |name: &str, until: u32| {
        let bound = cx.names.occurrences(name).iter().filter(|one| one.scope == scope && one.action == Action::Bind);
        bound.map(|one| one.span).filter(|span| span.end <= until).max()
    };
    let made = cx.steps(last_bound(key.id.as_str(), span_of(call).start)?).pop()?;
    let Stmt::Assign(assign) = made.statement() else { return None };
    let Expr::Call(bridge) = &*assign.value else { return None };
    let effect = &cx.model_of(&bridge.func)?.effect;
    if !matches!(effect, Effect::KeyData { .. } | Effect::Wrap { .. }) {
        return None;
    }
    let of = root_name(bridge.arguments.args.first()?)?;
    let start = span_of(made.statement()).start;
    let from = last_bound(of, start).map_or(0, |span| span.end);
    let is_given = |span: Span| {
        let around = tree::ancestors(cx.module, span);
        around.into_iter().any(|node| matches!(node, AnyNodeRef::ExprCall(_)))
    };
    let mut read = cx.names.occurrences(of).iter().filter(|one| one.scope == scope && one.action == Action::Read);
    let is_in_use = read.any(|one| from <= one.span.start && one.span.end <= start && is_given(one.span));
    is_in_use.then(|| format!("`{}` holds the words of a key that is already used", key.id))
}

/// Whether a function does with some data what it did with others, or one draw is the mirror image of the other.
fn are_calls_alike(cx: &FixContext<'_>, finding: &Finding) -> bool {
    let (Some(evidence), Some([first, second])) = (&finding.evidence, pair(cx, finding)) else { return false };
    let code = |call: &ast::ExprCall| cx.slice(span_of(call));
    // A child that was made together with the key and never used was intended for one of them.
    let has_child = finding.fix_hints.as_ref().is_some_and(|fix_hints| fix_hints.unused.is_some());
    if has_child || evidence.sharing != Sharing::Twice || span_of(first) == span_of(second) {
        return false;
    }
    if code(first) == code(second) && is_mirrored(first, cx) != is_mirrored(second, cx) {
        return true;
    }
    let of_program = evidence.first.len() > 1 && evidence.second.len() > 1;
    // One cell of a notebook does the same work as another in a second way.
    let is_other_cell = cx.is_notebook() && !cx.is_in_one_cell(span_of(first), span_of(second));
    if of_program && is_other_cell && evidence.first.last() == evidence.second.last() {
        return true;
    }
    // Calls that make a state or parameters may have to make them equal.
    let is_made_alike = !draws(cx, first) && (code(first) == code(second) || cx.model_of(&first.func).is_some());
    cx.code(&first.func) == cx.code(&second.func)
        && (is_made_alike && !of_program || of_program && is_of_other_data(cx, first, second))
}

/// Whether two calls of one function have different arguments that are not constants.
fn is_of_other_data(cx: &FixContext<'_>, first: &ast::ExprCall, second: &ast::ExprCall) -> bool {
    tree::arguments(first)
        .zip(tree::arguments(second))
        .any(|(left, right)| cx.code(left) != cx.code(right) && ![left, right].into_iter().any(Expr::is_literal_expr))
}

/// `-draw` or `1 - draw`, as antithetic variates are.
fn is_mirrored(call: &ast::ExprCall, cx: &FixContext<'_>) -> bool {
    let around = tree::ancestors(cx.module, span_of(call)).into_iter().rev();
    match around.into_iter().find(|node| span_of(node) != span_of(call)) {
        Some(AnyNodeRef::ExprUnaryOp(minus)) => minus.op == ast::UnaryOp::USub,
        Some(AnyNodeRef::ExprBinOp(difference)) => {
            difference.op == ast::Operator::Sub
                && difference.left.is_number_literal_expr()
                && matches!(&*difference.right, Expr::Call(right) if span_of(right) == span_of(call))
        }
        _ => false,
    }
}
