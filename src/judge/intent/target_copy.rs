//! A network and its target, which starts as its copy.
//!
//! **Invariant:** the two calls are alike; their names show which is the target.

use crate::analysis::record::{Consumption, Recording};
use crate::finding::{Intent, IntentKind};
use crate::ir::{
    Argument, Collection, Constant, Element, Function, Name, OpKind, Temp, Uses, Variable, is_written_alike,
};
use crate::judge::facts::Role;
use crate::judge::intent::{Pair, STEPS, calls_apart, intent};

/// Two draws happen within calls that make one network twice, once as the target that starts as its copy:
/// `params=net.init(key, x), target_params=net.init(key, x)`.
pub fn target_copy(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let calls = calls_apart(run, pair, 0)?;
    let (code, once, again) = (calls.code, calls.once, calls.again);
    let call = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Call(callee, given) => Some((*callee, given.first())),
        _ => None,
    };
    let ((one, given), (other, taken)) = (call(once)?, call(again)?);
    let is_one_network = match (given, taken) {
        (Some(Argument::Positional(given)), Some(Argument::Positional(taken))) => {
            is_written_alike(code, *given, *taken)
        }
        (Some(Argument::Keyword(..)), Some(Argument::Keyword(..))) | (None, None) => true,
        _ => false,
    };
    let [named, others] = [once, again].map(|temp| names_of(code, &calls.uses, temp));
    // `target_state = uniform(key, …)` is no network.
    let is_made = |event: &Consumption| event.role != Role::Sample || calls_apart(run, pair, 1).is_some();
    let is_pair = once != again
        && is_made(pair.first)
        && is_made(pair.second)
        && pair.first.callee == pair.second.callee
        && is_written_alike(code, one, other)
        && is_one_network;
    let words = &run.program.models.words;
    let has_target = |names: &[Name], others: &[Name]| {
        names.iter().any(|name| words.names_a_target(name))
            && !others.is_empty()
            && !others.iter().any(|other| words.names_a_target(other) || words.names_a_predictor(other))
    };
    let place = match (has_target(&named, &others), has_target(&others, &named)) {
        (true, false) => calls.place(once),
        (false, true) => calls.place(again),
        _ => return None,
    };
    is_pair.then(|| intent(IntentKind::TargetCopy, place))
}

/// The names of a result, or of what is computed from it: of keywords, entries, attributes and variables.
fn names_of(code: &Function, uses: &Uses, temp: Temp) -> Vec<Name> {
    let mut names = Vec::new();
    let mut temp = temp;
    for _ in 0..STEPS {
        let [reader] = uses.readers(temp) else { break };
        let entry = |key: Temp| match &code.ops[key as usize].kind {
            OpKind::Constant(Constant::Str(name)) => Some(name.clone()),
            _ => None,
        };
        match &code.ops[*reader as usize].kind {
            OpKind::Call(_, given) => names.extend(given.iter().find_map(|argument| match argument {
                Argument::Keyword(name, value) if *value == temp => Some(name.clone()),
                _ => None,
            })),
            OpKind::Build(Collection::Dict, elements) => {
                names.extend(elements.iter().find_map(|element| match element {
                    Element::Pair(key, value) if *value == temp => entry(*key),
                    _ => None,
                }));
            }
            OpKind::Build(Collection::Tuple, elements) => {
                let at = elements.iter().position(|element| *element == Element::Value(temp));
                let ([unpack], Some(at)) = (uses.readers(*reader), at) else { break };
                let is_part = |part: &&Temp| matches!(&code.ops[**part as usize].kind, OpKind::Project(_, index) if *index as usize == at);
                let Some(part) = uses.readers(*unpack).iter().find(is_part) else { break };
                temp = *part;
                continue;
            }
            OpKind::Item(..) | OpKind::Attribute(..) | OpKind::Project(..) => {}
            kind => {
                names.extend(match kind {
                    OpKind::Store(Variable::Local(slot), _) => Some(code.slots[*slot as usize].clone()),
                    OpKind::Store(Variable::Global(name), _) | OpKind::StoreAttribute(_, name, _) => Some(name.clone()),
                    OpKind::StoreItem(_, key, _) => entry(*key),
                    _ => None,
                });
                break;
            }
        }
        temp = *reader;
    }
    names
}
