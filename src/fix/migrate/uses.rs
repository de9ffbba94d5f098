//! What a file does with the words of its keys, expression by expression.
//!
//! **Invariant:** the models say which functions accept typed keys like raw ones; any other code that gets a key gets its words.

use super::shapes::{self, is_width};
use super::{Change, Writer};
use crate::fix::names::Action;
use crate::fix::tree;
use crate::fix::typed_uses::{elements, is_key, satisfies};
use crate::models::{ARRAY, Effect, ShapeOp};
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

pub(super) fn rewrite<'a>(writer: &mut Writer<'_, 'a>, expr: &'a Expr) {
    match expr {
        Expr::Call(call) => called(writer, call),
        Expr::Attribute(attribute) if attribute.ctx.is_load() => read(writer, attribute),
        Expr::Subscript(row) if row.ctx.is_store() => stored(writer, row),
        _ => {}
    }
}

/// A function to which keys are passed.
fn called<'a>(writer: &mut Writer<'_, 'a>, call: &'a ast::ExprCall) {
    let cx = writer.cx;
    let Some(path) = cx.path_of(&call.func) else {
        if let Expr::Attribute(method) = &*call.func {
            put(writer, call, method);
        }
        return;
    };
    let parts: Vec<&Expr> = tree::arguments(call).flat_map(elements).collect();
    // What only a later use shows to be a key, as the numbers from a file, is made of words already.
    let is_one = |part: &&Expr| {
        let is_raw = || writer.known.get(&span_of(*part)).is_some_and(|known| known.iter().any(|one| one.is_raw));
        writer.key(part).is_some() && (is_raw() || part.is_name_expr() || is_key(cx, part))
    };
    let keys: Vec<&Expr> = parts.into_iter().filter(is_one).collect();
    let Some(typed) = cx.models.typed(&path) else { return };
    let model = cx.models.callable(&path).map(|callable| &callable.effect);
    if keys.is_empty() && !typed.is_alike {
        wrapped(writer, call);
    }
    if keys.is_empty() || matches!(model, Some(Effect::KeyData { .. })) {
        return;
    }
    if let Some(Effect::Shape { op: ShapeOp::Reshape | ShapeOp::BroadcastTo, .. }) = model
        && let [_, shape @ ..] = &call.arguments.args[..]
        && reshaped(writer, shape, span_of(call))
    {
        return;
    }
    let are_arrays = keys.iter().all(|key| writer.key(key).is_some_and(|known| known.is_array));
    if typed.is_alike && (!typed.of_arrays || are_arrays) && satisfies(cx, typed, &path, call) {
        return;
    }
    let converted = keys.into_iter().filter(|key| writer.convert(key)).count();
    // What the words become is an array of keys for the code after it: `jnp.expand_dims(keys, -2)`.
    if converted > 0 && typed.is_alike && writer.known_at(span_of(call)).is_some() {
        writer.wrap(span_of(call));
    }
}

/// Words that were read or written out, and are drawn from: `jnp.array(np.load(path))`.
fn wrapped(writer: &mut Writer<'_, '_>, call: &ast::ExprCall) {
    let cx = writer.cx;
    let span = span_of(call);
    let around = tree::ancestors(cx.module, span);
    let is_within_another = around.into_iter().rev().any(|node| match node {
        AnyNodeRef::ExprCall(outer) => {
            let refuses = |path: String| cx.models.typed(&path).is_some_and(|typed| !typed.is_alike);
            span_of(outer) != span
                && writer.known_at(span_of(outer)).is_some()
                && cx.path_of(&outer.func).is_some_and(refuses)
        }
        _ => false,
    });
    if writer.known_at(span).is_none() || is_within_another || writer.stays_raw {
        return;
    }
    writer.wrap(span);
}

/// `rows.at[i].set(key)`, where `rows` is an array of words.
fn put<'a>(writer: &mut Writer<'_, 'a>, call: &'a ast::ExprCall, method: &'a ast::ExprAttribute) {
    let Expr::Subscript(at) = &*method.value else { return };
    let Expr::Attribute(within) = &*at.value else { return };
    let path = format!("{ARRAY}.{}.{}", within.attr, method.attr);
    let is_put = writer.cx.models.typed(&path).is_some_and(|typed| typed.path == path);
    if !is_put || writer.key(&within.value).is_some() {
        return;
    }
    if let Some(key) = tree::arguments(call).next().filter(|key| writer.key(key).is_some()) {
        writer.convert(key);
    }
}

