//! Arrays of words that a file passes on as raw keys: a typed key is made of them where a key is needed.
//!
//! **Invariant:** only expressions that are arrays of words whatever the callers pass are wrapped. Walks are bounded by [`DEPTH`].

use super::Writer;
use crate::fix::jax;
use crate::fix::names::Action;
use crate::fix::tree;
use crate::fix::typed_uses::satisfies;
use crate::models::{ARRAY, Argument, Effect};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;

/// Most assignments and calls between words and the key that they become.
const DEPTH: u32 = 6;

/// Most values that are assigned to one name.
const VALUES: usize = 8;

/// Wraps words where a library function needs a key, and lists them where other code gets them.
pub(super) fn rewrite(writer: &mut Writer<'_, '_>) {
    let cx = writer.cx;
    for call in tree::calls(cx.module) {
        if let Some(key) = key_of(writer, call) {
            if is_words(writer, key, DEPTH) {
                writer.wrap(span_of(key));
            }
            continue;
        }
        let maps = mapped(writer, call);
        let is_function = cx.path_of(&call.func).is_none() && !call.func.is_attribute_expr();
        for argument in tree::arguments(call) {
            let is_key = maps || is_function && writer.held.contains(&span_of(argument));
            if is_key && is_words(writer, argument, DEPTH) {
                writer.remark(
                    span_of(argument),
                    "these words are passed on as raw keys; make typed keys of them with `jax.random.wrap_key_data`",
                );
            }
        }
    }
}

/// The argument that a library function takes as a key.
fn key_of<'a>(writer: &Writer<'_, 'a>, call: &'a ast::ExprCall) -> Option<&'a Expr> {
    let callable = writer.cx.model_of(&call.func)?;
    let name = match &callable.effect {
        Effect::Sample { keys, .. } => keys.first()?,
        Effect::Split { key, .. } | Effect::Fold { key, .. } | Effect::Clone { key } => key,
        _ => return None,
    };
    let names: Vec<&str> = call.arguments.keywords.iter().filter_map(|one| Some(one.arg.as_ref()?.as_str())).collect();
    match callable.argument(name, call.arguments.args.len(), &names)? {
        Argument::Positional(at) => call.arguments.args.get(at).filter(|key| !key.is_starred_expr()),
        _ => call.arguments.find_keyword(name).map(|keyword| &keyword.value),
    }
}

/// Whether a call runs what a transform made of a function that needs a key: `jax.vmap(jax.random.normal)(keys)`.
fn mapped(writer: &Writer<'_, '_>, call: &ast::ExprCall) -> bool {
    let Expr::Call(transform) = &*call.func else { return false };
    let draws = |function: &Expr| {
        let effect = writer.cx.model_of(function).map(|callable| &callable.effect);
        matches!(
            effect,
            Some(Effect::Sample { .. } | Effect::Split { .. } | Effect::Fold { .. } | Effect::Clone { .. })
        )
    };
    let effect = writer.cx.model_of(&transform.func).map(|callable| &callable.effect);
    matches!(effect, Some(Effect::Transform(_))) && tree::arguments(transform).any(draws)
}

/// Whether an expression is an array of words, in the file after its other edits.
fn is_words(writer: &Writer<'_, '_>, expr: &Expr, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let at = span_of(expr).start;
    let is_wrapped = writer.done.edits.iter().any(|edit| {
        let made = jax::WRAP_KEY_DATA.rsplit('.').next().unwrap_or_default();
        edit.span.is_empty() && edit.span.start == at && edit.content.trim_end_matches('(').ends_with(made)
    });
    if is_wrapped {
        return false;
    }
    let of_key_or_words = |part: &Expr| writer.key(part).is_some() || is_words(writer, part, depth);
    match expr {
        Expr::Name(name) => {
            let values = values_of(writer, name);
            !values.is_empty() && values.iter().all(|value| is_words(writer, value, depth))
        }
        Expr::Attribute(field) if writer.cx.path_of(expr).is_none() => {
            let values = stored(writer, field.attr.as_str());
            !values.is_empty() && values.iter().all(|value| is_words(writer, value, depth))
        }
        Expr::BinOp(sum) => of_key_or_words(&sum.left) || of_key_or_words(&sum.right),
        Expr::Subscript(row) => !row.slice.is_string_literal_expr() && is_words(writer, &row.value, depth),
        Expr::Call(call) => called(writer, call, depth),
        _ => false,
    }
}

