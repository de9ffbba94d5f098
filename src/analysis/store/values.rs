//! What is known about a value on the current paths: its alternatives, its term, its truth.
//!
//! **Invariant:** a query repeated on the same paths has the same result.

use crate::analysis::domain::constraint::{LENGTH, MAXIMUM, MINIMUM};
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{Elements, EnvironmentId, ObjectId, Val, Value};
use crate::analysis::store::State;
use crate::ir::Operator;

/// Most parts of a term that are evaluated for its truth.
const COMPARISONS: u32 = 256;

impl State {
    /// Conjunction of a guard with the current paths, decided with what is known about literals.
    pub fn feasible(&mut self, guard: Guard) -> bool {
        if guard.is_true() {
            return true;
        }
        if guard.is_false() {
            return false;
        }
        if let Some(known) = self.paths.feasibility.get(&guard) {
            return *known;
        }
        let answer = self.paths.guards.feasible(guard, &self.terms);
        self.paths.feasibility.insert(guard, answer);
        answer
    }

    /// Whether some of the current paths satisfy a guard.
    pub fn is_possible(&mut self, guard: Guard) -> bool {
        if guard.is_true() || guard == self.paths.pc {
            return self.feasible(self.paths.pc);
        }
        let question = (self.paths.pc, guard);
        if let Some(known) = self.paths.compatible.get(&question) {
            return *known;
        }
        let answer = self.paths.guards.are_compatible(self.paths.pc, guard, &self.terms);
        self.paths.compatible.insert(question, answer);
        answer
    }

    /// The value with the alternatives that are possible here.
    pub fn possible(&mut self, value: &Value) -> Value {
        if value.alternatives().len() <= 1 {
            return value.clone();
        }
        value.filtered(|guard| self.is_possible(guard))
    }

    /// The value of a variable of the running function after `new` is written to it on the current paths.
    pub fn written(&mut self, new: &Value, old: &Value) -> Value {
        let elsewhere = self.paths.guards.without(self.paths.frame_live, self.paths.pc);
        self.written_but(elsewhere, new, old)
    }

    /// The same for a variable that other functions read as well.
    pub fn written_anywhere(&mut self, new: &Value, old: &Value) -> Value {
        let elsewhere = self.paths.guards.without(self.paths.live, self.paths.pc);
        self.written_but(elsewhere, new, old)
    }

    /// The same for a part of an object.
    pub fn written_within(&mut self, id: ObjectId, new: &Value, old: &Value) -> Value {
        let elsewhere = self.elsewhere(id);
        self.written_but(elsewhere, new, old)
    }

    /// The paths on which an object contains a value that is stored there on the current paths.
    pub fn guard_within(&mut self, id: ObjectId) -> Guard {
        if self.elsewhere(id).is_false() { Guard::TRUE } else { self.paths.pc }
    }

    /// The environment that is so many functions around another.
    pub fn environment_around(&self, environment: EnvironmentId, depth: u32) -> Option<EnvironmentId> {
        (0..depth).try_fold(environment, |inner, _| self.store.environments[inner.0 as usize].parent)
    }

    /// Whether something that exists under a guard exists on all current paths.
    pub fn is_there(&mut self, guard: Guard) -> bool {
        guard.is_true() || self.paths.guards.without(self.paths.pc, guard).is_false()
    }

    /// The paths on which an object exists and the program has not ended.
    pub fn exists(&mut self, id: ObjectId) -> Guard {
        self.paths.guards.and(self.paths.live, self.store.objects[id.0 as usize].made)
    }

    /// The paths on which an object exists and the current operation does not run.
    fn elsewhere(&mut self, id: ObjectId) -> Guard {
        let exists = self.exists(id);
        self.paths.guards.without(exists, self.paths.pc)
    }

