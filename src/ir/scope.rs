//! Which names a function binds, by Python's scoping rules.
//!
//! **Invariant:** a name is bound by a scope if any statement of that scope (not of a nested one) can bind it, whether or not
//! the statement is reached; `global` and `nonlocal` declarations win.

use std::collections::BTreeSet;

use crate::python::ast::visitor::{self, Visitor};
use crate::python::ast::{self, ExceptHandler, Expr, Pattern, Stmt};

/// The names that one scope binds and declares.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    /// Names that the scope binds, in the order in which they first occur.
    pub bound: Vec<String>,
    /// Names declared `global`.
    pub globals: BTreeSet<String>,
    /// Names declared `nonlocal`.
    pub nonlocals: BTreeSet<String>,
    seen: BTreeSet<String>,
    /// Whether the scope holds a `yield` of its own.
    pub yields: bool,
}

impl Bindings {
    /// The bindings of a list of statements.
    pub fn of_body(body: &[Stmt]) -> Self {
        let mut bindings = Self::default();
        for stmt in body {
            bindings.visit_stmt(stmt);
        }
        bindings.settle()
    }

    /// The bindings of an expression that is a scope of its own (a lambda's body, a generator's element).
    pub fn of_expr<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Self {
        let mut bindings = Self::default();
        for expr in exprs {
            bindings.visit_expr(expr);
        }
        bindings.settle()
    }

    fn settle(mut self) -> Self {
        let (globals, nonlocals) = (&self.globals, &self.nonlocals);
        self.bound.retain(|name| !globals.contains(name) && !nonlocals.contains(name));
        self
    }

    fn bind(&mut self, name: &str) {
        if self.seen.insert(name.to_owned()) {
            self.bound.push(name.to_owned());
        }
    }
}

impl<'a> Visitor<'a> for Bindings {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => {
                self.bind(&def.name);
                for decorator in &def.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                for parameter in def.parameters.iter_non_variadic_params() {
                    if let Some(default) = parameter.default() {
                        self.visit_expr(default);
                    }
                }
            }
            Stmt::ClassDef(class) => {
                self.bind(&class.name);
                for decorator in &class.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                if let Some(arguments) = &class.arguments {
                    visitor::walk_arguments(self, arguments);
                }
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    match &alias.asname {
                        Some(name) => self.bind(name),
                        None => self.bind(alias.name.split('.').next().unwrap_or_default()),
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.bind(alias.asname.as_ref().unwrap_or(&alias.name));
                }
            }
            Stmt::Global(global) => self.globals.extend(global.names.iter().map(|n| n.to_string())),
            Stmt::Nonlocal(nonlocal) => self.nonlocals.extend(nonlocal.names.iter().map(|n| n.to_string())),
            Stmt::AnnAssign(assign) => {
                self.visit_expr(&assign.target);
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
                }
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if !matches!(name.ctx, ast::ExprContext::Load) => self.bind(&name.id),
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    for parameter in parameters.iter_non_variadic_params() {
                        if let Some(default) = parameter.default() {
                            self.visit_expr(default);
                        }
                    }
                }
            }
            Expr::ListComp(comp) => self.visit_comprehension_parts(&[&comp.elt], &comp.generators),
            Expr::SetComp(comp) => self.visit_comprehension_parts(&[&comp.elt], &comp.generators),
            Expr::Generator(comp) => self.visit_comprehension_parts(&[&comp.elt], &comp.generators),
            Expr::DictComp(comp) => {
                let mut parts: Vec<&'a Expr> = comp.key.iter().map(|key| &**key).collect();
                parts.push(&comp.value);
                self.visit_comprehension_parts(&parts, &comp.generators);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.yields = true;
                visitor::walk_expr(self, expr);
            }
            _ => visitor::walk_expr(self, expr),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind(name);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        match pattern {
            Pattern::MatchAs(capture) => {
                if let Some(name) = &capture.name {
                    self.bind(name);
                }
            }
            Pattern::MatchStar(star) => {
                if let Some(name) = &star.name {
                    self.bind(name);
                }
            }
            Pattern::MatchMapping(mapping) => {
                if let Some(rest) = &mapping.rest {
                    self.bind(rest);
                }
            }
            _ => {}
        }
        visitor::walk_pattern(self, pattern);
    }
}

impl Bindings {
    /// A comprehension's targets are its own; only a walrus within it binds here.
    fn visit_comprehension_parts<'a>(&mut self, parts: &[&'a Expr], generators: &'a [ast::Comprehension]) {
        let mut walruses = Walruses { names: Vec::new(), yields: false };
        for part in parts {
            walruses.visit_expr(part);
        }
        for (index, generator) in generators.iter().enumerate() {
            if index == 0 {
                self.visit_expr(&generator.iter);
            } else {
                walruses.visit_expr(&generator.iter);
            }
            for condition in &generator.ifs {
                walruses.visit_expr(condition);
            }
        }
        self.yields |= walruses.yields;
        for name in walruses.names {
            self.bind(&name);
        }
    }
}

/// Names that walruses bind, through any depth of comprehensions.
struct Walruses {
    names: Vec<String>,
    yields: bool,
}

impl<'a> Visitor<'a> for Walruses {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Named(named) => {
                if let Expr::Name(name) = &*named.target {
                    self.names.push(name.id.to_string());
                }
                self.visit_expr(&named.value);
            }
            Expr::Lambda(_) => {}
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.yields = true;
                visitor::walk_expr(self, expr);
            }
            _ => visitor::walk_expr(self, expr),
        }
    }
}
