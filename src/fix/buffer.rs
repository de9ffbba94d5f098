//! Keys used as numbers: an index or an unpacking in place of `split` (KEY201), arithmetic in place of a derivation (KEY202), a
//! map over the wrong axis (KEY203).
//!
//! **Invariant:** a fix needs a key and a number that can be distinguished by how they are written; otherwise there is none.

use super::children;
use super::context::{FixContext, Proof, Proposal, is_plain};
use super::jax;
use super::layout;
use super::loops::common_statement;
use super::naming::Reserved;
use super::tree;
use crate::finding::{Finding, RuleId};
use crate::models::{ARRAY, Effect, ShapeOp};
use crate::python::ast::{self, Expr, Number, Operator, Stmt, UnaryOp};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// More children than anyone would select by constant indices.
const MOST_CHILDREN: u64 = 16;

fn unsafe_proposal(message: String, edits: Vec<Edit>, resolves: Vec<usize>, names: Vec<Reserved>) -> Proposal {
    Proposal::new(message, edits, resolves).proved_by(Proof::Own { instead: None }).naming(names)
}

/// `key[0]`, `a, b = key` and `PRNGKey(key[1])`.
pub(super) fn indexed(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let span = findings[index].primary.span;
    let proposal = match tree::expression_at(cx.module, span) {
        Some(Expr::Subscript(_)) => children(cx, findings, index),
        Some(call @ Expr::Call(_)) => reseeded(cx, call, index),
        _ => None,
    };
    let proposal = proposal.or_else(|| recounted(cx, span, index));
    proposal.or_else(|| unpacked(cx, span, index)).into_iter().collect()
}

/// `a, b, c = split(key)` becomes `a, b, c = split(key, 3)`.
fn recounted(cx: &FixContext<'_>, span: Span, index: usize) -> Option<Proposal> {
    let (split, bound) = children::split_of(cx, cx.steps(span).pop()?.statement())?;
    let edits = vec![children::counting(split, bound.len())?];
    Some(unsafe_proposal(format!("split into {} keys", bound.len()), edits, vec![index], Vec::new()))
}

/// The key and the index of `key[0]`.
fn constant_item<'a>(cx: &FixContext<'_>, expr: &'a Expr) -> Option<(&'a Expr, u64)> {
    let Expr::Subscript(subscript) = expr else { return None };
    let is_key = is_plain(&subscript.value) && cx.is_keyish(cx.code(&subscript.value));
    let number = number(&subscript.slice).filter(|number| *number < MOST_CHILDREN)?;
    is_key.then_some((&*subscript.value, number))
}

fn number(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => number.as_u64(),
            _ => None,
        },
        _ => None,
    }
}

/// The words of one key, used as children: all such indices in a function at once.
fn children(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let lead = &findings[index];
    let (key, _) = constant_item(cx, tree::expression_at(cx.module, lead.primary.span)?)?;
    let code = cx.code(key);
    // Callers may pass an array of keys, as the name says.
    if cx.models.words.names_several_keys(code) || is_for_another_argument(cx, lead.primary.span) {
        return None;
    }
    let item = |at: usize| {
        let expr = tree::expression_at(cx.module, findings[at].primary.span)?;
        let (other, number) = constant_item(cx, expr)?;
        (cx.code(other) == code).then_some((span_of(expr), span_of(other), number))
    };
    let resolves: Vec<usize> =
        cx.matching(findings, |other| other.rule == RuleId::KeyBufferIndexed && other.function == lead.function);
    let resolves: Vec<usize> = resolves.into_iter().filter(|at| item(*at).is_some()).collect();
    let items: Vec<_> = resolves.iter().filter_map(|at| item(*at)).collect();
    let most = items.iter().map(|(.., number)| number + 1).max()?.max(2);
    let number = if most == 2 { String::new() } else { format!(", {most}") };
    let message = format!("split `{code}` and take its children; the numbers change");
    if let [(_, key, _)] = items[..] {
        let split = cx.spelled(key.start, jax::SPLIT, None)?;
        let edits = vec![Edit::replace(key, format!("{split}({code}{number})"))];
        return Some(unsafe_proposal(message, edits, resolves, Vec::new()));
    }
    let scope = cx.names.frame_at(lead.primary.span.start)?;
    let spans: Vec<Span> = items.iter().map(|(item, ..)| *item).collect();
    if spans.iter().any(|span| cx.names.frame_at(span.start) != Some(scope)) {
        return None;
    }
    let start = span_of(common_statement(cx, &spans)?.statement()).start;
    let split = cx.spelled(start, jax::SPLIT, None)?;
    let name = ["keys", "subkeys", "children"].into_iter().find(|name| !cx.is_taken(scope, name))?;
    let mut edits = vec![layout::before(cx.text, start, &format!("{name} = {split}({code}{number})"))];
    edits.extend(items.iter().map(|(_, key, _)| Edit::replace(*key, name.to_owned())));
    Some(unsafe_proposal(message, edits, resolves, cx.claim(scope, &[name.to_owned()])))
}

