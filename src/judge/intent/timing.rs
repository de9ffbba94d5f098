//! Runs that only trigger compilation, or are timed: the same call is written again.
//!
//! **Invariant:** the program only waits for the result of the first call, which stores nothing in an object.

use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::ir::{Argument, Function, OpKind, Temp, Uses, Variable, is_written_alike};
use crate::judge::intent::pair::{Calls, Pair, calls_apart, intent};
use crate::models::Models;

/// Two draws happen within the same call written twice, and only the second result is used: a warm-up run, and one that
/// is measured.
pub fn warm_up(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    made_again(run, pair, true)
}

/// Two draws happen within the same call written twice, and the first result is not used.
pub fn run_again(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    made_again(run, pair, false)
}

fn made_again(run: &Recording<'_>, pair: &Pair<'_>, serves: bool) -> Option<Intent> {
    let calls = calls_apart(run, pair, 1)?;
    let Calls { code, uses, once, again, .. } = &calls;
    let is_for_nothing = |temp: Temp| is_for_nothing(code, run.program.models, uses, temp);
    let is_again = once != again
        && is_for_nothing(*once)
        && !(serves && is_for_nothing(*again))
        && is_written_alike(code, *once, *again)
        && !changes_an_object(run, pair);
    is_again.then(|| intent(IntentKind::WarmUp, calls.place(*once)))
}

/// Whether a function that only the first of two calls runs stores something in an attribute, as a step of training does.
fn changes_an_object(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let later = pair.second.chain();
    pair.first.chain().iter().any(|(activation, _)| {
        let stores = || run.code(activation).ops.iter().any(|op| matches!(op.kind, OpKind::StoreAttribute(..)));
        later.iter().all(|(other, _)| other.id != activation.id) && stores()
    })
}

/// Whether the program only waits for a result, or explicitly discards it: `_, _ = step(state)`.
fn is_for_nothing(code: &Function, models: &Models, uses: &Uses, temp: Temp) -> bool {
    let waits = |op: Temp| matches!(&code.ops[op as usize].kind, OpKind::Attribute(_, name) if models.awaits(name));
    let mut work = vec![temp];
    while let Some(temp) = work.pop() {
        for reader in uses.readers(temp) {
            let is_passed_on = match &code.ops[*reader as usize].kind {
                OpKind::Store(Variable::Local(slot), _)
                    if code.slots.get(*slot as usize).is_some_and(|name| &**name == "_") =>
                {
                    false
                }
                OpKind::Store(Variable::Global(name), _) if &**name == "_" => false,
                OpKind::Unpack { .. } | OpKind::Project(..) => true,
                OpKind::Attribute(..) if waits(*reader) => true,
                OpKind::Call(callee, given) if waits(*callee) => {
                    let is_waited_for = matches!(&given[..], [Argument::Positional(only)] if *only == temp);
                    if *callee != temp && !is_waited_for {
                        return false;
                    }
                    true
                }
                _ => return false,
            };
            if is_passed_on {
                work.push(*reader);
            }
        }
    }
    true
}
