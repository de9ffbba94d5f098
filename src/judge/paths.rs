//! Queries about the paths of a recording: whether two guards are compatible, and which literals decide one.
//!
//! **Invariant:** a result depends on the guards and on the constraints of their literals; a query makes nodes and changes no guard.

use rustc_hash::FxHashMap;

use crate::analysis::domain::guard::{Guard, Guards};
use crate::analysis::domain::marks::OVERRIDDEN;
use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::ir::Operator;

/// The guards of a recording.
pub struct PathQueries<'r> {
    guards: &'r mut Guards,
    terms: &'r Terms,
    /// Results about the feasibility of guards.
    feasible: FxHashMap<Guard, bool>,
}

impl<'r> PathQueries<'r> {
    /// The guards of a recording with these terms.
    pub fn new(guards: &'r mut Guards, terms: &'r Terms) -> Self {
        Self { guards, terms, feasible: FxHashMap::default() }
    }

    /// The paths of both guards.
    pub fn and(&mut self, a: Guard, b: Guard) -> Guard {
        self.guards.and(a, b)
    }

    /// The paths of a guard that are not those of another.
    pub fn without(&mut self, a: Guard, b: Guard) -> Guard {
        self.guards.without(a, b)
    }

    /// The paths on which a condition holds, or those on which it does not.
    pub fn literal(&mut self, condition: TermId, holds: bool) -> Guard {
        let literal = self.guards.literal(condition);
        if holds { literal } else { self.guards.without(Guard::TRUE, literal) }
    }

    /// The guard with every literal in `fixed` replaced by its value.
    pub fn assume(&mut self, guard: Guard, fixed: &dyn Fn(TermId) -> Option<bool>) -> Guard {
        self.guards.assume(guard, fixed)
    }

    /// The literals that a guard depends on.
    pub fn support(&self, guard: Guard) -> Vec<TermId> {
        self.guards.support(guard)
    }

    /// Whether the literals of some path of a guard can hold together.
    pub fn feasible(&mut self, guard: Guard) -> bool {
        if guard.is_true() || guard.is_false() {
            return guard.is_true();
        }
        let Self { guards, terms, feasible } = self;
        *feasible.entry(guard).or_insert_with(|| guards.feasible(guard, terms))
    }

    /// Whether every path of a guard goes through a method that overrides another, of an instance that may not have it.
    pub fn needs_override(&mut self, guard: Guard) -> bool {
        let terms = self.terms;
        let is_override = |literal: TermId| match terms.get(literal) {
            Term::Operate(Operator::Eq, parts) => {
                parts.iter().any(|part| matches!(terms.get(*part), Term::Apply(name, _) if &**name == OVERRIDDEN))
            }
            _ => false,
        };
        if !self.support(guard).into_iter().any(is_override) {
            return false;
        }
        let without = self.assume(guard, &|literal| is_override(literal).then_some(false));
        !self.feasible(without)
    }
}
