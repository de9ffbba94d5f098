//! Parameters and fields whose annotation says that they are keys, although the analysis may not see what callers pass.
//!
//! **Invariant:** a use that means something else for a typed key is changed or listed.

use super::shapes;
use super::{KeyRepresentation, Known, Writer};
use crate::fix::names::{Action, ScopeId};
use crate::fix::tree;
use crate::fix::typed_uses::satisfies;
use crate::models::{ARRAY, Effect, TreeOp, Words};
use crate::python::ast::{self, AnyNodeRef, CmpOp, Expr};
use crate::python::span_of;
use crate::text::Span;

/// A use that means something else for a typed key.
enum Doubt {
    /// Only the words of a key can be meant.
    OfWords(&'static str),
    /// The words are meant if the code was written for raw keys.
    OfRawKeys(&'static str),
    /// What is meant is not known.
    Open(&'static str),
}

const WORD: &str = "a word of a key is not a key; the word is kept, but `jax.random.split` was probably intended";
const ONE_WORD: &str =
    "if this is one key and not an array of keys, the index selects a word of it, which a typed key does not have";
const AXES: &str = "a typed key has no axis of words, so this index may have one axis too many";
const SHAPE: &str = "raw keys have one more axis than typed ones, which this may count";
const NUMBERS: &str = "this needs numbers, and a typed key is none";
const LEAVES: &str = "a typed key is a leaf that cannot be used as numbers";

/// Checks the uses of what these annotations declare; `changed` are the expressions that became `jax.Array`.
pub(super) fn check(writer: &mut Writer<'_, '_>, changed: &[Span]) {
    let cx = writer.cx;
    let aliases = aliases(writer, changed);
    let declares = |annotation: &Expr| is_key(writer, annotation, changed, &aliases);
    let mut uses: Vec<(&Expr, bool, bool)> = Vec::new();
    let variables = declarations(writer, &declares);
    for expr in tree::expressions(cx.module) {
        let name = match expr {
            Expr::Name(name) if name.ctx.is_load() => name.id.as_str(),
            Expr::Attribute(field) if field.ctx.is_load() && cx.path_of(expr).is_none() => field.attr.as_str(),
            _ => continue,
        };
        let at = span_of(expr);
        let is_it = |variable: &&Variable<'_>| match (variable.scope, expr) {
            (Some(scope), Expr::Name(_)) => {
                variable.name == name
                    && at.start < variable.until
                    && cx.names.binder(cx.names.scope_at(at.start), name) == Some(scope)
            }
            (None, Expr::Attribute(_)) => variable.name == name,
            _ => false,
        };
        if let Some(variable) = variables.iter().find(is_it) {
            uses.push((expr, cx.models.words.names_several_keys(name), variable.admits_others));
        }
    }
    for (key, is_several, admits_others) in uses {
        let is_known_raw = writer.known.get(&span_of(key)).is_some_and(|known| known.iter().any(|one| one.is_raw));
        if is_known_raw || is_done(writer, key) {
            continue;
        }
        match doubt(writer, key, is_several) {
            Some(Doubt::OfWords(why)) => {
                writer.remark(span_of(key), why);
                writer.convert(key);
            }
            // `key_data` accepts keys only.
            Some(Doubt::OfRawKeys(_)) if writer.mix == KeyRepresentation::Unseen && !admits_others => {
                writer.convert(key);
            }
            Some(Doubt::OfRawKeys(why) | Doubt::Open(why)) => writer.remark(span_of(key), why),
            None => {}
        }
    }
}

/// A variable that is declared to be a key.
struct Variable<'a> {
    name: &'a str,
    /// The function whose parameter or variable it is; `None` for a field of a class.
    scope: Option<ScopeId>,
    /// Where it gets a value that is no key.
    until: u32,
    /// Whether it may hold something else instead: `Union[jax.Array, chex.PRNGKey]`.
    admits_others: bool,
}

fn declarations<'a>(writer: &Writer<'_, 'a>, declares: &dyn Fn(&Expr) -> bool) -> Vec<Variable<'a>> {
    let cx = writer.cx;
    let mut found = Vec::new();
    for name in cx.names.all() {
        for one in cx.names.occurrences(name) {
            let annotation = match one.action {
                Action::Parameter | Action::Bind => annotation_of(cx.module, one.span),
                _ => None,
            };
            let Some(annotation) = annotation.filter(|annotation| declares(annotation)) else { continue };
            let mut members = members(&cx.models.words, annotation).into_iter();
            let admits_others = members.any(|member| !member.is_none_literal_expr() && !declares(member));
            let is_class = cx.names.scopes[one.scope].kind == crate::fix::names::ScopeKind::Class;
            let rebinds = |other: &&crate::fix::names::Occurrence| {
                let is_other = other.scope == one.scope && other.action == Action::Bind && other.span != one.span;
                is_other && !writer.held.contains(&other.span)
            };
            let until = cx.names.occurrences(name).iter().filter(rebinds).map(|other| other.span.start).min();
            let scope = (!is_class).then_some(one.scope);
            let until = until.filter(|_| !is_class).unwrap_or(u32::MAX);
            found.push(Variable { name, scope, until, admits_others });
        }
    }
    found
}

/// The annotation of the parameter or variable whose name is at a span.
fn annotation_of(module: &ast::ModModule, name: Span) -> Option<&Expr> {
    tree::ancestors(module, name).into_iter().rev().find_map(|node| match node {
        AnyNodeRef::Parameter(parameter) if span_of(&parameter.name) == name => parameter.annotation.as_deref(),
        AnyNodeRef::StmtAnnAssign(assign) if span_of(&*assign.target) == name => Some(&*assign.annotation),
        _ => None,
    })
}

/// The names of types that stand for such an annotation: `MaybeKey = Optional[chex.PRNGKey]`.
fn aliases(writer: &Writer<'_, '_>, changed: &[Span]) -> Vec<String> {
    let mut found = Vec::new();
    for statement in &writer.cx.module.body {
        if let ast::Stmt::Assign(assign) = statement
            && let [Expr::Name(name)] = &assign.targets[..]
            && is_key(writer, &assign.value, changed, &[])
        {
            found.push(name.id.to_string());
        }
    }
    found
}

/// Whether an annotation is one of those that changed, or admits it: `Optional[chex.PRNGKey]`, `Union[jax.Array, chex.PRNGKey]`.
fn is_key(writer: &Writer<'_, '_>, annotation: &Expr, changed: &[Span], aliases: &[String]) -> bool {
    if changed.contains(&span_of(annotation)) {
        return true;
    }
    match annotation {
        Expr::Name(name) => aliases.iter().any(|alias| alias == name.id.as_str()),
        Expr::StringLiteral(_) => changed.iter().any(|span| span_of(annotation).covers(*span)),
        other => {
            let mut members = members(&writer.cx.models.words, other).into_iter();
            members.any(|member| span_of(member) != span_of(other) && is_key(writer, member, changed, aliases))
        }
    }
}

/// The types that an annotation admits: itself, unless it is a union or qualifies another type.
fn members<'e>(words: &Words, annotation: &'e Expr) -> Vec<&'e Expr> {
    match annotation {
        Expr::BinOp(union) => [members(words, &union.left), members(words, &union.right)].concat(),
        Expr::Subscript(generic) => {
            let name = match &*generic.value {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => "",
            };
            match &*generic.slice {
                _ if !words.is_union(name) && !words.qualifies_type(name) => vec![annotation],
                Expr::Tuple(parts) => parts.elts.iter().flat_map(|part| members(words, part)).collect(),
                only => members(words, only),
            }
        }
        other => vec![other],
    }
}

