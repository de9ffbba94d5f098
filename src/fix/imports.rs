//! How a library function is spelled at a place, in the file's own import style.
//!
//! **Invariant:** a spelling is returned only if every binding of its first name that is visible at the place is an import of the same
//! thing.

use rustc_hash::FxHashMap;

use super::names::{Action, Names, ScopeId};
use crate::models::is_of_arrays;
use crate::models::roots::{ROOT, rooted};
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use crate::python::ast::{self, AnyNodeRef, Expr};
use crate::python::span_of;
use crate::text::Span;

/// What the imports of a file bind.
#[derive(Debug)]
pub(super) struct Imports<'a> {
    /// The canonical path to which an alias binds its name, by the alias's span.
    bound: FxHashMap<Span, String>,
    /// Names that imports bind, sorted.
    names: Vec<&'a str>,
    /// The root as this file writes it.
    pub root: String,
}

impl<'a> Imports<'a> {
    pub fn of(module: &'a ast::ModModule, roots: &[String]) -> Self {
        let mut walk =
            Walk { roots, imports: Self { bound: FxHashMap::default(), names: Vec::new(), root: ROOT.to_owned() } };
        for statement in &module.body {
            walk.visit_stmt(statement);
        }
        let mut imports = walk.imports;
        imports.names.sort_unstable();
        imports.names.dedup();
        imports
    }

    /// What a name means at an offset, if it is an import and nothing else.
    pub fn meaning(&self, names: &Names<'_>, scope: ScopeId, name: &str) -> Option<&str> {
        let binder = names.binder(scope, name)?;
        let mut meaning = None;
        for occurrence in names.occurrences(name).iter().filter(|one| one.scope == binder) {
            match occurrence.action {
                Action::Read => {}
                Action::Import => {
                    let path = self.bound.get(&occurrence.span)?;
                    if meaning.is_some_and(|known: &String| known != path) {
                        return None;
                    }
                    meaning = Some(path);
                }
                Action::Bind | Action::Parameter | Action::Declare => return None,
            }
        }
        meaning.map(String::as_str)
    }

    /// What the import at a span binds its name to.
    pub fn bound_at(&self, alias: Span) -> Option<&str> {
        self.bound.get(&alias).map(String::as_str)
    }

    /// The canonical path that a name or attribute chain denotes.
    pub fn path_of(&self, names: &Names<'_>, scope: ScopeId, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(name) => self.meaning(names, scope, name.id.as_str()).map(str::to_owned),
            Expr::Attribute(attribute) => {
                let base = self.path_of(names, scope, &attribute.value)?;
                Some(format!("{base}.{}", attribute.attr.as_str()))
            }
            _ => None,
        }
    }

    /// The expression for a canonical path such as `jax.random.split`: by the longest part of it that an import binds.
    pub fn spelling(&self, names: &Names<'_>, scope: ScopeId, path: &str) -> Option<String> {
        let mut best: Option<(usize, String)> = None;
        for name in &self.names {
            let Some(bound) = self.meaning(names, scope, name) else { continue };
            let Some(rest) = path.strip_prefix(bound).filter(|rest| rest.is_empty() || rest.starts_with('.')) else {
                continue;
            };
            if best.as_ref().is_none_or(|(length, _)| bound.len() > *length) {
                best = Some((bound.len(), format!("{name}{rest}")));
            }
        }
        best.map(|(_, spelling)| spelling)
    }
}

struct Walk<'a, 'r> {
    roots: &'r [String],
    imports: Imports<'a>,
}

impl Walk<'_, '_> {
    /// The path under the canonical root, if it is below a root.
    fn canonical(&mut self, path: &str) -> String {
        let canonical = rooted(path, self.roots);
        if is_of_arrays(&canonical) {
            let root = path.split('.').next().unwrap_or_default();
            root.clone_into(&mut self.imports.root);
        }
        canonical.into_owned()
    }
}

impl<'a> SourceOrderVisitor<'a> for Walk<'a, '_> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        match node {
            AnyNodeRef::StmtImport(import) => {
                for alias in &import.names {
                    let path = alias.name.as_str();
                    let first = path.split('.').next().unwrap_or_default();
                    let (name, bound) = alias.asname.as_ref().map_or((first, first), |name| (name.as_str(), path));
                    let bound = self.canonical(bound);
                    self.imports.names.push(name);
                    self.imports.bound.insert(span_of(alias), bound);
                }
            }
            AnyNodeRef::StmtImportFrom(import) => {
                let Some(from) = import.module.as_ref().filter(|_| import.level == 0) else {
                    return TraversalSignal::Skip;
                };
                let from = self.canonical(from.as_str());
                for alias in import.names.iter().filter(|alias| alias.name.as_str() != "*") {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.imports.names.push(name.as_str());
                    self.imports.bound.insert(span_of(alias), format!("{from}.{}", alias.name.as_str()));
                }
            }
            _ => {}
        }
        TraversalSignal::Traverse
    }
}
