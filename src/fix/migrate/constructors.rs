//! `PRNGKey` becomes `key`, however the file imports it.
//!
//! **Invariant:** an import is rewritten together with everything that reads the name that it binds.

use super::{Change, Writer};
use crate::fix::jax;
use crate::fix::legacy::{is_annotation, without};
use crate::fix::names::Action;
use crate::fix::tree;
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// Names for the constructor where `key` is taken.
const NAMES: [&str; 4] = ["key", "make_key", "new_key", "random_key"];

/// Rewrites the constructors; `made` are those that the analysis found.
pub(super) fn rewrite(writer: &mut Writer<'_, '_>, made: &[Span]) {
    let cx = writer.cx;
    for expr in tree::expressions(cx.module) {
        let Expr::Attribute(attribute) = expr else { continue };
        if cx.path_of(expr).is_some_and(|path| path == jax::RAW_KEY) && !is_annotation(cx, span_of(expr)) {
            writer.add(Change::Constructor, vec![Edit::replace(span_of(&attribute.attr), "key")]);
        }
    }
    for (statement, alias) in imports_of(writer) {
        import(writer, statement, alias);
    }
    for span in made {
        let is_renamed = match tree::expression_at(cx.module, *span) {
            Some(name @ Expr::Name(_)) => cx.code(name) != "PRNGKey" && cx.path_of(name).is_some(),
            _ => false,
        };
        let is_done = is_renamed || writer.done.edits.iter().any(|edit| span.covers(edit.span));
        let is_known = writer.done.remarks.iter().any(|remark| cx.slice(remark.span) == cx.slice(*span));
        if !is_done && !is_known && !is_annotation(cx, *span) {
            writer.done.keeps_constructors = true;
            writer.remark(*span, "this makes a raw key through a name that the file does not import from JAX");
        }
    }
}

/// The imports of the constructor by name.
fn imports_of<'a>(writer: &Writer<'_, 'a>) -> Vec<(&'a ast::StmtImportFrom, &'a ast::Alias)> {
    let cx = writer.cx;
    let mut found: Vec<(&ast::StmtImportFrom, &ast::Alias)> = Vec::new();
    for name in cx.names.all() {
        for occurrence in cx.names.occurrences(name).iter().filter(|one| one.action == Action::Import) {
            let is_it = cx.imports.bound_at(occurrence.span).is_some_and(|path| path == jax::RAW_KEY);
            let Some(step) = cx.steps(occurrence.span).pop().filter(|_| is_it) else { continue };
            let Stmt::ImportFrom(import) = step.statement() else { continue };
            found.extend(
                import.names.iter().filter(|alias| span_of(*alias) == occurrence.span).map(|alias| (import, alias)),
            );
        }
    }
    found.sort_by_key(|(_, alias)| span_of(*alias));
    found
}

/// Rewrites one import, and what reads the name that it binds.
fn import(writer: &mut Writer<'_, '_>, statement: &ast::StmtImportFrom, alias: &ast::Alias) {
    let cx = writer.cx;
    let span = span_of(alias);
    if alias.asname.is_some() {
        writer.add(Change::Constructor, vec![Edit::replace(span_of(&alias.name), "key")]);
        return;
    }
    let name = alias.name.as_str();
    let occurrences = cx.names.occurrences(name);
    let is_alone = occurrences.iter().all(|one| matches!(one.action, Action::Read) || one.span == span);
    if !is_alone || writer.is_exported(name) {
        writer.done.keeps_constructors = true;
        writer.remark(span, format!("other code imports or binds the name `{name}` as well"));
        return;
    }
    let reads: Vec<Span> = occurrences.iter().filter(|one| one.action == Action::Read).map(|one| one.span).collect();
    let called: Vec<Span> = reads.iter().copied().filter(|read| !is_annotation(cx, *read)).collect();
    let offset = reads.first().map_or(span.start, |read| read.start);
    // Under the name of a module nothing has to be imported by name.
    let spelled = cx.spelled(offset, jax::KEY, None).filter(|_| !called.is_empty());
    let removed = without(cx, statement, alias);
    let (spelled, edit) = match (spelled, removed) {
        (Some(spelled), Some(removed)) => (spelled, removed),
        _ if called.is_empty() => return,
        _ => {
            let Some(free) = NAMES.into_iter().find(|name| cx.names.occurrences(name).is_empty()) else {
                writer.remark(span, "no name is free for `jax.random.key`");
                return;
            };
            let import = if free == "key" { "key".to_owned() } else { format!("key as {free}") };
            (free.to_owned(), Edit::replace(span, import))
        }
    };
    writer.add(Change::Constructor, vec![edit]);
    for read in called {
        writer.add(Change::Constructor, vec![Edit::replace(read, spelled.clone())]);
    }
}
