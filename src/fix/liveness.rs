//! Whether a variable's value is still wanted: what may be read of it before it is bound anew.
//!
//! **Invariant:** a value that is said to be dead is read on no path from the place asked about; functions within and
//! commands of notebooks that read the variable keep it alive for good.

use super::context::FixContext;
use super::names::{Does, ScopeId};
use super::tree::{self, Step};
use crate::python::ast::Stmt;
use crate::python::{span_of, suites};
use crate::text::Span;

/// A variable of a scope, and reads of it that do not count.
pub(super) struct Variable<'b, 'a> {
    pub cx: &'b FixContext<'a>,
    pub scope: ScopeId,
    pub name: &'b str,
    pub exempt: &'b [Span],
    /// A statement before which the value is read where control comes to it.
    pub split: Option<Span>,
}

/// What statements do with a value that nobody has bound anew before them.
#[derive(Clone, Copy, Default)]
struct Flow {
    /// Something reads it.
    reads: bool,
    /// It may be there still where the statements end.
    goes_on: bool,
    /// It may be there still where they leave or repeat the loop around them.
    leaves: bool,
}

/// Nothing is done with the value.
const WHOLE: Flow = Flow { reads: false, goes_on: true, leaves: false };

impl Flow {
    /// What comes of what is done first, and of what is done next.
    fn before(self, next: Self) -> Self {
        Self { reads: self.reads || next.reads, goes_on: next.goes_on, leaves: self.leaves || next.leaves }
    }
}

impl<'b, 'a> Variable<'b, 'a> {
    /// A variable of which every read counts.
    pub fn of(cx: &'b FixContext<'a>, scope: ScopeId, name: &'b str) -> Self {
        Self { cx, scope, name, exempt: &[], split: None }
    }

    /// Whether the value that the variable has before a statement is read there or later.
    ///
    /// `way` leads to the statement, which may be the one behind the last of its suite.
    pub fn is_read_from(&self, way: &[Step<'_>]) -> bool {
        let Some((step, around)) = way.split_last() else { return true };
        if self.is_shared() {
            return true;
        }
        let first = step.suite.get(step.index).map_or(WHOLE, |statement| self.statement(statement));
        let flow = if first.goes_on { first.before(self.rest(*step, step.index + 1)) } else { first };
        flow.reads || self.is_read_behind(*step, flow, around)
    }

    /// Whether nobody wants the value that the variable has before a statement: neither is it read from there on, nor may another
    /// module ask for it, nor does the scope delete the variable, which must not be gone by then.
    pub fn is_idle_from(&self, way: &[Step<'_>]) -> bool {
        let (cx, scope, name) = (self.cx, self.scope, self.name);
        !cx.is_exported_from(scope, name) && !cx.names.deletes(scope, name) && !self.is_read_from(way)
    }

    /// Whether a value that is there at the end of a suite, or where a loop is left, is read later.
    fn is_read_behind(&self, inner: Step<'_>, ended: Flow, around: &[Step<'_>]) -> bool {
        let Some((step, outer)) = around.split_last() else { return false };
        let statement = step.statement();
        let is_loop = matches!(statement, Stmt::For(_) | Stmt::While(_));
        // What raises before the value is gone may come to the handlers.
        let is_caught = matches!(statement, Stmt::Try(_));
        if !ended.goes_on && !ended.leaves && !is_caught {
            return match statement {
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => false,
                _ => self.is_read_behind(*step, ended, outer),
            };
        }
        if !ended.goes_on && !is_loop && !is_caught {
            return self.is_read_behind(*step, ended, outer);
        }
        let flow = match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return false,
            Stmt::For(each) if inner.is_in(&each.body) => {
                let is_bound = self.binds(span_of(&*each.target));
                let repeats = !is_bound && self.suite(&each.body).reads;
                self.after_loop(repeats, &each.orelse, *step)
            }
            Stmt::While(repeat) if inner.is_in(&repeat.body) => {
                let repeats = self.reads(span_of(&*repeat.test)) || self.suite(&repeat.body).reads;
                self.after_loop(repeats, &repeat.orelse, *step)
            }
            // What is raised may come to any of the other parts.
            Stmt::Try(_) => {
                let reads = suites(statement).into_iter().any(|suite| !inner.is_in(suite) && self.suite(suite).reads);
                self.then(reads, *step)
            }
            _ => self.rest(*step, step.index + 1),
        };
        // A loop that is left is left for good.
        let flow = Flow { leaves: flow.leaves || ended.leaves && !is_loop, ..flow };
        flow.reads || self.is_read_behind(*step, flow, outer)
    }

    fn after_loop(&self, repeats: bool, orelse: &[Stmt], step: Step<'_>) -> Flow {
        self.then(repeats || self.suite(orelse).reads, step)
    }

    /// What stands behind a statement comes after it.
    fn then(&self, reads: bool, step: Step<'_>) -> Flow {
        let rest = self.rest(step, step.index + 1);
        Flow { reads: reads || rest.reads, ..rest }
    }

    fn rest(&self, step: Step<'_>, from: usize) -> Flow {
        self.suite(step.suite.get(from..).unwrap_or_default())
    }

    fn suite(&self, suite: &[Stmt]) -> Flow {
        let mut flow = WHOLE;
        for statement in suite {
            if self.split == Some(span_of(statement)) {
                return Flow { reads: true, ..flow };
            }
            flow = flow.before(self.statement(statement));
            if !flow.goes_on || flow.reads {
                break;
            }
        }
        flow
    }

