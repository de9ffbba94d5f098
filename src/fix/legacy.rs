//! Names that JAX removed (KEY302).
//!
//! **Invariant:** only rewriting annotations is safe; rewriting code that makes or tests keys changes what a program
//! does.

use super::context::{FixContext, Proof, Proposal, is_plain};
use super::jax;
use super::names::Action;
use super::tree;
use crate::finding::{Applicability, Finding, RuleId};
use crate::models::ARRAY;
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// Removed types become `jax.Array` where they annotate; `shuffle` becomes `permutation`.
pub(super) fn removed(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let finding = &findings[index];
    let proposal = shuffled(cx, finding, index).or_else(|| alias(cx, findings, index));
    proposal.or_else(|| annotations(cx, finding, index)).into_iter().collect()
}

/// `Key = jax.random.KeyArray`: the type is written once, and all uses of the alias are fixed with it.
fn alias(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let of = |at: usize| -> Option<&Expr> {
        let span = cx.here(findings[at].primary)?;
        let binding = match tree::expression_at(cx.module, span)? {
            Expr::Name(name) => {
                let mut bindings =
                    cx.names.occurrences(name.id.as_str()).iter().filter(|one| one.action != Action::Read);
                let (only, None) = (bindings.next()?, bindings.next()) else { return None };
                only.span
            }
            _ => span,
        };
        let Stmt::Assign(assign) = cx.steps(binding).pop()?.statement() else { return None };
        let ([Expr::Name(_)], Expr::Attribute(gone)) = (&assign.targets[..], &*assign.value) else { return None };
        TYPES.contains(&gone.attr.as_str()).then_some(&*assign.value)
    };
    let gone = of(index)?;
    let array = cx.imports.spelling(&cx.names, 0, ARRAY)?;
    let is_same = |at: &usize| of(*at).is_some_and(|other| span_of(other) == span_of(gone));
    let resolves = cx.matching(findings, |other| other.rule == RuleId::RemovedKeyType).into_iter().filter(is_same);
    let message = format!("annotate with `{array}`");
    let edits = vec![Edit::replace(span_of(gone), array)];
    Some(Proposal::new(message, edits, resolves.collect()).proved_by(Proof::Nothing).applied(Applicability::Safe))
}

fn shuffled(cx: &FixContext<'_>, finding: &Finding, index: usize) -> Option<Proposal> {
    let span = cx.here(finding.primary)?;
    let Expr::Attribute(attribute) = tree::expression_at(cx.module, span)? else { return None };
    let call = tree::ancestors(cx.module, span).into_iter().rev().find_map(|node| match node {
        ast::AnyNodeRef::ExprCall(call) if span_of(&*call.func) == span => Some(call),
        _ => None,
    })?;
    let is_shuffle = attribute.attr.as_str() == "shuffle" && call.arguments.args.len() >= 2;
    let end = tree::arguments(call).map(|argument| span_of(argument).end).max()?;
    is_shuffle.then(|| {
        Proposal::new(
            "permute each slice along the axis independently, as `shuffle` did".to_owned(),
            vec![Edit::replace(span_of(&attribute.attr), "permutation"), Edit::insert(end, ", independent=True")],
            vec![index],
        )
        .proved_by(Proof::Own { instead: Some((jax::SHUFFLE, jax::PERMUTATION)) })
    })
}

/// The names of removed types.
const TYPES: [&str; 2] = ["KeyArray", "PRNGKeyArray"];

fn annotations(cx: &FixContext<'_>, finding: &Finding, index: usize) -> Option<Proposal> {
    let primary = cx.here(finding.primary)?;
    let array = cx.imports.spelling(&cx.names, 0, ARRAY);
    let (array, mut edits) = if let Some((statement, alias)) = alias_at(cx, primary) {
        // A failing import: the replacement of the imported name is written where the name is used.
        let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        let (array, edit) = instead_of(cx, statement, alias, array)?;
        let mut edits = vec![edit];
        for occurrence in cx.names.occurrences(bound) {
            match occurrence.action {
                Action::Import if span_of(alias) == occurrence.span => {}
                Action::Read => edits.push(annotation(cx, occurrence.span, &array)?),
                _ => return None,
            }
        }
        (array, edits)
    } else {
        let (array, import) = match array {
            Some(array) => (array, None),
            None => rooted(cx)?,
        };
        let edits = [Some(annotation(cx, primary, &array)?), import].into_iter().flatten().collect();
        (array, edits)
    };
    edits.sort_by_key(|edit| edit.span);
    edits.dedup();
    let tests = edits.iter().any(|edit| edit.content.contains(" and "));
    let (message, applicability) = if tests {
        ("test for the dtype of typed keys".to_owned(), Applicability::Unsafe)
    } else {
        (format!("annotate with `{array}`"), Applicability::Safe)
    };
    Some(Proposal::new(message, edits, vec![index]).proved_by(Proof::Nothing).applied(applicability))
}

/// `jax.Array`, and an import of the package before the first of one of its modules, if the file uses the package's
/// name for nothing else.
fn rooted(cx: &FixContext<'_>) -> Option<(String, Option<Edit>)> {
    let root = &cx.imports.root;
    let import = cx.import_before_others(&format!("import {root}"))?;
    cx.names.occurrences(root).is_empty().then(|| (format!("{root}.Array"), Some(import)))
}