    /// The value that is `new` on the current paths and `old` elsewhere.
    fn written_but(&mut self, elsewhere: Guard, new: &Value, old: &Value) -> Value {
        self.store.mutations += 1;
        if elsewhere.is_false() || old.is_unbound() && !self.feasible(elsewhere) {
            return new.clone();
        }
        let kept = old.restricted(&mut self.paths.guards, elsewhere);
        if kept.is_unbound() {
            return new.clone();
        }
        let mut result = new.restricted(&mut self.paths.guards, self.paths.pc);
        for alternative in kept.alternatives() {
            result.push(&mut self.paths.guards, alternative.guard, alternative.val.clone());
        }
        if !result.is_too_various() {
            return result;
        }
        let unknown = self.terms.opaque("<one of many>", None);
        let mut result = new.restricted(&mut self.paths.guards, self.paths.pc);
        for alternative in unknown.alternatives() {
            result.push(&mut self.paths.guards, elsewhere, alternative.val.clone());
        }
        if result.is_too_various() { unknown } else { result }
    }

    /// The integer that a value is known to be.
    pub fn int_of(&mut self, value: &Value) -> Option<i128> {
        let term = self.term_of(value);
        self.terms.as_int(term)
    }

    /// A term for a value: its own where it has one.
    pub fn term_of(&mut self, value: &Value) -> TermId {
        match value.single() {
            Some(val) => {
                let val = val.clone();
                self.term_of_val(&val)
            }
            None if value.is_unbound() => self.terms.fresh(Symbol::Opaque, "<unbound>", None),
            None => {
                let parts: Vec<(Guard, TermId)> = value
                    .alternatives()
                    .iter()
                    .map(|alternative| (alternative.guard, alternative.val.clone()))
                    .collect::<Vec<_>>()
                    .into_iter()
                    .map(|(guard, val)| (guard, self.term_of_val(&val)))
                    .collect();
                self.terms.intern(Term::Choice(parts.into()))
            }
        }
    }

    pub fn term_of_val(&mut self, val: &Val) -> TermId {
        match val {
            Val::Term(term) => *term,
            Val::Key(key) => key.term,
            Val::Words(key, word) => self.terms.intern(Term::Words(key.term, *word)),
            Val::Tuple(parts) => {
                let parts: Vec<TermId> = parts.iter().map(|part| self.term_of(part)).collect();
                self.terms.intern(Term::Apply("<tuple>".into(), parts.into()))
            }
            Val::Slice(parts) => {
                let parts: Vec<TermId> = parts.iter().map(|part| self.term_of(part)).collect();
                self.terms.intern(Term::Apply("<slice>".into(), parts.into()))
            }
            Val::Object(object) => {
                let object = &self.store.objects[object.0 as usize];
                let (symbol, epoch) = (object.copied.unwrap_or(object.symbol), object.epoch);
                if epoch == 0 { symbol } else { self.terms.intern(Term::Attribute(symbol, "<contents>".into(), epoch)) }
            }
            Val::Library(path) => self.terms.intern(Term::Apply(path.into(), Box::new([]))),
            Val::Array(array) => match &array.elements {
                Elements::View { family, start, step, .. } => {
                    let (family, start) = (*family, *start);
                    let step = self.terms.int(i128::from(*step));
                    self.terms.intern(Term::Apply("<view>".into(), Box::new([family, start, step])))
                }
                Elements::Listed(parts) => {
                    let parts = parts.clone();
                    let parts: Vec<TermId> = parts.iter().map(|part| self.term_of(part)).collect();
                    self.terms.intern(Term::Apply("<listed>".into(), parts.into()))
                }
                _ => self.terms.fresh(Symbol::Opaque, "<array>", None),
            },
            Val::Class(class) => {
                let number = self.terms.int(i128::from(class.0));
                self.terms.intern(Term::Apply("<class>".into(), Box::new([number])))
            }
            Val::Function(closure) => {
                let number = self.terms.int(i128::from(closure.identity));
                self.terms.intern(Term::Apply("<function>".into(), Box::new([number])))
            }
            _ => self.terms.fresh(Symbol::Opaque, "<value>", None),
        }
    }

