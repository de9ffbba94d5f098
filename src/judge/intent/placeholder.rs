//! Keys that the program names as placeholders, `dummy_key`, and draws that it stores under such a name, `_, dummy_state = env.reset(key)`.
//!
//! **Invariant:** the name is that of the key itself, where it is made or consumed, and contains a word for keys; or all names of the result,
//! apart from those that begin with `_`, say so.

use crate::analysis::record::{Activation, Consumption, Derivation, Recording};
use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind, Place};
use crate::ir::{Function, Name, OpKind, Temp, Uses, Variable};
use crate::judge::facts::ReuseKind;
use crate::judge::intent::pair::{Pair, because};

/// Most variables that one call binds.
const TARGETS: usize = 16;

/// One of two consumptions gets a key that is named as a placeholder, or its result is named so and does not meet that of the other.
pub fn placeholder(run: &Recording<'_>, kind: ReuseKind, pair: &Pair<'_>, consequence: &Consequence) -> Option<Intent> {
    if matches!(kind, ReuseKind::FoldedTwice | ReuseKind::FoldMeetsChild | ReuseKind::FoldAndSampled) {
        return None;
    }
    let events = [(pair.first, pair.second), (pair.second, pair.first)];
    let meets =
        matches!(consequence.kind, ConsequenceKind::Meet | ConsequenceKind::Returned | ConsequenceKind::Carried);
    let stored = |(event, other): (&Consumption, &Consumption)| {
        // Calls of which both are part say nothing about one of them.
        let shared = other.chain();
        let is_shared = |id: u32, place: Place| shared.iter().any(|(other, at)| (other.id, *at) == (id, place));
        let own = event.chain().into_iter().filter(|(activation, place)| !is_shared(activation.id, *place));
        own.filter(|_| !meets).find_map(|(activation, place)| stored_as(run, &activation, place))
    };
    let as_key = events.into_iter().find_map(|(event, _)| named_key(run, event));
    as_key.or_else(|| events.into_iter().find_map(stored).map(said))
}

/// Whether the function that makes a key, or one that it calls with it, names what it gets for the key as a placeholder.
pub fn names_result(run: &Recording<'_>, event: &Consumption) -> bool {
    let Some(made) = run.derivation(event.target.derivation) else { return false };
    let mut within = event.chain().into_iter().skip_while(|(activation, _)| activation.id != made.activation.id);
    within.any(|(activation, place)| stored_as(run, &activation, place).is_some())
}

fn said((name, place): (Name, Place)) -> Intent {
    because(IntentKind::SaidSo, &format!("`{name}` is named as a placeholder"), place)
}

/// The name that shows that the key of a consumption is a placeholder.
pub fn named_key(run: &Recording<'_>, event: &Consumption) -> Option<Intent> {
    let named = event
        .written
        .clone()
        .map(|written| (written, event.place))
        .filter(|(name, _)| is_placeholder_name(run, name))
        .or_else(|| {
            made_as(run, run.derivation(event.target.derivation)?).filter(|(name, _)| is_placeholder_name(run, name))
        });
    named.map(said)
}

fn is_placeholder_name(run: &Recording<'_>, name: &str) -> bool {
    run.program.models.words.names_placeholder(name.rsplit('.').next().unwrap_or(name))
}

/// The variable that a key is stored in where it is made.
fn made_as(run: &Recording<'_>, made: &Derivation) -> Option<(Name, Place)> {
    let code = run.code(&made.activation);
    let call = run.call_at(&made.activation, made.place)?;
    let uses: &Uses = &run.uses_of(made.activation.module, made.activation.function);
    uses.readers(call).iter().find_map(|reader| target(code, *reader)).map(|name| (name.clone(), made.place))
}

/// The variable that a store binds.
fn target(code: &Function, store: Temp) -> Option<&Name> {
    match &code.ops[store as usize].kind {
        OpKind::Store(Variable::Local(slot), _) => code.slots.get(*slot as usize),
        OpKind::Store(Variable::Global(name), _) => Some(name),
        _ => None,
    }
}

/// A variable for the result of a call, if all of them are named as placeholders.
fn stored_as(run: &Recording<'_>, activation: &Activation, place: Place) -> Option<(Name, Place)> {
    let code = run.code(activation);
    let uses: &Uses = &run.uses_of(activation.module, activation.function);
    let (mut names, mut work) = (Vec::new(), vec![run.call_at(activation, place)?]);
    while let Some(value) = work.pop() {
        if names.len() > TARGETS {
            return None;
        }
        for reader in uses.readers(value) {
            match &code.ops[*reader as usize].kind {
                OpKind::Unpack { .. } | OpKind::Project(..) => work.push(*reader),
                _ => names.push(target(code, *reader)?),
            }
        }
    }
    names.retain(|name| !name.starts_with('_'));
    let is_said = |name: &&Name| run.program.models.words.names_placeholder_value(name);
    let first = (*names.first()?).clone();
    names.iter().all(is_said).then_some((first, place))
}
