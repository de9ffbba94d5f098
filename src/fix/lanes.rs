//! One key for all lanes of a batch (KEY108): each lane gets a child.
//!
//! **Invariant:** the number of lanes comes from another argument that is mapped over, or from the call that copies the
//! key; the mapped function is called where it is created, so nothing else can call it differently.

use super::attribute_keys::{Storage, storage_of};
use super::carry::functions;
use super::context::{FixContext, Proposal, is_plain};
use super::jax;
use super::key_uses::only_key;
use super::names::Action;
use super::naming::Reserved;
use super::tree;
use crate::finding::Finding;
use crate::models::{Effect, Runs, ShapeOp};
use crate::python::ast::{self, AnyNodeRef, Expr, Number, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let finding = &findings[index];
    let mapped =
        finding.fix_hints.as_ref().and_then(|fix_hints| fix_hints.repeated_by).and_then(|place| cx.here(place));
    let Some(call) = mapped.and_then(|span| tree::call_at(cx.module, span)) else { return Vec::new() };
    let mapping = mapping(cx, call);
    let found = copied(cx, call).map(|found| (found, false)).or_else(|| {
        let mapping = mapping.as_ref()?;
        let mut copies = mapping.called.arguments.args.iter().filter_map(|argument| copied(cx, made(cx, argument)?));
        let copied = copies.next().map(|found| (found, false));
        copied.or_else(|| {
            let found = unmapped(cx, mapping).or_else(|| bound(cx, mapping)).or_else(|| captured(cx, mapping, finding));
            Some((found?, mapping.assumes_array(cx)))
        })
    });
    let Some(((key, mut edits, names), assumes_array)) = found else { return Vec::new() };
    edits.sort_by_key(|edit| edit.span);
    let around = edits.iter().fold(span_of(call), |around, edit| around.cover(edit.span));
    // The next call would draw the same numbers again.
    let mut read = tree::expressions(cx.module).into_iter().filter(|expr| around.covers(span_of(*expr)));
    let is_kept = read.any(|expr| cx.code(expr) == key && storage_of(cx, expr) != Storage::None);
    let is_lane_key = !is_kept && !is_used_beside(cx, key, around);
    vec![
        Proposal::new(
            format!("split `{key}` and give each batch element its own key; the numbers change"),
            edits,
            vec![index],
        )
        .naming(names)
        .display_only_if(!is_lane_key, "the key is used elsewhere as well")
        .display_only_if(assumes_array, "what is mapped over may not be an array"),
    ]
}

/// Whether the function that maps does something else with the key: then its children may be those of another split.
fn is_used_beside(cx: &FixContext<'_>, key: &str, around: Span) -> bool {
    let frame = cx.names.frame_at(around.start);
    let mut reads = cx.names.occurrences(key).iter().filter(|one| one.action == Action::Read);
    reads.any(|one| !around.covers(one.span) && cx.names.frame_at(one.span.start) == frame)
}

type Found<'a> = (&'a str, Vec<Edit>, Vec<Reserved>);

/// `broadcast_to(key, (n,))`, `repeat(key, n)` and `tile(key, (n, 1))` become `split(key, n)`.
fn copied<'a>(cx: &FixContext<'a>, call: &'a ast::ExprCall) -> Option<Found<'a>> {
    if let Some((key, count)) = stacked(cx, call) {
        let code = cx.code(key);
        let split = cx.spelled(span_of(call).start, jax::SPLIT, None)?;
        let content = format!("{split}({code}, {})", cx.code(count));
        return Some((code, vec![Edit::replace(span_of(call), content)], Vec::new()));
    }
    let callable = cx.model_of(&call.func)?;
    let Effect::Shape { op, .. } = &callable.effect else { return None };
    let ([key, count], []) = (&call.arguments.args[..], &call.arguments.keywords[..]) else { return None };
    let count = match (op, count) {
        (ShapeOp::BroadcastTo, Expr::Tuple(shape)) => match &shape.elts[..] {
            [count] => count,
            _ => return None,
        },
        (ShapeOp::Tile, Expr::Tuple(copies)) => match &copies.elts[..] {
            [count] => count,
            [count, Expr::NumberLiteral(one)] if cx.slice(span_of(one)) == "1" => count,
            _ => return None,
        },
        (ShapeOp::Repeat | ShapeOp::Tile, count) => count,
        _ => return None,
    };
    let code = cx.code(key);
    let split = cx.spelled(span_of(call).start, jax::SPLIT, None)?;
    let content = format!("{split}({code}, {})", cx.code(count));
    is_plain(key).then(|| (code, vec![Edit::replace(span_of(call), content)], Vec::new()))
}

