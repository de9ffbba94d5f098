//! Every expression that is a key, for hovers.
//!
//! **Invariant:** what is noted here changes no other fact.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::record::{Consumption, Observed, Recording};
use crate::finding::Place;
use crate::judge::derivation::derivation;
use crate::judge::derivation::seed_number;
use crate::judge::facts::{Facts, KeyUse, KeyValue, Role};
use crate::judge::origin::origin;
use crate::text::FileId;

/// Most uses that are recorded for one key.
const USES_OF_A_KEY: usize = 256;

/// Most keys that are recorded for one place: a helper with many callers gets many.
const KEYS_OF_A_PLACE: usize = 8;

/// The keys of one module, accumulated over all of its runs.
#[derive(Default)]
pub struct Values {
    /// The number of keys that callers pass to each place.
    passed: FxHashMap<Place, usize>,
}

impl Values {
    /// Everything in the home module that was recorded as a key. Returns whether earlier recordings left room for all of it.
    pub fn extract(&mut self, run: &Recording<'_>, facts: &mut Facts, file: FileId) -> bool {
        let mut is_complete = true;
        let is_asked = |place: Place| place.file == file || run.program.follows;
        facts.not_single.extend(run.log.not_single.iter().filter(|place| is_asked(**place)));
        let observed: BTreeSet<&Observed> = run.log.observed.iter().filter(|seen| is_asked(seen.place)).collect();
        let events = if observed.is_empty() { FxHashMap::default() } else { by_term(run) };
        let others: FxHashSet<TermId> = if observed.is_empty() { FxHashSet::default() } else { not_keys(run) };
        let mut last: Option<(Place, usize)> = None;
        for seen in observed {
            let count = last.filter(|(place, _)| *place == seen.place).map_or(0, |(_, count)| count);
            let passed = if seen.is_called { self.passed.get(&seen.place).copied().unwrap_or(0) } else { 0 };
            if count.max(passed) >= KEYS_OF_A_PLACE {
                is_complete &= passed < KEYS_OF_A_PLACE;
                continue;
            }
            if seen.is_guess && others.contains(&seen.term) {
                facts.not_single.push(seen.place);
                continue;
            }
            let uses = uses(run, seen, &events);
            if seen.is_guess && uses.is_empty() && !run.log.declared.contains(&seen.term) {
                continue;
            }
            last = Some((seen.place, count + 1));
            if seen.is_called {
                *self.passed.entry(seen.place).or_default() += 1;
            }
            let code = run.module(seen.module).function(seen.function);
            let traced = run.program.traces.then(|| {
                let origin = origin(run, seen.term, seen.derivation);
                (derivation(run.terms, seen.term), origin)
            });
            let (derivation, origin) = traced.unwrap_or_default();
            facts.values.push(KeyValue {
                place: seen.place,
                is_called: seen.is_called,
                derivation,
                kind: seen.kind,
                is_array: seen.is_array,
                origin,
                uses,
                function: code.qualified.to_string(),
                within: code.full,
                run_by: seen.run_by.map(|around| {
                    let around = run.module(seen.module).function(around);
                    (around.qualified.to_string(), around.full)
                }),
            });
        }
        is_complete
    }

    /// Counts what was extracted from an earlier recording.
    pub fn count(&mut self, extracted: &[KeyValue]) {
        for value in extracted.iter().filter(|value| value.is_called) {
            *self.passed.entry(value.place).or_default() += 1;
        }
    }
}

impl KeyValue {
    /// Whether two notes say the same; the earlier one then also knows which function ran it, if one of them does.
    pub(super) fn merge(later: &mut Self, kept: &mut Self) -> bool {
        let (later_by, kept_by) = (later.run_by.take(), kept.run_by.take());
        let is_same = later == kept;
        kept.run_by = if is_same { kept_by.or_else(|| later_by.clone()) } else { kept_by };
        later.run_by = later_by;
        is_same
    }
}

/// The numbers from which keys are made, and the containers whose elements are consumed as keys.
fn not_keys(run: &Recording<'_>) -> FxHashSet<TermId> {
    let seeds = run.log.derivations.iter().filter_map(|made| seed_number(run.terms, made.term));
    let roots = run.log.consumptions.iter().map(|event| {
        let term = event.target.term;
        run.terms.ancestors(term).last().copied().unwrap_or(term)
    });
    let containers = roots.filter_map(|root| match run.terms.get(root) {
        Term::Item(container, ..) => Some(*container),
        _ => None,
    });
    seeds.chain(containers).collect()
}

/// The consumptions of each key.
fn by_term<'r>(run: &Recording<'r>) -> FxHashMap<TermId, Vec<&'r Consumption>> {
    let mut events: FxHashMap<TermId, Vec<&Consumption>> = FxHashMap::default();
    for event in &run.log.consumptions {
        events.entry(event.target.term).or_default().push(event);
    }
    events
}

/// What is done with a key, or with an array of keys and its elements.
fn uses(run: &Recording<'_>, seen: &Observed, events: &FxHashMap<TermId, Vec<&Consumption>>) -> Vec<KeyUse> {
    let own = events.get(&seen.term).into_iter().flatten().copied();
    let of_elements = run.log.by_family.get(&seen.term).into_iter().flatten().filter(|_| seen.is_array);
    let mut known: FxHashSet<(Place, &str, Role)> = FxHashSet::default();
    let mut uses: Vec<KeyUse> = Vec::new();
    for event in own.chain(of_elements.map(|index| &run.log.consumptions[*index])) {
        if uses.len() < USES_OF_A_KEY && known.insert((event.place, &event.callee, event.role)) {
            uses.push(KeyUse { place: event.place, callee: event.callee.to_string(), role: event.role });
        }
    }
    uses
}
