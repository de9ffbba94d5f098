//! Two draws of which each element of a result takes one: `jnp.where(test, normal(key), uniform(key))`.
//!
//! **Invariant:** the answer rests on where the two results go.

use std::ops::ControlFlow::{Break, Continue};

use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::ir::{Argument, Function, OpKind, Temp, Uses, Variable};
use crate::judge::intent::{Pair, calls_apart, follow, intent};
use crate::models::Effect;

/// Two draws are the two sides of a choice, which takes each element from one of them:
/// `jnp.where(test, normal(key), uniform(key))`.
pub fn alternatives(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let calls = calls_apart(run, pair, 0)?;
    let test_of = |call: Temp, given: &[Argument]| {
        let choice = run.log.choices.get(&calls.place(call))?;
        test_of(run, choice, given)
    };
    let side_of = |temp: Temp| side_of(calls.code, &calls.uses, temp, &test_of);
    let ((one, side), (other, opposite)) = (side_of(calls.once)?, side_of(calls.again)?);
    (one == other && side != opposite).then(|| intent(IntentKind::Alternatives, calls.place(one)))
}

/// Which argument of a call of a function that chooses tells what is chosen; the others are sides.
fn test_of(run: &Recording<'_>, choice: &str, given: &[Argument]) -> Option<usize> {
    let callable = run.program.models.callable(choice)?;
    let Effect::Shape { chosen: Some(chosen), .. } = &callable.effect else { return None };
    let by_name =
        given.iter().position(|argument| matches!(argument, Argument::Keyword(name, _) if **name == **chosen));
    let at = callable.position(chosen)?;
    let is_placed =
        given.iter().take(at + 1).filter(|argument| matches!(argument, Argument::Positional(_))).count() > at;
    by_name.or(is_placed.then_some(at))
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