/// Whether a use was already changed or listed.
fn is_done(writer: &Writer<'_, '_>, key: &Expr) -> bool {
    let at = span_of(key);
    let around = tree::ancestors(writer.cx.module, at);
    let around = around.iter().rev().filter(|node| span_of(*node) != at && !node.is_statement()).take(4);
    let expressions: Vec<Span> = around.map(span_of).collect();
    let is_edited = |edit: &crate::text::Edit| {
        edit.span.start == at.start && edit.span.is_empty() && edit.content.ends_with('(')
            || !edit.span.is_empty() && expressions.iter().any(|outer| outer.covers(edit.span))
    };
    writer.done.edits.iter().any(is_edited) || writer.done.remarks.iter().any(|remark| remark.span.covers(at))
}

fn doubt(writer: &mut Writer<'_, '_>, key: &Expr, is_several: bool) -> Option<Doubt> {
    let span = span_of(key);
    let around = tree::ancestors(writer.cx.module, span);
    let around: Vec<AnyNodeRef<'_>> = around.into_iter().rev().filter(|node| span_of(node) != span).collect();
    let parent = around.first().copied()?;
    match parent {
        AnyNodeRef::ExprSubscript(item) if span_of(&*item.value) == span && item.ctx.is_load() => {
            index(writer, item, is_several, &around)
        }
        AnyNodeRef::ExprAttribute(attribute) if attribute.ctx.is_load() => member(writer, attribute, is_several),
        AnyNodeRef::ExprBinOp(_) => Some(Doubt::OfRawKeys(NUMBERS)),
        AnyNodeRef::ExprUnaryOp(of) if of.op != ast::UnaryOp::Not => Some(Doubt::OfRawKeys(NUMBERS)),
        AnyNodeRef::ExprCompare(comparison) => {
            let is_order = |op: &CmpOp| matches!(op, CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE);
            comparison.ops.iter().any(is_order).then_some(Doubt::OfRawKeys(NUMBERS))
        }
        AnyNodeRef::Arguments(_)
        | AnyNodeRef::Keyword(_)
        | AnyNodeRef::ExprList(_)
        | AnyNodeRef::ExprTuple(_)
        | AnyNodeRef::ExprDict(_) => {
            let is_part = |node: &&AnyNodeRef<'_>| !node.is_statement() && !node.is_expr_lambda();
            let call = around.iter().take_while(is_part).find_map(|node| match node {
                AnyNodeRef::ExprCall(call) => Some(*call),
                _ => None,
            })?;
            passed(writer, call, is_several)
        }
        _ => None,
    }
}

