//! Annotations of keys become `jax.Array`.
//!
//! **Invariant:** only annotations change, and imports that are no longer read.

use super::{Change, Writer};
use crate::fix::jax;
use crate::fix::legacy::{is_annotation, tested, without};
use crate::fix::names::Action;
use crate::fix::tree;
use crate::models::ARRAY;
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// Rewrites the annotations; returns the places of those that said that something is a key.
pub(super) fn rewrite(writer: &mut Writer<'_, '_>) -> Vec<Span> {
    let cx = writer.cx;
    let (mut gone, mut declared): (Vec<Span>, Vec<Span>) = (Vec::new(), Vec::new());
    for expr in tree::expressions(cx.module) {
        if let Expr::StringLiteral(_) = expr {
            declared.extend(quoted(writer, span_of(expr)));
        }
        let Some(path) = cx.path_of(expr) else { continue };
        let span = span_of(expr);
        let is_key = cx.models.annotation(&path).is_some_and(|annotation| annotation.goes);
        // Whether it is tested for does not depend on how the array type is spelled.
        if is_key
            && !is_annotation(cx, span)
            && tested(cx, span, ARRAY).is_some()
            && let Some(array) = writer.spelled(span.start, ARRAY, None)
            && let Some(edit) = tested(cx, span, &array)
        {
            gone.push(span);
            writer.add(Change::Shape, vec![edit]);
        }
        if !(is_key && is_annotation(cx, span) || path == jax::NDARRAY && annotates_key(writer, span)) {
            continue;
        }
        let Some(array) = writer.spelled(span.start, ARRAY, None) else { continue };
        if cx.code(expr) != array && writer.add(Change::Annotation, vec![Edit::replace(span, array)]) {
            gone.push(span);
            declared.extend(is_key.then_some(span));
        }
    }
    drop_imports(writer, &gone);
    declared
}

/// Rewrites the names of keys in an annotation that is a string; returns their places.
fn quoted(writer: &mut Writer<'_, '_>, span: Span) -> Vec<Span> {
    let cx = writer.cx;
    let mut declared = Vec::new();
    let text = cx.slice(span);
    if !is_annotation(cx, span) || text.contains(['\\', '\n']) {
        return declared;
    }
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let mut at = 0;
    for word in text.split(|letter| !is_part(letter)) {
        let start = at;
        at += word.len() + text.get(at + word.len()..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let (first, below) = word.split_once('.').map_or((word, ""), |(first, below)| (first, below));
        let bound = cx.imports.meaning(&cx.names, cx.names.scope_at(span.start), first);
        let Some(bound) = bound.filter(|_| !first.is_empty()) else { continue };
        let path = if below.is_empty() { bound.to_owned() } else { format!("{bound}.{below}") };
        let (Ok(from), Ok(length)) = (u32::try_from(start), u32::try_from(word.len())) else { continue };
        let place = Span::new(span.start + from, span.start + from + length);
        if cx.models.annotation(&path).is_some_and(|annotation| annotation.goes)
            && let Some(array) = writer.spelled(span.start, ARRAY, None)
            && writer.add(Change::Annotation, vec![Edit::replace(place, array)])
        {
            declared.push(place);
        }
    }
    declared
}

/// Whether an expression is part of the annotation of a parameter or variable that is a key.
fn annotates_key(writer: &Writer<'_, '_>, span: Span) -> bool {
    let around = tree::ancestors(writer.cx.module, span);
    around.into_iter().rev().any(|node| match node {
        AnyNodeRef::Parameter(parameter) => {
            let is_within = parameter.annotation.as_deref().is_some_and(|annotation| is_plain(annotation, span));
            is_within && writer.known_at(span_of(&parameter.name)).is_some()
        }
        AnyNodeRef::StmtAnnAssign(assign) => {
            let is_held = || writer.key(&assign.target).is_some() || is_field(writer, &assign.target);
            is_plain(&assign.annotation, span) && is_held()
        }
        _ => false,
    })
}

/// Whether a variable is declared in a class whose methods hold a key under this name.
fn is_field(writer: &Writer<'_, '_>, target: &Expr) -> bool {
    let cx = writer.cx;
    let around = tree::ancestors(cx.module, span_of(target));
    let class = around.into_iter().rev().find(|node| matches!(node, AnyNodeRef::StmtClassDef(_)));
    let Some(class) = class.map(|class| span_of(&class)) else { return false };
    let held = format!("self.{}", cx.code(target));
    writer.known.keys().any(|span| class.covers(*span) && cx.slice(*span) == held && writer.known_at(*span).is_some())
}

/// Whether an annotation is this type, or an optional of it.
fn is_plain(annotation: &Expr, span: Span) -> bool {
    match annotation {
        Expr::BinOp(union) => is_plain(&union.left, span) || is_plain(&union.right, span),
        Expr::Subscript(optional) => {
            let name = match &*optional.value {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => "",
            };
            name == "Optional" && is_plain(&optional.slice, span)
        }
        other => span_of(other) == span,
    }
}

/// Removes the imports of names that only removed code has read.
fn drop_imports(writer: &mut Writer<'_, '_>, gone: &[Span]) {
    let cx = writer.cx;
    let starts = |span: Span| gone.iter().any(|one| one.start == span.start);
    for statement in &cx.module.body {
        let names: &[ast::Alias] = match statement {
            Stmt::Import(import) => &import.names,
            Stmt::ImportFrom(import) => &import.names,
            _ => continue,
        };
        for alias in names {
            let first = alias.name.as_str().split('.').next().unwrap_or_default();
            let bound = alias.asname.as_ref().map_or(first, |name| name.as_str());
            let occurrences = cx.names.occurrences(bound);
            let mut reads = occurrences.iter().filter(|one| one.span != span_of(alias)).peekable();
            let is_idle = reads.peek().is_some() && reads.all(|one| one.action == Action::Read && starts(one.span));
            if !is_idle || writer.is_exported(bound) {
                continue;
            }
            let edit = match statement {
                Stmt::ImportFrom(import) => without(cx, import, alias),
                Stmt::Import(import) if import.names.len() == 1 => {
                    crate::fix::layout::own_lines(cx.text, span_of(statement)).map(Edit::delete)
                }
                _ => None,
            };
            if let Some(edit) = edit {
                writer.add(Change::Annotation, vec![edit]);
            }
        }
    }
}
