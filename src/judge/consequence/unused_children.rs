//! Splits whose children are passed only to functions that never draw from them.
//!
//! A function may split its key for helpers that, as called here, do not read their keys: `del rng`, or `if batch_size
//! != -1` with the default. Then nothing is drawn, and nothing is drawn twice.
//!
//! **Invariant:** a child counts as drawn from once anything but a visible function holds it, or once a function
//! returns, stores, captures or computes with it. A split whose children are never read is excluded, because that may
//! be the mistake.

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::DerivationId;
use crate::analysis::record::{Consumption, DrawnIn, Recording};
use crate::finding::Place;
use crate::judge::facts::Role;

/// Deepest chain of splits, each of a child of the one before.
const CHAIN: usize = 16;

/// Whether a split's children are passed only to functions that, as called here, draw from none of them, or split for nothing again.
pub fn is_split_for_nothing(run: &Recording<'_>, event: &Consumption) -> bool {
    event.role == Role::Split && !run.log.children.given.is_empty() && is_for_nothing(run, event, &mut Vec::new())
}

/// The same, within a chain of splits. In a loop, a split may split its own child.
fn is_for_nothing(run: &Recording<'_>, event: &Consumption, chain: &mut Vec<Place>) -> bool {
    if chain.contains(&event.place) {
        return true;
    }
    if chain.len() >= CHAIN {
        return false;
    }
    chain.push(event.place);
    let instances: Vec<u32> = event.iterations().iter().map(|iteration| iteration.instance).collect();
    // The next iteration may use what this one makes, and not all iterations are run.
    let is_alike = |other: &Consumption| {
        other.activation.id == event.activation.id
            || other.iterations().iter().any(|iteration| instances.contains(&iteration.instance))
    };
    let alike = run
        .log
        .consumptions
        .iter()
        .filter(|other| other.role == Role::Split && other.place == event.place && is_alike(other));
    let activations: FxHashSet<u32> = alike.map(|other| other.activation.id).collect();
    let made = (1u32..)
        .zip(&run.log.derivations)
        .filter(|(_, derivation)| derivation.place == event.place && activations.contains(&derivation.activation.id));
    let mut made = made.peekable();
    made.peek().is_some()
        && made.all(|(id, derivation)| {
            let parent = match run.terms.get(derivation.term) {
                Term::Children(parent) => *parent,
                _ => return false,
            };
            let children = &run.log.children;
            let mut used = run.log.consumptions.iter().filter(|other| is_of_child(run, other, id, parent));
            children.given.contains(&id)
                && !children.taken.contains(&id)
                && !children.parents.contains(&parent)
                && used.all(|other| other.role == Role::Split && is_for_nothing(run, other, chain))
        })
}

/// Whether a draw takes numbers: a split does only if something other than a split consumes a key that comes from it. If a bound ended the
/// analysis, later code may.
pub fn is_drawn_from(run: &Recording<'_>, event: &Consumption) -> bool {
    let parent = event.target.term;
    let comes_from = |key: TermId| key != parent && run.terms.mentions(key, &|part| part == parent);
    event.role != Role::Split
        || run.exhausted.is_some()
        || run.log.consumptions.iter().any(|other| {
            other.role != Role::Split && other.drawn_in != DrawnIn::Nothing && comes_from(other.target.term)
        })
}

/// Whether an event may be a use of a child that a split made.
fn is_of_child(run: &Recording<'_>, event: &Consumption, split: DerivationId, parent: TermId) -> bool {
    let term = event.target.term;
    match event.target.derivation {
        0 => term != parent && run.terms.mentions(term, &|part| part == parent),
        derivation => derivation == split,
    }
}
