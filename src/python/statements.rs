//! Spans and kinds of statements, to find the statement to which a comment or docstring applies.
//!
//! **Invariant:** every statement and every clause (`elif`, `else` of an `if`, `except`, `case`) has exactly one entry. Entries are
//! sorted by start, outer before inner.

use ast::{CmpOp, ExceptHandler, Expr, Stmt};
use ruff_python_ast as ast;

use super::span_of;
use crate::text::Span;

/// The kind of a statement or clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// A `def` or `async def`.
    Function {
        /// Its name.
        name: Span,
        /// Its docstring.
        docstring: Option<Span>,
    },
    /// A `class`.
    Class {
        /// Its docstring.
        docstring: Option<Span>,
    },
    /// The block `if __name__ == "__main__":`, which runs only if the file is run as a script.
    DirectRun,
    /// A `for` or `while` loop.
    Loop,
    /// Any other statement or clause.
    Other,
}

/// The spans of one statement or clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementSpan {
    /// Its kind.
    pub kind: StatementKind,
    /// The header of a compound statement: its decorators, and everything up to and including the colon. Otherwise the whole statement.
    pub header: Span,
    /// The statement with its decorators and body.
    pub full: Span,
}

impl StatementSpan {
    /// The same statement at other places.
    #[must_use]
    pub fn moved(self, to: &dyn Fn(Span) -> Span) -> Self {
        let kind = match self.kind {
            StatementKind::Function { name, docstring } => {
                StatementKind::Function { name: to(name), docstring: docstring.map(to) }
            }
            StatementKind::Class { docstring } => StatementKind::Class { docstring: docstring.map(to) },
            StatementKind::DirectRun | StatementKind::Loop | StatementKind::Other => self.kind,
        };
        Self { kind, header: to(self.header), full: to(self.full) }
    }
}

/// The spans of all statements of a module parsed from `text`.
pub fn statement_spans(module: &ast::ModModule, text: &str) -> Vec<StatementSpan> {
    let mut walk = Walk { text: text.as_bytes(), spans: Vec::new(), bodies: vec![&module.body[..]] };
    while let Some(body) = walk.bodies.pop() {
        for statement in body {
            walk.statement(statement);
        }
    }
    walk.spans.sort_by_key(|entry| (entry.full.start, std::cmp::Reverse(entry.full.end)));
    walk.spans.shrink_to_fit();
    walk.spans
}

struct Walk<'a> {
    text: &'a [u8],
    spans: Vec<StatementSpan>,
    bodies: Vec<&'a [Stmt]>,
}

impl<'a> Walk<'a> {
    fn statement(&mut self, statement: &'a Stmt) {
        let full = span_of(statement);
        match statement {
            Stmt::FunctionDef(def) => {
                let parameters = span_of(&*def.parameters).end;
                let end = def.returns.as_deref().map_or(parameters, |returns| span_of(returns).end);
                let kind = StatementKind::Function { name: span_of(&def.name), docstring: docstring(&def.body) };
                self.block(kind, full, end, &def.body);
            }
            Stmt::ClassDef(class) => {
                let name = span_of(&class.name).end;
                let parameters = class.type_params.as_deref().map_or(name, |parameters| span_of(parameters).end);
                let end = class.arguments.as_deref().map_or(parameters, |arguments| span_of(arguments).end);
                self.block(StatementKind::Class { docstring: docstring(&class.body) }, full, end, &class.body);
            }
            Stmt::For(each) => {
                self.block(StatementKind::Loop, full, span_of(&*each.iter).end, &each.body);
                self.bodies.push(&each.orelse);
            }
            Stmt::While(repeat) => {
                self.block(StatementKind::Loop, full, span_of(&*repeat.test).end, &repeat.body);
                self.bodies.push(&repeat.orelse);
            }
            Stmt::If(branch) => {
                let kind = if is_direct_run(&branch.test) { StatementKind::DirectRun } else { StatementKind::Other };
                self.block(kind, full, span_of(&*branch.test).end, &branch.body);
                for clause in &branch.elif_else_clauses {
                    let span = span_of(clause);
                    let end = clause.test.as_ref().map_or(span.start, |test| span_of(test).end);
                    self.compound(span, end, &clause.body);
                }
            }
            Stmt::With(with) => {
                let end = with.items.last().map_or(full.start, |item| span_of(item).end);
                self.compound(full, end, &with.body);
            }
            Stmt::Match(choice) => {
                self.compound(full, span_of(&*choice.subject).end, &[]);
                for case in &choice.cases {
                    let pattern = span_of(&case.pattern).end;
                    let end = case.guard.as_deref().map_or(pattern, |guard| span_of(guard).end);
                    self.compound(span_of(case), end, &case.body);
                }
            }
            Stmt::Try(guarded) => {
                self.compound(full, full.start, &guarded.body);
                for handler in &guarded.handlers {
                    let ExceptHandler::ExceptHandler(handler) = handler;
                    let span = span_of(handler);
                    let caught = handler.type_.as_deref().map_or(span.start, |caught| span_of(caught).end);
                    let end = handler.name.as_ref().map_or(caught, |name| span_of(name).end);
                    self.compound(span, end, &handler.body);
                }
                self.bodies.push(&guarded.orelse);
                self.bodies.push(&guarded.finalbody);
            }
            _ => self.spans.push(StatementSpan { kind: StatementKind::Other, header: full, full }),
        }
    }

