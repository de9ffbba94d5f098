//! Navigation in a syntax tree: the statements around a place, the node at a span, the expressions within a node.
//!
//! **Invariant:** everything is found by span; nothing is looked up by text.

use crate::python::ast::visitor::source_order::{self, SourceOrderVisitor, TraversalSignal};
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::{span_of, suites};
use crate::text::Span;

/// One statement on the path to a place: its suite, and its position there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub suite: &'a [Stmt],
    pub index: usize,
}

impl<'a> Step<'a> {
    /// The statement.
    pub fn statement(self) -> &'a Stmt {
        &self.suite[self.index]
    }

    /// Whether the step is in this very suite.
    pub fn is_in(self, suite: &[Stmt]) -> bool {
        std::ptr::eq(self.suite, suite)
    }

    /// Whether two steps are in one suite.
    pub fn is_beside(self, other: Self) -> bool {
        std::ptr::eq(self.suite, other.suite)
    }

    /// Whether two steps are one.
    pub fn is(self, other: Self) -> bool {
        self.is_beside(other) && self.index == other.index
    }
}

/// The statements around a span, outermost first.
pub(super) fn steps(module: &ast::ModModule, span: Span) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut open: Vec<&[Stmt]> = vec![&module.body];
    while let Some(suite) = open.pop() {
        if let Some(index) = suite.iter().position(|statement| span_of(statement).covers(span)) {
            steps.push(Step { suite, index });
            open = suites(&suite[index]);
        }
    }
    steps
}

/// Whether no run passes both of two places, by the enclosing statements: they are in different branches, or the branch of the earlier one
/// always leaves before the other. A `with` may suppress the exception of a statement that would leave.
pub(super) fn exclude(first: &[Step<'_>], second: &[Step<'_>]) -> bool {
    let common = first.iter().zip(second).take_while(|(one, other)| one.is(**other)).count();
    let (Some(left), Some(right)) = (first.get(common), second.get(common)) else { return false };
    if !left.is_beside(*right) {
        let around = common.checked_sub(1).and_then(|around| first.get(around)).map(|step| step.statement());
        return matches!(around, Some(Stmt::If(_) | Stmt::Match(_)));
    }
    let earlier = if left.index < right.index { first } else { second };
    let mut is_looped = false;
    for path in earlier[common..].windows(2) {
        match path[0].statement() {
            Stmt::If(_) | Stmt::Match(_) => {}
            Stmt::For(_) | Stmt::While(_) => is_looped = true,
            _ => return false,
        }
        match path[1].suite.last() {
            Some(Stmt::Return(_) | Stmt::Raise(_)) => return true,
            Some(Stmt::Continue(_) | Stmt::Break(_)) if !is_looped => return true,
            _ => {}
        }
    }
    false
}

/// All calls of a file.
pub(super) fn calls(module: &ast::ModModule) -> Vec<&ast::ExprCall> {
    expressions(module).into_iter().filter_map(Expr::as_call_expr).collect()
}

/// The attributes and items that a file assigns to.
pub(super) fn stored(module: &ast::ModModule) -> impl Iterator<Item = &Expr> {
    expressions(module).into_iter().filter(|expr| match expr {
        Expr::Attribute(attribute) => attribute.ctx.is_store(),
        Expr::Subscript(item) => item.ctx.is_store(),
        _ => false,
    })
}

/// Collects expressions.
struct ExpressionCollector<'a>(Vec<&'a Expr>);

impl<'a> SourceOrderVisitor<'a> for ExpressionCollector<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        self.0.push(expr);
        source_order::walk_expr(self, expr);
    }
}

/// All expressions of a file, each before those within it.
pub(super) fn expressions(module: &ast::ModModule) -> Vec<&Expr> {
    let mut collector = ExpressionCollector(Vec::new());
    for statement in &module.body {
        collector.visit_stmt(statement);
    }
    collector.0
}

/// The nodes that cover a span, outermost first.
pub(super) fn ancestors(module: &ast::ModModule, span: Span) -> Vec<AnyNodeRef<'_>> {
    struct AncestorPath<'a> {
        span: Span,
        nodes: Vec<AnyNodeRef<'a>>,
    }
    impl<'a> SourceOrderVisitor<'a> for AncestorPath<'a> {
        fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
            if !span_of(&node).covers(self.span) {
                return TraversalSignal::Skip;
            }
            self.nodes.push(node);
            TraversalSignal::Traverse
        }
    }
    let mut path = AncestorPath { span, nodes: Vec::new() };
    if let Some(step) = steps(module, span).first() {
        path.visit_stmt(step.statement());
    }
    path.nodes
}

