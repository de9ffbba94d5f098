//! The callers of a function of the file, and the keys that they can pass to it.
//!
//! A key becomes a parameter only together with all calls. Each call gets a child of a key that its caller has and carries on:
//! `key, subkey = split(key)` before the statement that calls.
//!
//! **Invariant:** all uses of the function are calls, directly or through a transform that passes its arguments on; another use, another
//! file or a caller without a key means that there is no fix.

use super::arguments::{self, Passing};
use super::context::FixContext;
use super::jax;
use super::names::{Action, Occurrence, ScopeId, ScopeKind};
use super::naming::Reserved;
use super::split_apart::can_rebind;
use super::tree::{self, Step};
use super::writer::statement;
use crate::finding::Place;
use crate::models::{AnnotationRank, Effect, Returns, Runs, Transform};
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// Most names that a function has: `step = jax.jit(step)`.
const ALIASES: usize = 3;

/// Most keys of a caller that are tried.
pub(super) const CHOICES: usize = 2;

/// The usual names of a key.
const NAMES: [&str; 2] = ["key", "rng"];

/// Applies the first of its arguments to others.
const PARTIAL: &str = "functools.partial";

/// The edits with which all callers of a function pass it a key.
pub(super) struct PassedKeys {
    /// The parameter and the calls.
    pub edits: Vec<Edit>,
    /// The calls.
    pub places: Vec<Place>,
    /// The names of the keys.
    pub names: Vec<Reserved>,
}

/// How a caller without a key makes one: the name of the variable, and the constructor as written.
pub(super) type Made<'c> = Option<(&'c str, &'c str)>;

/// A free name for a parameter that is a key.
pub(super) fn parameter_name(cx: &FixContext<'_>, scope: ScopeId) -> Option<&'static str> {
    NAMES.into_iter().find(|name| !cx.is_taken(scope, name))
}

/// Makes a key the last parameter of a function, and passes one in each call. Of several keys that a caller has, `choice` numbers the one to
/// split.
pub(super) fn passed(
    cx: &FixContext<'_>,
    def: &ast::StmtFunctionDef,
    parameter: &str,
    choice: usize,
    made: Made<'_>,
) -> Option<PassedKeys> {
    if cx.is_notebook() || !def.decorator_list.iter().all(|decorator| keeps_arguments(cx, &decorator.expression)) {
        return None;
    }
    let scope = cx.names.scope_at(span_of(def).start);
    if !matches!(cx.names.scopes[scope].kind, ScopeKind::Module | ScopeKind::Function) {
        return None;
    }
    let mut calls = calls_of(cx, scope, def.name.as_str(), ALIASES)?;
    calls.sort_by_key(|call| span_of(*call));
    calls.dedup_by_key(|call| span_of(*call));
    let (edit, passing) = arguments::parameter(cx, def, parameter)?;
    let mut found = PassedKeys { edits: vec![edit], places: Vec::new(), names: Vec::new() };
    let mut at = 0;
    while let Some(call) = calls.get(at) {
        let step = cx.steps(span_of(*call)).pop()?;
        let together =
            calls[at..].iter().take_while(|other| span_of(step.statement()).covers(span_of(**other))).count();
        let site = CallSite { statement: step.statement(), calls: &calls[at..at + together] };
        site.pass(cx, (parameter, passing), (choice, made), &mut found)?;
        at += together;
    }
    (!found.places.is_empty()).then_some(found)
}

/// The calls of a function within one statement.
struct CallSite<'b, 'a> {
    statement: &'a Stmt,
    calls: &'b [&'a ast::ExprCall],
}

