//! Keys made only because no other was passed: a fallback, or the default of a parameter.
//!
//! **Invariant:** a result decides whether and how a reuse is reported, never whether two keys are equal.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::Term;
use crate::analysis::record::{Consumption, Recording};
use crate::finding::{Intent, IntentKind};
use crate::ir::{OpKind, Operator, Temp};
use crate::judge::intent::pair::{Pair, because, intent};
use crate::judge::paths::PathQueries;

/// Whether a key is a fallback: `if key is None: key = PRNGKey(0)`.
pub fn is_fallback(run: &Recording<'_>, event: &Consumption) -> bool {
    let Some(derivation) = run.derivation(event.target.derivation) else { return false };
    let code = run.module(derivation.activation.module).function(derivation.activation.function);
    let made = |temp: &Temp| {
        let op = &code.ops[*temp as usize];
        op.span == derivation.place.span && matches!(op.kind, OpKind::Call(..))
    };
    code.ops.iter().any(|op| match &op.kind {
        OpKind::If { test, then, orelse } => {
            let asks = matches!(code.ops[*test as usize].kind, OpKind::Operate(Operator::Is | Operator::IsNot, ..));
            asks && then.iter().chain(orelse).any(made)
        }
        _ => false,
    })
}

/// Whether a key is the default of a parameter, and so is used only if none is passed.
pub fn is_default(run: &Recording<'_>, event: &Consumption) -> bool {
    let Some(derivation) = run.derivation(event.target.derivation) else { return false };
    let code = run.module(derivation.activation.module).function(derivation.activation.function);
    code.ops.iter().any(|op| match &op.kind {
        OpKind::Function(_, defaults) => {
            defaults.iter().any(|(_, temp)| code.ops[*temp as usize].span.covers(derivation.place.span))
        }
        _ => false,
    })
}

/// Whether a consumption happens on paths only where something unknown is `None`.
pub fn waits_for_none(run: &Recording<'_>, paths: &PathQueries<'_>, guard: Guard) -> bool {
    paths.support(guard).iter().any(|literal| match run.terms.get(*literal) {
        Term::Operate(Operator::Is, parts) => matches!(run.terms.get(parts[1]), Term::None),
        _ => false,
    })
}

/// One of two keys of one seed is used only if none is passed.
pub fn documented_default(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let spare = [pair.first, pair.second].into_iter().find(|key| is_fallback(run, key) || is_default(run, key))?;
    let made = run.derivation(spare.target.derivation).map_or(spare.place, |made| made.place);
    Some(intent(IntentKind::DocumentedDefault, made))
}

/// Both keys are fallbacks, each made in a separate call that passes no key: the function has a parameter for a key, and is correct for
/// callers that use it.
pub fn both_fallbacks(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let made_in = |key: &Consumption| {
        let made = run.derivation(key.target.derivation)?;
        Some(made).filter(|_| made.activation.caller.is_some() && is_fallback(run, key))
    };
    let (one, other) = (made_in(pair.first)?, made_in(pair.second)?);
    (one.activation.id != other.activation.id).then(|| {
        because(IntentKind::DocumentedDefault, "each key is only a fallback for callers that pass none", one.place)
    })
}