/// The key and the number of `stack([key] * n)` and `array([key for _ in range(n)])`.
fn stacked<'a>(cx: &FixContext<'a>, call: &'a ast::ExprCall) -> Option<(&'a Expr, &'a Expr)> {
    let effect = &cx.model_of(&call.func)?.effect;
    let makes_array = match effect {
        Effect::Shape { op, .. } => matches!(op, ShapeOp::Stack | ShapeOp::Array),
        _ => false,
    };
    let ([rows], [], true) = (&call.arguments.args[..], &call.arguments.keywords[..], makes_array) else { return None };
    let of_list = |expr: &'a Expr| match expr {
        Expr::List(list) => match &list.elts[..] {
            [key] => Some(key),
            _ => None,
        },
        _ => None,
    };
    let (key, count) = match rows {
        Expr::BinOp(product) if product.op == ast::Operator::Mult => {
            match (of_list(&product.left), of_list(&product.right)) {
                (Some(key), None) => (key, &*product.right),
                (None, Some(key)) => (key, &*product.left),
                _ => return None,
            }
        }
        Expr::ListComp(list) => {
            let [generator] = &list.generators[..] else { return None };
            let Expr::Call(range) = &generator.iter else { return None };
            let is_range = cx.is_builtin(&range.func, "range");
            let ([count], true) = (&range.arguments.args[..], is_range && generator.ifs.is_empty()) else {
                return None;
            };
            (&*list.elt, count)
        }
        _ => return None,
    };
    (is_plain(key) && cx.is_keyish(cx.code(key))).then_some((key, count))
}