/// Whether a word is passed by a name that means no key: `frame.sample(random_state=key[0])` needs a number.
fn is_for_another_argument(cx: &FixContext<'_>, word: Span) -> bool {
    tree::ancestors(cx.module, word).into_iter().any(|node| match node {
        ast::AnyNodeRef::Keyword(keyword) if span_of(&keyword.value) == word => {
            keyword.arg.as_ref().is_some_and(|name| !cx.models.words.is_keyish(name))
        }
        _ => false,
    })
}

/// `PRNGKey(key[1])` becomes `fold_in(key, 1)`.
fn reseeded(cx: &FixContext<'_>, call: &Expr, index: usize) -> Option<Proposal> {
    let Expr::Call(made) = call else { return None };
    let seed = cx.seed_of(made).filter(|_| made.arguments.len() == 1)?;
    let mut items = tree::expressions_within(seed).into_iter().filter_map(|expr| constant_item(cx, expr));
    let (key, number) = items.next()?;
    if items.next().is_some() {
        return None;
    }
    let code = cx.code(key);
    let fold = cx.spelled(span_of(call).start, jax::FOLD_IN, Some(made))?;
    let edits = vec![Edit::replace(span_of(call), format!("{fold}({code}, {number})"))];
    Some(unsafe_proposal(format!("derive a key from `{code}`; the numbers change"), edits, vec![index], Vec::new()))
}

/// `a, b = key` becomes `a, b = split(key)`.
fn unpacked(cx: &FixContext<'_>, span: Span, index: usize) -> Option<Proposal> {
    let step = cx.steps(span).pop()?;
    let Stmt::Assign(assign) = step.statement() else { return None };
    let [Expr::Tuple(targets)] = &assign.targets[..] else { return None };
    let key = &*assign.value;
    let is_simple = targets.elts.iter().all(|target| matches!(target, Expr::Name(_) | Expr::Attribute(_)));
    let is_made = match key {
        Expr::Call(call) => cx.seed_of(call).is_some(),
        _ => is_plain(key),
    };
    if !is_simple || targets.elts.is_empty() || !is_made {
        return None;
    }
    let code = cx.code(key);
    let split = cx.spelled(span_of(key).start, jax::SPLIT, None)?;
    let number = if targets.elts.len() == 2 { String::new() } else { format!(", {}", targets.elts.len()) };
    let edits = vec![Edit::replace(span_of(key), format!("{split}({code}{number})"))];
    Some(unsafe_proposal(format!("split `{code}` first; the numbers change"), edits, vec![index], Vec::new()))
}

