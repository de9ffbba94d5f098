//! Is a reuse intended?
//!
//! **Invariant:** each answer rests on what was consumed and how, and on names of the program only where they say that one function
//! undoes another; what is intended is still reported, as a note.

pub mod aligned_rows;
mod alternatives;
pub mod default_key;
mod expected_error;
mod inverse;
mod shape_only;
mod shared_options;
pub mod split_escape;
mod stream_use;
pub mod sweep;
mod target_copy;
pub mod timing;
mod unread_result;

use std::ops::ControlFlow;
use std::ops::ControlFlow::{Break, Continue};
use std::rc::Rc;

use crate::analysis::record::{Consumption, Recording};
use crate::ir::{Argument, Function, OpKind, Temp, Uses, Variable};
use crate::judge::intent::alternatives::are_alternatives;
use crate::judge::intent::expected_error::is_expected_to_raise;
use crate::judge::intent::inverse::is_undone;
use crate::judge::intent::shape_only::serves_shape_only;
use crate::judge::intent::shared_options::is_option_of_both;
use crate::judge::intent::split_escape::is_split_for_nothing;
use crate::judge::intent::stream_use::is_never_asked;
use crate::judge::intent::target_copy::is_target_copy;
use crate::judge::intent::unread_result::is_left_lying;

/// Whether two draws serve one end, for which they have to be equal or of which only one counts.
pub fn are_paired(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> bool {
    is_undone(run, first, second)
        || is_option_of_both(run, first, second)
        || are_alternatives(run, first, second)
        || is_target_copy(run, first, second)
}

/// Whether a draw serves no numbers: it is asked for its shape alone, or left lying, or is to raise, or what it is made of
/// is a stream that nobody asks, or none of the keys that it splits is drawn from.
pub fn serves_no_numbers(run: &Recording<'_>, event: usize) -> bool {
    if is_never_asked(run, event) {
        return true;
    }
    let event = run.log.consumptions[event].clone();
    serves_shape_only(run, &event)
        || is_left_lying(run, &event)
        || is_split_for_nothing(run, &event)
        || is_expected_to_raise(run, &event)
}

/// The calls that lead to two draws from the innermost function that both have in common, in its code; of those who are at
/// least so many calls away from either.
pub fn calls_apart<'r>(
    run: &Recording<'r>,
    first: &Consumption,
    second: &Consumption,
    away: usize,
) -> Option<(&'r Function, Rc<Uses>, [Temp; 2])> {
    let (a, b) = (first.chain(), second.chain());
    let common = a.iter().zip(&b).take_while(|((one, _), (other, _))| one.id == other.id).count();
    let frame = common.checked_sub(1).filter(|frame| frame + away < a.len() && frame + away < b.len())?;
    let ((activation, one), (_, other)) = (&a[frame], &b[frame]);
    let uses = run.uses_of(activation.module, activation.function);
    let calls = [uses.call_at(one.span)?, uses.call_at(other.span)?];
    Some((run.module(activation.module).function(activation.function), uses, calls))
}

/// Most operations that a result is followed through.
const STEPS: usize = 16;

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
pub fn is_written_alike(code: &Function, one: Temp, other: Temp) -> bool {
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
