//! A network and its target, which starts as its copy.
//!
//! **Invariant:** the two calls are alike; names count only where they tell the target from the network.

use std::ops::ControlFlow::{Break, Continue};

use crate::analysis::record::{Consumption, Recording};
use crate::ir::{Argument, Function, Name, OpKind, Temp, Uses, Variable};
use crate::judge::intent::{calls_apart, follow, is_written_alike};

/// What programs call a network that lags behind another: no library has a word for it.
const TARGET: &str = "target";

/// Whether two draws happen within calls that make one network twice, once as the target that starts as its copy:
/// `params=net.init(key, x), target_params=net.init(key, x)`.
pub fn is_target_copy(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> bool {
    let Some((code, uses, [once, again])) = calls_apart(run, first, second, 0) else { return false };
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
