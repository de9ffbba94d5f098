//! Liveness of the variables that a fix rebinds, according to the IR.
//!
//! **Invariant:** variables that the IR does not know count as live: names of other scopes, and words in commands of
//! notebooks, whose cells run in any order.

use super::context::FixContext;
use super::names::ScopeId;
use super::tree::Step;
use crate::ir::liveness::{Liveness, Point};
use crate::python::span_of;
use crate::text::Span;

/// A variable of a scope, and reads of it that do not count.
pub(super) struct Variable<'b, 'a> {
    pub cx: &'b FixContext<'a>,
    pub scope: ScopeId,
    pub name: &'b str,
    /// Spans of reads that do not count.
    pub exempt: &'b [Span],
    /// A statement before which the value is read if control returns to it.
    pub split: Option<Span>,
}

impl<'b, 'a> Variable<'b, 'a> {
    /// A variable all of whose reads count.
    pub fn of(cx: &'b FixContext<'a>, scope: ScopeId, name: &'b str) -> Self {
        Self { cx, scope, name, exempt: &[], split: None }
    }

    /// Whether the value that the variable has before a statement may be read there or later.
    ///
    /// `way` leads to the statement, which may be one past the last of its suite.
    pub fn is_read_from(&self, way: &[Step<'_>]) -> bool {
        let Some(step) = way.last() else { return true };
        let before = step.suite.get(step.index).map(|statement| Point::Before(span_of(statement)));
        // `pass` and the like have no operations.
        let last = step.index.checked_sub(1).and_then(|last| step.suite.get(last));
        let points = before.into_iter().chain(last.map(|statement| Point::After(span_of(statement))));
        let liveness = self.cx.function_of(self.scope).and_then(|id| Liveness::of(self.cx.ir(), id, self.name));
        let Some(liveness) = liveness.filter(|_| !self.cx.names.is_commanded(self.name)) else { return true };
        let liveness = liveness.ignoring(self.exempt).read_on_return_to(self.split);
        points.into_iter().find_map(|point| liveness.is_live(point)).unwrap_or(true)
    }

    /// Whether nothing needs the value that the variable has before a statement: it is not read from there on, no other module
    /// may use it, and the scope does not delete the variable, which then has to be bound.
    pub fn is_unneeded_from(&self, way: &[Step<'_>]) -> bool {
        let (cx, scope, name) = (self.cx, self.scope, self.name);
        !cx.is_exported_from(scope, name) && !cx.names.deletes(scope, name) && !self.is_read_from(way)
    }
}
