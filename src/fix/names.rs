//! Who binds and who reads a name, scope by scope.
//!
//! **Invariant:** an occurrence belongs to the scope in which Python evaluates it: defaults, decorators and the first iterable
//! of a comprehension to the scope around.

use rustc_hash::{FxHashMap, FxHashSet};

use super::tree;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use crate::python::ast::{self, AnyNodeRef, Comprehension, Expr, ExprContext, Stmt};
use crate::python::span_of;
use crate::text::Span;

/// The number of a scope.
pub(super) type ScopeId = usize;

/// The scope of the module itself, which is the first.
pub(super) const MODULE: ScopeId = 0;

/// What kind of scope it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Module,
    Function,
    Class,
    Lambda,
    Comprehension,
}

/// One scope.
#[derive(Debug)]
pub(super) struct Scope {
    pub kind: ScopeKind,
    pub parent: ScopeId,
    /// The whole of its definition.
    pub full: Span,
    /// Where names belong to it.
    inner: Span,
    /// The first iterable of a comprehension, which does not belong to it.
    hole: Span,
}

/// What an occurrence of a name does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Bind,
    Import,
    Parameter,
    /// `global` or `nonlocal`.
    Declare,
}

/// One occurrence of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occurrence {
    pub span: Span,
    pub scope: ScopeId,
    pub action: Action,
}

/// All names of a file.
#[derive(Debug)]
pub(super) struct Names<'a> {
    pub scopes: Vec<Scope>,
    by_name: FxHashMap<&'a str, Vec<Occurrence>>,
    /// The names that `del` deletes, with their places.
    deleted: Vec<(&'a str, ScopeId)>,
    /// The words of commands to `IPython`.
    commanded: FxHashSet<&'a str>,
    /// The strings in the value of the module's `__all__`.
    listed: Vec<&'a str>,
}

impl<'a> Names<'a> {
    pub fn of(module: &'a ast::ModModule) -> Self {
        let everything = Span::new(0, u32::MAX);
        let root =
            Scope { kind: ScopeKind::Module, parent: 0, full: everything, inner: everything, hole: Span::default() };
        let mut walk = Walk {
            scopes: vec![root],
            open: vec![0],
            by_name: FxHashMap::default(),
            deleted: Vec::new(),
            commanded: FxHashSet::default(),
        };
        for statement in &module.body {
            walk.visit_stmt(statement);
        }
        let listed = module.body.iter().filter(|statement| binds_all(statement)).flat_map(strings).collect();
        Self { scopes: walk.scopes, by_name: walk.by_name, deleted: walk.deleted, commanded: walk.commanded, listed }
    }

    /// Whether `__all__` lists a name of the module.
    pub fn is_listed(&self, name: &str) -> bool {
        self.listed.contains(&name)
    }

    /// All names, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = &'a str> {
        self.by_name.keys().copied()
    }

    /// The occurrences of a name, in source order as far as the tree is.
    pub fn occurrences(&self, name: &str) -> &[Occurrence] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The innermost scope that names at an offset belong to.
    pub fn scope_at(&self, offset: u32) -> ScopeId {
        let at = Span::new(offset, offset);
        let inside = |scope: &Scope| scope.inner.covers(at) && !(scope.hole.contains(offset));
        self.scopes.iter().rposition(inside).unwrap_or(0)
    }

    /// The function, lambda aside, or the module that an offset belongs to; `None` within lambdas, classes and comprehensions.
    pub fn frame_at(&self, offset: u32) -> Option<ScopeId> {
        let scope = self.scope_at(offset);
        matches!(self.scopes[scope].kind, ScopeKind::Module | ScopeKind::Function).then_some(scope)
    }

    /// Whether a scope binds a name itself.
    pub fn binds(&self, scope: ScopeId, name: &str) -> bool {
        let own = self.occurrences(name).iter().filter(|occurrence| occurrence.scope == scope);
        let mut binds = false;
        for occurrence in own {
            match occurrence.action {
                Action::Declare => return false,
                Action::Bind | Action::Import | Action::Parameter => binds = true,
                Action::Read => {}
            }
        }
        binds
    }

    /// Whether a scope declares a name `global` or `nonlocal`.
    pub fn declares(&self, scope: ScopeId, name: &str) -> bool {
        self.occurrences(name).iter().any(|one| one.scope == scope && one.action == Action::Declare)
    }

    /// Whether a scope deletes a name somewhere; the name must be bound there.
    pub fn deletes(&self, scope: ScopeId, name: &str) -> bool {
        self.deleted.contains(&(name, scope))
    }

    /// Whether a command to `IPython`, as `%timeit f(key)` and `!echo {key}` are, has this word, which may be read there; cells
    /// run in any order.
    pub fn is_commanded(&self, name: &str) -> bool {
        self.commanded.contains(name)
    }

    /// The scope to whose binding a name that is read in `scope` refers; `None` for builtins and names that nothing
    /// binds.
    pub fn binder(&self, scope: ScopeId, name: &str) -> Option<ScopeId> {
        let mut at = scope;
        loop {
            let is_visible = at == scope || self.scopes[at].kind != ScopeKind::Class;
            if is_visible && self.binds(at, name) {
                return Some(at);
            }
            if at == 0 {
                return None;
            }
            at = self.scopes[at].parent;
        }
    }

    /// Whether `inner` is `outer` or is nested in it.
    pub fn is_within(&self, inner: ScopeId, outer: ScopeId) -> bool {
        let mut at = inner;
        while at != outer && at != 0 {
            at = self.scopes[at].parent;
        }
        at == outer
    }

    /// Whether a new variable of this name in `scope` would collide with another: the scope or one within it mentions the name,
    /// or one around it binds it.
    pub fn is_taken(&self, scope: ScopeId, name: &str) -> bool {
        self.occurrences(name).iter().any(|occurrence| {
            self.is_within(occurrence.scope, scope)
                || (occurrence.action != Action::Read && self.is_within(scope, occurrence.scope))
        })
    }
}

