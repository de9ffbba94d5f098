//! KEY108: all lanes of a batch share one key.
//!
//! **Invariant:** lanes are not iterations; a loop's repetition is another rule's.

use crate::finding::{Evidence, Finding, Level, Repair, Sharing};
use crate::judge::facts::{Broadcast, BroadcastKind, Facts, Role};

use super::Rule;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&Broadcast> {
    facts.broadcasts.iter().collect()
}

pub(super) fn describe(rule: &Rule, hit: &Broadcast) -> Finding {
    let subject = wording::subject(hit.used.name.as_ref(), &hit.derivation);
    let callee = wording::code(&hit.used.callee);
    let repetition = wording::repetition(hit.used.role);
    let (how, mapped) = match hit.kind {
        BroadcastKind::Constant => ("made from the same seed for every batch element", "mapped here"),
        BroadcastKind::Captured => ("captured by a mapped function", "mapped here"),
        BroadcastKind::Unmapped => ("passed unmapped to a mapped function", "mapped here"),
        BroadcastKind::Copied => ("copied from one key", "mapped here"),
    };
    let key = hit.used.name.as_ref().map_or("key", |name| &name.text);
    let message = match &hit.stream {
        Some(stream) => format!("{} is {how}, so every batch element gets the same key from it", wording::code(stream)),
        None if hit.kind == BroadcastKind::Constant => {
            format!("{subject} is {how}, so {callee} {repetition} each time")
        }
        None => format!("{subject} is {how}, so {callee} {repetition} for every batch element"),
    };
    let text = Text {
        message,
        label: "one key for the whole batch".to_owned(),
        help: match hit.kind {
            BroadcastKind::Constant => {
                "derive the key from an argument that differs between the batch elements".to_owned()
            }
            BroadcastKind::Copied => "split the key into one for each batch element instead of copying it".to_owned(),
            BroadcastKind::Captured | BroadcastKind::Unmapped => {
                format!("create one key for each batch element, `jax.random.split({key}, n)`, and map over these keys")
            }
        },
    };
    let mut finding = wording::finding(rule, hit.used.place, hit.confidence, &hit.function, text);
    if hit.consequence.is_some() {
        finding.level = finding.level.min(Level::Note);
    }
    finding.intent.clone_from(&hit.intent);
    finding.consequence.clone_from(&hit.consequence);
    if hit.intent.is_some() {
        finding.level = finding.level.min(Level::Note);
    }
    let origin = wording::origin(hit.origin.as_ref());
    let mapped = wording::label(hit.mapped_at, mapped.to_owned());
    wording::relate(&mut finding, origin.iter().cloned().chain([mapped.clone()]));
    wording::relate(&mut finding, wording::inner_steps(&hit.used));
    let way = wording::way(&hit.used);
    let draws_numbers = hit.used.role == Role::Sample;
    finding.evidence = Some(Evidence { sharing: Sharing::Lanes, first: way.clone(), second: way, draws_numbers });
    finding.repair = Some(Repair { repeated_by: Some(hit.mapped_at), ..Repair::default() });
    let consumed = wording::steps(&hit.used, "consumed for every batch element");
    finding.flow = origin.into_iter().chain([mapped]).chain(consumed).collect();
    finding
}