    /// The guard under which a value is true.
    pub fn truth(&mut self, value: &Value) -> Guard {
        let value = self.with_truth(value);
        let mut result = Guard::FALSE;
        for alternative in value.alternatives() {
            let holds = self.truth_of_val(&alternative.val);
            let both = self.paths.guards.and(alternative.guard, holds);
            result = self.paths.guards.or(result, both);
        }
        result
    }

    fn truth_of_val(&mut self, val: &Val) -> Guard {
        let known = |value: bool| if value { Guard::TRUE } else { Guard::FALSE };
        match val {
            Val::Term(term) => self.truth_of_term(*term),
            Val::Tuple(parts) => known(!parts.is_empty()),
            Val::Function(_)
            | Val::Method(_)
            | Val::Class(_)
            | Val::Module(_)
            | Val::Wrapped(_)
            | Val::Partial(_)
            | Val::Slice(_)
            | Val::UnknownMethod(_) => Guard::TRUE,
            Val::Library(path) if self.store.named.contains(&**path) => Guard::TRUE,
            // It may be a flag: `if FLAGS.debug`, `if jax.config.jax_enable_x64`.
            Val::Library(_) | Val::Import(_) => {
                let term = self.term_of_val(val);
                self.truth_of_term(term)
            }
            Val::Object(object) => match &self.store.objects[object.0 as usize].kind {
                crate::analysis::store::heap::ObjectKind::List { items, unknown: false } => {
                    let guards: Vec<Guard> = items.iter().map(|item| item.guard).collect();
                    self.has_any(*object, guards)
                }
                crate::analysis::store::heap::ObjectKind::Dict { entries, unknown: false } => {
                    let guards: Vec<Guard> = entries.iter().map(|entry| entry.guard).collect();
                    self.has_any(*object, guards)
                }
                crate::analysis::store::heap::ObjectKind::Iterator(..)
                | crate::analysis::store::heap::ObjectKind::Stream(_) => Guard::TRUE,
                _ if self.is_always_true(*object) => Guard::TRUE,
                _ => {
                    let term = self.term_of_val(val);
                    self.paths.guards.literal(term)
                }
            },
            Val::Array(array) if let Some(length) = self.length_of_slice(array) => {
                let zero = self.terms.int(0);
                let holds = self.terms.operate(Operator::Lt, &[zero, length]);
                self.truth_of_term(holds)
            }
            Val::Key(_) | Val::Array(_) | Val::Words(..) => {
                let term = self.term_of_val(val);
                self.paths.guards.literal(term)
            }
        }
    }

    /// The paths on which a container has one of these elements or a further one.
    fn has_any(&mut self, id: ObjectId, listed: Vec<Guard>) -> Guard {
        let listed = listed.into_iter().fold(Guard::FALSE, |all, guard| self.paths.guards.or(all, guard));
        let further = self.store.objects[id.0 as usize].further.clone();
        let further = self.truth(&further);
        self.paths.guards.or(listed, further)
    }

    pub fn truth_of_term(&mut self, term: TermId) -> Guard {
        self.truth_within(term, &mut COMPARISONS.clone())
    }

    /// The same for a part of a composite term, with the remaining number of parts.
    fn truth_within(&mut self, term: TermId, left: &mut u32) -> Guard {
        if let Some(known) = self.terms.truth(term) {
            return if known { Guard::TRUE } else { Guard::FALSE };
        }
        if *left == 0 {
            return self.paths.guards.literal(term);
        }
        *left -= 1;
        match self.terms.get(term).clone() {
            Term::Operate(Operator::Not, parts) => {
                let inner = self.truth_within(parts[0], left);
                self.paths.guards.not(inner)
            }
            Term::Choice(parts) => {
                let mut result = Guard::FALSE;
                for (guard, part) in &parts {
                    let holds = self.truth_within(*part, left);
                    let both = self.paths.guards.and(*guard, holds);
                    result = self.paths.guards.or(result, both);
                }
                result
            }
            Term::Operate(operator, parts) => match self.truth_of_comparison(operator, &parts, left) {
                Some(holds) => holds,
                None => self.paths.guards.literal(term),
            },
            // A value with a length is true if the length is not zero.
            Term::Apply(name, _) if &*name == LENGTH => {
                let zero = self.terms.int(0);
                let is_some = self.terms.operate(Operator::Lt, &[zero, term]);
                self.paths.guards.literal(is_some)
            }
            _ => self.paths.guards.literal(term),
        }
    }

