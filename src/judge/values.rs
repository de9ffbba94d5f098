//! Every expression that is a key, for people who ask about a place of the program.
//!
//! **Invariant:** what is gathered here changes nothing that is concluded otherwise.

use std::collections::BTreeSet;

use crate::analysis::record::{Observed, Recording};
use crate::finding::Place;
use crate::judge::derivation::derivation;
use crate::judge::facts::{Facts, KeyUse, KeyValue};
use crate::judge::origin::origin;
use crate::text::FileId;

/// Most keys that are noted of one place: a helper that many call is handed many.
const KEYS_OF_A_PLACE: usize = 8;

/// Everything that was noted of the home module and is a key.
pub fn conclude_values(run: &Recording<'_>, facts: &mut Facts, file: FileId) {
    facts.not_single.extend(run.log.not_single.iter().filter(|place| place.file == file));
    let observed: BTreeSet<&Observed> = run.log.observed.iter().filter(|seen| seen.place.file == file).collect();
    let mut last: Option<(Place, usize)> = None;
    for seen in observed {
        let events = run
            .log
            .consumptions
            .iter()
            .filter(|event| event.target.term == seen.term || (seen.is_array && event.target.family == seen.term));
        let mut uses: Vec<KeyUse> = Vec::new();
        for event in events {
            let used = KeyUse { place: event.place, callee: event.callee.to_string(), role: event.role };
            if !uses.contains(&used) {
                uses.push(used);
            }
        }
        if seen.is_guess && uses.is_empty() && !run.log.declared.contains(&seen.term) {
            continue;
        }
        let count = last.filter(|(place, _)| *place == seen.place).map_or(0, |(_, count)| count);
        last = Some((seen.place, count + 1));
        if count >= KEYS_OF_A_PLACE {
            continue;
        }
        let code = run.module(run.home).function(seen.function);
        facts.values.push(KeyValue {
            place: seen.place,
            is_called: seen.is_called,
            derivation: derivation(run.terms, seen.term),
            kind: seen.kind,
            is_array: seen.is_array,
            origin: origin(run, seen.term, seen.derivation),
            uses,
            function: code.qualified.to_string(),
            within: code.full,
        });
    }
}