/// The innermost function around a place, of those that are defined by statements.
pub(super) fn function_around(module: &ast::ModModule, span: Span) -> Option<&ast::StmtFunctionDef> {
    ancestors(module, span).into_iter().rev().find_map(|node| match node {
        AnyNodeRef::StmtFunctionDef(def) => Some(def),
        _ => None,
    })
}

/// The call that has exactly this span.
pub(super) fn call_at(module: &ast::ModModule, span: Span) -> Option<&ast::ExprCall> {
    ancestors(module, span).into_iter().rev().find_map(|node| match node {
        AnyNodeRef::ExprCall(call) if span_of(call) == span => Some(call),
        _ => None,
    })
}

/// The expression that has exactly this span, the outermost of those that do.
pub(super) fn expression_at(module: &ast::ModModule, span: Span) -> Option<&Expr> {
    struct ExpressionFinder<'a> {
        span: Span,
        found: Option<&'a Expr>,
    }
    impl<'a> SourceOrderVisitor<'a> for ExpressionFinder<'a> {
        fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
            let goes_on = self.found.is_none() && span_of(&node).covers(self.span);
            if goes_on { TraversalSignal::Traverse } else { TraversalSignal::Skip }
        }

        fn visit_expr(&mut self, expr: &'a Expr) {
            if self.found.is_none() && span_of(expr) == self.span {
                self.found = Some(expr);
            }
            source_order::walk_expr(self, expr);
        }
    }
    let mut seek = ExpressionFinder { span, found: None };
    if let Some(step) = steps(module, span).first() {
        seek.visit_stmt(step.statement());
    }
    seek.found
}

/// All expressions within one, itself first, in source order.
pub(super) fn expressions_within(expr: &Expr) -> Vec<&Expr> {
    let mut collector = ExpressionCollector(Vec::new());
    collector.visit_expr(expr);
    collector.0
}

/// The arguments of a call as written, in source order: positional ones and the values of keywords.
pub(super) fn arguments(call: &ast::ExprCall) -> impl Iterator<Item = &Expr> {
    call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value))
}

/// All expressions of a statement, those of statements within it as well.
pub(super) fn expressions_of(statement: &Stmt) -> Vec<&Expr> {
    let mut collector = ExpressionCollector(Vec::new());
    collector.visit_stmt(statement);
    collector.0
}

/// The single targets of an assignment's target, unpacked.
pub(super) fn assigned(target: &Expr) -> Vec<&Expr> {
    match target {
        Expr::Tuple(tuple) => tuple.elts.iter().flat_map(assigned).collect(),
        Expr::List(list) => list.elts.iter().flat_map(assigned).collect(),
        Expr::Starred(starred) => assigned(&starred.value),
        other => vec![other],
    }
}

/// The names that the target of an assignment binds, as expressions.
pub(super) fn names_bound(target: &Expr) -> Vec<&ast::ExprName> {
    match target {
        Expr::Name(name) => vec![name],
        Expr::Tuple(tuple) => tuple.elts.iter().flat_map(names_bound).collect(),
        Expr::List(list) => list.elts.iter().flat_map(names_bound).collect(),
        Expr::Starred(starred) => names_bound(&starred.value),
        _ => Vec::new(),
    }
}

/// Where a statement starts, its decorators included.
pub(super) fn start_of(statement: &Stmt) -> u32 {
    let decorators = match statement {
        Stmt::FunctionDef(def) => &def.decorator_list,
        Stmt::ClassDef(class) => &class.decorator_list,
        _ => return span_of(statement).start,
    };
    decorators.first().map_or_else(|| span_of(statement).start, |decorator| span_of(decorator).start)
}

/// The targets of a simple statement.
pub(super) fn targets(statement: &Stmt) -> &[Expr] {
    match statement {
        Stmt::Assign(assign) => &assign.targets,
        Stmt::AnnAssign(assign) => std::slice::from_ref(&*assign.target),
        Stmt::AugAssign(assign) => std::slice::from_ref(&*assign.target),
        _ => &[],
    }
}
