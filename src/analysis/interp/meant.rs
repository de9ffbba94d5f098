//! Reuse of the kinds that programs mostly mean.
//!
//! **Invariant:** each answer rests on what was consumed and how, and on names of the program only where they tell that one function
//! undoes another; what is meant is still told, as a note.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::analysis::domain::term::{Symbol, Term, TermId, place_key};
use crate::analysis::log::{Activation, Consumption, Iteration, Reuse};
use crate::finding::Place;
use crate::ir::{Argument, Function, OpKind, Temp, Variable};
use crate::models::Models;

use super::Machine;
use super::uses::Uses;

/// What a draw arranges, or chooses from.
#[derive(Clone, Debug)]
pub(super) struct Arranged {
    /// The array.
    pub(super) rows: TermId,
    /// The arguments beside key and array, by parameter.
    pub(super) others: Box<[Option<TermId>]>,
}

impl Machine<'_> {
    /// Whether two draws arrange, or choose from, the rows of two arrays in one way, so that what belongs together stays together:
    /// all arguments but the arrays are the same.
    /// A number of rows is no array, and what the calls around a draw gave is no other array.
    pub(super) fn keeps_rows_aligned(&self, meeting: &Reuse) -> bool {
        let (first, second) =
            (&self.recorder.log.consumptions[meeting.first], &self.recorder.log.consumptions[meeting.second]);
        let arranged = |event: usize| self.recorder.log.arranged.get(&event);
        let (Some(a), Some(b)) = (arranged(meeting.first), arranged(meeting.second)) else { return false };
        let (one, other) = (a.rows, b.rows);
        if one == other {
            return a.others == b.others && self.are_of_one_tree(first, second);
        }
        if self.is_number(one) || self.is_number(other) {
            return false;
        }
        let calls: Vec<_> =
            [first, second].into_iter().flat_map(Self::chain).map(|(_, place)| place_key(place)).collect();
        let is_drawn = |term: TermId| {
            let made = self.terms.symbol(self.root_of(term)).and_then(|info| info.place);
            made.is_some_and(|made| calls.contains(&made))
        };
        first.callee == second.callee && a.others == b.others && !is_drawn(one) && !is_drawn(other)
    }

    /// Whether two draws happen at one place, for two leaves of one tree:
    /// `tree.map(lambda x: jnp.take(x, permutation(key, n), axis=0), batch)`.
    fn are_of_one_tree(&self, first: &Consumption, second: &Consumption) -> bool {
        let leaf =
            |event: &Consumption| event.iteration.clone().filter(|leaf| self.recorder.log.trees.contains(&leaf.place));
        let (Some(one), Some(other)) = (leaf(first), leaf(second)) else { return false };
        first.place == second.place && one.instance == other.instance
    }

    /// Whether two draws happen within the same call written twice, the first time for nothing and the second time not: a run that
    /// warms up and one that is measured.
    pub(super) fn is_warmed_up(&self, first: &Consumption, second: &Consumption) -> bool {
        self.run_again(first, second, true)
    }

    /// Whether two draws happen within the same call written twice, the first time for nothing.
    pub(super) fn is_run_again(&self, first: &Consumption, second: &Consumption) -> bool {
        self.run_again(first, second, false)
    }

    /// The calls that lead to two draws from the innermost function that both have in common, in its code; of those who are at
    /// least so many calls away from either.
    pub(super) fn calls_apart(
        &self,
        first: &Consumption,
        second: &Consumption,
        away: usize,
    ) -> Option<(&Function, Rc<Uses>, [Temp; 2])> {
        let (a, b) = (Self::chain(first), Self::chain(second));
        let common = a.iter().zip(&b).take_while(|((one, _), (other, _))| one.id == other.id).count();
        let frame = common.checked_sub(1).filter(|frame| frame + away < a.len() && frame + away < b.len())?;
        let ((activation, one), (_, other)) = (&a[frame], &b[frame]);
        let uses = self.uses_of(activation.module, activation.function);
        let calls = [uses.call_at(one.span)?, uses.call_at(other.span)?];
        Some((self.module(activation.module).function(activation.function), uses, calls))
    }

    fn run_again(&self, first: &Consumption, second: &Consumption, serves: bool) -> bool {
        let Some((code, uses, [once, again])) = self.calls_apart(first, second, 1) else { return false };
        once != again
            && is_for_nothing(code, &uses, once)
            && !(serves && is_for_nothing(code, &uses, again))
            && is_written_alike(code, once, again)
    }

    /// Whether two draws happen within the same call, written twice or run by a loop, of which the program only waits for the first
    /// result: it is timed, or run once for the compiler's sake.
    pub(super) fn is_timed(&self, first: &Consumption, second: &Consumption) -> bool {
        let Some((code, uses, [once, again])) = self.calls_apart(first, second, 0) else { return false };
        let is_alike = || once == again || is_written_alike(code, once, again);
        let models = self.program.models;
        (is_only_awaited(code, models, &uses, once) || is_awaited_until(code, models, &uses, once, again)) && is_alike()
    }

    /// Whether both keys were made anew, each in a call of its own, only because that call gives none: the function has a parameter
    /// for a key, and is right for those who use it.
    pub(super) fn are_stand_ins(&self, first: &Consumption, second: &Consumption) -> bool {
        let made_in = |event: &Consumption| {
            let derivation = self.derivation(event.target.derivation)?;
            Some(derivation.activation.id).filter(|_| derivation.activation.caller.is_some() && self.is_fallback(event))
        };
        match (made_in(first), made_in(second)) {
            (Some(one), Some(other)) => one != other,
            _ => false,
        }
    }

    /// Whether two draws serve one end, for which they have to be equal or of which only one counts.
    pub(super) fn are_paired(&self, first: &Consumption, second: &Consumption) -> bool {
        self.is_undone(first, second)
            || self.is_option_of_both(first, second)
            || self.are_alternatives(first, second)
            || self.is_target_copy(first, second)
    }

    /// Whether a key is one of the options that are handed on whole to two calls of one function: `f(x, **kwargs), f(y, **kwargs)`.
    pub(super) fn is_option_of_both(&self, first: &Consumption, second: &Consumption) -> bool {
        let Term::Item(options, name, _) = self.terms.get(second.target.term) else { return false };
        let is_parameter = self.terms.symbol(*options).is_some_and(|info| info.symbol == Symbol::Parameter);
        if !is_parameter || !matches!(self.terms.get(*name), Term::Text(_)) {
            return false;
        }
        let Some((code, _, [once, again])) = self.calls_apart(first, second, 0) else { return false };
        let call = |temp: Temp| match &code.ops[temp as usize].kind {
            OpKind::Call(callee, given) => Some((*callee, given.iter().find_map(spread_mapping)?)),
            _ => None,
        };
        let (Some((callee, spread)), Some((other, others))) = (call(once), call(again)) else { return false };
        once != again && is_written_alike(code, callee, other) && is_written_alike(code, spread, others)
    }

    /// Whether two draws happen within calls of a function and of its inverse, as their names tell: what the one does with the numbers
    /// the other can only undo with the same.
    pub(super) fn is_undone(&self, first: &Consumption, second: &Consumption) -> bool {
        let (a, b) = (Self::chain(first), Self::chain(second));
        let apart = a.iter().zip(&b).find(|((one, _), (other, _))| {
            one.id != other.id && (one.module, one.function) != (other.module, other.function)
        });
        let Some(((one, _), (other, _))) = apart else { return false };
        let name = |of: &Activation| self.module(of.module).function(of.function).name.clone();
        are_inverse(&name(one), &name(other))
    }

    /// Whether a key is made in a loop within `outer` by a call that makes keys of several seeds: the seeds are those of the inner
    /// loop, and each iteration of the outer one goes through them.
    pub(super) fn has_seeds_of_its_own(&self, event: &Consumption, outer: &Iteration) -> bool {
        let is_nested = event.iteration.as_ref().is_some_and(|inner| inner.instance != outer.instance);
        let seed = self.terms.ancestors(event.target.term).into_iter().chain([event.target.term]);
        let mut seed = seed.filter(|term| matches!(self.terms.get(*term), Term::Seed(_)));
        let Some(seed) = seed.next().filter(|_| is_nested) else { return false };
        let made = self.recorder.log.derivations.iter().filter(|derivation| derivation.term == seed);
        let places: BTreeSet<Place> = made.map(|derivation| derivation.place).collect();
        self.recorder.log.derivations.iter().any(|other| {
            other.term != seed && places.contains(&other.place) && matches!(self.terms.get(other.term), Term::Seed(_))
        })
    }

    /// Whether a term is evidently one number: a literal, a length, an element of a shape, or computed.
    fn is_number(&self, term: TermId) -> bool {
        match self.terms.get(term) {
            Term::Attribute(_, name, _) => matches!(&**name, "size" | "ndim"),
            Term::Item(of, ..) => matches!(self.terms.get(*of), Term::Attribute(_, name, _) if &**name == "shape"),
            Term::Apply(name, _) => &**name == "len",
            Term::Operate(_, parts) => parts.iter().all(|part| self.is_number(*part)),
            _ => self.terms.is_constant(term),
        }
    }
}