/// `key + i` becomes `fold_in(key, i)`, `key + jnp.arange(n)[:, None]` becomes `split(key, n)`.
pub(super) fn arithmetic(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let span = findings[index].primary.span;
    // Operations on the sum would become operations on a typed key.
    let is_around = |other: &Finding| {
        other.rule == RuleId::KeyArithmetic && other.primary.span.covers(span) && other.primary.span != span
    };
    if findings.iter().any(is_around) {
        return Vec::new();
    }
    let edit = match tree::expression_at(cx.module, span) {
        Some(Expr::BinOp(sum)) if folds(sum.op) => pair(cx, &sum.left, &sum.right).and_then(|(key, other)| {
            let content = derived(cx, key, other)?;
            Some((cx.code(key), Edit::replace(span, content)))
        }),
        _ => augmented(cx, span),
    };
    let Some((key, edit)) = edit else { return Vec::new() };
    let message = format!("derive a key from `{key}`; the numbers change");
    vec![unsafe_proposal(message, vec![edit], vec![index], Vec::new())]
}

/// `key += i` becomes `key = fold_in(key, i)`.
fn augmented<'a>(cx: &FixContext<'a>, span: Span) -> Option<(&'a str, Edit)> {
    let step = cx.steps(span).pop()?;
    let Stmt::AugAssign(assign) = step.statement() else { return None };
    let (key, number) = (&*assign.target, &*assign.value);
    if !folds(assign.op) || !is_plain(key) || !is_number(cx, number) {
        return None;
    }
    let content = format!("{} = {}", cx.code(key), derived(cx, key, number)?);
    Some((cx.code(key), Edit::replace(span_of(step.statement()), content)))
}

fn folds(operator: Operator) -> bool {
    matches!(operator, Operator::Add | Operator::BitXor | Operator::BitOr)
}

/// Which of two operands is the key, and which the number.
fn pair<'a>(cx: &FixContext<'_>, left: &'a Expr, right: &'a Expr) -> Option<(&'a Expr, &'a Expr)> {
    let is_key = |expr: &Expr| is_plain(expr) && cx.is_keyish(cx.code(expr));
    match (is_key(left), is_key(right)) {
        (true, false) if is_number(cx, right) => Some((left, right)),
        (false, true) if is_number(cx, left) => Some((right, left)),
        _ => None,
    }
}

/// Whether an expression looks like one whole number, or a column of them.
fn is_number(cx: &FixContext<'_>, expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(_) => number(expr).is_some(),
        Expr::Name(_) | Expr::Attribute(_) => !cx.is_keyish(cx.code(expr)),
        Expr::BinOp(of) => is_number(cx, &of.left) && is_number(cx, &of.right),
        Expr::Subscript(_) => column(cx, expr).is_some(),
        Expr::Call(call) => cx.path_of(&call.func).is_some_and(|path| path == jax::AXIS_INDEX),
        _ => false,
    }
}

/// The length of `jnp.arange(n)[:, None]`.
fn column<'a>(cx: &FixContext<'_>, expr: &'a Expr) -> Option<&'a Expr> {
    let Expr::Subscript(subscript) = expr else { return None };
    let Expr::Tuple(axes) = &*subscript.slice else { return None };
    let [Expr::Slice(all), Expr::NoneLiteral(_)] = &axes.elts[..] else { return None };
    let is_whole = all.lower.is_none() && all.upper.is_none() && all.step.is_none();
    cx.counted(&subscript.value).filter(|_| is_whole)
}

/// The key that a calculation with a key was intended to make.
fn derived(cx: &FixContext<'_>, key: &Expr, number: &Expr) -> Option<String> {
    let at = span_of(key).start;
    let code = cx.code(key);
    if let Some(length) = column(cx, number) {
        let split = cx.spelled(at, jax::SPLIT, None)?;
        return Some(format!("{split}({code}, {})", cx.code(length)));
    }
    let fold = cx.spelled(at, jax::FOLD_IN, None)?;
    Some(format!("{fold}({code}, {})", cx.code(number)))
}