    /// The paths on which a compound comparison holds: with the least or greatest of some numbers, of an instance with
    /// several classes, of two truth values.
    fn truth_of_comparison(&mut self, operator: Operator, parts: &[TermId], left: &mut u32) -> Option<Guard> {
        let [a, b] = *parts else { return None };
        let members = |this: &Self, term: TermId, name: &str| match this.terms.get(term) {
            Term::Apply(function, parts) if &**function == name => Some(parts.clone()),
            _ => None,
        };
        let is_truth = |this: &Self, term: TermId| this.terms.is_truth(term);
        let mut each = |this: &mut Self, sides: Vec<[TermId; 2]>, is_all: bool| {
            let mut holds = if is_all { Guard::TRUE } else { Guard::FALSE };
            for side in sides {
                let part = this.terms.operate(operator, &side);
                let part = this.truth_within(part, left);
                holds = if is_all { this.paths.guards.and(holds, part) } else { this.paths.guards.or(holds, part) };
            }
            holds
        };
        // One of several values, by the path: compared with each of them.
        if let Operator::Lt | Operator::Eq = operator
            && let Some(at) = [a, b].iter().position(|side| matches!(self.terms.get(*side), Term::Choice(_)))
            && let Term::Choice(choices) = self.terms.get(parts[at]).clone()
        {
            let mut holds = Guard::FALSE;
            for (guard, choice) in &choices {
                let sides = if at == 0 { [*choice, b] } else { [a, *choice] };
                let part = self.terms.operate(operator, &sides);
                let part = self.truth_within(part, left);
                let both = self.paths.guards.and(*guard, part);
                holds = self.paths.guards.or(holds, both);
            }
            return Some(holds);
        }
        match operator {
            Operator::Lt => {
                for (name, is_least) in [(MINIMUM, true), (MAXIMUM, false)] {
                    if let Some(of) = members(self, a, name) {
                        return Some(each(self, of.iter().map(|part| [*part, b]).collect(), !is_least));
                    }
                    if let Some(of) = members(self, b, name) {
                        return Some(each(self, of.iter().map(|part| [a, *part]).collect(), is_least));
                    }
                }
                None
            }
            Operator::Eq
                if [a, b]
                    .iter()
                    .any(|side| [MINIMUM, MAXIMUM].iter().any(|name| members(self, *side, name).is_some())) =>
            {
                let below = self.terms.operate(Operator::Lt, &[a, b]);
                let above = self.terms.operate(Operator::Lt, &[b, a]);
                let (below, above) = (self.truth_within(below, left), self.truth_within(above, left));
                let other = self.paths.guards.or(below, above);
                Some(self.paths.guards.not(other))
            }
            Operator::MatchClass => {
                let classes = members(self, b, "<tuple>")?;
                Some(each(self, classes.iter().map(|class| [a, *class]).collect(), false))
            }
            Operator::And | Operator::Or if is_truth(self, a) && is_truth(self, b) => {
                let (a, b) = (self.truth_within(a, left), self.truth_within(b, left));
                Some(if operator == Operator::And { self.paths.guards.and(a, b) } else { self.paths.guards.or(a, b) })
            }
            // `n & (i == 2)`, of a number and a truth value, is true only where both are.
            Operator::And if is_truth(self, a) || is_truth(self, b) => {
                let both = self.terms.intern(Term::Operate(operator, Box::new([a, b])));
                let rest = self.paths.guards.literal(both);
                let truth = if is_truth(self, a) { a } else { b };
                let holds = self.truth_within(truth, left);
                Some(self.paths.guards.and(rest, holds))
            }
            _ => None,
        }
    }
}