/// `key[0]`, `keys[i, :]`.
fn index(
    writer: &Writer<'_, '_>,
    item: &ast::ExprSubscript,
    is_several: bool,
    around: &[AnyNodeRef<'_>],
) -> Option<Doubt> {
    let is_key = writer.held.contains(&span_of(item));
    let counts_from_the_end = |axes: &ast::ExprTuple| {
        axes.elts.iter().any(Expr::is_ellipsis_literal_expr) || axes.elts.last().is_some_and(Expr::is_slice_expr)
    };
    match &*item.slice {
        Expr::StringLiteral(_) | Expr::NoneLiteral(_) => None,
        Expr::Tuple(axes) => (!is_key || counts_from_the_end(axes)).then_some(Doubt::Open(AXES)),
        _ if is_key => None,
        _ if is_number(writer, around) => Some(Doubt::OfWords(WORD)),
        _ => (!is_several).then_some(Doubt::Open(ONE_WORD)),
    }
}

/// Whether an element is converted to a number: `int(key[0])`.
fn is_number(writer: &Writer<'_, '_>, around: &[AnyNodeRef<'_>]) -> bool {
    match around {
        [_, AnyNodeRef::Arguments(_), AnyNodeRef::ExprCall(call), ..] => match &*call.func {
            Expr::Name(name) => {
                writer.cx.models.words.makes_number(&name.id) && writer.cx.is_builtin(&call.func, &name.id)
            }
            _ => false,
        },
        [_, AnyNodeRef::ExprAttribute(method), ..] => method.attr.as_str() == "item",
        _ => false,
    }
}

/// `key.ndim`, `key.astype(…)`.
fn member(writer: &mut Writer<'_, '_>, attribute: &ast::ExprAttribute, is_several: bool) -> Option<Doubt> {
    let models = writer.cx.models;
    let model = models.of_array(&attribute.attr).map(|callable| &callable.effect);
    if let Some(Effect::ShapeOf { query, .. }) = model {
        let known = Known { is_array: is_several, is_called: false };
        return match shapes::differs(writer, attribute, known, *query)? {
            shapes::Difference::ForRawKeys => Some(Doubt::OfRawKeys(SHAPE)),
            shapes::Difference::Open => Some(Doubt::Open(SHAPE)),
        };
    }
    let path = format!("{ARRAY}.{}", attribute.attr);
    let typed = models.typed(&path)?;
    let is_known = model.is_some() || typed.path == path;
    (is_known && !typed.is_alike).then_some(Doubt::OfRawKeys(NUMBERS))
}

/// `jnp.expand_dims(keys, -2)`, `np.asarray(key)`, `len(key)`, `jax.tree.leaves((x, key))`.
fn passed(writer: &Writer<'_, '_>, call: &ast::ExprCall, is_several: bool) -> Option<Doubt> {
    let cx = writer.cx;
    if cx.is_builtin(&call.func, "len") {
        return (!is_several).then_some(Doubt::OfRawKeys(SHAPE));
    }
    let path = cx.path_of(&call.func)?;
    match cx.models.callable(&path).map(|callable| &callable.effect) {
        Some(Effect::KeyData { .. }) => return None,
        Some(Effect::Tree { op: TreeOp::Leaves | TreeOp::Flatten, .. }) => return Some(Doubt::Open(LEAVES)),
        _ => {}
    }
    let typed = cx.models.typed(&path)?;
    if typed.is_alike {
        let is_same = (!typed.of_arrays || is_several) && satisfies(cx, typed, &path, call);
        return (!is_same).then_some(Doubt::Open(SHAPE));
    }
    let is_key = writer.held.contains(&span_of(call));
    Some(if is_key { Doubt::Open(SHAPE) } else { Doubt::OfRawKeys(NUMBERS) })
}