impl CallSite<'_, '_> {
    fn pass(
        &self,
        cx: &FixContext<'_>,
        (parameter, passing): (&str, Passing),
        (choice, made): (usize, Made<'_>),
        found: &mut PassedKeys,
    ) -> Option<()> {
        // What comes before a compound statement is not repeated with its test.
        let is_simple = matches!(
            self.statement,
            Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_) | Stmt::Expr(_) | Stmt::Return(_)
        );
        let start = span_of(self.statement).start;
        let scope = cx.names.frame_at(start)?;
        let is_here = |call: &&ast::ExprCall| cx.names.frame_at(span_of(*call).start) == Some(scope);
        if !is_simple || !self.calls.iter().all(is_here) {
            return None;
        }
        let keys = keys_of(cx, scope, start);
        let key = match (keys.get(choice.min(keys.len().saturating_sub(1))), made) {
            (Some(key), _) => (*key).to_owned(),
            (None, Some((name, constructor))) => {
                let edit = self.made_before(cx, scope, (name, constructor))?;
                if !found.edits.contains(&edit) {
                    found.edits.push(edit);
                }
                name.to_owned()
            }
            (None, None) => return None,
        };
        let start = split_before(cx, scope, &key, start);
        let range = Span::new(start, span_of(self.statement).end);
        let names = cx.fresh_within(scope, &key, self.calls.len(), range);
        let split = cx.spelled(start, jax::SPLIT, None)?;
        found.edits.push(cx.before(start, &statement(&key, &split, &names, true)));
        for (call, name) in self.calls.iter().zip(&names) {
            found.edits.push(arguments::passed(cx, call, (parameter, name), passing)?);
            found.places.push(Place { file: cx.file, span: span_of(*call) });
        }
        found.names.extend(cx.claim_within(scope, &names, range));
        Some(())
    }

    /// Makes a key before the loop that calls, if that runs once.
    fn made_before(&self, cx: &FixContext<'_>, scope: ScopeId, (name, constructor): (&str, &str)) -> Option<Edit> {
        if cx.is_taken(scope, name) || !runs_once(cx, scope) {
            return None;
        }
        let full = cx.names.scopes[scope].full;
        let way = cx.steps(span_of(self.statement));
        let own = way.iter().filter(|step| full.covers(span_of(step.statement())) && span_of(step.statement()) != full);
        let is_loop = |statement: &Stmt| matches!(statement, Stmt::For(_) | Stmt::While(_));
        let looped = own.map(|step| step.statement()).find(|statement| is_loop(statement));
        let start = looped.map_or(span_of(self.statement).start, |looped| span_of(looped).start);
        Some(cx.before(start, &format!("{name} = {constructor}")))
    }
}

/// Where to split a key for a statement: right before it, or where the key is bound, if it is used in between.
pub(super) fn split_before(cx: &FixContext<'_>, scope: ScopeId, key: &str, start: u32) -> u32 {
    let own = || cx.names.occurrences(key).iter().filter(|one| one.scope == scope);
    let mut bound = own().filter(|one| one.action != Action::Read);
    let (Some(only), None) = (bound.next(), bound.next()) else { return start };
    if !own().any(|one| one.action == Action::Read && only.span.end <= one.span.start && one.span.start < start) {
        return start;
    }
    let way = cx.steps(Span::new(start, start));
    let full = cx.names.scopes[scope].full;
    let first = if only.action == Action::Parameter {
        let inner = |step: &&Step<'_>| full.covers(span_of(step.statement())) && span_of(step.statement()) != full;
        way.iter().position(|step| inner(&step)).and_then(|depth| {
            let is_text =
                |statement: &Stmt| matches!(statement, Stmt::Expr(expr) if expr.value.is_string_literal_expr());
            let index = way[depth].suite.iter().position(|statement| !is_text(statement))?;
            Some((depth, index))
        })
    } else {
        let binding = cx.steps(only.span).pop();
        binding.and_then(|binding| {
            let depth = way.iter().position(|step| step.is_beside(binding))?;
            Some((depth, binding.index + 1))
        })
    };
    let Some((depth, index)) = first else { return start };
    // Each iteration needs another key.
    let is_repeated = way[depth..].iter().any(|step| matches!(step.statement(), Stmt::For(_) | Stmt::While(_)));
    match way[depth].suite.get(index) {
        Some(statement) if !is_repeated => tree::start_of(statement),
        _ => start,
    }
}

/// Whether the body of a scope runs once in a run of the program: the module's, or that of a function that it calls once.
fn runs_once(cx: &FixContext<'_>, scope: ScopeId) -> bool {
    if scope == 0 {
        return true;
    }
    let full = cx.names.scopes[scope].full;
    let Some(def) = cx.module.body.iter().filter_map(Stmt::as_function_def_stmt).find(|def| span_of(*def) == full)
    else {
        return false;
    };
    let name = def.name.as_str();
    let Some(calls) = calls_of(cx, 0, name, 1) else { return false };
    let [call] = calls[..] else { return false };
    let way = cx.steps(span_of(call));
    let is_repeated = way.iter().any(|step| matches!(step.statement(), Stmt::For(_) | Stmt::While(_)));
    def.decorator_list.is_empty() && cx.names.frame_at(span_of(call).start) == Some(0) && !is_repeated
}

