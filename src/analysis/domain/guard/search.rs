//! Searches for a path through guards whose literals can hold together.
//!
//! Each guard that was found feasible caches a *model*, which is one such path. A branch queries the paths of the
//! enclosing branch and one more literal, so that most searches end at the first guard with a model.
//!
//! **Invariant:** the literals of a model are consistent, and the model of a guard continues with that of the guard below; it is never
//! changed.

use smallvec::SmallVec;

use super::path::Step;
use super::{Guard, Guards, Node};
use crate::analysis::domain::term::{TermId, Terms};

/// Most nodes that the search for a feasible path visits before the exclusions are conjoined.
const SEARCH_STEPS: u32 = 256;

/// A search for a path on which literals can hold together.
struct Search {
    /// The literals so far.
    path: SmallVec<[Step; 24]>,
    /// How many of them share their subject with others.
    with_shared_subject: usize,
    /// Steps that are left.
    steps: u32,
    /// Whether the path found so far follows the models of the guards below.
    is_model: bool,
}

impl Default for Search {
    fn default() -> Self {
        Self { path: SmallVec::new(), with_shared_subject: 0, steps: SEARCH_STEPS, is_model: false }
    }
}

impl Guards {
    /// Whether some path satisfies the guard, given which literals [cannot hold together](Terms::exclusions).
    pub fn feasible(&mut self, guard: Guard, terms: &Terms) -> bool {
        if guard.is_false() {
            return false;
        }
        if guard.is_true() {
            return true;
        }
        if let Some(answer) = self.search([guard, Guard::TRUE], terms, &mut Search::default()) {
            return answer;
        }
        let support = self.support(guard);
        let mut constrained = guard;
        for [(a, a_polarity), (b, b_polarity)] in terms.exclusions(&support) {
            let a = self.with_polarity(a, a_polarity);
            let b = self.with_polarity(b, b_polarity);
            let both = self.and(a, b);
            constrained = self.without(constrained, both);
            if constrained.is_false() {
                return false;
            }
        }
        true
    }

    /// Whether some path satisfies both guards, like [`Guards::feasible`] of their conjunction. For most pairs such a
    /// path is found quickly and without making nodes.
    pub fn are_compatible(&mut self, a: Guard, b: Guard, terms: &Terms) -> bool {
        if self.is_model_of(a, b) {
            return true;
        }
        if let Some(answer) = self.search([a, b], terms, &mut Search::default()) {
            return answer;
        }
        let both = self.and(a, b);
        self.feasible(both, terms)
    }

    /// Whether the model of `path` satisfies all literals of `guard`.
    fn is_model_of(&self, mut path: Guard, mut guard: Guard) -> bool {
        if !path.is_true() && self.models[path.0 as usize].is_none() {
            return false;
        }
        while !guard.is_true() {
            let [at, required] = [path, guard].map(|guard| self.nodes[guard.0 as usize]);
            let Some(holds) = self.models[path.0 as usize].filter(|_| at.level <= required.level) else { return false };
            let below = |node: Node| if holds { node.high } else { node.low };
            if at.level == required.level {
                guard = below(required);
            }
            path = below(at);
        }
        true
    }

    /// Looks for one path to [`Guard::TRUE`] in both diagrams whose literals can hold together with those of the path so far; `None`
    /// where that takes too many steps.
    fn search(&mut self, pair: [Guard; 2], terms: &Terms, search: &mut Search) -> Option<bool> {
        if pair.contains(&Guard::FALSE) {
            return Some(false);
        }
        let rest = match pair {
            [rest, Guard::TRUE] | [Guard::TRUE, rest] => Some(rest),
            _ => None,
        };
        search.is_model = rest.is_some_and(|rest| rest.is_true() || self.models[rest.0 as usize].is_some());
        if search.is_model && search.with_shared_subject == 0 || rest == Some(Guard::TRUE) {
            return Some(true);
        }
        search.steps = search.steps.checked_sub(1)?;
        let nodes = pair.map(|guard| self.nodes[guard.0 as usize]);
        let level = nodes[0].level.min(nodes[1].level);
        let number = level.literal();
        let upper = pair[usize::from(nodes[0].level != level)];
        let likely = self.models[upper.0 as usize].unwrap_or(false);
        for holds in [likely, !likely] {
            let below = |index: usize| match (nodes[index].level == level, holds) {
                (false, _) => pair[index],
                (true, false) => nodes[index].low,
                (true, true) => nodes[index].high,
            };
            let next = [below(0), below(1)];
            if next.contains(&Guard::FALSE) {
                continue;
            }
            let step = self.constraints.step(number, holds, || terms.constraint(self.literals[number]));
            if !self.constraints.admit(&search.path, step, terms) {
                continue;
            }
            let company = usize::from(!self.constraints.is_alone(step));
            search.path.push(step);
            search.with_shared_subject += company;
            let found = self.search(next, terms, search);
            search.path.pop();
            search.with_shared_subject -= company;
            if found == Some(true) {
                let known = rest.filter(|_| search.is_model).map(|rest| &mut self.models[rest.0 as usize]);
                search.is_model = known.is_some_and(|known| *known.get_or_insert(holds) == holds);
            }
            if found != Some(false) {
                return found;
            }
        }
        Some(false)
    }

    fn with_polarity(&mut self, literal: TermId, polarity: bool) -> Guard {
        let guard = self.literal(literal);
        if polarity { guard } else { self.not(guard) }
    }
}
