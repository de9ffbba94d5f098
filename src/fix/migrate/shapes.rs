//! Rewrites tests of the shape, the number of axes and the dtype of a key for typed keys.
//!
//! **Invariant:** a raw key has one more axis than a typed one, the last, and its dtype is `uint32`; they differ in
//! nothing else.

use super::{Change, Known, Writer};
use crate::fix::jax;
use crate::fix::tree;
use crate::models::ShapeQuery;
use crate::python::ast::{self, AnyNodeRef, CmpOp, Expr, Number, UnaryOp};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// How many words a key has, by implementation.
const WIDTHS: [u64; 2] = [2, 4];

/// How a test is rewritten.
enum Answer {
    /// It gives the same result for typed keys.
    Same,
    /// These edits test typed keys.
    Edits(Vec<Edit>),
    /// The words have to be tested.
    OfWords,
}

/// Rewrites `key.shape` and the like; `attribute` is an attribute of a key.
pub(super) fn rewrite(writer: &mut Writer<'_, '_>, attribute: &ast::ExprAttribute, key: Known, query: ShapeQuery) {
    let span = span_of(attribute);
    let around = tree::ancestors(writer.cx.module, span);
    let around: Vec<AnyNodeRef<'_>> = around.into_iter().rev().filter(|node| span_of(node) != span).collect();
    if is_shown(writer, span, &around) || tests_the_kind(writer, span) {
        return;
    }
    if key.is_called {
        writer.leave(span);
        return;
    }
    let Some(answer) = answer(writer, attribute, key, query, &around) else { return };
    let is_alike = matches!(query, ShapeQuery::Dtype) || !writer.stays_raw;
    match answer {
        Answer::Same => {}
        Answer::Edits(edits) if is_alike => {
            if writer.add(Change::Shape, edits) {
                writer.done.asked.insert(span_of(&*attribute.value));
            }
        }
        Answer::Edits(_) | Answer::OfWords => {
            writer.convert(&attribute.value);
        }
    }
}

/// How the answer of a test may differ between raw and typed keys.
pub(super) enum Difference {
    /// The test is written for raw keys.
    ForRawKeys,
    /// What it is written for is not known.
    Open,
}

/// How the answer of a test may differ between raw and typed keys; `None` if it does not, or if the test is for typed keys.
pub(super) fn differs(
    writer: &mut Writer<'_, '_>,
    attribute: &ast::ExprAttribute,
    key: Known,
    query: ShapeQuery,
) -> Option<Difference> {
    let span = span_of(attribute);
    let around = tree::ancestors(writer.cx.module, span);
    let around: Vec<AnyNodeRef<'_>> = around.into_iter().rev().filter(|node| span_of(node) != span).collect();
    let parent = around.first().copied()?;
    if is_shown(writer, span, &around) || tests_the_kind(writer, span) || tests_for_typed(parent) {
        return None;
    }
    match answer(writer, attribute, key, query, &around)? {
        Answer::Same => None,
        Answer::Edits(_) => Some(Difference::ForRawKeys),
        Answer::OfWords => Some(Difference::Open),
    }
}

/// `key.ndim == 0`, `key.shape == ()`: true for typed keys only.
fn tests_for_typed(parent: AnyNodeRef<'_>) -> bool {
    let is_typed = |side: &Expr| match side {
        Expr::Tuple(lengths) => lengths.elts.is_empty(),
        other => constant(other) == Some(0),
    };
    match parent {
        AnyNodeRef::ExprCompare(comparison) => {
            is_typed(&comparison.left) || comparison.comparators.iter().any(is_typed)
        }
        _ => false,
    }
}