/// An argument that is a call, or the call to which its variable is bound once.
fn made<'a>(cx: &FixContext<'a>, argument: &'a Expr) -> Option<&'a ast::ExprCall> {
    match argument {
        Expr::Call(call) => Some(call),
        Expr::Name(name) => {
            let scope = cx.names.frame_at(span_of(argument).start)?;
            let own = cx.names.occurrences(name.id.as_str()).iter().filter(|one| one.scope == scope);
            let mut bound = own.filter(|one| one.action != Action::Read);
            let (only, None) = (bound.next()?, bound.next()) else { return None };
            match cx.steps(only.span).pop()?.statement() {
                Stmt::Assign(assign) => match (&assign.targets[..], &*assign.value) {
                    ([Expr::Name(_)], Expr::Call(call)) => Some(call),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// A mapped function that is called where it is created.
struct Mapping<'a> {
    /// The call that maps.
    maps: &'a ast::ExprCall,
    /// The function.
    function: &'a Expr,
    /// The call of its result.
    called: &'a ast::ExprCall,
    /// The axes, where they are distinguished.
    axes: Option<&'a [Expr]>,
}

fn mapping<'a>(cx: &FixContext<'a>, call: &'a ast::ExprCall) -> Option<Mapping<'a>> {
    let (maps, called) = if let Expr::Call(maps) = &*call.func {
        (maps, call)
    } else {
        let around = tree::ancestors(cx.module, span_of(call));
        let called = around.into_iter().rev().find_map(|node| match node {
            AnyNodeRef::ExprCall(outer) if span_of(&*outer.func) == span_of(call) => Some(outer),
            _ => None,
        })?;
        (call, called)
    };
    let callable = cx.model_of(&maps.func)?;
    let Effect::Transform(transform) = &callable.effect else { return None };
    let function = maps.arguments.args.first()?;
    let names: Vec<&str> = maps.arguments.keywords.iter().filter_map(|one| Some(one.arg.as_ref()?.as_str())).collect();
    let axes = transform.axes.as_deref()?;
    let axes = maps.arguments.find_keyword(axes).map(|one| &one.value).or(maps.arguments.args.get(1));
    let axes = match axes {
        None => None,
        Some(Expr::Tuple(axes)) => Some(&axes.elts[..]),
        Some(Expr::List(axes)) => Some(&axes.elts[..]),
        Some(_) => return None,
    };
    let is_plain = names.len() == maps.arguments.keywords.len()
        && called.arguments.keywords.is_empty()
        && !called.arguments.args.iter().any(Expr::is_starred_expr)
        && axes.is_none_or(|axes| axes.len() == called.arguments.args.len());
    (transform.runs == Runs::Lanes && is_plain).then_some(Mapping { maps, function, called, axes })
}

impl<'a> Mapping<'a> {
    /// The first argument that is mapped over its first axis.
    fn rows(&self, cx: &FixContext<'a>) -> Option<(usize, &'a Expr)> {
        let is_mapped = |at: usize| match self.axes {
            Some(axes) => axes.get(at).is_some_and(|axis| cx.code(axis) == "0"),
            None => true,
        };
        self.called.arguments.args.iter().enumerate().find(|(at, _)| is_mapped(*at))
    }

    /// The number of lanes: the number of rows of that argument.
    fn lanes(&self, cx: &FixContext<'a>) -> Option<String> {
        let (_, rows) = self.rows(cx)?;
        match cx.counted(rows) {
            Some(Expr::NumberLiteral(count)) if !matches!(count.value, Number::Int(_)) => None,
            Some(count) => Some(cx.code(count).to_owned()),
            None => (is_plain(rows) && !is_container(cx, rows)).then(|| format!("{}.shape[0]", cx.code(rows))),
        }
    }

    /// Whether the number of lanes is read from what may be no array: a dict or list of arrays has no shape.
    fn assumes_array(&self, cx: &FixContext<'a>) -> bool {
        self.rows(cx).is_some_and(|(at, rows)| cx.counted(rows).is_none() && !self.are_rows(cx, at, rows))
    }

    /// Whether an argument is an array, not a dict or list of arrays: its function, or the mapped one, computes with it.
    fn are_rows(&self, cx: &FixContext<'a>, at: usize, rows: &Expr) -> bool {
        let frame = cx.names.frame_at(span_of(self.called).start).map(|frame| cx.names.scopes[frame].full);
        let computes = || match (rows, frame) {
            (Expr::Name(name), Some(frame)) => computes_with(cx, frame, name.id.as_str()),
            _ => false,
        };
        takes_array(cx, self.function, at, FOLLOWED) || computes()
    }
}

/// Whether a variable is bound to a dict, list or tuple, which has no shape.
fn is_container(cx: &FixContext<'_>, rows: &Expr) -> bool {
    let (Expr::Name(name), scope) = (rows, cx.names.frame_at(span_of(rows).start)) else { return false };
    let own = cx.names.occurrences(name.id.as_str()).iter().filter(|one| Some(one.scope) == scope);
    let bound = own.filter(|one| one.action == Action::Bind).filter_map(|one| cx.steps(one.span).pop());
    bound.into_iter().any(|step| match step.statement() {
        Stmt::Assign(assign) => {
            matches!(&*assign.value, Expr::Dict(_) | Expr::List(_) | Expr::Tuple(_) | Expr::ListComp(_))
        }
        _ => false,
    })
}

/// Functions that are followed from one to the next to see what becomes of an argument.
const FOLLOWED: usize = 3;

/// Whether a function computes with its argument, or passes it to one that does.
fn takes_array(cx: &FixContext<'_>, function: &Expr, at: usize, further: usize) -> bool {
    let (parameters, body) = match function {
        Expr::Lambda(lambda) => match lambda.parameters.as_deref() {
            Some(parameters) => (parameters, span_of(&*lambda.body)),
            None => return false,
        },
        Expr::Name(name) => {
            let mut named = cx.module.body.iter().flat_map(functions).filter(|def| def.name == *name.id);
            match (named.next(), named.next()) {
                (Some(def), None) => (&*def.parameters, span_of(def)),
                _ => return false,
            }
        }
        Expr::Call(call) => match partial(cx, call) {
            Some((of, bound)) if further > 0 => return takes_array(cx, of, at + bound.len(), further - 1),
            _ => return false,
        },
        _ => return false,
    };
    let Some(parameter) = parameters.iter_non_variadic_params().nth(at) else { return false };
    let name = parameter.parameter.name.as_str();
    let passes_on = || {
        let within = tree::calls(cx.module).into_iter().filter(|call| body.covers(span_of(*call)));
        within.into_iter().any(|call| {
            let is_it = |argument: &Expr| argument.as_name_expr().is_some_and(|argument| argument.id.as_str() == name);
            let position = call.arguments.args.iter().position(is_it);
            position.is_some_and(|position| takes_array(cx, &call.func, position, further - 1))
        })
    };
    computes_with(cx, body, name) || further > 0 && passes_on()
}

/// Whether some code computes with a variable as with an array.
fn computes_with(cx: &FixContext<'_>, body: Span, name: &str) -> bool {
    let is_it = |expr: &Expr| matches!(expr, Expr::Name(one) if one.id.as_str() == name);
    tree::expressions(cx.module).into_iter().filter(|expr| body.covers(span_of(*expr))).any(|expr| match expr {
        Expr::BinOp(sum) => is_it(&sum.left) || is_it(&sum.right),
        Expr::Attribute(of) => is_it(&of.value) && cx.models.of_array(&of.attr).is_some(),
        _ => false,
    })
}

/// The function of `partial(f, a, key=key)`, and its positional arguments.
fn partial<'a>(cx: &FixContext<'a>, call: &'a ast::ExprCall) -> Option<(&'a Expr, &'a [Expr])> {
    let is_partial = cx.path_of(&call.func).is_some_and(|path| path == "functools.partial");
    let (function, bound) = call.arguments.args.split_first()?;
    is_partial.then_some((function, bound))
}

/// `vmap(partial(f, key=key))(xs)` becomes `vmap(f)(xs, key=split(key, n))`: keyword arguments are mapped over their first axis.
fn bound<'a>(cx: &FixContext<'a>, of: &Mapping<'a>) -> Option<Found<'a>> {
    let Expr::Call(call) = of.function else { return None };
    let (function, others) = partial(cx, call)?;
    let is_key = |expr: &Expr| is_plain(expr) && cx.is_keyish(cx.code(expr));
    let mut keys = call.arguments.keywords.iter().filter(|keyword| is_key(&keyword.value));
    let (keyword, None) = (keys.next()?, keys.next()) else { return None };
    let (name, key) = (keyword.arg.as_ref()?.as_str(), cx.code(&keyword.value));
    if others.iter().any(is_key) {
        return None;
    }
    let split = cx.spelled(span_of(of.called).start, jax::SPLIT, None)?;
    let children = format!(", {name}={split}({key}, {})", of.lanes(cx)?);
    let is_only = others.is_empty() && call.arguments.keywords.len() == 1;
    let before = call.arguments.keywords.iter().map(span_of).chain(call.arguments.args.iter().map(span_of));
    let start = before.map(|span| span.end).filter(|end| *end <= span_of(keyword).start).max()?;
    let shortened = if is_only {
        Edit::replace(span_of(call), cx.code(function).to_owned())
    } else {
        Edit::delete(Span::new(start, span_of(keyword).end))
    };
    let edits = vec![shortened, Edit::insert(span_of(of.called.arguments.args.last()?).end, children)];
    Some((key, edits, Vec::new()))
}

/// `vmap(f, in_axes=(None, 0))(key, xs)` becomes `vmap(f, in_axes=(0, 0))(split(key, n), xs)`.
fn unmapped<'a>(cx: &FixContext<'a>, of: &Mapping<'a>) -> Option<Found<'a>> {
    let axes = of.axes?;
    let is_whole = |at: usize| axes.get(at).is_some_and(Expr::is_none_literal_expr);
    let is_key = |expr: &Expr| is_plain(expr) && cx.is_keyish(cx.code(expr));
    let arguments = of.called.arguments.args.iter().enumerate();
    let mut keys = arguments.filter(|(at, argument)| is_whole(*at) && is_key(argument));
    let ((at, key), None) = (keys.next()?, keys.next()) else { return None };
    let split = cx.spelled(span_of(key).start, jax::SPLIT, None)?;
    let code = cx.code(key);
    let edits = vec![
        Edit::replace(span_of(axes.get(at)?), "0"),
        Edit::replace(span_of(key), format!("{split}({code}, {})", of.lanes(cx)?)),
    ];
    Some((code, edits, Vec::new()))
}

/// `vmap(lambda x: f(key, x))(xs)` becomes `vmap(lambda x, subkey: f(subkey, x))(xs, split(key, n))`.
fn captured<'a>(cx: &FixContext<'a>, of: &Mapping<'a>, finding: &Finding) -> Option<Found<'a>> {
    let Expr::Lambda(lambda) = of.function else { return None };
    let parameters = lambda.parameters.as_deref()?;
    let last = parameters.args.last().filter(|one| one.default.is_none())?;
    let is_plain_list = parameters.len() == parameters.args.len() && parameters.len() == of.called.arguments.args.len();
    let used = tree::call_at(cx.module, cx.here(finding.primary)?)?;
    let written = finding.fix_hints.as_ref().and_then(|fix_hints| fix_hints.written[1].as_deref());
    let key = only_key(cx, used, written).filter(|key| key.is_name_expr())?;
    let name = cx.code(key);
    let (inner, outer) = (cx.names.scope_at(span_of(key).start), cx.names.scope_at(span_of(of.called).start));
    let is_seen = cx.names.binder(inner, name).is_some_and(|binder| cx.names.binder(outer, name) == Some(binder));
    let is_within = span_of(&*lambda.body).covers(span_of(used)) && inner != outer;
    // Other uses of the key in the function would get one key for all lanes.
    let reads = tree::expressions_within(&lambda.body);
    let reads = reads.into_iter().filter(|expr| expr.is_name_expr() && cx.code(expr) == name).count();
    if !is_plain_list || !is_seen || !is_within || reads != 1 {
        return None;
    }
    let split = cx.spelled(span_of(of.called).start, jax::SPLIT, Some(used))?;
    let fresh = cx.fresh(inner, name, 1).pop()?;
    let children = format!(", {split}({name}, {})", of.lanes(cx)?);
    let behind = |span: Span, content: String| Edit::insert(span.end, content);
    let mut edits = vec![
        behind(span_of(&last.parameter), format!(", {fresh}")),
        Edit::replace(span_of(key), fresh.clone()),
        behind(span_of(of.called.arguments.args.last()?), children),
    ];
    if let Some(axes) = of.axes {
        edits.push(behind(span_of(axes.last()?), ", 0".to_owned()));
    }
    debug_assert!(span_of(of.called).covers(span_of(of.maps)));
    Some((name, edits, cx.claim(inner, &[fresh])))
}