fn spread_mapping(argument: &Argument) -> Option<Temp> {
    match argument {
        Argument::SpreadMapping(mapping) => Some(*mapping),
        _ => None,
    }
}

/// Whether one of two names says the opposite of the other: `rotate` and `inverse_rotate`, `shuffle` and `unshuffle`, `encode` and `decode`.
fn are_inverse(one: &str, other: &str) -> bool {
    let words = |name: &str| -> Vec<String> {
        name.split('_').filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
    };
    let is_said = |word: &String| matches!(word.as_str(), "inverse" | "inv");
    let (one, other) = (words(one), words(other));
    let plain = |words: &[String]| -> Vec<String> { words.iter().filter(|word| !is_said(word)).cloned().collect() };
    let (a, b) = (plain(&one), plain(&other));
    if a.is_empty() || a.len() != b.len() {
        return false;
    }
    if one.len() - a.len() != other.len() - b.len() {
        return a == b;
    }
    let is_opposite = |a: &str, b: &str| {
        let rest = b.strip_prefix("un").or_else(|| b.strip_prefix("de"));
        rest.is_some_and(|rest| rest == a || a.strip_prefix("en") == Some(rest))
    };
    let mut apart = a.iter().zip(&b).filter(|(a, b)| a != b);
    match (apart.next(), apart.next()) {
        (Some((a, b)), None) => is_opposite(a, b) || is_opposite(b, a),
        _ => false,
    }
}