/// Whether a statement binds or extends `__all__`.
fn binds_all(statement: &Stmt) -> bool {
    let is_all = |expr: &Expr| matches!(expr, Expr::Name(name) if name.id.as_str() == "__all__");
    match statement {
        Stmt::Expr(call) => match &*call.value {
            Expr::Call(call) => matches!(&*call.func, Expr::Attribute(method) if is_all(&method.value)),
            _ => false,
        },
        other => tree::targets(other).iter().any(is_all),
    }
}

/// The strings that are written within a statement.
fn strings(statement: &Stmt) -> Vec<&str> {
    struct Strings<'a>(Vec<&'a str>);
    impl<'a> SourceOrderVisitor<'a> for Strings<'a> {
        fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
            if let AnyNodeRef::ExprStringLiteral(literal) = node {
                self.0.push(literal.value.to_str());
            }
            TraversalSignal::Traverse
        }
    }
    let mut strings = Strings(Vec::new());
    strings.visit_stmt(statement);
    strings.0
}

struct Walk<'a> {
    scopes: Vec<Scope>,
    open: Vec<ScopeId>,
    by_name: FxHashMap<&'a str, Vec<Occurrence>>,
    deleted: Vec<(&'a str, ScopeId)>,
    commanded: FxHashSet<&'a str>,
}

impl<'a> Walk<'a> {
    fn open(&mut self, kind: ScopeKind, full: Span, inner: Span, hole: Span) {
        let parent = self.scope_of(full.start);
        self.open.push(self.scopes.len());
        self.scopes.push(Scope { kind, parent, full, inner, hole });
    }

    /// The innermost open scope that names at an offset belong to.
    fn scope_of(&self, offset: u32) -> ScopeId {
        let at = Span::new(offset, offset);
        let inside = |id: &&ScopeId| {
            let scope = &self.scopes[**id];
            scope.inner.covers(at) && !scope.hole.contains(offset)
        };
        self.open.iter().rev().find(inside).copied().unwrap_or(0)
    }

    fn note(&mut self, name: &'a str, span: Span, action: Action) {
        let scope = self.scope_of(span.start);
        self.note_in(scope, name, span, action);
    }

    fn note_in(&mut self, scope: ScopeId, name: &'a str, span: Span, action: Action) {
        self.by_name.entry(name).or_default().push(Occurrence { span, scope, action });
    }

    /// The words of a command, which may be names that it reads.
    fn command(&mut self, text: &'a str, span: Span) {
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        for word in text.split(|character: char| !is_part(character)).filter(|word| !word.is_empty()) {
            self.note(word, span, Action::Read);
            self.commanded.insert(word);
        }
    }

    fn comprehension(&mut self, full: Span, generators: &[Comprehension]) {
        let hole = generators.first().map(|first| span_of(&first.iter)).unwrap_or_default();
        self.open(ScopeKind::Comprehension, full, full, hole);
    }
}

