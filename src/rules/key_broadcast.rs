//! KEY108: all lanes of a batch share one key.
//!
//! **Invariant:** lanes are not iterations; repetition by a loop belongs to another rule.

use crate::finding::{Evidence, Finding, FixHints, Level, Sharing};
use crate::judge::facts::{Broadcast, BroadcastKind, Facts, Role};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&Broadcast> {
    facts.broadcasts.iter().collect()
}

pub(super) fn describe(rule: &Rule, hit: &Broadcast) -> Finding {
    let subject = wording::subject(hit.used.name.as_ref(), &hit.derivation);
    let callee = wording::callee(&hit.used.callee);
    let repetition = wording::repetition(hit.used.role);
    let (lane, lanes, mapped) = if hit.on_devices {
        ("device", "devices", "divided among devices here")
    } else {
        ("batch element", "batch elements", "mapped here")
    };
    let sharing =
        if hit.kind == BroadcastKind::Repeated { format!("several {lanes}") } else { format!("every {lane}") };
    let how = match (hit.kind, hit.on_devices) {
        (BroadcastKind::Constant, _) => "created from a constant seed".to_owned(),
        (BroadcastKind::Captured, false) => "captured by a mapped function".to_owned(),
        (BroadcastKind::Captured, true) => "captured by a function that runs on every device".to_owned(),
        (BroadcastKind::Unmapped, false) => "passed to a mapped function with axis `None`".to_owned(),
        (BroadcastKind::Unmapped, true) => "passed to every device whole".to_owned(),
        (BroadcastKind::Copied, _) => "a copy of one key".to_owned(),
        (BroadcastKind::Repeated, _) => "in the batch several times".to_owned(),
    };
    // A key without a name is called by its seed.
    let made = match &hit.used.name {
        Some(_) => format!("{subject} is {how}"),
        None => format!("{subject} is the same for {sharing}"),
    };
    let key = hit.used.name.as_ref().map_or("key", |name| &name.text);
    let message = match &hit.stream {
        Some(stream) => format!("{} is {how}, so every {lane} gets the same key from it", wording::code(stream)),
        None if hit.kind == BroadcastKind::Constant => {
            format!("{made}, so {callee} {repetition} for every {lane}")
        }
        None => format!("{subject} is {how}, so {callee} {repetition} for {sharing}"),
    };
    let text = Text {
        message,
        label: match hit.kind {
            BroadcastKind::Repeated => format!("{sharing} use one key"),
            _ => format!("{sharing} uses {}", if hit.used.name.is_some() { &subject } else { "this key" }),
        },
        help: match hit.kind {
            BroadcastKind::Captured | BroadcastKind::Unmapped if hit.on_devices => {
                format!("fold the device's index into the key, `jax.random.fold_in({key}, jax.lax.axis_index(axis))`")
            }
            BroadcastKind::Constant => format!("derive the key from an argument that differs between the {lanes}"),
            BroadcastKind::Copied => format!("split the key, one child per {lane}, instead of copying it"),
            BroadcastKind::Repeated => format!("split as many keys as there are {lanes}, instead of repeating them"),
            BroadcastKind::Captured | BroadcastKind::Unmapped => {
                format!("create one key for each batch element, `jax.random.split({key}, n)`, and map over the result")
            }
        },
    };
    let mut finding = wording::finding(rule, hit.used.place, hit.confidence, &hit.function, text);
    if hit.consequence.is_some() {
        finding.level = finding.level.min(Level::Note);
    }
    let on_devices = || "devices that see the same block must draw the same numbers".to_owned();
    finding.doubt = wording::doubt(&hit.used).or_else(|| hit.on_devices.then(on_devices));
    finding.consequence.clone_from(&hit.consequence);
    hit.intent.clone().into_iter().for_each(|intent| finding.note_intent(intent));
    let origin = wording::origin(hit.origin.as_ref());
    let mapped = wording::label(hit.mapped_at, mapped.to_owned());
    wording::relate(&mut finding, origin.iter().cloned().chain([mapped.clone()]));
    let what = format!("{} for {sharing}", hit.used.role.participle());
    wording::relate(&mut finding, wording::inner_steps(&hit.used, &what));
    let way = wording::way(&hit.used);
    let draws_numbers = hit.used.role == Role::Sample;
    finding.evidence = Some(Evidence {
        sharing: Sharing::Lanes,
        first: way.clone(),
        second: way,
        draws_numbers,
        ends_in_split: false,
        is_open: false,
    });
    finding.fix_hints = Some(FixHints { repeated_by: Some(hit.mapped_at), ..FixHints::default() });
    let consumed = wording::steps(&hit.used, &what);
    finding.flow = origin.into_iter().chain([mapped]).chain(consumed).collect();
    finding
}