/// Whether nothing is done with a result but to wait until it is there: `draw(key).block_until_ready()`.
fn is_only_awaited(code: &Function, models: &Models, uses: &Uses, temp: Temp) -> bool {
    let waits = |op: Temp| matches!(&code.ops[op as usize].kind, OpKind::Attribute(_, name) if models.awaits(name));
    let is_dropped = |temp: Temp| {
        uses.readers(temp).iter().all(|reader| match &code.ops[*reader as usize].kind {
            OpKind::Store(Variable::Local(slot), _) => uses.loads_of(*slot).is_empty() && !uses.is_captured(*slot),
            OpKind::Store(Variable::Global(name), _) => &**name == "_",
            _ => false,
        })
    };
    let readers = uses.readers(temp);
    !readers.is_empty()
        && readers.iter().all(|reader| match &code.ops[*reader as usize].kind {
            OpKind::Attribute(..) if waits(*reader) => uses.readers(*reader).iter().all(|call| is_dropped(*call)),
            OpKind::Call(callee, given) => {
                waits(*callee)
                    && matches!(&given[..], [Argument::Positional(only)] if *only == temp)
                    && is_dropped(*reader)
            }
            _ => false,
        })
}

/// Whether what a call gives is only waited for until another call takes its place:
/// `out = f(key)`, `out.block_until_ready()`, `out = f(key)`.
fn is_awaited_until(code: &Function, models: &Models, uses: &Uses, once: Temp, again: Temp) -> bool {
    let (Some(names), Some(others)) = (bound_to(code, uses, once), bound_to(code, uses, again)) else { return false };
    let is_kept = |variable: &&Variable| {
        let is_captured = matches!(variable, Variable::Local(slot) if uses.is_captured(*slot));
        is_captured || !others.contains(variable)
    };
    if names.iter().any(is_kept) {
        return false;
    }
    let mut between = (once..again).filter(|temp| match code.ops.get(*temp as usize).map(|op| &op.kind) {
        Some(OpKind::Load(variable)) => names.contains(&variable),
        _ => false,
    });
    let mut waits = false;
    between.all(|load| {
        waits = true;
        is_only_awaited(code, models, uses, load)
    }) && waits
}

/// Whether nothing is done with a result, or it is thrown away by name: `_, _ = step(state)`.
fn is_for_nothing(code: &Function, uses: &Uses, temp: Temp) -> bool {
    let is_thrown_away = |variable: &&Variable| match variable {
        Variable::Local(slot) => code.slots.get(*slot as usize).is_some_and(|name| &**name == "_"),
        Variable::Global(name) => &**name == "_",
        Variable::Outer(..) => false,
    };
    bound_to(code, uses, temp).is_some_and(|names| names.iter().all(is_thrown_away))
}

/// The variables that a result is stored in, whole or taken apart; `None` where something else is done with it.
fn bound_to<'c>(code: &'c Function, uses: &Uses, temp: Temp) -> Option<Vec<&'c Variable>> {
    let mut names = Vec::new();
    let mut work = vec![temp];
    while let Some(temp) = work.pop() {
        for reader in uses.readers(temp) {
            match &code.ops.get(*reader as usize)?.kind {
                OpKind::Store(variable, _) => names.push(variable),
                OpKind::Unpack { .. } | OpKind::Project(..) => work.push(*reader),
                _ => return None,
            }
        }
    }
    Some(names)
}

/// Whether two operations compute the same from the same variables, as far as they are written.
pub(super) fn is_written_alike(code: &Function, one: Temp, other: Temp) -> bool {
    let alike = |one: &Temp, other: &Temp| is_written_alike(code, *one, *other);
    match (&code.ops[one as usize].kind, &code.ops[other as usize].kind) {
        (OpKind::Load(one), OpKind::Load(other)) => one == other,
        (OpKind::Constant(one), OpKind::Constant(other)) => one == other,
        (OpKind::Attribute(of, name), OpKind::Attribute(from, other)) => name == other && alike(of, from),
        (OpKind::Call(callee, given), OpKind::Call(other, others)) => {
            let is_same = |(given, other): (&Argument, &Argument)| match (given, other) {
                (Argument::Positional(given), Argument::Positional(other)) => alike(given, other),
                (Argument::Keyword(name, given), Argument::Keyword(named, other)) => {
                    name == named && alike(given, other)
                }
                _ => false,
            };
            given.len() == others.len() && alike(callee, other) && given.iter().zip(others).all(is_same)
        }
        _ => false,
    }
}