/// All calls of what a name of a scope holds, if it is only called and never changes.
fn calls_of<'a>(cx: &FixContext<'a>, scope: ScopeId, name: &str, left: usize) -> Option<Vec<&'a ast::ExprCall>> {
    let left = left.checked_sub(1)?;
    if cx.is_exported_from(scope, name) || cx.names.declares(scope, name) || cx.names.is_commanded(name) {
        return None;
    }
    let own: Vec<&Occurrence> = {
        let of = |one: &&Occurrence| cx.names.binder(one.scope, name) == Some(scope);
        cx.names.occurrences(name).iter().filter(of).collect()
    };
    let mut calls = Vec::new();
    let mut bound = own.iter().filter(|one| one.action == Action::Bind).count();
    for one in &own {
        match one.action {
            Action::Read => {}
            Action::Bind => continue,
            Action::Import | Action::Parameter | Action::Declare => return None,
        }
        let nodes = tree::ancestors(cx.module, one.span);
        let mut around = nodes.iter().rev().copied().filter(|node| span_of(node) != one.span);
        // Below a call, its arguments are a node of their own.
        let call = around.find_map(|node| match node {
            AnyNodeRef::ExprCall(call) => Some(call),
            _ => None,
        })?;
        if span_of(&*call.func) == one.span {
            calls.push(call);
            continue;
        }
        let is_function = call.arguments.args.first().is_some_and(|first| span_of(first) == one.span);
        if !is_function || call.arguments.args.len() != 1 || !passes_on(cx, transform(cx, &call.func)?, call) {
            return None;
        }
        let outer = around.next()?;
        match outer {
            AnyNodeRef::ExprCall(outer) if span_of(&*outer.func) == span_of(call) => calls.push(outer),
            AnyNodeRef::StmtAssign(assign) => {
                let [Expr::Name(alias)] = &assign.targets[..] else { return None };
                let there = cx.names.scope_at(span_of(assign).start);
                if there == scope && alias.id.as_str() == name {
                    // `step = jax.jit(step)`
                    bound = bound.checked_sub(1)?;
                } else {
                    calls.extend(calls_of(cx, there, alias.id.as_str(), left)?);
                }
            }
            _ => return None,
        }
    }
    (bound == 1).then_some(calls)
}

/// Whether a decorator leaves the arguments of its function as they are.
pub(super) fn keeps_arguments(cx: &FixContext<'_>, decorator: &Expr) -> bool {
    let Expr::Call(call) = decorator else {
        return transform(cx, decorator).is_some_and(|of| of.runs == Runs::Once && of.returns == Returns::Function);
    };
    let applied = match &call.arguments.args[..] {
        [] => Some(&*call.func),
        [function] if cx.path_of(&call.func).as_deref() == Some(PARTIAL) => Some(function),
        _ => None,
    };
    applied.and_then(|function| transform(cx, function)).is_some_and(|of| passes_on(cx, of, call))
}

fn transform<'a>(cx: &FixContext<'a>, function: &Expr) -> Option<&'a Transform> {
    match &cx.model_of(function)?.effect {
        Effect::Transform(transform) => Some(transform),
        _ => None,
    }
}

/// Whether a transform, called like this, passes on another last argument as it does the others.
fn passes_on(cx: &FixContext<'_>, of: &Transform, call: &ast::ExprCall) -> bool {
    // A negative number counts from the end.
    let is_harmless = |keyword: &ast::Keyword| {
        let is_static = keyword.arg.as_ref().is_some_and(|arg| of.statics.iter().any(|one| one == arg.as_str()));
        let is_flag = keyword.arg.as_ref().is_some_and(|arg| of.aux.as_deref() == Some(arg.as_str()));
        is_flag || is_static && !cx.code(&keyword.value).contains('-')
    };
    of.runs == Runs::Once && of.returns == Returns::Function && call.arguments.keywords.iter().all(is_harmless)
}

