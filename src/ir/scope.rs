//! Which names a function binds, by Python's scoping rules.
//!
//! **Invariant:** a name is bound by a scope if any statement of that scope (not of a nested one) can bind it, whether or not
//! the statement is reached; `global` and `nonlocal` declarations win, but over parameters, where Python refuses them.

use rustc_hash::FxHashMap;

use crate::python::ast::visitor::{self, Visitor};
use crate::python::ast::{self, ExceptHandler, Expr, Pattern, Stmt};

/// The names that one scope binds and declares.
#[derive(Debug, Default)]
pub(super) struct Bindings<'a> {
    /// Names that the scope binds, parameters first, then in the order in which they first occur.
    pub bound: Vec<&'a str>,
    /// The slot of each bound name.
    pub slots: FxHashMap<&'a str, u32>,
    /// Names declared `global`.
    pub globals: Vec<&'a str>,
    nonlocals: Vec<&'a str>,
    /// How many of the names are bound before the scope runs: parameters.
    given: usize,
    /// Whether the scope contains a `yield` of its own.
    pub yields: bool,
}

impl<'a> Bindings<'a> {
    /// A scope that binds just these names, each to the slot of its place; the map is used again.
    pub fn of_names(names: Vec<&'a str>, mut slots: FxHashMap<&'a str, u32>) -> Self {
        slots.clear();
        slots.extend(names.iter().copied().zip(0..));
        Self { given: names.len(), bound: names, slots, ..Self::default() }
    }

    /// The same with what a list of statements binds.
    pub fn with_body(mut self, body: &'a [Stmt]) -> Self {
        for stmt in body {
            self.visit_stmt(stmt);
        }
        self.resolved()
    }

    /// The same with the bindings of an expression that is a separate scope (a lambda's body).
    pub fn with_expr(mut self, expr: &'a Expr) -> Self {
        self.visit_expr(expr);
        self.resolved()
    }

    /// Adds what an expression within a comprehension binds in the scope around it.
    pub fn walruses(&mut self, expr: &'a Expr) {
        Walruses { bindings: self }.visit_expr(expr);
    }

    fn resolved(mut self) -> Self {
        if !self.globals.is_empty() || !self.nonlocals.is_empty() {
            let (given, declared) = self.bound.split_at(self.given.min(self.bound.len()));
            let mut bound = given.to_vec();
            for names in [&mut self.globals, &mut self.nonlocals] {
                names.retain(|name| !given.contains(name));
            }
            let is_elsewhere = |name: &&str| self.globals.contains(name) || self.nonlocals.contains(name);
            bound.extend(declared.iter().copied().filter(|name| !is_elsewhere(name)));
            self.bound = bound;
            self.slots = self.bound.iter().copied().zip(0..).collect();
        }
        self
    }

    fn bind(&mut self, name: &'a str) {
        let slot = u32::try_from(self.bound.len()).unwrap_or(u32::MAX);
        if let std::collections::hash_map::Entry::Vacant(place) = self.slots.entry(name) {
            place.insert(slot);
            self.bound.push(name);
        }
    }

    fn defaults(&mut self, parameters: &'a ast::Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
        }
    }

    /// A comprehension's targets are its own; only a walrus within it binds here.
    fn comprehension(&mut self, parts: &[&'a Expr], generators: &'a [ast::Comprehension]) {
        for part in parts {
            self.walruses(part);
        }
        for (index, generator) in generators.iter().enumerate() {
            if index == 0 {
                self.visit_expr(&generator.iter);
            } else {
                self.walruses(&generator.iter);
            }
            for condition in &generator.ifs {
                self.walruses(condition);
            }
        }
    }
}

