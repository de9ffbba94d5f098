//! What a file does with keys that become typed: whether all uses have the same meaning, and none raises.
//!
//! **Invariant:** the models say which functions accept typed keys like raw ones. If the analysis does not know whether a value is a key,
//! its name decides.

use super::key_uses::root_name;
use std::collections::BTreeMap;

use super::context::FixContext;
use super::jax;
use super::names::Action;
use super::tree;
use crate::models::{ARRAY, Argument, Effect, ShapeQuery, Typed};
use crate::python::ast::{self, AnyNodeRef, Expr, Number, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// What the analysis knows about an expression that is a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each field caches the answer to an independent query about the key")]
pub struct KnownKey {
    /// Its place.
    pub span: Span,
    /// Whether it exposes its words.
    pub is_raw: bool,
    /// Whether it is a typed key for certain.
    pub is_typed: bool,
    /// Whether it is an array of keys.
    pub is_array: bool,
    /// Whether it is a key only if a particular caller runs the function.
    pub is_called: bool,
}

/// The first use of a key in this file, whose keys `edits` made typed, that requires a key to be an array of words.
pub fn use_of_words(cx: &FixContext<'_>, edits: &[Edit], held: &[KnownKey]) -> Option<Span> {
    let mut known: BTreeMap<Span, Vec<KnownKey>> = BTreeMap::new();
    for one in held {
        known.entry(one.span).or_default().push(*one);
    }
    let mut inserted = Vec::new();
    let mut moved = 0_i64;
    for edit in edits {
        if edit.span.is_empty() {
            inserted.extend(u32::try_from(i64::from(edit.span.start) + moved));
        }
        moved += i64::try_from(edit.content.len()).unwrap_or_default() - i64::from(edit.span.len());
    }
    let uses = Uses { cx, known, inserted };
    tree::expressions(cx.module).into_iter().find(|expr| !uses.is_legal(expr)).map(span_of)
}

struct Uses<'b, 'a> {
    cx: &'b FixContext<'a>,
    known: BTreeMap<Span, Vec<KnownKey>>,
    /// The places at which the edits insert text.
    inserted: Vec<u32>,
}

impl<'a> Uses<'_, 'a> {
    fn is_legal(&self, expr: &'a Expr) -> bool {
        match expr {
            Expr::Call(call) => self.takes(call),
            // `rows[i] = key`; with a string index it is the entry of a dict.
            Expr::Subscript(row) if row.ctx.is_store() && !row.slice.is_string_literal_expr() => {
                let statement = self.cx.steps(span_of(expr)).pop().map(tree::Step::statement);
                let is_given = matches!(statement, Some(Stmt::Assign(assign)) if self.is_key(&assign.value));
                self.is_key(&row.value) || !is_given
            }
            Expr::Attribute(attribute) if self.is_key(&attribute.value) => self.reads(attribute),
            _ => true,
        }
    }

    fn of(&self, expr: &Expr) -> &[KnownKey] {
        self.known.get(&span_of(expr)).map_or(&[], Vec::as_slice)
    }

    fn is_key(&self, expr: &Expr) -> bool {
        match self.of(expr) {
            [] => is_key(self.cx, expr),
            known => known.iter().any(|one| !one.is_raw),
        }
    }

    /// Whether the analysis knows that an expression is an array of keys, whatever the caller passes.
    fn is_array(&self, expr: &Expr) -> bool {
        let known = self.of(expr);
        !known.is_empty() && known.iter().all(|one| one.is_array)
    }

    /// Whether a call accepts typed keys like raw ones.
    fn takes(&self, call: &'a ast::ExprCall) -> bool {
        let Some(path) = self.cx.path_of(&call.func) else { return self.method_takes(call) };
        if self.cx.models.callable(&path).is_some_and(|callable| matches!(callable.effect, Effect::KeyData { .. })) {
            let is_old = !self.inserted.contains(&span_of(call).start);
            return is_old || tree::arguments(call).all(|key| self.is_passed_by_all(key));
        }
        let Some(typed) = self.cx.models.typed(&path) else { return true };
        let parts: Vec<&Expr> = tree::arguments(call).flat_map(elements).collect();
        let mut keys = parts.iter().filter(|part| self.is_key(part)).peekable();
        if keys.peek().is_none() {
            return true;
        }
        let mut are_arrays = || {
            let lists = |expr: &Expr| matches!(expr, Expr::List(_) | Expr::Tuple(_));
            keys.all(|key| self.is_array(key))
                && tree::arguments(call)
                    .filter(|argument| lists(argument) && elements(argument).iter().any(|one| self.is_key(one)))
                    .all(|list| elements(list).iter().all(|one| self.is_array(one)))
        };
        typed.is_alike && satisfies(self.cx, typed, &path, call) && (!typed.of_arrays || are_arrays())
    }

    /// `words.at[i].set(key)` and `keys.at[i].set(words)` mix keys with words.
    fn method_takes(&self, call: &'a ast::ExprCall) -> bool {
        let Expr::Attribute(method) = &*call.func else { return true };
        let Expr::Subscript(at) = &*method.value else { return true };
        let Expr::Attribute(within) = &*at.value else { return true };
        let path = format!("{ARRAY}.{}.{}", within.attr, method.attr);
        if self.cx.models.typed(&path).is_none_or(|typed| typed.path != path) {
            return true;
        }
        let mut given = tree::arguments(call);
        match given.next() {
            // A name is no evidence that an array is an array of keys: `keys = jnp.zeros((3, 2), jnp.uint32)`.
            Some(value) => {
                let is_typed = self.of(&within.value).iter().any(|one| !one.is_raw);
                is_typed == self.is_key(value)
            }
            None => true,
        }
    }

    /// Whether a method or attribute of a key means the same for a typed one.
    fn reads(&self, attribute: &'a ast::ExprAttribute) -> bool {
        let models = self.cx.models;
        let span = span_of(attribute);
        let path = format!("{ARRAY}.{}", attribute.attr);
        let around = tree::ancestors(self.cx.module, span);
        let mut around = around.into_iter().rev().filter(|node| span_of(node) != span);
        let (parent, beyond) = (around.next(), around.next());
        let model = models.of_array(&attribute.attr);
        if let (Some(AnyNodeRef::ExprSubscript(_)), Some(AnyNodeRef::ExprAttribute(method))) = (parent, beyond) {
            let path = format!("{path}.{}", method.attr);
            if models.typed(&path).is_some_and(|typed| typed.path == path && typed.is_alike) {
                return true;
            }
        }
        if let Some(Effect::ShapeOf { query, .. }) = model.map(|callable| &callable.effect) {
            return match (query, parent) {
                (ShapeQuery::Shape, Some(AnyNodeRef::ExprSubscript(item))) => is_from_the_front(&item.slice),
                (ShapeQuery::Shape, Some(AnyNodeRef::ExprCompare(comparison))) => {
                    let is_shape = |side: &Expr| matches!(side, Expr::Attribute(other) if other.attr == attribute.attr && self.is_key(&other.value));
                    is_shape(&comparison.left) && comparison.comparators.iter().all(is_shape)
                }
                // `issubdtype(key.dtype, prng_key)` tests for typed keys.
                (ShapeQuery::Dtype, Some(AnyNodeRef::Arguments(arguments))) => {
                    arguments.args.iter().any(|other| self.cx.path_of(other).is_some_and(|path| path == jax::PRNG_KEY))
                }
                _ => false,
            };
        }
        // Things other than arrays are also named `keys`.
        let is_held = self.of(&attribute.value).iter().any(|one| !one.is_raw);
        !is_held && model.is_none() || models.typed(&path).is_none_or(|typed| typed.is_alike)
    }

    /// Whether the words are those of a key, whatever the caller passes: a parameter may differ from call to call.
    fn is_passed_by_all(&self, key: &'a Expr) -> bool {
        let names = &self.cx.names;
        let Some(root) = root_name(key) else { return true };
        let Some(binder) = names.binder(names.scope_at(span_of(key).start), root) else { return true };
        let is_parameter = |one: &&super::names::Occurrence| one.scope == binder && one.action == Action::Parameter;
        let Some(parameter) = names.occurrences(root).iter().find(is_parameter) else { return true };
        let around = tree::ancestors(self.cx.module, parameter.span);
        let mut around = around.into_iter().rev();
        let Some(AnyNodeRef::StmtFunctionDef(def)) =
            around.find(|node| matches!(node, AnyNodeRef::StmtFunctionDef(_) | AnyNodeRef::ExprLambda(_)))
        else {
            return false;
        };
        let is_method = around.next().is_some_and(|node| matches!(node, AnyNodeRef::StmtClassDef(_)));
        let mut parameters = def.parameters.iter_non_variadic_params();
        let Some(position) = parameters.position(|one| one.parameter.name.as_str() == root) else { return false };
        if !key.is_name_expr() || !def.decorator_list.is_empty() {
            return false;
        }
        let is_intended = |expr: &Expr| match expr {
            Expr::Name(name) => !is_method && name.id == def.name.id,
            Expr::Attribute(attribute) => is_method && attribute.attr == def.name,
            _ => false,
        };
        let mentions = tree::expressions(self.cx.module).into_iter().filter(|expr| is_intended(expr)).count();
        let calls = tree::calls(self.cx.module).into_iter().filter(|call| is_intended(&call.func));
        let mut count = 0;
        for call in calls {
            let place = position.checked_sub(usize::from(is_method)).unwrap_or(position);
            let keyword = || call.arguments.find_keyword(root).map(|keyword| &keyword.value);
            let Some(argument) = call.arguments.args.get(place).or_else(keyword) else { return false };
            let known = self.of(argument);
            if known.is_empty() || !known.iter().all(|one| one.is_typed) {
                return false;
            }
            count += 1;
        }
        count > 0 && count == mentions
    }
}

