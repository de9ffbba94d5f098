//! Brings the facts of all modules of a program together.
//!
//! **Invariant:** one mistake is one fact: if several runs or functions report a place, one report is kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Confidence, IntentKind, Place};
use crate::judge::facts::{Broadcast, CaptureKind, CapturedUse, Exhausted, Facts, KeyReuse, Origin, Use};
use crate::judge::{closures, computed, default_fields, default_keys, traced};
use crate::text::FileId;

/// Brings the facts of all modules together: a reuse that the callee reports is not reported again for its callers, and
/// a suspicion about a key is dropped if its second consumption is visible.
pub fn reconcile(modules: &mut [Facts], is_test: &dyn Fn(FileId) -> bool) {
    computed::drop_computed(modules);
    let reported: BTreeSet<Place> = modules
        .iter()
        .flat_map(|facts| facts.reuses.iter().chain(&facts.indirect))
        .filter(|reuse| !reuse.is_harmless())
        .map(|reuse| reuse.second.place)
        .collect();
    // If a caller proves what its callee only suspects, the callee's fact becomes certain.
    let mut known: BTreeMap<Place, Confidence> = BTreeMap::new();
    for facts in modules.iter_mut() {
        let indirect = std::mem::take(&mut facts.indirect);
        // What a caller knows about a place replaces what a function only suspects about it.
        let mut sure: BTreeMap<Place, Confidence> = BTreeMap::new();
        for reuse in indirect.iter().filter(|reuse| reuse.confidence > Confidence::Low) {
            let best = sure.entry(reuse.second.place).or_insert(reuse.confidence);
            *best = reuse.confidence.max(*best);
        }
        facts.reuses.retain(|reuse| {
            let suspects = reuse.confidence == Confidence::Low || reuse.involves_unknown_code();
            !suspects || sure.get(&reuse.second.place).is_none_or(|sure| *sure <= reuse.confidence)
        });
        let places: BTreeSet<Place> = facts.reuses.iter().map(|reuse| reuse.second.place).collect();
        facts.reuses.extend(indirect.into_iter().filter(|reuse| {
            let Use { place, leaf, via, .. } = &reuse.second;
            let below = via.iter().chain([leaf]).rfind(|below| *below != place && reported.contains(below));
            let below = below.or(places.contains(place).then_some(place));
            if let Some(below) = below {
                let best = known.entry(*below).or_insert(reuse.confidence);
                *best = reuse.confidence.max(*best);
            }
            below.is_none()
        }));
        facts.reuses.sort_by_key(|c| (c.second.place, c.first.place, c.kind));
    }
    for reuse in modules.iter_mut().flat_map(|facts| &mut facts.reuses).filter(|reuse| !reuse.is_harmless()) {
        if let Some(confidence) = known.get(&reuse.second.place) {
            reuse.confidence = reuse.confidence.max(*confidence);
        }
    }
    let explaining = drop_explained(modules, is_test);
    drop_covered(modules, is_test, &explaining);
    drop_repeated_stale(modules);
    count_limits(modules);
    closures::reconcile(modules);
    default_keys::reconcile(modules);
    default_fields::reconcile(modules);
    traced::reconcile(modules);
    modules.iter_mut().for_each(offer_children_once);
}

/// An unused child is offered for one reuse: two that follow the advice would make another reuse.
fn offer_children_once(facts: &mut Facts) {
    let mut given = BTreeSet::new();
    for reuse in facts.reuses.iter_mut().filter(|reuse| reuse.confidence > Confidence::Low && !reuse.is_harmless()) {
        reuse.intended_child.take_if(|child| !given.insert(child.clone()));
    }
}

/// A bound that is reached at one place is reported once: for the function that contains the place, or else for the first that leads to it.
fn count_limits(modules: &mut [Facts]) {
    let mut at: BTreeMap<Place, (bool, Place, usize)> = BTreeMap::new();
    for Exhausted { place, function_at, .. } in modules.iter().flat_map(|facts| &facts.exhausted) {
        let candidate = (place.file != function_at.file, *function_at);
        let (is_elsewhere, first, count) = at.entry(*place).or_insert((candidate.0, candidate.1, 0));
        (*is_elsewhere, *first) = (*is_elsewhere, *first).min(candidate);
        *count += 1;
    }
    for facts in modules {
        facts.exhausted.retain_mut(|exhausted| {
            let Some((_, first, count)) = at.get(&exhausted.place) else { return true };
            exhausted.others = count.saturating_sub(1);
            *first == exhausted.function_at
        });
    }
}

/// How many reuses make the method that all of them go through the cause.
const SEVERAL: usize = 2;