    /// A statement or clause without a kind of its own.
    fn compound(&mut self, full: Span, end: u32, body: &'a [Stmt]) {
        self.block(StatementKind::Other, full, end, body);
    }

    /// A statement or clause whose last expression before the colon ends at `end`.
    fn block(&mut self, kind: StatementKind, full: Span, end: u32, body: &'a [Stmt]) {
        let limit = body.first().map_or(full.end, |first| span_of(first).start).max(end);
        self.spans.push(StatementSpan { kind, header: Span::new(full.start, self.after_colon(end, limit)), full });
        self.bodies.push(body);
    }

    /// The offset after the colon that follows `start`. Only brackets, keywords, white space and comments are between them. If the colon is
    /// missing (a syntax error), the result is `start`.
    fn after_colon(&self, start: u32, limit: u32) -> u32 {
        let mut at = start as usize;
        let limit = (limit as usize).min(self.text.len());
        while at < limit {
            match self.text[at] {
                b':' => return u32::try_from(at + 1).unwrap_or(start),
                b'#' => at += memchr::memchr2(b'\n', b'\r', &self.text[at..limit]).unwrap_or(limit - at),
                _ => at += 1,
            }
        }
        start
    }
}

/// The docstring of a function or class.
fn docstring(body: &[Stmt]) -> Option<Span> {
    match body.first()? {
        Stmt::Expr(first) => matches!(*first.value, Expr::StringLiteral(_)).then(|| span_of(first)),
        _ => None,
    }
}

/// Whether a condition is `__name__ == "__main__"`, in either order.
fn is_direct_run(test: &Expr) -> bool {
    let Expr::Compare(comparison) = test else { return false };
    let is_name = |side: &Expr| matches!(side, Expr::Name(name) if name.id == "__name__");
    let is_main = |side: &Expr| matches!(side, Expr::StringLiteral(text) if text.value.to_str() == "__main__");
    match (&*comparison.ops, &*comparison.comparators) {
        ([CmpOp::Eq], [right]) => {
            is_name(&comparison.left) && is_main(right) || is_main(&comparison.left) && is_name(right)
        }
        _ => false,
    }
}

/// The suites of a compound statement, in source order.
pub fn suites(statement: &Stmt) -> Vec<&[Stmt]> {
    match statement {
        Stmt::FunctionDef(def) => vec![&def.body],
        Stmt::ClassDef(class) => vec![&class.body],
        Stmt::For(each) => vec![&each.body, &each.orelse],
        Stmt::While(repeat) => vec![&repeat.body, &repeat.orelse],
        Stmt::With(with) => vec![&with.body],
        Stmt::If(branch) => {
            let clauses = branch.elif_else_clauses.iter().map(|clause| &*clause.body);
            std::iter::once(&*branch.body).chain(clauses).collect()
        }
        Stmt::Match(choice) => choice.cases.iter().map(|case| &*case.body).collect(),
        Stmt::Try(guarded) => {
            let handlers = guarded.handlers.iter().map(|ExceptHandler::ExceptHandler(handler)| &*handler.body);
            let ends = [&*guarded.orelse, &*guarded.finalbody];
            std::iter::once(&*guarded.body).chain(handlers).chain(ends).collect()
        }
        _ => Vec::new(),
    }
}
