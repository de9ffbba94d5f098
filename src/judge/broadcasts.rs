//! One key for a whole batch: which draws of a mapped function share a key, and why.
//!
//! **Invariant:** one cause is one fact. A draw from the children of a key that all lanes split is a consequence of
//! that split, and the constructor of a constant key that the mapped function makes is the cause of all draws from it.

use std::collections::BTreeSet;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::is_entry;
use crate::analysis::record::{
    Activation, Callee, Chain, Consumption, Derivation, LoggedBroadcast, Recording, SharingLanes,
};
use crate::finding::{Confidence, Place};
use crate::judge::consequence::Flows;
use crate::judge::derivation::derivation;
use crate::judge::facts::{Broadcast, BroadcastKind, Facts, Role};
use crate::judge::intent::default_key::is_fallback;
use crate::judge::intent::lanes;
use crate::judge::naming::stream_at;
use crate::judge::origin::origin;
use crate::judge::reuse::{is_known_key, use_at};
use crate::text::FileId;

/// The parameter of transforms whose lanes are devices.
const DEVICES: &str = "devices";

/// What all lanes of a mapped function draw from.
pub fn extract_broadcasts(run: &Recording<'_>, flows: &Flows<'_>, facts: &mut Facts, file: FileId) {
    let mut seen = BTreeSet::new();
    let mut split: BTreeSet<(Place, TermId)> = BTreeSet::new();
    for broadcast in &run.log.broadcasts {
        let event = &run.log.consumptions[broadcast.event];
        // Whether it is reported or not, what is drawn from the children is its consequence.
        if event.role == Role::Split {
            split.insert((broadcast.mapped_at, event.target.term));
        }
        // The arguments of an unresolved call are unknown.
        if !is_known_key(run, event) {
            continue;
        }
        let chain = event.chain();
        let Some(Reporting { mapper, depth, is_direct }) = reporting_frame(run, broadcast, &chain) else {
            continue;
        };
        let used = use_at(run, event, &chain, depth);
        if used.place.file != file {
            continue;
        }
        if seen.contains(&(used.place, broadcast.mapped_at)) {
            continue;
        }
        // A fallback key is used until the caller passes one.
        if is_fallback(run, event) {
            continue;
        }
        if is_consequence(run, event.target.term, &|parent| split.contains(&(broadcast.mapped_at, parent))) {
            continue;
        }
        let made = made_inside(run, event, &chain, mapper);
        let made_at = made.map(|made| made.place).filter(|place| place.file == file);
        if made_at.is_some_and(|place| !seen.insert((place, broadcast.mapped_at))) {
            continue;
        }
        seen.insert((used.place, broadcast.mapped_at));
        let lane = chain.get(mapper + 1).map(|(lane, _)| &**lane);
        let is_made_there =
            run.derivation(event.target.derivation).is_some_and(|derivation| derivation.place == broadcast.mapped_at);
        let kind = match made_at {
            Some(_) => BroadcastKind::Constant,
            None if broadcast.repeated => BroadcastKind::Repeated,
            None if broadcast.copied.is_some() || is_made_there => BroadcastKind::Copied,
            None if broadcast.unmapped => BroadcastKind::Unmapped,
            None => BroadcastKind::Captured,
        };
        // If the mapped function brings its key along, or the key is one of many arguments, the mistake is the caller's.
        let is_named = used.name.as_ref().is_some_and(|name| !name.text.contains(['[', '(']));
        if !is_direct
            && !is_copied_by(run, broadcast, &chain[mapper].0)
            && (kind == BroadcastKind::Captured && depth == mapper || !is_named)
        {
            continue;
        }
        facts.broadcasts.push(Broadcast {
            kind,
            is_direct,
            on_devices: broadcast.lanes == SharingLanes::Devices,
            function: run.qualified(&chain[depth].0),
            stream: stream_at(run, event, &chain, depth),
            used,
            mapped_at: broadcast.mapped_at,
            made_at,
            intent: lanes::of(run, broadcast, made.zip(lane)),
            consequence: flows.unseen(broadcast.event),
            origin: origin(run, event.target.term, event.target.derivation),
            derivation: derivation(run.terms, event.target.term),
            confidence: match event.role {
                // Whoever copies one key for all lanes passes it to what draws from it.
                Role::Unresolved
                    if broadcast.copied.is_some()
                        && !broadcast.repeated
                        && broadcast.lanes == SharingLanes::Elements =>
                {
                    Confidence::Medium
                }
                Role::Unresolved => Confidence::Low,
                // The elements with one key may differ otherwise, to be compared.
                _ if broadcast.repeated => Confidence::Medium,
                Role::Split if is_for_devices(run, broadcast) && !is_drawn_from(run, broadcast) => Confidence::Low,
                // Only one lane may decide to draw, and devices may have to draw the same numbers.
                Role::Sample | Role::Split if broadcast.lanes == SharingLanes::Elements => Confidence::High,
                _ => Confidence::Medium,
            },
        });
    }
}

