//! Computations that are each given the same configured seed and go on separately.
//!
//! An agent and a script that read one seed from a configuration, say: each makes a key of it and splits that into a stream of its own.
//!
//! **Invariant:** the draws meet nowhere, as far as they can be followed; a seed that is written as a number is none of a configuration.

use crate::analysis::domain::term::Term;
use crate::analysis::record::{Activation, Consumption, Recording};
use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind};
use crate::judge::facts::{CollisionKind, Role};
use crate::judge::intent::Pair;

/// Why two consumptions of equal keys that were made from one configured seed are intended, if each begins a computation of its own.
pub fn separate_runs(
    run: &Recording<'_>,
    kind: CollisionKind,
    pair: &Pair<'_>,
    consequence: &Consequence,
) -> Option<Intent> {
    let is_apart = matches!(consequence.kind, ConsequenceKind::Stored | ConsequenceKind::Escapes);
    if kind != CollisionKind::SeededTwice || !is_apart || ![pair.first, pair.second].into_iter().all(begins_a_run) {
        return None;
    }
    let made = |event: &Consumption| run.derivation(event.target.derivation);
    let (one, other) = (made(pair.first)?, made(pair.second)?);
    let function = |activation: &Activation| (activation.module, activation.function);
    let is_own = function(&one.activation) != function(&other.activation) && !is_constant(run, pair.second);
    is_own.then(|| Intent::new(IntentKind::SeparateRuns, Some(one.place)))
}

/// Whether a consumption makes a stream of keys, or the parameters of a network, rather than numbers.
fn begins_a_run(event: &Consumption) -> bool {
    matches!(event.role, Role::Split | Role::Protocol)
}

/// Whether a key is made of a number that is written there.
fn is_constant(run: &Recording<'_>, event: &Consumption) -> bool {
    match run.terms.get(run.terms.root(event.target.term)) {
        Term::Seed(seed) => matches!(run.terms.get(*seed), Term::Int(_)),
        _ => true,
    }
}
