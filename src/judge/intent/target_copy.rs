//! A network and its target, which starts as its copy.
//!
//! **Invariant:** the two calls are alike; their names show which is the target.

use crate::analysis::record::{Consumption, Recording};
use crate::finding::{Intent, IntentKind};
use crate::ir::{
    Argument, Collection, Constant, Element, Function, Name, OpKind, Temp, Uses, Variable, is_written_alike,
};
use crate::judge::facts::Role;
use crate::judge::intent::pair::{Pair, STEPS, calls_apart, intent};

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
    let alike = |one: Temp, other: Temp| is_defined_alike(code, one, other);
    // `Model.create(network, …)` and `FrozenModel.create(network, …)` make one network.
    let is_one_function = alike(one, other);
    let is_one_network = match (given, taken) {
        (Some(Argument::Positional(given)), Some(Argument::Positional(taken))) => {
            (is_one_function || is_one_method(code, one, other)) && alike(*given, *taken)
        }
        (Some(Argument::Keyword(..)), Some(Argument::Keyword(..))) | (None, None) => is_one_function,
        _ => false,
    };
    let [named, others] = [once, again].map(|temp| names_of(code, &calls.uses, temp));
    // `target_state = uniform(key, …)` is no network.
    let is_made = |event: &Consumption| event.role != Role::Sample || calls_apart(run, pair, 1).is_some();
    let method = |event: &Consumption| event.callee.rsplit('.').next().map(str::to_owned);
    let is_pair = once != again
        && is_made(pair.first)
        && is_made(pair.second)
        && method(pair.first) == method(pair.second)
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

/// Whether two operations compute the same expression, as written: a variable that is assigned once is what is assigned to it.
fn is_defined_alike(code: &Function, one: Temp, other: Temp) -> bool {
    let defined = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Load(variable @ Variable::Local(_)) => code.sole_value(variable),
        _ => None,
    };
    if is_written_alike(code, one, other) {
        return true;
    }
    match (&code.ops[one as usize].kind, &code.ops[other as usize].kind) {
        (OpKind::Attribute(of, name), OpKind::Attribute(from, other)) => {
            name == other && is_defined_alike(code, *of, *from)
        }
        _ => defined(one).zip(defined(other)).is_some_and(|(one, other)| is_written_alike(code, one, other)),
    }
}

/// Whether two functions are methods of one name that two classes have.
fn is_one_method(code: &Function, one: Temp, other: Temp) -> bool {
    let is_class = |of: Temp| matches!(code.ops[of as usize].kind, OpKind::Load(Variable::Global(_)));
    match (&code.ops[one as usize].kind, &code.ops[other as usize].kind) {
        (OpKind::Attribute(of, name), OpKind::Attribute(from, other)) => {
            name == other && is_class(*of) && is_class(*from)
        }
        _ => false,
    }
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
            OpKind::Store(Variable::Local(slot), _) => {
                names.push(code.slots[*slot as usize].clone());
                // `params = network.init(…)`, of which `target = State(params)` is made.
                match (uses.stores_of(*slot), uses.loads_of(*slot)) {
                    ([_], [load]) if !uses.is_captured(*slot) => temp = *load,
                    _ => break,
                }
                continue;
            }
            kind => {
                names.extend(match kind {
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