/// The variables of a scope that certainly are single keys and may be split before an offset, the likeliest first.
pub(super) fn keys_of<'a>(cx: &FixContext<'a>, scope: ScopeId, before: u32) -> Vec<&'a str> {
    let mut found: Vec<(bool, u32, &str)> = Vec::new();
    for name in cx.names.all().filter(|name| cx.is_keyish(name)) {
        let own = || cx.names.occurrences(name).iter().filter(|one| one.scope == scope);
        let mut bound = own().filter(|one| matches!(one.action, Action::Bind | Action::Parameter)).peekable();
        let last = bound.clone().map(|one| one.span.start).filter(|start| *start < before).max();
        let is_key = bound.peek().is_some() && bound.all(|one| is_key(cx, scope, name, one));
        // Code of nested functions would see another key.
        let is_read_within = cx
            .names
            .occurrences(name)
            .iter()
            .any(|one| one.scope != scope && cx.names.binder(one.scope, name) == Some(scope));
        let Some(last) = last else { continue };
        if is_key && !is_read_within && can_rebind(cx, scope, name) && !cx.is_exported_from(scope, name) {
            let is_carried = own().any(|one| one.action == Action::Bind && carries(cx, one.span, name));
            found.push((!is_carried, u32::MAX - last, name));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, _, name)| name).collect()
}

/// Whether a binding of a variable makes it a key, by what is written.
fn is_key(cx: &FixContext<'_>, scope: ScopeId, name: &str, one: &Occurrence) -> bool {
    if one.action == Action::Parameter {
        return !name.ends_with('s') && is_annotated(cx, one.span) || is_used_as_key(cx, scope, name);
    }
    let Some(step) = cx.steps(one.span).pop() else { return false };
    let Stmt::Assign(assign) = step.statement() else { return false };
    let ([target], Expr::Call(call)) = (&assign.targets[..], &*assign.value) else { return false };
    match (target, cx.model_of(&call.func).map(|callable| &callable.effect)) {
        (Expr::Name(_), Some(Effect::Seed { .. })) => is_made_once(cx, scope, call),
        (Expr::Name(_), Some(Effect::Fold { .. })) => true,
        (Expr::Tuple(targets), Some(Effect::Split { .. })) => {
            targets.elts.iter().all(Expr::is_name_expr)
                && call.arguments.args.get(1).is_none_or(Expr::is_number_literal_expr)
        }
        _ => false,
    }
}

/// Whether a key that a call makes from a seed is another one whenever its function runs: otherwise its children repeat as well.
fn is_made_once(cx: &FixContext<'_>, scope: ScopeId, call: &ast::ExprCall) -> bool {
    let full = cx.names.scopes[scope].full;
    let way = cx.steps(span_of(call));
    let mut own = way.iter().map(|step| step.statement()).filter(|step| full.covers(span_of(*step)));
    let is_repeated = own.any(|statement| matches!(statement, Stmt::For(_) | Stmt::While(_)));
    let is_constant = cx.seed_of(call).is_none_or(Expr::is_number_literal_expr);
    !is_repeated && (!is_constant || runs_once(cx, scope))
}

/// Whether a parameter has an annotation for keys that may be single ones.
fn is_annotated(cx: &FixContext<'_>, parameter: Span) -> bool {
    tree::ancestors(cx.module, parameter).into_iter().any(|node| match node {
        AnyNodeRef::Parameter(parameter) => parameter.annotation.as_deref().is_some_and(|of| {
            let known = cx.path_of(of).and_then(|path| cx.models.annotation(&path));
            known.is_some_and(|known| matches!(known.rank, AnnotationRank::Known(0) | AnnotationRank::Unknown))
        }),
        _ => false,
    })
}

/// Whether a call that takes a single key takes this variable.
fn is_used_as_key(cx: &FixContext<'_>, scope: ScopeId, name: &str) -> bool {
    tree::calls(cx.module).into_iter().any(|call| {
        let first = call.arguments.args.first();
        let is_it = matches!(first, Some(Expr::Name(one)) if one.id.as_str() == name);
        is_it
            && cx.names.scope_at(span_of(call).start) == scope
            && matches!(
                cx.model_of(&call.func).map(|callable| &callable.effect),
                Some(Effect::Sample { .. } | Effect::Split { .. } | Effect::Fold { .. })
            )
    })
}

/// Whether a statement splits a variable and binds it to a child.
fn carries(cx: &FixContext<'_>, span: Span, name: &str) -> bool {
    let Some(step) = cx.steps(span).pop() else { return false };
    let Stmt::Assign(assign) = step.statement() else { return false };
    let Expr::Call(call) = &*assign.value else { return false };
    cx.is_split(call) && call.arguments.args.first().is_some_and(|key| cx.code(key) == name)
}
