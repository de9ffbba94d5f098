//! Loops that try every configuration with the same seeds.
//!
//! **Invariant:** the seeds are several, and made in a loop within.

use std::collections::BTreeSet;

use crate::analysis::domain::term::Term;
use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind, Place};
use crate::judge::intent::{Pair, intent};

/// A key is made in a loop within the one that repeats it, by a call that makes keys of several seeds: the seeds are those of the
/// inner loop, and each iteration of the outer one goes through them.
pub fn seed_sweep(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let (key, outer) = (pair.second, pair.repeated_by.as_ref()?);
    key.iteration.as_ref().filter(|inner| inner.instance != outer.instance)?;
    let mut seeds = run.terms.ancestors(key.target.term).into_iter().chain([key.target.term]);
    let seed = seeds.find(|term| matches!(run.terms.get(*term), Term::Seed(_)))?;
    let made = run.log.derivations.iter().filter(|derivation| derivation.term == seed);
    let places: BTreeSet<Place> = made.map(|derivation| derivation.place).collect();
    let other = run.log.derivations.iter().find(|other| {
        other.term != seed && places.contains(&other.place) && matches!(run.terms.get(other.term), Term::Seed(_))
    })?;
    Some(intent(IntentKind::SeedSweep, other.place))
}
