//! Spans of statements, for comments that apply to a statement.
//!
//! **Invariant:** every statement and every clause (`elif`, `else` of an `if`, `except`, `case`) of the tree has exactly one
//! entry, and entries are sorted by where they start, outer before inner.

use ast::{ExceptHandler, Stmt};
use ruff_python_ast as ast;

use super::span_of;
use crate::text::Span;

/// The place of one statement or clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementSpan {
    /// Of a compound statement its decorators and all up to and with the colon; else the whole statement.
    pub header: Span,
    /// The statement with its body; decorators included.
    pub full: Span,
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
                self.compound(full, end, &def.body);
            }
            Stmt::ClassDef(class) => {
                let name = span_of(&class.name).end;
                let parameters = class.type_params.as_deref().map_or(name, |parameters| span_of(parameters).end);
                let end = class.arguments.as_deref().map_or(parameters, |arguments| span_of(arguments).end);
                self.compound(full, end, &class.body);
            }
            Stmt::For(each) => {
                self.compound(full, span_of(&*each.iter).end, &each.body);
                self.bodies.push(&each.orelse);
            }
            Stmt::While(repeat) => {
                self.compound(full, span_of(&*repeat.test).end, &repeat.body);
                self.bodies.push(&repeat.orelse);
            }
            Stmt::If(branch) => {
                self.compound(full, span_of(&*branch.test).end, &branch.body);
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
            _ => self.spans.push(StatementSpan { header: full, full }),
        }
    }

    /// A statement or clause whose last expression before the colon ends at `end`.
    fn compound(&mut self, full: Span, end: u32, body: &'a [Stmt]) {
        let limit = body.first().map_or(full.end, |first| span_of(first).start).max(end);
        self.spans.push(StatementSpan { header: Span::new(full.start, self.after_colon(end, limit)), full });
        self.bodies.push(body);
    }

    /// The offset after the colon that follows `start`; only brackets, keywords, white space and comments are between them. A broken
    /// statement without colon ends at `start`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python::{SourceKind, parse};

    /// Headers as text, and whether the whole statement is longer.
    fn headers(text: &str) -> Vec<String> {
        let parsed = parse(text, SourceKind::Py);
        let slice = |span: Span| &text[span.start as usize..span.end as usize];
        statement_spans(&parsed.module, text)
            .into_iter()
            .map(|entry| {
                assert!(entry.full.covers(entry.header) && entry.full.start == entry.header.start);
                let more = if entry.full == entry.header { "" } else { " …" };
                format!("{}{more}", slice(entry.header))
            })
            .collect()
    }

    #[test]
    fn headers_end_with_the_colon() {
        let text = "\
@a.b(c)
@d
def f[T](
    x: int = {1: 2},  # not: here
) -> T:  # nor: here
    return x[1:2]
class C[T](B, m={1: 2}): y = 1
class D: pass
for x in (
    y  # no: colon
): pass
else: pass
while (x): pass
if (x): a
elif x[1:]: b
else : c
with (open(a) as b, c): pass
match x[1:]:
    case {1: y} if (y): pass
    case _: pass
try: a
except (A, B) as e: b
except: c
else: d
finally: e
";
        assert_eq!(
            headers(text),
            [
                "@a.b(c)\n@d\ndef f[T](\n    x: int = {1: 2},  # not: here\n) -> T: …",
                "return x[1:2]",
                "class C[T](B, m={1: 2}): …",
                "y = 1",
                "class D: …",
                "pass",
                "for x in (\n    y  # no: colon\n): …",
                "pass",
                "pass",
                "while (x): …",
                "pass",
                "if (x): …",
                "a",
                "elif x[1:]: …",
                "b",
                "else : …",
                "c",
                "with (open(a) as b, c): …",
                "pass",
                "match x[1:]: …",
                "case {1: y} if (y): …",
                "pass",
                "case _: …",
                "pass",
                "try: …",
                "a",
                "except (A, B) as e: …",
                "b",
                "except: …",
                "c",
                "d",
                "e",
            ]
        );
    }

    #[test]
    fn broken_headers_end_somewhere_within() {
        for text in [
            "if x",
            "def f(",
            "class",
            "for x in",
            "with a as",
            "try",
            "match x:",
            "if x # a: b\n    y\n",
            "while :\n pass",
        ] {
            headers(text);
        }
    }
}
