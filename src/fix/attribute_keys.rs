//! Keys in attributes: whether a method may replace one by the next key.
//!
//! **Invariant:** an attribute is assigned only in methods that never run under a trace, of objects that nothing declares immutable
//! and that something shows to be mutable.

use super::context::FixContext;
use super::key_uses::root_name;
use super::names::{Action, ScopeId, ScopeKind};
use super::tree;
use crate::models::Construct;
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;

/// Why a fix that stores a key is display-only.
pub(super) const NOT_STORED: &str = "the object may be immutable, or traced, so storing a new key may fail";

/// How many classes of a file are followed from one to its bases.
const LINEAGE: usize = 8;

/// Methods that create the object.
const CREATION_METHODS: [&str; 2] = ["__init__", "__post_init__"];

/// Where a key is stored after a method has drawn from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// The method's object does not hold it, or cannot be assigned to.
    None,
    /// The object holds it for the next call, and the method can store another one.
    Writable,
    /// The object holds it for the next call, but it is unknown whether another one may be stored.
    Unknown,
}

/// Where the key that an expression in a method reads is stored.
pub(super) fn storage_of(cx: &FixContext<'_>, key: &Expr) -> Storage {
    let Some(method) = Method::around(cx, key) else { return of_parameter(cx, key) };
    let lineage = lineage(cx, method.class);
    let kinds: Vec<Mutability> = lineage.iter().map(|class| mutability(cx, class)).collect();
    if kinds.contains(&Mutability::Frozen) {
        return Storage::None;
    }
    let Expr::Attribute(attribute) = key else { return Storage::Unknown };
    let name = attribute.attr.as_str();
    let is_direct = attribute.value.is_name_expr();
    // A property, or a class that intercepts assignments.
    let is_special =
        lineage.iter().flat_map(|class| methods(class)).any(|def| [name, "__setattr__"].contains(&def.name.as_str()));
    if !is_direct || is_special {
        return Storage::Unknown;
    }
    let stores = |def: &ast::StmtFunctionDef, wanted: Option<&str>| {
        stored(def).iter().any(|attribute| wanted.is_none_or(|wanted| attribute.attr.as_str() == wanted))
    };
    // If a key is already stored there, storing another one is harmless.
    if stores(method.def, Some(name)) && method.inner.is_empty() && !method.is_in_lambda {
        return Storage::Writable;
    }
    let is_made = |def: &&ast::StmtFunctionDef| CREATION_METHODS.contains(&def.name.as_str());
    let mut all = lineage.iter().flat_map(|class| methods(class));
    let changes = |wanted: Option<&str>| {
        lineage.iter().flat_map(|class| methods(class)).any(|def| !is_made(&def) && stores(def, wanted))
    };
    let is_set = all.any(|def| is_made(&def) && stores(def, Some(name)))
        || lineage.iter().any(|class| fields(class).contains(&name));
    let is_plain = !kinds.contains(&Mutability::Unknown);
    let is_carried = changes(Some(name)) || is_set && (is_plain || changes(None));
    if is_carried && !method.may_be_traced(cx) { Storage::Writable } else { Storage::Unknown }
}

/// Where the key of an object that is passed to a function is stored: if the function changes the object, the change
/// outlives the call.
fn of_parameter(cx: &FixContext<'_>, key: &Expr) -> Storage {
    let Some(object) = root(key) else { return Storage::None };
    let scope = cx.names.scope_at(span_of(key).start);
    let Some(binder) = cx.names.binder(scope, object) else { return Storage::None };
    let of = cx.names.occurrences(object).iter().filter(|one| one.scope == binder);
    if !of.clone().any(|one| one.action == Action::Parameter) || of.clone().any(|one| one.action == Action::Bind) {
        return Storage::None;
    }
    let full = cx.names.scopes[binder].full;
    let is_its = |part: &Expr| matches!(part, Expr::Name(name) if name.id.as_str() == object);
    let stored: Vec<&Expr> = tree::stored(cx.module)
        .filter(|expr| full.covers(span_of(*expr)))
        .filter(|expr| match expr {
            Expr::Attribute(attribute) => is_its(&attribute.value),
            Expr::Subscript(item) => is_its(&item.value),
            _ => false,
        })
        .collect();
    match stored.iter().any(|target| cx.code(target) == cx.code(key)) {
        true if scope == binder => Storage::Writable,
        _ if stored.is_empty() => Storage::None,
        _ => Storage::Unknown,
    }
}