/// Whether a call is written under the conditions of a row.
pub(super) fn satisfies(cx: &FixContext<'_>, typed: &Typed, path: &str, call: &ast::ExprCall) -> bool {
    let Some(callable) = cx.models.callable(path) else { return false };
    let spreads = call.arguments.args.iter().any(Expr::is_starred_expr)
        || call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
    let names: Vec<&str> = call.arguments.keywords.iter().filter_map(|one| Some(one.arg.as_ref()?.as_str())).collect();
    let given = |name: &str| {
        let value = match callable.argument(name, call.arguments.args.len(), &names) {
            Some(Argument::Positional(at)) => call.arguments.args.get(at),
            _ => call.arguments.find_keyword(name).map(|keyword| &keyword.value),
        };
        value.filter(|value| !value.is_none_literal_expr())
    };
    let mut axes = typed.axes.iter().map(|name| given(name));
    !spreads
        && axes.all(|axis| axis.map_or(!typed.requires_axes, is_from_the_front))
        && !typed.without.iter().any(|name| given(name).is_some())
}

/// The values that an argument passes: itself, or the elements of a list display.
pub(super) fn elements(argument: &Expr) -> Vec<&Expr> {
    match argument {
        Expr::List(list) => list.elts.iter().collect(),
        Expr::Tuple(tuple) => tuple.elts.iter().collect(),
        Expr::ListComp(list) => vec![&list.elt],
        other => vec![other],
    }
}