fn answer(
    writer: &mut Writer<'_, '_>,
    attribute: &ast::ExprAttribute,
    key: Known,
    query: ShapeQuery,
    around: &[AnyNodeRef<'_>],
) -> Option<Answer> {
    let (span, parent) = (span_of(attribute), around.first().copied()?);
    Some(match query {
        ShapeQuery::Shape => shape(writer, attribute, key, parent, around),
        ShapeQuery::Ndim => number(span, parent, |number| number.checked_sub(1)),
        ShapeQuery::Size => number(span, parent, |number| WIDTHS.contains(&number).then_some(1)),
        ShapeQuery::Dtype => dtype(writer, attribute, parent, around),
    })
}

/// Whether a value is only displayed: in a string, or in a call whose result is unused.
fn is_shown(writer: &Writer<'_, '_>, asked: Span, around: &[AnyNodeRef<'_>]) -> bool {
    let is_text = |node: &AnyNodeRef<'_>| matches!(node, AnyNodeRef::ExprFString(_) | AnyNodeRef::FString(_));
    let is_printed = |node: &AnyNodeRef<'_>| match node {
        AnyNodeRef::ExprCall(call) => writer.cx.is_builtin(&call.func, "print"),
        _ => false,
    };
    let mut within = around.iter().take_while(|node| !node.is_statement());
    let is_message = around.iter().find(|node| node.is_statement()).is_some_and(|statement| match statement {
        AnyNodeRef::StmtAssert(assert) => {
            assert.msg.as_deref().is_some_and(|message| span_of(message).contains(asked.start))
        }
        AnyNodeRef::StmtRaise(_) => true,
        _ => false,
    });
    is_message || within.any(|node| is_text(node) || is_printed(node))
}

/// Whether the function around a place tests for typed keys: it handles both kinds.
fn tests_the_kind(writer: &Writer<'_, '_>, span: Span) -> bool {
    let Some(def) = tree::function_around(writer.cx.module, span) else { return false };
    let expressions = def.body.iter().flat_map(tree::expressions_of);
    expressions.into_iter().any(|expr| writer.cx.path_of(expr).is_some_and(|path| path == jax::PRNG_KEY))
}

fn shape(
    writer: &Writer<'_, '_>,
    attribute: &ast::ExprAttribute,
    key: Known,
    parent: AnyNodeRef<'_>,
    around: &[AnyNodeRef<'_>],
) -> Answer {
    let span = span_of(attribute);
    match parent {
        AnyNodeRef::ExprSubscript(item) => axis(writer, span, item, key, around),
        AnyNodeRef::ExprCompare(comparison) => compared(writer, span, comparison),
        // `len(key.shape)` is the number of axes.
        AnyNodeRef::Arguments(_) => match around.get(1..) {
            Some([AnyNodeRef::ExprCall(call), outer, ..]) if writer.cx.is_builtin(&call.func, "len") => {
                number(span_of(*call), *outer, |number| number.checked_sub(1))
            }
            Some([AnyNodeRef::ExprCall(call), ..]) if describes(writer, call, attribute) => Answer::Same,
            _ => Answer::OfWords,
        },
        _ => Answer::OfWords,
    }
}

/// Whether a call takes the shape and the dtype of one key, to describe others like it.
fn describes(writer: &Writer<'_, '_>, call: &ast::ExprCall, attribute: &ast::ExprAttribute) -> bool {
    let key = writer.cx.code(&attribute.value);
    let asks = |name: &str| {
        let asked = format!("{key}.{name}");
        tree::arguments(call).any(|argument| writer.cx.code(argument) == asked)
    };
    asks("shape") && asks("dtype")
}

/// `key.shape[:-1]`, `keys.shape[0]`, `keys.shape[-2]`.
fn axis(
    writer: &Writer<'_, '_>,
    shape: Span,
    item: &ast::ExprSubscript,
    key: Known,
    around: &[AnyNodeRef<'_>],
) -> Answer {
    let whole = span_of(item);
    match &*item.slice {
        Expr::Slice(slice) if slice.step.is_none() => {
            let lower = slice.lower.as_deref();
            match (lower.map(constant), slice.upper.as_deref().map(|upper| (constant(upper), span_of(upper)))) {
                (None, Some((Some(-1), _))) => Answer::Edits(vec![Edit::delete(Span::new(shape.end, whole.end))]),
                (Some(Some(0..)), Some((Some(-1), upper))) => Answer::Edits(vec![Edit::delete(upper)]),
                (None | Some(Some(0..)), Some((Some(back @ ..-1), upper))) => {
                    Answer::Edits(vec![Edit::replace(upper, (back + 1).to_string())])
                }
                (None | Some(Some(0..)), Some((Some(1..), _))) if key.is_array => Answer::Same,
                // Axes after those of the keys stay after them.
                (Some(Some(0..)), None) if shapes_keys(writer, around) => Answer::Same,
                _ => Answer::OfWords,
            }
        }
        index => match constant(index) {
            Some(0..) if key.is_array => Answer::Same,
            Some(back @ ..=-2) => Answer::Edits(vec![Edit::replace(span_of(index), (back + 1).to_string())]),
            _ => Answer::OfWords,
        },
    }
}

/// Whether a shape is written for keys: `keys.reshape((n, m) + keys.shape[1:])`.
fn shapes_keys(writer: &Writer<'_, '_>, around: &[AnyNodeRef<'_>]) -> bool {
    around.iter().take_while(|node| !node.is_statement()).any(|node| match node {
        AnyNodeRef::ExprCall(call) => match &*call.func {
            Expr::Attribute(method) if writer.key(&method.value).is_some() => true,
            _ => call.arguments.args.first().is_some_and(|first| writer.key(first).is_some()),
        },
        _ => false,
    })
}

/// `key.shape == (2,)`, `keys.shape == (n, 2)`.
fn compared(writer: &Writer<'_, '_>, shape: Span, comparison: &ast::ExprCompare) -> Answer {
    let ([operator], [right]) = (&comparison.ops[..], &comparison.comparators[..]) else { return Answer::OfWords };
    let other = if span_of(&*comparison.left) == shape { right } else { &*comparison.left };
    if !matches!(operator, CmpOp::Eq | CmpOp::NotEq) {
        return Answer::OfWords;
    }
    match other {
        Expr::Attribute(attribute) if attribute.attr.as_str() == "shape" && writer.key(&attribute.value).is_some() => {
            Answer::Same
        }
        Expr::Tuple(tuple) => without_words(writer, tuple).map_or(Answer::OfWords, Answer::Edits),
        _ => Answer::OfWords,
    }
}

/// The edits that remove the axis of words from a shape that is written as a display.
pub(super) fn without_words(writer: &Writer<'_, '_>, shape: &ast::ExprTuple) -> Option<Vec<Edit>> {
    let (last, others) = shape.elts.split_last()?;
    if !is_width(writer, last) {
        return None;
    }
    let whole = span_of(shape);
    Some(vec![match others {
        [] => Edit::replace(whole, "()"),
        [only] => Edit::replace(Span::new(span_of(only).end, span_of(last).end), tuple_end(writer, whole, last)),
        [.., before] => Edit::delete(Span::new(span_of(before).end, span_of(last).end)),
    }])
}

/// The comma that a tuple of one needs, unless it has one.
fn tuple_end(writer: &Writer<'_, '_>, whole: Span, last: &Expr) -> &'static str {
    let rest = writer.cx.slice(Span::new(span_of(last).end, whole.end));
    if rest.trim_start().starts_with(',') { "" } else { "," }
}

/// Whether a length is that of the words of a key: `2`, or the last axis of a key.
pub(super) fn is_width(writer: &Writer<'_, '_>, length: &Expr) -> bool {
    match length {
        Expr::Subscript(item) => match &*item.value {
            Expr::Attribute(shape) => {
                shape.attr.as_str() == "shape"
                    && constant(&item.slice) == Some(-1)
                    && writer.key(&shape.value).is_some()
            }
            _ => false,
        },
        other => constant(other).and_then(|number| u64::try_from(number).ok()).is_some_and(|n| WIDTHS.contains(&n)),
    }
}

/// A comparison of a number with constants, each of which is replaced.
fn number(asked: Span, parent: AnyNodeRef<'_>, instead: impl Fn(u64) -> Option<u64>) -> Answer {
    let AnyNodeRef::ExprCompare(comparison) = parent else { return Answer::OfWords };
    let ([operator], [right]) = (&comparison.ops[..], &comparison.comparators[..]) else { return Answer::OfWords };
    let other = if span_of(&*comparison.left) == asked { right } else { &*comparison.left };
    let numbers: Vec<&Expr> = match (operator, other) {
        (CmpOp::In | CmpOp::NotIn, Expr::Tuple(tuple)) => tuple.elts.iter().collect(),
        (CmpOp::In | CmpOp::NotIn, Expr::List(list)) => list.elts.iter().collect(),
        (CmpOp::In | CmpOp::NotIn, _) => return Answer::OfWords,
        (_, other) => vec![other],
    };
    let edit = |expr: &&Expr| {
        let number = instead(u64::try_from(constant(expr)?).ok()?)?;
        Some(Edit::replace(span_of(*expr), number.to_string()))
    };
    numbers.iter().map(edit).collect::<Option<Vec<Edit>>>().map_or(Answer::OfWords, Answer::Edits)
}

/// `key.dtype == jnp.uint32` and `jnp.issubdtype(key.dtype, jnp.uint32)` test for raw keys.
fn dtype(
    writer: &mut Writer<'_, '_>,
    attribute: &ast::ExprAttribute,
    parent: AnyNodeRef<'_>,
    around: &[AnyNodeRef<'_>],
) -> Answer {
    let cx = writer.cx;
    let span = span_of(attribute);
    match (parent, around.get(1)) {
        (AnyNodeRef::ExprCompare(comparison), _) => {
            let ([operator], [right]) = (&comparison.ops[..], &comparison.comparators[..]) else {
                return Answer::OfWords;
            };
            let other = if span_of(&*comparison.left) == span { right } else { &*comparison.left };
            if let Expr::Attribute(other) = other
                && other.attr.as_str() == "dtype"
                && writer.key(&other.value).is_some()
            {
                return Answer::Same;
            }
            let not = match operator {
                CmpOp::Eq | CmpOp::Is => "",
                CmpOp::NotEq | CmpOp::IsNot => "not ",
                _ => return Answer::OfWords,
            };
            let subtype = cx.spelled(span.start, jax::NUMPY_ISSUBDTYPE, None);
            let subtype = subtype.or_else(|| cx.spelled(span.start, jax::ISSUBDTYPE, None));
            let Some(keys) = writer.spelled(span.start, jax::PRNG_KEY, None).filter(|_| is_word_type(writer, other))
            else {
                return Answer::OfWords;
            };
            let subtype = subtype.unwrap_or_else(|| keys.replace("prng_key", "issubdtype"));
            let asked = format!("{not}{subtype}({}, {keys})", cx.code(attribute_expr(comparison, span)));
            Answer::Edits(vec![Edit::replace(span_of(comparison), asked)])
        }
        (AnyNodeRef::Arguments(arguments), Some(AnyNodeRef::ExprCall(call))) => {
            let is_test = cx.path_of(&call.func).is_some_and(|path| path.ends_with(".issubdtype"));
            match &arguments.args[..] {
                [_, tested] if is_test && is_word_type(writer, tested) => {
                    match writer.spelled(span.start, jax::PRNG_KEY, None) {
                        Some(keys) => Answer::Edits(vec![Edit::replace(span_of(tested), keys)]),
                        None => Answer::OfWords,
                    }
                }
                _ if describes(writer, call, attribute) => Answer::Same,
                _ => Answer::OfWords,
            }
        }
        _ => Answer::OfWords,
    }
}

/// The side of a comparison at a span.
fn attribute_expr(comparison: &ast::ExprCompare, span: Span) -> &Expr {
    let left = &*comparison.left;
    if span_of(left) == span { left } else { comparison.comparators.first().unwrap_or(left) }
}

/// Whether a type is that of the words of raw keys.
fn is_word_type(writer: &Writer<'_, '_>, expr: &Expr) -> bool {
    match expr {
        Expr::StringLiteral(text) => text.value.to_str() == "uint32",
        Expr::Call(call) => {
            let is_dtype = writer.cx.path_of(&call.func).is_some_and(|path| path.rsplit('.').next() == Some("dtype"));
            is_dtype && call.arguments.args.first().is_some_and(|of| is_word_type(writer, of))
        }
        other => writer.cx.path_of(other).is_some_and(|path| path.ends_with(".uint32")),
    }
}

/// An integer literal.
pub(super) fn constant(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => number.as_i64(),
            _ => None,
        },
        Expr::UnaryOp(minus) if minus.op == UnaryOp::USub => constant(&minus.operand).map(|number| -number),
        _ => None,
    }
}
