//! Display loops: they only show what one key gives under several settings, as figures or printed lines.
//!
//! ```python
//! for kernel, ax in zip([RBF(), Matern()], axes.ravel()):
//!     ax.plot(sample(key, kernel))
//! ```
//!
//! **Invariant:** a loop that keeps any of its draws, in a variable that is read after it, in an object or in a container, is not
//! one of these.

use super::context::FixContext;
use super::liveness::Variable;
use super::names::{ScopeId, ScopeKind};
use super::sweep_loops::{Elements, are_settings, carries, iterated};
use super::tree;
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::{span_of, suites};

/// Methods that containers keep what they are given with.
const KEEPERS: [&str; 15] = [
    "add",
    "append",
    "appendleft",
    "dump",
    "extend",
    "insert",
    "push",
    "put",
    "register",
    "save",
    "send",
    "setdefault",
    "store",
    "update",
    "write",
];

/// Methods that objects learn with of what they are given; what a loop goes through may be axes, which draw with such.
const LEARNERS: [&str; 3] = ["fit", "step", "train"];

/// Passes over a body after which every chain of assignments has been followed, or is too long to follow.
const PASSES: usize = 4;

/// Whether a loop sweeps settings that are written out, does with each what the calls do, and only shows what comes of it.
pub(super) fn is_shown<'a>(
    cx: &FixContext<'a>,
    scope: ScopeId,
    repeats: &'a Stmt,
    calls: &[&'a ast::ExprCall],
) -> bool {
    let Stmt::For(each) = repeats else { return false };
    let Some(sides) = iterated(cx, each) else { return false };
    let mut body = Vec::new();
    gather(&each.body, &mut body);
    let shown = Shown { cx, scope, body, targets: names(&each.target), calls };
    if !shown.keeps_nothing(repeats, each) {
        return false;
    }
    // What the draws depend on has to be settings; the axes that they are drawn in need not.
    let tells: Vec<Vec<&str>> = calls.iter().map(|call| shown.reads_beside(call)).collect();
    let is_setting = |target: &Expr| {
        let told = shown.spread(names(target));
        tells.iter().map(|tells| tells.iter().any(|name| told.contains(name))).collect::<Vec<_>>()
    };
    let (mut told, mut objects) = (vec![false; calls.len()], Vec::new());
    for (target, over) in sides {
        let tells = is_setting(target);
        if !tells.contains(&true) {
            continue;
        }
        if !are_settings(cx, over, Elements::Literals) {
            if !are_settings(cx, over, Elements::Written) {
                return false;
            }
            objects.extend(names(target));
        }
        told.iter_mut().zip(tells).for_each(|(known, more)| *known |= more);
    }
    !told.is_empty() && !told.contains(&false) && shown.only_shows(&objects)
}

/// The statements of a suite and of those within it, but for those that run when something is called.
fn gather<'a>(suite: &'a [Stmt], into: &mut Vec<&'a Stmt>) {
    for statement in suite {
        into.push(statement);
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            for inner in suites(statement) {
                gather(inner, into);
            }
        }
    }
}

/// What a statement assigns to, with what it assigns: by itself, in a `with`, in a loop within or by a walrus.
fn bound(statement: &Stmt) -> Vec<(&Expr, Option<&Expr>)> {
    let walruses = tree::expressions_of(statement).into_iter().filter_map(Expr::as_named_expr);
    let mut bound: Vec<(&Expr, Option<&Expr>)> = walruses.map(|named| (&*named.target, Some(&*named.value))).collect();
    match statement {
        Stmt::Assign(assign) => bound.extend(assign.targets.iter().map(|target| (target, Some(&*assign.value)))),
        Stmt::AnnAssign(assign) => bound.push((&assign.target, assign.value.as_deref())),
        Stmt::For(each) => bound.push((&each.target, Some(&each.iter))),
        Stmt::With(with) => {
            let items = with.items.iter();
            bound.extend(items.filter_map(|item| Some((item.optional_vars.as_deref()?, Some(&item.context_expr)))));
        }
        _ => {}
    }
    bound
}

fn names(target: &Expr) -> Vec<&str> {
    tree::names_bound(target).into_iter().map(|name| name.id.as_str()).collect()
}

/// The variables that an expression reads.
fn read(expr: &Expr) -> impl Iterator<Item = &str> {
    tree::expressions_within(expr).into_iter().filter_map(Expr::as_name_expr).map(|name| name.id.as_str())
}

struct Shown<'b, 'a> {
    cx: &'b FixContext<'a>,
    scope: ScopeId,
    body: Vec<&'a Stmt>,
    /// What the loop itself binds.
    targets: Vec<&'a str>,
    calls: &'b [&'a ast::ExprCall],
}

