//! Keys that the program names as placeholders: `dummy_key`, `unused_rng`.
//!
//! **Invariant:** the name is that of the key itself, where it is made or consumed, and contains a word for keys.

use crate::analysis::record::{Consumption, Derivation, Recording};
use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{Name, OpKind, Temp, Uses, Variable};
use crate::judge::intent::{Pair, because};

/// One of two consumptions gets a key that is named as a placeholder.
pub fn placeholder(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    [pair.first, pair.second].into_iter().find_map(|event| called_so(run, event))
}

/// The name that shows that the key of a consumption is a placeholder.
pub fn called_so(run: &Recording<'_>, event: &Consumption) -> Option<Intent> {
    let (name, place) = event
        .written
        .clone()
        .map(|written| (written, event.place))
        .filter(|(name, _)| is_placeholder_name(run, name))
        .or_else(|| {
            made_as(run, run.derivation(event.target.derivation)?).filter(|(name, _)| is_placeholder_name(run, name))
        })?;
    Some(because(IntentKind::SaidSo, &format!("`{name}` is named as a placeholder"), place))
}

fn is_placeholder_name(run: &Recording<'_>, name: &str) -> bool {
    run.program.models.words.names_placeholder(name.rsplit('.').next().unwrap_or(name))
}

/// The variable that a key is stored in where it is made.
fn made_as(run: &Recording<'_>, made: &Derivation) -> Option<(Name, Place)> {
    let code = run.code(&made.activation);
    let call = run.call_at(&made.activation, made.place)?;
    let uses: &Uses = &run.uses_of(made.activation.module, made.activation.function);
    let name = |reader: &Temp| match &code.ops[*reader as usize].kind {
        OpKind::Store(Variable::Local(slot), _) => code.slots.get(*slot as usize).cloned(),
        OpKind::Store(Variable::Global(name), _) => Some(name.clone()),
        _ => None,
    };
    uses.readers(call).iter().find_map(name).map(|name| (name, made.place))
}