/// Whether an index, or each of several, counts from the front: the words of raw keys are the last axis.
fn is_from_the_front(axis: &Expr) -> bool {
    match axis {
        Expr::NumberLiteral(literal) => matches!(literal.value, Number::Int(_)),
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_from_the_front),
        _ => false,
    }
}

/// Whether an expression looks like a key: by its name, or because it calls a function that makes keys.
pub(super) fn is_key(cx: &FixContext<'_>, expr: &Expr) -> bool {
    match expr {
        // An imported name is a function or a module.
        Expr::Name(_) | Expr::Attribute(_) => is_called_key(cx, expr) && cx.path_of(expr).is_none(),
        Expr::Subscript(subscript) => is_called_key(cx, &subscript.value),
        Expr::Call(_) => maker(cx, expr).is_some(),
        _ => false,
    }
}

/// Elsewhere, the names of seeds count as names of keys; here seeds are numbers.
fn is_called_key(cx: &FixContext<'_>, expr: &Expr) -> bool {
    let code = cx.code(expr);
    cx.is_keyish(code) && !code.to_ascii_lowercase().contains("seed")
}

/// The expression as a call, if it makes keys.
pub(super) fn maker<'a>(cx: &FixContext<'_>, expr: &'a Expr) -> Option<&'a ast::ExprCall> {
    let Expr::Call(call) = expr else { return None };
    let effect = &cx.model_of(&call.func)?.effect;
    matches!(effect, Effect::Seed { .. } | Effect::Split { .. } | Effect::Fold { .. } | Effect::Clone { .. })
        .then_some(call)
}
