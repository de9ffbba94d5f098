//! A network and its target, which starts as its copy.
//!
//! **Invariant:** the two calls are alike; names count only where they tell the target from the network.

use std::ops::ControlFlow::{Break, Continue};

use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::ir::{Argument, Function, Name, OpKind, Temp, Uses, Variable};
use crate::judge::intent::{Pair, calls_apart, follow, intent, is_written_alike};

/// Two draws happen within calls that make one network twice, once as the target that starts as its copy:
/// `params=net.init(key, x), target_params=net.init(key, x)`.
pub fn target_copy(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let calls = calls_apart(run, pair, 0)?;
    let (code, once, again) = (calls.code, calls.once, calls.again);
    let call = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Call(callee, given) => Some((*callee, given.first()?)),
        _ => None,
    };
    let ((one, given), (other, taken)) = (call(once)?, call(again)?);
    let is_one_network = match (given, taken) {
        (Argument::Positional(given), Argument::Positional(taken)) => is_written_alike(code, *given, *taken),
        (Argument::Keyword(..), Argument::Keyword(..)) => true,
        _ => false,
    };
    let is_target =
        |temp: Temp| name_of(code, &calls.uses, temp).map(|name| run.program.models.words.says_target(&name));
    let is_pair = once != again
        && pair.first.callee == pair.second.callee
        && is_written_alike(code, one, other)
        && is_one_network;
    let (is_first, is_second) = (is_target(once).filter(|_| is_pair)?, is_target(again)?);
    (is_first != is_second).then(|| intent(IntentKind::TargetCopy, calls.place(if is_first { once } else { again })))
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
