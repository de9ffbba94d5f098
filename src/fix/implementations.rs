//! One implementation for all keys (KEY304): it is chosen where the keys are made, `key(seed, impl="rbg")`.
//!
//! **Invariant:** the file makes typed keys, and those are all keys that it makes under the choice. A raw key keeps no implementation,
//! and a stream makes its key itself, so nothing is proposed beside them.

use super::context::{FixContext, Proof, Proposal};
use super::jax;
use super::layout;
use super::tree;
use crate::finding::{Finding, Place};
use crate::python::ast::{self, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

const OTHERS: &str = "other modules make keys, which the option also affects";

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    chosen_per_key(cx, findings, index).into_iter().collect()
}

fn chosen_per_key(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let call = tree::call_at(cx.module, cx.here(findings[index].primary)?)?;
    let name = call.arguments.args.last().filter(|name| name.is_string_literal_expr())?;
    let step = cx.steps(span_of(call)).pop()?;
    let (mut edits, governed) = match step.statement() {
        // If the choice is not at the top of the module, keys that are made before it keep the old implementation.
        Stmt::Expr(expr) if span_of(&*expr.value) == span_of(call) && step.is_in(&cx.module.body) => {
            let (lines, _) = layout::own_lines_with_comment(cx.text, span_of(expr))?;
            (vec![Edit::delete(lines)], Span::new(0, u32::MAX))
        }
        Stmt::With(with) => match &with.items[..] {
            [item] if span_of(&item.context_expr) == span_of(call) && item.optional_vars.is_none() => {
                (dedented(cx, with)?, body_of(with)?)
            }
            _ => return None,
        },
        _ => return None,
    };
    let makers: Vec<&ast::ExprCall> =
        tree::calls(cx.module).into_iter().filter(|call| governed.covers(span_of(*call))).collect();
    if makers.iter().any(|call| cx.stream_seed_of(call).is_some()) {
        return None;
    }
    let makers: Vec<&ast::ExprCall> = makers.into_iter().filter(|call| cx.seed_of(call).is_some()).collect();
    let mut places = Vec::new();
    for made in makers.into_iter().filter(|made| made.arguments.find_keyword("impl").is_none()) {
        let last = span_of(made.arguments.args.last().filter(|_| made.arguments.keywords.is_empty())?);
        let is_closed = cx.slice(Span::new(last.end, span_of(made).end)) == ")";
        if cx.path_of(&made.func)? != jax::KEY || made.arguments.args.len() != 1 || !is_closed {
            return None;
        }
        edits.push(Edit::insert(last.end, format!(", impl={}", cx.code(name))));
        places.push(Place { file: cx.file, span: span_of(made) });
    }
    let is_whole = governed.end == u32::MAX;
    let is_shared = is_whole && cx.others_make_keys();
    let message = "choose the implementation where the keys are made".to_owned();
    (!places.is_empty()).then(|| {
        Proposal::new(message, edits, vec![index]).proved_by(Proof::Draws(places)).display_only_if(is_shared, OTHERS)
    })
}

fn body_of(with: &ast::StmtWith) -> Option<Span> {
    Some(Span::new(span_of(with.body.first()?).start, span_of(with.body.last()?).end))
}

/// The edits that replace a block by its statements.
fn dedented(cx: &FixContext<'_>, with: &ast::StmtWith) -> Option<Vec<Edit>> {
    let (whole, body) = (span_of(with), body_of(with)?);
    let (outer, inner) = (layout::indentation(cx.text, whole.start)?, layout::indentation(cx.text, body.start)?);
    let extra = inner.strip_prefix(outer).filter(|extra| !extra.is_empty())?;
    let header = Span::new(whole.start, body.start);
    // A comment in the header would be lost, and lines of a string would change.
    let lines_of_strings = tree::expressions(cx.module).into_iter().any(|expr| {
        let is_text = expr.is_string_literal_expr() || expr.is_f_string_expr() || expr.is_bytes_literal_expr();
        is_text && body.covers(span_of(expr)) && cx.code(expr).contains(['\n', '\r'])
    });
    if cx.slice(header).contains('#') || lines_of_strings {
        return None;
    }
    let mut edits = vec![Edit::delete(header)];
    let mut start = body.start;
    for line in cx.slice(body).split_inclusive('\n') {
        if start > body.start && !line.trim().is_empty() {
            line.strip_prefix(inner)?;
            let at = start + u32::try_from(outer.len()).ok()?;
            edits.push(Edit::delete(Span::new(at, at + u32::try_from(extra.len()).ok()?)));
        }
        start += u32::try_from(line.len()).ok()?;
    }
    Some(edits)
}