impl<'a> Visitor<'a> for Bindings<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => {
                self.bind(&def.name);
                for decorator in &def.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                self.defaults(&def.parameters);
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
                    if alias.name.as_str() != "*" {
                        self.bind(alias.asname.as_ref().unwrap_or(&alias.name));
                    }
                }
            }
            Stmt::Global(global) => self.globals.extend(global.names.iter().map(ast::Identifier::as_str)),
            Stmt::Nonlocal(nonlocal) => self.nonlocals.extend(nonlocal.names.iter().map(ast::Identifier::as_str)),
            Stmt::AnnAssign(assign) => {
                // `(x): int` declares nothing; `x: int` makes `x` a local even without a value.
                if assign.simple || assign.value.is_some() || !assign.target.is_name_expr() {
                    self.visit_expr(&assign.target);
                }
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
                }
            }
            Stmt::TypeAlias(alias) => self.visit_expr(&alias.name),
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                if !matches!(name.ctx, ast::ExprContext::Load) {
                    self.bind(&name.id);
                }
            }
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.defaults(parameters);
                }
            }
            Expr::ListComp(comp) => self.comprehension(&[&comp.elt], &comp.generators),
            Expr::SetComp(comp) => self.comprehension(&[&comp.elt], &comp.generators),
            Expr::Generator(comp) => self.comprehension(&[&comp.elt], &comp.generators),
            Expr::DictComp(comp) => {
                let mut parts: Vec<&'a Expr> = comp.key.iter().map(|key| &**key).collect();
                parts.push(&comp.value);
                self.comprehension(&parts, &comp.generators);
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

/// Collects what the expressions within a comprehension bind in the enclosing scope: walruses, at any depth.
struct Walruses<'b, 'a> {
    bindings: &'b mut Bindings<'a>,
}

impl<'a> Visitor<'a> for Walruses<'_, 'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Named(named) => {
                if let Expr::Name(name) = &*named.target {
                    self.bindings.bind(&name.id);
                }
                self.visit_expr(&named.value);
            }
            Expr::Lambda(lambda) => {
                for parameter in lambda.parameters.iter().flat_map(|parameters| parameters.iter_non_variadic_params()) {
                    if let Some(default) = parameter.default() {
                        self.visit_expr(default);
                    }
                }
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.bindings.yields = true;
                visitor::walk_expr(self, expr);
            }
            _ => visitor::walk_expr(self, expr),
        }
    }
}

/// Whether an expression within a comprehension awaits, and whether a function within it may read the comprehension's targets
/// after the comprehension has ended.
#[derive(Debug)]
pub(super) struct Captures<'n, 'a> {
    targets: &'n [&'a str],
    nested: bool,
    /// Whether a lambda or a generator names a target.
    pub captured: bool,
    /// Whether something is awaited.
    pub awaits: bool,
}

impl<'n, 'a> Captures<'n, 'a> {
    /// Visits all parts of a comprehension that belong to its own scope.
    pub fn of(targets: &'n [&'a str], parts: &[&'a Expr], generators: &'a [ast::Comprehension]) -> Self {
        let mut captures = Self { targets, nested: false, captured: false, awaits: false };
        captures.parts(parts, generators);
        captures
    }

    fn parts(&mut self, parts: &[&'a Expr], generators: &'a [ast::Comprehension]) {
        for part in parts {
            self.visit_expr(part);
        }
        for (index, generator) in generators.iter().enumerate() {
            self.awaits |= generator.is_async && !self.nested;
            self.visit_expr(&generator.target);
            if index > 0 {
                self.visit_expr(&generator.iter);
            }
            for condition in &generator.ifs {
                self.visit_expr(condition);
            }
        }
    }

    fn within(&mut self, look: impl FnOnce(&mut Self)) {
        let nested = std::mem::replace(&mut self.nested, true);
        look(self);
        self.nested = nested;
    }
}

impl<'a> Visitor<'a> for Captures<'_, 'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => self.captured |= self.nested && self.targets.contains(&name.id.as_str()),
            Expr::Lambda(lambda) => {
                for parameter in lambda.parameters.iter().flat_map(|parameters| parameters.iter_non_variadic_params()) {
                    if let Some(default) = parameter.default() {
                        self.visit_expr(default);
                    }
                }
                self.within(|this| this.visit_expr(&lambda.body));
            }
            Expr::Generator(generator) => {
                if let Some(first) = generator.generators.first() {
                    self.visit_expr(&first.iter);
                }
                self.within(|this| this.parts(&[&generator.elt], &generator.generators));
            }
            Expr::Call(call) if drains(call) => {
                // The generator has ended when the call has: it reads the current values of the targets.
                for argument in &call.arguments.args {
                    match argument {
                        Expr::Generator(generator) => {
                            if let Some(first) = generator.generators.first() {
                                self.visit_expr(&first.iter);
                            }
                            self.parts(&[&generator.elt], &generator.generators);
                        }
                        other => self.visit_expr(other),
                    }
                }
                for keyword in &call.arguments.keywords {
                    self.visit_expr(&keyword.value);
                }
            }
            Expr::Await(_) => {
                self.awaits |= !self.nested;
                visitor::walk_expr(self, expr);
            }
            _ => visitor::walk_expr(self, expr),
        }
    }
}

/// Whether a call exhausts its iterable and keeps nothing of it: `sum(…)`, `", ".join(…)`.
fn drains(call: &ast::ExprCall) -> bool {
    const DRAINS: [&str; 11] =
        ["all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"];
    match &*call.func {
        Expr::Name(name) => DRAINS.contains(&name.id.as_str()),
        Expr::Attribute(attribute) => attribute.attr.as_str() == "join" && attribute.value.is_string_literal_expr(),
        _ => false,
    }
}