/// `in_axes=1` becomes `in_axes=0`, `keys.T` becomes `keys`.
pub(super) fn swapped(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let span = findings[index].primary.span;
    let Some(expr) = tree::expression_at(cx.module, span) else { return Vec::new() };
    let mut axes = Vec::new();
    for within in tree::expressions_within(expr) {
        let Expr::Call(call) = within else { continue };
        let Some(keyword) = call.arguments.find_keyword("in_axes") else { continue };
        let parts = match &keyword.value {
            Expr::Tuple(tuple) => tuple.elts.iter().collect(),
            other => vec![other],
        };
        axes.extend(parts.into_iter().filter(|part| is_last_axis(part)));
    }
    let [axis] = axes[..] else {
        return transposed(cx, expr, index).or_else(|| flattened(cx, expr, index)).into_iter().collect();
    };
    let edits = vec![Edit::replace(span_of(axis), "0")];
    vec![unsafe_proposal(
        "map over the axis of the keys; the numbers change".to_owned(),
        edits,
        vec![index],
        Vec::new(),
    )]
}

/// Flattening an array of raw keys keeps the axis of their words: `keys.reshape(-1, keys.shape[-1])`.
fn flattened(cx: &FixContext<'_>, expr: &Expr, index: usize) -> Option<Proposal> {
    let Expr::Call(call) = expr else { return None };
    let path = cx.path_of(&call.func);
    let (keys, shape, path) = match (&*call.func, &call.arguments.args[..], path) {
        (_, [keys, shape @ ..], Some(path)) => (keys, shape, path),
        (Expr::Attribute(method), shape, None) => (&*method.value, shape, format!("{ARRAY}.{}", method.attr)),
        _ => return None,
    };
    let Effect::Shape { op, .. } = &cx.models.callable(&path)?.effect else { return None };
    let is_flat = match (op, shape) {
        (ShapeOp::Ravel, []) => true,
        (ShapeOp::Reshape, [Expr::UnaryOp(minus)]) => minus.op == UnaryOp::USub && number(&minus.operand) == Some(1),
        _ => false,
    };
    let code = cx.code(keys);
    let content = format!("{code}.reshape(-1, {code}.shape[-1])");
    let message = format!("flatten `{code}` but keep the axis of words; the numbers change");
    let edits = vec![Edit::replace(span_of(expr), content)];
    (is_flat && call.arguments.keywords.is_empty() && is_plain(keys))
        .then(|| unsafe_proposal(message, edits, vec![index], Vec::new()))
}

/// A transpose that turns words into lanes is removed.
fn transposed(cx: &FixContext<'_>, expr: &Expr, index: usize) -> Option<Proposal> {
    let keys = match expr {
        Expr::Attribute(turned) if turned.attr.as_str() == "T" => &*turned.value,
        Expr::Call(call) => match (&*call.func, &call.arguments.args[..]) {
            (Expr::Attribute(method), []) if method.attr.as_str() == "transpose" => &*method.value,
            (function, [keys]) => {
                let callable = cx.model_of(function)?;
                let turns = matches!(callable.effect, Effect::Shape { op: ShapeOp::Transpose, .. });
                Some(keys).filter(|_| turns)?
            }
            _ => return None,
        },
        _ => return None,
    };
    let is_only = !matches!(expr, Expr::Call(call) if !call.arguments.keywords.is_empty());
    let code = cx.code(keys);
    let edits = vec![Edit::replace(span_of(expr), code.to_owned())];
    let message = format!("keep the axes of `{code}`; the numbers change");
    (is_only && is_plain(keys)).then(|| unsafe_proposal(message, edits, vec![index], Vec::new()))
}

/// Whether an axis is written `1` or `-1`.
fn is_last_axis(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp(minus) => minus.op == UnaryOp::USub && number(&minus.operand) == Some(1),
        _ => number(expr) == Some(1),
    }
}