impl<'a> Shown<'_, 'a> {
    /// Whether nothing that the body binds is carried on, read after the loop, returned or stored.
    fn keeps_nothing(&self, repeats: &'a Stmt, each: &'a ast::StmtFor) -> bool {
        let Some(step) = self.cx.steps(span_of(repeats)).pop() else { return false };
        let behind = self.cx.behind(step);
        // A module's last iteration is hardly what others import of it, unless it says so.
        let is_global = self.cx.names.scopes[self.scope].kind == ScopeKind::Module;
        let is_dropped = |name: &'a str| {
            let variable = Variable::of(self.cx, self.scope, name);
            let is_wanted = is_global && self.cx.names.is_listed(name) || variable.is_read_from(&behind);
            !is_wanted && !self.cx.names.declares(self.scope, name)
        };
        let is_kept = |target: &'a Expr| target.as_name_expr().is_none_or(|name| !is_dropped(name.id.as_str()));
        let keeps = |statement: &&'a Stmt| match statement {
            Stmt::Return(_) | Stmt::AugAssign(_) | Stmt::Global(_) | Stmt::Nonlocal(_) => true,
            other => bound(other).into_iter().any(|(target, _)| tree::assigned(target).into_iter().any(is_kept)),
        };
        !carries(self.cx, each, &[]) && !self.body.iter().any(keeps)
    }

    /// What is assigned of a value to which variables, in the body.
    fn assigned(&self) -> impl Iterator<Item = (Vec<&'a str>, &'a Expr)> {
        let bound = self.body.iter().flat_map(|statement| bound(statement));
        bound.filter_map(|(target, value)| Some((names(target), value?)))
    }

    /// Variables, and those that hold what is made of them.
    fn spread(&self, from: Vec<&'a str>) -> Vec<&'a str> {
        let mut spread = from;
        for _ in 0..PASSES {
            for (targets, value) in self.assigned() {
                if read(value).any(|name| spread.contains(&name)) {
                    spread.extend(targets.into_iter().filter(|name| !spread.contains(name)).collect::<Vec<_>>());
                }
            }
        }
        spread
    }

    /// The variables that a call reads, those that its result is at once calculated with, and those that are given to a call
    /// beside it: `weights = normal(key)` and then `model = Model(kernel(), weights)`.
    fn reads_beside(&self, call: &'a ast::ExprCall) -> Vec<&'a str> {
        let around = tree::ancestors(self.cx.module, span_of(call)).into_iter().rev();
        let mut around = around.skip_while(|node| span_of(node) != span_of(call)).skip(1).peekable();
        let mut reads: Vec<&str> = tree::arguments(call).flat_map(read).chain(read(&call.func)).collect();
        while let Some(AnyNodeRef::ExprBinOp(operation)) =
            around.next_if(|node| matches!(node, AnyNodeRef::ExprBinOp(_)))
        {
            reads.extend(read(&operation.left).chain(read(&operation.right)));
        }
        let made = self.assigned().filter(|(_, value)| span_of(*value).covers(span_of(call)));
        let drawn = self.spread(made.flat_map(|(targets, _)| targets).collect());
        for (_, value) in self.assigned().filter(|(_, value)| value.is_call_expr()) {
            if read(value).any(|name| drawn.contains(&name)) {
                reads.extend(read(value));
            }
        }
        reads
    }

    /// Whether a value is one of the draws or made of them.
    fn is_drawn(&self, value: &Expr, drawn: &[&str]) -> bool {
        self.calls.iter().any(|call| span_of(value).covers(span_of(*call)))
            || read(value).any(|name| drawn.contains(&name))
    }

    /// Whether draws are shown, and no call whose value is dropped may keep them.
    ///
    /// An object for which draws are made, and which is given them, is built of them.
    fn only_shows(&self, objects: &[&str]) -> bool {
        let made = self.assigned().filter(|(_, value)| self.is_drawn(value, &[]));
        let drawn = self.spread(made.flat_map(|(targets, _)| targets).collect());
        let mut is_any_shown = false;
        for statement in &self.body {
            let value = match statement {
                Stmt::Assert(assert) => {
                    is_any_shown |= self.is_drawn(&assert.test, &drawn);
                    continue;
                }
                Stmt::Expr(expr) => &*expr.value,
                _ => continue,
            };
            let Expr::Call(call) = value else {
                if value.is_literal_expr() {
                    continue;
                }
                return false;
            };
            if !self.is_drawn(value, &drawn) {
                continue;
            }
            is_any_shown = true;
            let is_itself = self.calls.iter().any(|one| span_of(*one) == span_of(call));
            let is_object = |expr: &Expr| expr.as_name_expr().is_some_and(|name| objects.contains(&name.id.as_str()));
            let shows = match &*call.func {
                Expr::Name(name) if name.id.as_str() == "print" => true,
                Expr::Name(_) => (!is_itself || objects.is_empty()) && !tree::arguments(call).any(is_object),
                Expr::Attribute(method) => {
                    let is_library = self.cx.path_of(&call.func).is_some();
                    let is_of = read(&method.value).any(|name| objects.contains(&name));
                    let is_own = read(&method.value).any(|name| matches!(name, "self" | "cls"));
                    let is_kept = is_of || is_own && !method.attr.as_str().starts_with("assert");
                    !is_itself && (is_library || !is_kept) && !tree::arguments(call).any(is_object)
                }
                _ => false,
            };
            // `print(results.append(x))` keeps as well as `results.append(x)` does.
            let mut within = tree::expressions_within(value).into_iter().filter_map(Expr::as_call_expr);
            if !shows || within.any(|one| self.keeps(one, &drawn)) {
                return false;
            }
        }
        is_any_shown
    }

    /// Whether a call is given draws by a method that keeps what it is given.
    fn keeps(&self, call: &ast::ExprCall, drawn: &[&str]) -> bool {
        let Expr::Attribute(method) = &*call.func else { return false };
        let is_given = tree::arguments(call).any(|argument| self.is_drawn(argument, drawn));
        if !is_given || self.cx.path_of(&call.func).is_some() {
            return false;
        }
        let name = method.attr.as_str();
        let is_of_loop = || read(&method.value).any(|name| self.targets.contains(&name));
        KEEPERS.binary_search(&name).is_ok() || LEARNERS.contains(&name) && !is_of_loop()
    }
}