/// A method or an attribute of a key.
fn read<'a>(writer: &mut Writer<'_, 'a>, attribute: &'a ast::ExprAttribute) {
    let Some(key) = writer.key(&attribute.value) else { return };
    let cx = writer.cx;
    let model = cx.models.of_array(&attribute.attr).map(|callable| &callable.effect);
    if let Some(Effect::ShapeOf { query, .. }) = model {
        return shapes::rewrite(writer, attribute, key, *query);
    }
    let path = format!("{ARRAY}.{}", attribute.attr);
    let span = span_of(attribute);
    let around = tree::ancestors(cx.module, span);
    let mut around = around.into_iter().rev().filter(|node| span_of(node) != span);
    let (parent, beyond) = (around.next(), around.next());
    if let (Some(AnyNodeRef::ExprSubscript(_)), Some(AnyNodeRef::ExprAttribute(method))) = (parent, beyond) {
        let path = format!("{path}.{}", method.attr);
        if cx.models.typed(&path).is_some_and(|typed| typed.path == path && typed.is_alike) {
            return;
        }
    }
    if let (Some(Effect::Shape { op: ShapeOp::Reshape, .. }), Some(AnyNodeRef::ExprCall(call))) = (model, parent)
        && !key.is_called
        && reshaped(writer, &call.arguments.args, span_of(call))
    {
        return;
    }
    let is_known = model.is_some() || cx.models.typed(&path).is_some_and(|typed| typed.path == path);
    if is_known && cx.models.typed(&path).is_some_and(|typed| !typed.is_alike) {
        writer.convert(&attribute.value);
    }
}

/// Removes the axis of words from a target shape of keys; returns whether the shape is then valid for typed keys.
fn reshaped(writer: &mut Writer<'_, '_>, shape: &[Expr], whole: Span) -> bool {
    if writer.stays_raw {
        return false;
    }
    let edits = match shape {
        [Expr::Tuple(tuple)] => {
            shapes::without_words(writer, tuple).or_else(|| without_rest(writer, &tuple.elts, whole))
        }
        // `topology + (2,)`
        [Expr::BinOp(sum)] if matches!(&*sum.right, Expr::Tuple(words) if is_words(writer, words)) => {
            Some(vec![Edit::delete(Span::new(span_of(&*sum.left).end, span_of(sum).end))])
        }
        // `(n, m) + keys.shape[1:]`
        [Expr::BinOp(sum)] => ends_like_keys(writer, &sum.right).then(Vec::new),
        [.., before, last] if is_width(writer, last) => {
            Some(vec![Edit::delete(Span::new(span_of(before).end, span_of(last).end))])
        }
        [.., Expr::Starred(starred)] => ends_like_keys(writer, &starred.value).then(Vec::new),
        lengths => without_rest(writer, lengths, whole),
    };
    edits.is_some_and(|edits| edits.is_empty() || writer.add(Change::Shape, edits))
}

/// Whether a tuple of one length is the axis of words.
fn is_words(writer: &Writer<'_, '_>, tuple: &ast::ExprTuple) -> bool {
    matches!(&tuple.elts[..], [only] if is_width(writer, only))
}

/// The edits that remove the last length if it is `-1` and stands for the words: the result is known to be keys, of more axes.
fn without_rest(writer: &Writer<'_, '_>, lengths: &[Expr], whole: Span) -> Option<Vec<Edit>> {
    let [others @ .., before, last] = lengths else { return None };
    let is_plain = |length: &Expr| !length.is_starred_expr() && shapes::constant(length) != Some(-1);
    let is_rest = shapes::constant(last) == Some(-1) && others.iter().chain([before]).all(is_plain);
    let are_keys = writer.known_at(whole).is_some_and(|known| known.is_array);
    (is_rest && are_keys && !others.is_empty())
        .then(|| vec![Edit::delete(Span::new(span_of(before).end, span_of(last).end))])
}

/// Whether a part of a shape is the end of that of keys: `keys.shape[1:]`, or all of it.
fn ends_like_keys(writer: &Writer<'_, '_>, part: &Expr) -> bool {
    let is_shape = |expr: &Expr| matches!(expr, Expr::Attribute(shape) if shape.attr.as_str() == "shape" && writer.key(&shape.value).is_some());
    match part {
        Expr::Subscript(item) => match &*item.slice {
            Expr::Slice(slice) => {
                let is_open = slice.upper.is_none() && slice.step.is_none();
                let from = slice.lower.as_deref().map_or(Some(0), shapes::constant);
                is_shape(&item.value) && is_open && from.is_some_and(|from| from >= 0)
            }
            _ => false,
        },
        other => is_shape(other),
    }
}

/// `rows[i] = key`, where `rows` was made as an array of words.
fn stored(writer: &mut Writer<'_, '_>, row: &ast::ExprSubscript) {
    let cx = writer.cx;
    let Some(Stmt::Assign(assign)) = cx.steps(span_of(row)).pop().map(tree::Step::statement) else { return };
    let Expr::Name(rows) = &*row.value else { return };
    if writer.key(&assign.value).is_none() || writer.key(&row.value).is_some() {
        return;
    }
    let is_array = |occurrence: &crate::fix::names::Occurrence| {
        let made = cx.steps(occurrence.span).pop().map(tree::Step::statement);
        let Some(Stmt::Assign(made)) = made.filter(|_| occurrence.action == Action::Bind) else { return false };
        let Expr::Call(call) = &*made.value else { return false };
        cx.path_of(&call.func).is_some_and(|path| cx.models.typed(&path).is_some_and(|typed| !typed.is_alike))
    };
    if cx.names.occurrences(rows.id.as_str()).iter().any(is_array) {
        writer.convert(&assign.value);
    }
}