/// A method and its nested functions that lead to a place.
struct Method<'a> {
    class: &'a ast::StmtClassDef,
    def: &'a ast::StmtFunctionDef,
    inner: Vec<&'a ast::StmtFunctionDef>,
    is_in_lambda: bool,
}

impl<'a> Method<'a> {
    /// The method of whose object an expression reads an attribute.
    fn around(cx: &FixContext<'a>, key: &Expr) -> Option<Self> {
        let object = root(key)?;
        let scope = cx.names.scope_at(span_of(key).start);
        let binder: ScopeId = cx.names.binder(scope, object)?;
        let of = &cx.names.scopes[binder];
        if of.kind != ScopeKind::Function || cx.names.scopes[of.parent].kind != ScopeKind::Class {
            return None;
        }
        let around = tree::ancestors(cx.module, span_of(key));
        let at = around
            .iter()
            .position(|node| matches!(node, AnyNodeRef::StmtFunctionDef(def) if span_of(*def) == of.full))?;
        let AnyNodeRef::StmtFunctionDef(def) = around[at] else { return None };
        let class = around[..at].iter().rev().find_map(|node| match node {
            AnyNodeRef::StmtClassDef(class) => Some(*class),
            _ => None,
        })?;
        let first = def.parameters.iter_non_variadic_params().next()?;
        let is_static =
            def.decorator_list.iter().any(|one| ["staticmethod", "classmethod"].contains(&cx.code(&one.expression)));
        let inner = around[at + 1..].iter().filter_map(|node| match node {
            AnyNodeRef::StmtFunctionDef(def) => Some(*def),
            _ => None,
        });
        let is_in_lambda = around[at + 1..].iter().any(|node| matches!(node, AnyNodeRef::ExprLambda(_)));
        let is_bound = cx.names.occurrences(object).iter().any(|one| one.scope == binder && one.action == Action::Bind);
        (first.parameter.name.as_str() == object && !is_static && !is_bound).then(|| Self {
            class,
            def,
            inner: inner.collect(),
            is_in_lambda,
        })
    }

    fn may_be_traced(&self, cx: &FixContext<'_>) -> bool {
        let name = self.def.name.as_str();
        // The code that creates an object may be traced with it: the object is then as short-lived as the trace.
        let is_called_by_name = CREATION_METHODS.contains(&name);
        let is_traced = |name: &str| if name.starts_with("__") { cx.has_traces() } else { cx.is_traced(name) };
        self.is_in_lambda
            || !self.def.decorator_list.is_empty()
            || !is_called_by_name && is_traced(name)
            || self.inner.iter().any(|def| !def.decorator_list.is_empty() || is_traced(def.name.as_str()))
    }
}

/// The variable with which an expression for a key starts, if the expression is more than the variable.
fn root(key: &Expr) -> Option<&str> {
    root_name(key).filter(|_| !key.is_name_expr())
}

/// What the bases and decorators of a class say about its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutability {
    /// Attributes of its objects can be assigned.
    Plain,
    /// They cannot be assigned.
    Frozen,
    Unknown,
}

