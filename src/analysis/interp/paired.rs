//! Draws of which a program needs one only, and those that make one thing twice.
//!
//! **Invariant:** each answer rests on where the two results go, and on names only where they tell a target from the network that it copies.

use std::ops::ControlFlow::{self, Break, Continue};

use crate::analysis::log::Consumption;
use crate::finding::Place;
use crate::ir::{Argument, Function, Name, OpKind, Temp, Variable};
use crate::models::Effect;

use super::Machine;
use super::meant::is_written_alike;
use super::uses::Uses;

/// Most operations that a result is followed through.
const STEPS: usize = 16;

/// What programs call a network that lags behind another: no library has a word for it.
const TARGET: &str = "target";

impl Machine<'_> {
    /// Whether two draws are the two sides of a choice, which takes each element from one of them:
    /// `jnp.where(test, normal(key), uniform(key))`.
    pub(super) fn are_alternatives(&self, first: &Consumption, second: &Consumption) -> bool {
        let Some((code, uses, [once, again])) = self.calls_apart(first, second, 0) else { return false };
        let span = code.ops[once as usize].span;
        let Some((_, Place { file, .. })) = Self::chain(first).into_iter().find(|(_, place)| place.span == span) else {
            return false;
        };
        let test_of = |call: Temp, given: &[Argument]| {
            let choice = self.recorder.log.choices.get(&Place { file, span: code.ops[call as usize].span })?;
            self.test_of(choice, given)
        };
        let sides = [once, again].map(|temp| side_of(code, &uses, temp, &test_of));
        matches!(sides, [Some((one, side)), Some((other, opposite))] if one == other && side != opposite)
    }

    /// Which argument of a call of a function that chooses tells what is chosen; the others are sides.
    fn test_of(&self, choice: &str, given: &[Argument]) -> Option<usize> {
        let callable = self.program.models.callable(choice)?;
        let Effect::Shape { chosen: Some(chosen), .. } = &callable.effect else { return None };
        let by_name =
            given.iter().position(|argument| matches!(argument, Argument::Keyword(name, _) if **name == **chosen));
        let at = callable.position(chosen)?;
        let is_placed =
            given.iter().take(at + 1).filter(|argument| matches!(argument, Argument::Positional(_))).count() > at;
        by_name.or(is_placed.then_some(at))
    }

    /// Whether two draws happen within calls that make one network twice, once as the target that starts as its copy:
    /// `params=net.init(key, x), target_params=net.init(key, x)`.
    pub(super) fn is_target_copy(&self, first: &Consumption, second: &Consumption) -> bool {
        let Some((code, uses, [once, again])) = self.calls_apart(first, second, 0) else { return false };
        let call = |temp: Temp| match &code.ops[temp as usize].kind {
            OpKind::Call(callee, given) => Some((*callee, given.first()?)),
            _ => None,
        };
        let (Some((one, given)), Some((other, taken))) = (call(once), call(again)) else { return false };
        let is_one_network = match (given, taken) {
            (Argument::Positional(given), Argument::Positional(taken)) => is_written_alike(code, *given, *taken),
            (Argument::Keyword(..), Argument::Keyword(..)) => true,
            _ => false,
        };
        let is_target = |temp: Temp| name_of(code, &uses, temp).map(|name| says_target(&name));
        once != again
            && first.callee == second.callee
            && is_written_alike(code, one, other)
            && is_one_network
            && matches!((is_target(once), is_target(again)), (Some(one), Some(other)) if one != other)
    }
}

/// Follows a result through the operations that alone read what comes of it, until one of them tells the answer. `step` is given the
/// operation that reads and what it reads, and goes on with what it makes.
fn follow<T>(uses: &Uses, temp: Temp, step: impl Fn(Temp, Temp) -> ControlFlow<Option<T>, Temp>) -> Option<T> {
    let mut temp = temp;
    for _ in 0..STEPS {
        let [reader] = uses.readers(temp) else { return None };
        match step(*reader, temp) {
            Break(answer) => return answer,
            Continue(made) => temp = made,
        }
    }
    None
}

/// The choice that a result goes into as one of its sides, computed on or bound to a variable in between, and which side that is.
fn side_of(
    code: &Function,
    uses: &Uses,
    temp: Temp,
    test_of: &dyn Fn(Temp, &[Argument]) -> Option<usize>,
) -> Option<(Temp, usize)> {
    follow(uses, temp, |reader, read| match &code.ops[reader as usize].kind {
        OpKind::Call(_, given) if let Some(test) = test_of(reader, given) => {
            let side = given.iter().position(|argument| match argument {
                Argument::Positional(value) | Argument::Keyword(_, value) => *value == read,
                Argument::Spread(_) | Argument::SpreadMapping(_) => false,
            });
            Break(side.filter(|side| *side != test).map(|side| (reader, side)))
        }
        OpKind::Call(..) | OpKind::Operate(..) | OpKind::Attribute(..) | OpKind::Item(..) => Continue(reader),
        OpKind::Store(Variable::Local(slot), _) if uses.stores_of(*slot) == 1 && !uses.is_captured(*slot) => {
            match uses.loads_of(*slot) {
                [load] => Continue(*load),
                _ => Break(None),
            }
        }
        _ => Break(None),
    })
}

/// The variable, attribute or keyword that a result, or a part of it, is given to.
fn name_of(code: &Function, uses: &Uses, temp: Temp) -> Option<Name> {
    follow(uses, temp, |reader, read| match &code.ops[reader as usize].kind {
        OpKind::Call(_, given) => Break(given.iter().find_map(|argument| match argument {
            Argument::Keyword(name, value) if *value == read => Some(name.clone()),
            _ => None,
        })),
        OpKind::Store(Variable::Local(slot), _) => Break(Some(code.slots[*slot as usize].clone())),
        OpKind::Store(Variable::Global(name), _) | OpKind::StoreAttribute(_, name, _) => Break(Some(name.clone())),
        OpKind::Item(..) | OpKind::Attribute(..) | OpKind::Project(..) => Continue(reader),
        _ => Break(None),
    })
}

/// Whether a name says that it is that of a target: `target_critic`, `qf1_target_params`.
fn says_target(name: &str) -> bool {
    name.split('_').any(|word| word.eq_ignore_ascii_case(TARGET))
}