impl<'a> SourceOrderVisitor<'a> for Walk<'a> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        match node {
            AnyNodeRef::StmtFunctionDef(def) => {
                let full = span_of(def);
                self.note(&def.name, span_of(&def.name), Action::Bind);
                let start = def.body.first().map_or(full.end, |first| span_of(first).start);
                self.open(ScopeKind::Function, full, Span::new(start, full.end), Span::default());
            }
            AnyNodeRef::StmtClassDef(class) => {
                let full = span_of(class);
                self.note(&class.name, span_of(&class.name), Action::Bind);
                let start = class.body.first().map_or(full.end, |first| span_of(first).start);
                self.open(ScopeKind::Class, full, Span::new(start, full.end), Span::default());
            }
            AnyNodeRef::ExprLambda(lambda) => {
                self.open(ScopeKind::Lambda, span_of(lambda), span_of(&*lambda.body), Span::default());
            }
            AnyNodeRef::ExprListComp(list) => self.comprehension(span_of(list), &list.generators),
            AnyNodeRef::ExprSetComp(set) => self.comprehension(span_of(set), &set.generators),
            AnyNodeRef::ExprDictComp(dict) => self.comprehension(span_of(dict), &dict.generators),
            AnyNodeRef::ExprGenerator(generator) => self.comprehension(span_of(generator), &generator.generators),
            AnyNodeRef::Parameter(parameter) => {
                // The innermost open scope is the function or lambda whose parameter it is.
                let scope = self.open.last().copied().unwrap_or(0);
                self.note_in(scope, &parameter.name, span_of(&parameter.name), Action::Parameter);
            }
            AnyNodeRef::ExprName(name) => {
                let does = if name.ctx == ExprContext::Load { Action::Read } else { Action::Bind };
                self.note(name.id.as_str(), span_of(name), does);
                if name.ctx == ExprContext::Del {
                    self.deleted.push((name.id.as_str(), self.scope_of(span_of(name).start)));
                }
            }
            AnyNodeRef::StmtAugAssign(assign) => {
                if let Expr::Name(name) = &*assign.target {
                    self.note(name.id.as_str(), span_of(name), Action::Read);
                }
            }
            AnyNodeRef::Alias(alias) => {
                let bound = match &alias.asname {
                    Some(name) => name.as_str(),
                    None => alias.name.as_str().split('.').next().unwrap_or_default(),
                };
                self.note(bound, span_of(alias), Action::Import);
            }
            AnyNodeRef::ExceptHandlerExceptHandler(handler) => {
                if let Some(name) = &handler.name {
                    self.note(name.as_str(), span_of(name), Action::Bind);
                }
            }
            AnyNodeRef::PatternMatchAs(pattern) => {
                if let Some(name) = &pattern.name {
                    self.note(name.as_str(), span_of(name), Action::Bind);
                }
            }
            AnyNodeRef::PatternMatchStar(pattern) => {
                if let Some(name) = &pattern.name {
                    self.note(name.as_str(), span_of(name), Action::Bind);
                }
            }
            AnyNodeRef::PatternMatchMapping(pattern) => {
                if let Some(name) = &pattern.rest {
                    self.note(name.as_str(), span_of(name), Action::Bind);
                }
            }
            AnyNodeRef::StmtIpyEscapeCommand(command) => self.command(&command.value, span_of(command)),
            AnyNodeRef::ExprIpyEscapeCommand(command) => self.command(&command.value, span_of(command)),
            AnyNodeRef::StmtGlobal(global) => {
                for name in &global.names {
                    self.note(name.as_str(), span_of(name), Action::Declare);
                }
            }
            AnyNodeRef::StmtNonlocal(nonlocal) => {
                for name in &nonlocal.names {
                    self.note(name.as_str(), span_of(name), Action::Declare);
                }
            }
            _ => {}
        }
        TraversalSignal::Traverse
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        let closes = matches!(
            node,
            AnyNodeRef::StmtFunctionDef(_)
                | AnyNodeRef::StmtClassDef(_)
                | AnyNodeRef::ExprLambda(_)
                | AnyNodeRef::ExprListComp(_)
                | AnyNodeRef::ExprSetComp(_)
                | AnyNodeRef::ExprDictComp(_)
                | AnyNodeRef::ExprGenerator(_)
        );
        if closes {
            self.open.pop();
        }
    }
}