/// A method that splits a key, keeps a child and also returns it makes its callers reuse it: the next call splits what they consume. If
/// several callers do, the method is reported instead of them. Returns the splits of such methods.
fn drop_explained(modules: &mut [Facts], is_test: &dyn Fn(FileId) -> bool) -> BTreeSet<Place> {
    let carried = modules.iter().flat_map(|facts| &facts.carried);
    let reported = carried.filter(|carried| carried.confidence > Confidence::Low && !is_test(carried.used.leaf.file));
    let splits: BTreeSet<Place> = reported.map(|carried| carried.used.leaf).collect();
    let is_explained = |reuse: &KeyReuse| {
        reuse.origin.as_ref().is_some_and(|origin| origin.place == reuse.second.leaf)
            && splits.contains(&reuse.second.leaf)
    };
    let mut explained: BTreeMap<Place, BTreeSet<Place>> = BTreeMap::new();
    for reuse in modules.iter().flat_map(|facts| &facts.reuses).filter(|reuse| is_explained(reuse)) {
        explained.entry(reuse.second.leaf).or_default().insert(reuse.second.place);
    }
    // For a single reuse, the place of the second use is more useful.
    let explaining: BTreeSet<Place> =
        explained.into_iter().filter(|(_, places)| places.len() >= SEVERAL).map(|(split, _)| split).collect();
    for facts in modules {
        facts.reuses.retain(|reuse| !(is_explained(reuse) && explaining.contains(&reuse.second.leaf)));
    }
    explaining
}

/// Drops suspicions about a key if the consumption is part of a reported reuse. In tests they are kept, because the
/// reuse is a note there, and so are facts that explain reuses that are not reported.
fn drop_covered(modules: &mut [Facts], is_test: &dyn Fn(FileId) -> bool, explaining: &BTreeSet<Place>) {
    // The consumptions and the calls that lead to them, with the origins of their keys.
    let mut known: BTreeMap<Place, BTreeSet<Option<Place>>> = BTreeMap::new();
    // The functions that report a consumption among their own.
    let mut reported_in: BTreeSet<(Place, String)> = BTreeSet::new();
    // The consumptions that are reported at their own place.
    let mut direct: BTreeSet<Place> = BTreeSet::new();
    let mut note = |used: &Use, origin: Option<&Origin>| {
        for place in used.via.iter().chain([&used.place, &used.leaf]) {
            known.entry(*place).or_default().insert(origin.map(|origin| origin.place));
        }
        if used.place == used.leaf {
            direct.insert(used.leaf);
        }
    };
    let is_reported = |place: Place, confidence: Confidence| confidence > Confidence::Low && !is_test(place.file);
    for facts in modules.iter() {
        let harmful = facts.reuses.iter().filter(|reuse| !reuse.is_harmless());
        for KeyReuse { first, second, origin, function, .. } in
            harmful.filter(|reuse| is_reported(reuse.second.place, reuse.confidence))
        {
            note(first, origin.as_ref());
            note(second, origin.as_ref());
            reported_in.extend([first.place, second.place].map(|place| (place, function.clone())));
        }
        for Broadcast { used, origin, .. } in
            facts.broadcasts.iter().filter(|broadcast| is_reported(broadcast.used.place, broadcast.confidence))
        {
            note(used, origin.as_ref());
        }
    }
    // The default of a parameter is not state that should have been advanced.
    let is_default =
        |reuse: &&KeyReuse| reuse.intent.as_ref().is_some_and(|intent| intent.kind == IntentKind::DocumentedDefault);
    let defaults = modules.iter().flat_map(|facts| &facts.reuses).filter(is_default);
    let defaults: BTreeSet<Place> = defaults.flat_map(|reuse| [reuse.first.leaf, reuse.second.leaf]).collect();
    for facts in modules {
        let ignored: BTreeSet<Place> = facts.ignored.iter().map(|ignored| ignored.place).collect();
        facts.broadcasts.retain(|broadcast| broadcast.made_at.is_none_or(|made| !ignored.contains(&made)));
        // A caller may pass another key; if it reuses that key, this says nothing about the default.
        facts.captured.retain(|captured| {
            let CapturedUse { used, origin, .. } = captured;
            let origin = origin.as_ref().map(|origin| origin.place);
            let of_default = captured.kind == CaptureKind::Default;
            let is_reused_there = reported_in.contains(&(used.place, captured.function.clone()));
            known.get(&used.place).is_none_or(|origins| of_default && !origins.contains(&origin) && !is_reused_there)
                && (of_default || !direct.contains(&used.leaf))
        });
        let is_known = |used: &Use| known.contains_key(&used.place) || direct.contains(&used.leaf);
        facts.stale.retain(|stale| !is_known(&stale.used) && !defaults.contains(&stale.used.leaf));
        facts.carried.retain(|carried| explaining.contains(&carried.used.leaf) || !is_known(&carried.used));
    }
}

/// A key that a method consumes without replacing it is reported there, not again by methods that call it.
fn drop_repeated_stale(modules: &mut [Facts]) {
    let stale = modules.iter().flat_map(|facts| &facts.stale);
    let own = stale.filter(|stale| stale.used.place == stale.used.leaf);
    let own: BTreeMap<Place, Confidence> = own.map(|stale| (stale.used.leaf, stale.confidence)).collect();
    for facts in modules {
        facts.stale.retain(|stale| {
            stale.used.place == stale.used.leaf
                || own.get(&stale.used.leaf).is_none_or(|confidence| *confidence < stale.confidence)
        });
    }
}