/// Whether a call returns words.
fn called(writer: &Writer<'_, '_>, call: &ast::ExprCall, depth: u32) -> bool {
    let cx = writer.cx;
    let of_words = |part: &Expr| is_words(writer, part, depth);
    let Some(path) = cx.path_of(&call.func) else { return method(writer, call, depth) };
    let callable = cx.models.callable(&path);
    if callable.is_some_and(|callable| matches!(callable.effect, Effect::KeyData { .. })) {
        return true;
    }
    let Some(typed) = cx.models.typed(&path).filter(|_| path != jax::WRAP_KEY_DATA) else { return false };
    if !typed.is_alike && matches!(callable.map(|callable| &callable.effect), Some(Effect::Shape { .. })) {
        return tree::arguments(call).next().is_some_and(|of| converted(writer, of) || of_words(of));
    }
    let whole = span_of(call);
    let takes_keys = || writer.done.edits.iter().any(|edit| whole.covers(edit.span));
    match (typed.is_alike, satisfies(cx, typed, &path, call)) {
        (true, true) => tree::arguments(call).next().is_some_and(of_words),
        // With a type: `jnp.array([0, 1], dtype=jnp.uint32)`.
        (true, false) => !takes_keys(),
        (false, _) => true,
    }
}

/// `words.astype(jnp.uint32)`, `key.at[0].add(1)`.
fn method(writer: &Writer<'_, '_>, call: &ast::ExprCall, depth: u32) -> bool {
    let Expr::Attribute(method) = &*call.func else { return false };
    let models = writer.cx.models;
    let is_of = |path: &str, receiver: &Expr| {
        let typed = models.typed(path);
        let moves = models.of_array(&method.attr).is_some_and(|model| matches!(model.effect, Effect::Shape { .. }));
        let changes = typed.is_some_and(|typed| !typed.is_alike) && (!moves || converted(writer, receiver));
        typed.is_some() && (is_words(writer, receiver, depth) || changes && writer.key(receiver).is_some())
    };
    match &*method.value {
        Expr::Subscript(item) => match &*item.value {
            Expr::Attribute(at) => is_of(&format!("{ARRAY}.{}.{}", at.attr, method.attr), &at.value),
            _ => false,
        },
        // Lists of numbers are no arrays.
        receiver => models.of_array(&method.attr).is_some() && is_of(&format!("{ARRAY}.{}", method.attr), receiver),
    }
}

/// Whether the edits take the words of a key at its place. Otherwise `keys.reshape(n, -1)` remains an array of keys.
fn converted(writer: &Writer<'_, '_>, key: &Expr) -> bool {
    let opens = |edit: &crate::text::Edit| edit.span.is_empty() && edit.span.start == span_of(key).start;
    let name = jax::KEY_DATA.rsplit('.').next().unwrap_or_default();
    writer
        .done
        .edits
        .iter()
        .any(|edit| opens(edit) && edit.content.trim_end_matches('(').rsplit('.').next() == Some(name))
}

/// The values that the function of a name assigns to it; nothing if it is bound otherwise.
fn values_of<'a>(writer: &Writer<'_, 'a>, name: &ast::ExprName) -> Vec<&'a Expr> {
    let cx = writer.cx;
    let Some(scope) = cx.names.binder(cx.names.scope_at(span_of(name).start), &name.id) else { return Vec::new() };
    let own = cx.names.occurrences(&name.id).iter().filter(|one| one.scope == scope && one.action != Action::Read);
    let value = |one: &crate::fix::names::Occurrence| {
        let Some(Stmt::Assign(assign)) = cx.steps(one.span).pop().map(tree::Step::statement) else { return None };
        let is_alone = matches!(&assign.targets[..], [Expr::Name(_)]);
        (one.action == Action::Bind && is_alone).then_some(&*assign.value)
    };
    own.take(VALUES).map(value).collect::<Option<Vec<&Expr>>>().unwrap_or_default()
}

/// The values that the file stores in an attribute of this name; nothing if one of them is not assigned alone.
fn stored<'a>(writer: &Writer<'_, 'a>, name: &str) -> Vec<&'a Expr> {
    let cx = writer.cx;
    let targets = tree::stored(cx.module).filter(|target| match target {
        Expr::Attribute(attribute) => attribute.attr.as_str() == name,
        _ => false,
    });
    let value = |target: &Expr| match cx.steps(span_of(target)).pop().map(tree::Step::statement) {
        Some(Stmt::Assign(assign)) if assign.targets.len() == 1 && span_of(&assign.targets[0]) == span_of(target) => {
            Some(&*assign.value)
        }
        _ => None,
    };
    targets.take(VALUES).map(value).collect::<Option<Vec<&Expr>>>().unwrap_or_default()
}