    fn statement(&self, statement: &Stmt) -> Flow {
        let whole = span_of(statement);
        let inner = suites(statement);
        let simple = |goes_on: bool| Flow { reads: self.reads(whole), goes_on, leaves: false };
        // One of several suites runs, or none.
        let one_of = |is_whole: bool| {
            let parts: Vec<Flow> = inner.iter().map(|suite| self.suite(suite)).collect();
            Flow {
                reads: self.reads_outside(whole, &inner) || parts.iter().any(|part| part.reads),
                goes_on: !is_whole || parts.iter().any(|part| part.goes_on),
                leaves: parts.iter().any(|part| part.leaves),
            }
        };
        match statement {
            Stmt::Return(_) | Stmt::Raise(_) => simple(false),
            Stmt::Break(_) | Stmt::Continue(_) => Flow { leaves: true, ..Flow::default() },
            Stmt::If(branch) => one_of(branch.elif_else_clauses.last().is_some_and(|clause| clause.test.is_none())),
            Stmt::With(_) => one_of(true),
            Stmt::Try(_) | Stmt::Match(_) => one_of(false),
            Stmt::For(each) => {
                let is_bound = self.binds(span_of(&*each.target));
                let body = !is_bound && self.suite(&each.body).reads;
                let reads = self.reads(span_of(&*each.iter)) || body || self.suite(&each.orelse).reads;
                Flow { reads, goes_on: true, leaves: false }
            }
            Stmt::While(repeat) => {
                let reads = inner.iter().any(|suite| self.suite(suite).reads) || self.reads(span_of(&*repeat.test));
                Flow { reads, goes_on: true, leaves: false }
            }
            Stmt::Assign(_) | Stmt::AnnAssign(_) => {
                let targets = tree::targets(statement).iter().flat_map(tree::names_bound);
                let is_bound = targets.into_iter().any(|target| target.id.as_str() == self.name)
                    && !matches!(statement, Stmt::AnnAssign(assign) if assign.value.is_none());
                simple(!is_bound)
            }
            _ => simple(true),
        }
    }

    /// Whether a function within or a command reads the variable, whenever that is called, or it is declared to be somebody else's.
    fn is_shared(&self) -> bool {
        let names = &self.cx.names;
        names.declares(self.scope, self.name)
            || names.is_commanded(self.name)
            || names.occurrences(self.name).iter().any(|one| {
                one.scope != self.scope
                    && names.is_within(one.scope, self.scope)
                    && (one.does == Does::Declare
                        || one.does == Does::Read && names.binder(one.scope, self.name) == Some(self.scope))
            })
    }

    fn reads(&self, span: Span) -> bool {
        self.reads_outside(span, &[])
    }

    /// Whether it is read in a span, what stands in some suites left out.
    fn reads_outside(&self, span: Span, inner: &[&[Stmt]]) -> bool {
        let is_inner = |at: Span| inner.iter().any(|suite| suite.iter().any(|one| span_of(one).covers(at)));
        self.cx.names.occurrences(self.name).iter().any(|one| {
            one.scope == self.scope
                && one.does == Does::Read
                && span.covers(one.span)
                && !self.exempt.contains(&one.span)
                && !is_inner(one.span)
        })
    }

    fn binds(&self, span: Span) -> bool {
        let occurrences = self.cx.names.occurrences(self.name);
        occurrences.iter().any(|one| one.scope == self.scope && one.does == Does::Bind && span.covers(one.span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Models;
    use crate::python::{SourceKind, parse};
    use crate::text::FileId;

    /// Whether `key` is still wanted behind the first line `here()` of the only function.
    fn is_alive(body: &str) -> bool {
        let text = format!("def f(key, p, n):\n{body}");
        let parsed = parse(&text, SourceKind::Py);
        let models = Models::default();
        let cx = FixContext::new(FileId(0), &text, &parsed.module, &models, &[]);
        let start = u32::try_from(text.find("here()").unwrap()).unwrap();
        let step = cx.steps(Span::new(start, start + 1)).pop().unwrap();
        let (way, split) = (cx.behind(step), Some(span_of(step.statement())));
        let scope = cx.names.frame_at(start).unwrap();
        Variable { cx: &cx, scope, name: "key", exempt: &[], split }.is_read_from(&way)
    }

    #[test]
    fn values_die_where_they_are_bound_anew_on_every_path() {
        assert!(is_alive("    here()\n    g(key)\n"));
        assert!(!is_alive("    here()\n    key, a = g(n)\n    g(key)\n"));
        assert!(is_alive("    here()\n    key, a = g(key)\n"));
        assert!(is_alive("    here()\n    if p:\n        key = n\n    g(key)\n"));
        assert!(!is_alive("    here()\n    if p:\n        key = n\n    else:\n        return n\n    g(key)\n"));
        assert!(!is_alive("    if p:\n        here()\n    elif n:\n        g(key)\n    return n\n"));
    }

    #[test]
    fn loops_come_back_and_are_left() {
        assert!(is_alive("    for _ in n:\n        here()\n"));
        assert!(!is_alive("    for _ in n:\n        key = p\n        here()\n"));
        assert!(!is_alive("    for key in n:\n        here()\n"));
        assert!(!is_alive("    for _ in n:\n        here()\n        key = p\n    g(n)\n"));
        assert!(is_alive(
            "    while p:\n        here()\n        if n:\n            break\n        key = p\n    g(key)\n"
        ));
        assert!(is_alive("    while g(key):\n        here()\n        if n:\n            continue\n        key = p\n"));
        assert!(is_alive("    here()\n    def h():\n        return key\n"));
    }

    #[test]
    fn what_is_raised_may_be_caught() {
        assert!(is_alive("    try:\n        here()\n        key = p\n    except E:\n        g(key)\n"));
    }
}