/// What the bases and decorators of a class outside this file imply.
fn mutability(cx: &FixContext<'_>, class: &ast::StmtClassDef) -> Mutability {
    let arguments = class.arguments.as_deref();
    let bases = arguments.into_iter().flat_map(|arguments| &arguments.args).map(|base| {
        let base = if let Expr::Subscript(of) = base { &*of.value } else { base };
        match base {
            Expr::Name(name) if name.id.as_str() == "object" => Mutability::Plain,
            base if class_of(cx, base).is_some() => Mutability::Plain,
            base => match cx.path_of(base).and_then(|path| Some(&cx.models.class(&path)?.construct)) {
                Some(Construct::Record { frozen: true, .. }) => Mutability::Frozen,
                Some(Construct::Plain { consumes }) if consumes.is_empty() => Mutability::Plain,
                _ => Mutability::Unknown,
            },
        }
    });
    let decorators = class.decorator_list.iter().map(|decorator| {
        let (function, options) = match &decorator.expression {
            Expr::Call(call) => (&*call.func, Some(&call.arguments)),
            other => (other, None),
        };
        let frozen = options.and_then(|options| options.find_keyword("frozen")).map(|keyword| &keyword.value);
        let is_frozen = frozen.map(|frozen| !matches!(frozen, Expr::BooleanLiteral(is) if !is.value));
        match cx.path_of(function).and_then(|path| Some(&cx.models.class(&path)?.construct)) {
            Some(Construct::Record { frozen, .. }) if is_frozen.unwrap_or(*frozen) => Mutability::Frozen,
            Some(Construct::Record { .. }) => Mutability::Plain,
            _ => Mutability::Unknown,
        }
    });
    let has_keywords = arguments.is_some_and(|arguments| !arguments.keywords.is_empty());
    let kinds: Vec<Mutability> = bases.chain(decorators).chain(has_keywords.then_some(Mutability::Unknown)).collect();
    [Mutability::Frozen, Mutability::Unknown].into_iter().find(|kind| kinds.contains(kind)).unwrap_or(Mutability::Plain)
}

/// The class of this file that an expression names.
fn class_of<'a>(cx: &FixContext<'a>, base: &Expr) -> Option<&'a ast::StmtClassDef> {
    let Expr::Name(name) = base else { return None };
    let mut named = cx.module.body.iter().filter_map(|statement| match statement {
        Stmt::ClassDef(class) if class.name.as_str() == name.id.as_str() => Some(class),
        _ => None,
    });
    let (only, None) = (named.next()?, named.next()) else { return None };
    Some(only)
}

/// A class and its bases, as far as they are in this file.
fn lineage<'a>(cx: &FixContext<'a>, class: &'a ast::StmtClassDef) -> Vec<&'a ast::StmtClassDef> {
    let mut lineage: Vec<&ast::StmtClassDef> = vec![class];
    let mut at = 0;
    while let Some(class) = lineage.get(at).copied().filter(|_| at < LINEAGE) {
        at += 1;
        let bases = class.arguments.iter().flat_map(|arguments| &arguments.args);
        for base in bases.filter_map(|base| class_of(cx, base)) {
            if !lineage.iter().any(|known| span_of(*known) == span_of(base)) {
                lineage.push(base);
            }
        }
    }
    lineage
}

fn methods(class: &ast::StmtClassDef) -> impl Iterator<Item = &ast::StmtFunctionDef> {
    class.body.iter().filter_map(|statement| match statement {
        Stmt::FunctionDef(def) => Some(def),
        _ => None,
    })
}

/// The annotated names of a class, which records make attributes of.
fn fields(class: &ast::StmtClassDef) -> Vec<&str> {
    let declared = class.body.iter().filter_map(|statement| match statement {
        Stmt::AnnAssign(assign) => match &*assign.target {
            Expr::Name(name) => Some(name.id.as_str()),
            _ => None,
        },
        _ => None,
    });
    declared.collect()
}

/// The attributes of its object that a method assigns to.
fn stored(def: &ast::StmtFunctionDef) -> Vec<&ast::ExprAttribute> {
    let Some(object) = def.parameters.iter_non_variadic_params().next() else { return Vec::new() };
    let object = object.parameter.name.as_str();
    let stored = def.body.iter().flat_map(tree::expressions_of).filter_map(|expr| match expr {
        Expr::Attribute(attribute) if attribute.ctx.is_store() => Some(attribute),
        _ => None,
    });
    stored.filter(|attribute| matches!(&*attribute.value, Expr::Name(name) if name.id.as_str() == object)).collect()
}
