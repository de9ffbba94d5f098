//! Loops that try every configuration with the same seeds.
//!
//! **Invariant:** the seeds are several, and made in a loop within.

use std::collections::BTreeSet;

use crate::analysis::domain::term::Term;
use crate::analysis::record::{Consumption, Iteration, Recording};
use crate::finding::Place;

/// Whether a key is made in a loop within `outer` by a call that makes keys of several seeds: the seeds are those of the inner
/// loop, and each iteration of the outer one goes through them.
pub fn has_seeds_of_its_own(run: &Recording<'_>, event: &Consumption, outer: &Iteration) -> bool {
    let is_nested = event.iteration.as_ref().is_some_and(|inner| inner.instance != outer.instance);
    let seed = run.terms.ancestors(event.target.term).into_iter().chain([event.target.term]);
    let mut seed = seed.filter(|term| matches!(run.terms.get(*term), Term::Seed(_)));
    let Some(seed) = seed.next().filter(|_| is_nested) else { return false };
    let made = run.log.derivations.iter().filter(|derivation| derivation.term == seed);
    let places: BTreeSet<Place> = made.map(|derivation| derivation.place).collect();
    run.log.derivations.iter().any(|other| {
        other.term != seed && places.contains(&other.place) && matches!(run.terms.get(other.term), Term::Seed(_))
    })
}