/// The edit of a type in an annotation or an `isinstance` test; `None` if the type is called.
fn annotation(cx: &FixContext<'_>, span: Span, array: &str) -> Option<Edit> {
    let expr = tree::expression_at(cx.module, span)?;
    let last = match expr {
        Expr::Name(_) => None,
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => return None,
    };
    if last.is_some_and(|last| !TYPES.contains(&last)) {
        return None;
    }
    if is_annotation(cx, span) {
        return Some(Edit::replace(span, array.to_owned()));
    }
    tested(cx, span, array)
}

/// `isinstance(x, KeyArray)` becomes a test for an array whose dtype is that of typed keys.
pub(super) fn tested(cx: &FixContext<'_>, span: Span, array: &str) -> Option<Edit> {
    let around = tree::ancestors(cx.module, span);
    let (position, call) = around.iter().enumerate().rev().find_map(|(position, node)| match node {
        ast::AnyNodeRef::ExprCall(call) => Some((position, *call)),
        _ => None,
    })?;
    let ([value, tested], []) = (&call.arguments.args[..], &call.arguments.keywords[..]) else { return None };
    let is_test = cx.is_builtin(&call.func, "isinstance") && span_of(tested) == span && is_plain(value);
    let subtype = cx.spelled(span.start, jax::ISSUBDTYPE, None)?;
    let keys = cx.spelled(span.start, jax::PRNG_KEY, None)?;
    let value = cx.code(value);
    let both = format!("isinstance({value}, {array}) and {subtype}({value}.dtype, {keys})");
    let is_whole = position.checked_sub(1).and_then(|outer| around.get(outer)).is_some_and(|node| node.is_statement());
    let content = if is_whole { both } else { format!("({both})") };
    is_test.then(|| Edit::replace(span_of(call), content))
}

/// Whether a place is in an annotation of a parameter, a result or a variable, in a base class's parameters (`Iterator[PRNGKey]`) or in a
/// type alias (`Key = Optional[PRNGKey]`).
pub(super) fn is_annotation(cx: &FixContext<'_>, span: Span) -> bool {
    let is_parameter = |of: &Expr| matches!(of, Expr::Subscript(generic) if span_of(&*generic.slice).covers(span));
    tree::ancestors(cx.module, span).into_iter().any(|node| match node {
        ast::AnyNodeRef::Parameter(parameter) => {
            parameter.annotation.as_deref().is_some_and(|annotation| span_of(annotation).covers(span))
        }
        ast::AnyNodeRef::StmtFunctionDef(def) => {
            def.returns.as_deref().is_some_and(|returns| span_of(returns).covers(span))
        }
        ast::AnyNodeRef::StmtAnnAssign(assign) => span_of(&*assign.annotation).covers(span),
        ast::AnyNodeRef::StmtClassDef(class) => class.bases().iter().any(is_parameter),
        ast::AnyNodeRef::StmtAssign(assign) => is_parameter(&assign.value),
        _ => false,
    })
}

/// The import of a removed type at a span, either of the statement or of the name.
fn alias_at<'a>(cx: &FixContext<'a>, span: Span) -> Option<(&'a ast::StmtImportFrom, &'a ast::Alias)> {
    let step = cx.steps(span).pop()?;
    let Stmt::ImportFrom(import) = step.statement() else { return None };
    let is_gone = |alias: &&ast::Alias| TYPES.contains(&alias.name.as_str());
    let mut gone = import.names.iter().filter(is_gone);
    let alias = gone.next()?;
    gone.next().is_none().then_some((import, alias))
}

/// The replacement of a failing import, and how the type is written afterwards.
fn instead_of(
    cx: &FixContext<'_>,
    statement: &ast::StmtImportFrom,
    alias: &ast::Alias,
    array: Option<String>,
) -> Option<(String, Edit)> {
    let root = &cx.imports.root;
    let whole = span_of(statement);
    match (array, &statement.names[..]) {
        (None, [_]) => {
            let is_free = cx.names.occurrences("Array").is_empty();
            let edit = Edit::replace(whole, format!("from {root} import Array"));
            is_free.then(|| ("Array".to_owned(), edit))
        }
        (Some(array), _) => Some((array, without(cx, statement, alias)?)),
        (None, _) => None,
    }
}

/// The edit that removes a name from an import, or the whole import.
pub(super) fn without(cx: &FixContext<'_>, statement: &ast::StmtImportFrom, alias: &ast::Alias) -> Option<Edit> {
    let names = &statement.names[..];
    if names.len() == 1 {
        let whole = span_of(statement);
        let lines = super::layout::own_lines(cx.text, whole)?;
        // A suite must not become empty.
        let step = cx.steps(whole).pop()?;
        return (step.suite.len() > 1).then(|| Edit::delete(lines));
    }
    let position = names.iter().position(|other| span_of(other) == span_of(alias))?;
    let span = match (position.checked_sub(1).and_then(|before| names.get(before)), names.get(position + 1)) {
        (_, Some(after)) => Span::new(span_of(alias).start, span_of(after).start),
        (Some(before), None) => Span::new(span_of(before).end, span_of(alias).end),
        (None, None) => return None,
    };
    // A comment between two names belongs to one of them.
    (!cx.slice(span).contains('#')).then(|| Edit::delete(span))
}