/// Whether a key is a child of one that all lanes split in the same way, or derived from such a child.
fn is_consequence(run: &Recording<'_>, term: TermId, is_split: &dyn Fn(TermId) -> bool) -> bool {
    let ancestors = run.terms.ancestors(term);
    let mut pairs = std::iter::once(&term).chain(&ancestors).zip(&ancestors);
    pairs.any(|(made, parent)| matches!(run.terms.get(*made), Term::Child(..) | Term::Children(_)) && is_split(*parent))
}

/// Where a broadcast is reported.
struct Reporting {
    /// The position of the frame that maps in the chain of activations.
    mapper: usize,
    /// The position of the frame that is reported.
    depth: usize,
    /// Whether no caller is needed to see the mistake: the mapped function may be a parameter, which only the caller knows.
    is_direct: bool,
}

/// The frame in which a broadcast is reported.
fn reporting_frame(run: &Recording<'_>, broadcast: &LoggedBroadcast, chain: &Chain) -> Option<Reporting> {
    // The mapped body's own frame reports it: the one right below the mapping call.
    let mapper = chain.iter().position(|(activation, _)| activation.id == broadcast.activation.id)?;
    let is_one = |activation: &Activation| {
        let module = run.module(activation.module);
        is_entry(module, module.function(activation.function))
    };
    let is_direct = chain[..=mapper].iter().all(|(activation, _)| activation.root || !is_one(activation));
    // A separately defined function may be correct for its other callers: the mapping call reports it.
    let is_mapped_one = chain.get(mapper + 1).is_some_and(|(activation, _)| is_one(activation));
    let depth = if is_mapped_one { mapper } else { (mapper + 1).min(chain.len() - 1) };
    Some(Reporting { mapper, depth, is_direct })
}

/// Whether the lanes may be devices: every lane was passed a copy of the key, or the transform takes the devices.
fn is_for_devices(run: &Recording<'_>, broadcast: &LoggedBroadcast) -> bool {
    let takes_devices = |callee: &Callee| match callee {
        Callee::Library(path) => run
            .program
            .models
            .callable(path)
            .is_some_and(|callable| callable.params.iter().any(|parameter| parameter.name == DEVICES)),
        _ => false,
    };
    let mut callees = run.log.callees.get(&broadcast.mapped_at).into_iter().flatten();
    broadcast.copied.is_some() || callees.any(takes_devices)
}

/// Whether all lanes certainly draw from the children of a split, or split them. What nothing resolves may fold the number of the lane into
/// them.
fn is_drawn_from(run: &Recording<'_>, split: &LoggedBroadcast) -> bool {
    let parent = run.log.consumptions[split.event].target.term;
    run.log.broadcasts.iter().any(|other| {
        let event = &run.log.consumptions[other.event];
        other.mapped_at == split.mapped_at
            && !matches!(event.role, Role::Unresolved | Role::Fold)
            && run.terms.ancestors(event.target.term).contains(&parent)
    })
}

/// Whether the function that maps has made the copies, or has called what did.
fn is_copied_by(run: &Recording<'_>, broadcast: &LoggedBroadcast, mapper: &Activation) -> bool {
    let copies = broadcast.copied.and_then(|copies| run.derivation(copies));
    copies.is_some_and(|copies| copies.activation.outwards().any(|activation| activation.id == mapper.id))
}

/// The derivation of a key that the mapped function itself makes from a seed, if it does. Then nothing is shared: every
/// lane makes the key itself.
fn made_inside<'r>(
    run: &'r Recording<'_>,
    event: &Consumption,
    chain: &Chain,
    mapper: usize,
) -> Option<&'r Derivation> {
    let root = run.terms.root(event.target.term);
    let lane = chain.get(mapper + 1)?.0.id;
    if !matches!(run.terms.get(root), Term::Seed(_)) {
        return None;
    }
    let is_inside = |activation: &Activation| activation.outwards().any(|activation| activation.id == lane);
    let mut made = run.log.derivations.iter().rev();
    made.find(|made| made.term == root && is_inside(&made.activation))
}
