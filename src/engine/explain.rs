//! Facts as sentences, for `keylint why`.
//!
//! **Invariant:** every kind of fact has a sentence, and every place that a fact names leads to it.

use std::fmt::Write;

use crate::finding::Place;
use crate::judge::facts::{Facts, Origin, Role, Use};
use crate::text::{FileId, LineIndex};

use super::FileTable;

// Writing to a string cannot fail, so that the results of `write!` below say nothing.

/// One sentence about some places, the first of which it is mostly about.
pub(super) struct Remark {
    places: Vec<Place>,
    text: String,
}

impl Remark {
    /// Whether one of its places starts on a row of a file.
    pub(super) fn touches(&self, file: FileId, row: u32, lines: &LineIndex) -> bool {
        self.places.iter().any(|place| place.file == file && lines.row(place.span.start) == row)
    }

    /// The sentence behind its place.
    pub(super) fn worded(&self, files: &FileTable) -> String {
        let place = |place: &Place| files.locus(*place);
        let mut worded = self.places.first().map_or_else(String::new, |first| format!("{}: ", place(first)));
        worded.push_str(&self.text);
        let further: Vec<String> = self.places.iter().skip(1).map(place).collect();
        if !further.is_empty() {
            let _ = write!(worded, " [see {}]", further.join(", "));
        }
        worded
    }
}

/// All that facts say, in sentences, sorted by place.
pub(super) fn remarks(facts: &Facts) -> Vec<Remark> {
    let mut all = Vec::new();
    collisions(facts, &mut all);
    shared(facts, &mut all);
    state(facts, &mut all);
    for key in &facts.keys {
        all.push(remark(key.place, &[], None, key.text.clone()));
    }
    for buffer in &facts.buffers {
        let effect = if buffer.raises { "raises" } else { "treats the key as numbers" };
        let kind = format!("{:?}", buffer.kind).to_lowercase();
        let text = format!("`{}` {effect}: the key {} is of {kind} kind", buffer.text, key(&buffer.derivation));
        all.push(remark(buffer.place, &[], buffer.origin.as_ref(), text));
    }
    for discarded in &facts.discarded {
        let what = if discarded.whole { "the whole result" } else { "a child" };
        let name = discarded.name.as_ref().map(|name| format!(", `{name}`,")).unwrap_or_default();
        let text = format!("{what}{name} of `{}` is never used", discarded.callee);
        all.push(remark(discarded.place, &[], None, text));
    }
    for reference in facts.references.iter().filter(|reference| reference.written != reference.path) {
        let text = format!("`{}` means `{}`", reference.written, reference.path);
        all.push(remark(reference.place, &[], None, text));
    }
    for exhausted in &facts.exhausted {
        let text = format!("the analysis lost precision here: the budget for {} was used up", exhausted.budget);
        all.push(remark(exhausted.place, &[], None, text));
    }
    all.sort_by(|a, b| (a.places.first(), &a.text).cmp(&(b.places.first(), &b.text)));
    all.dedup_by(|a, b| (&a.places, &a.text) == (&b.places, &b.text));
    all
}

fn collisions(facts: &Facts, all: &mut Vec<Remark>) {
    for collision in &facts.collisions {
        let derived = key(&collision.derivation);
        let named = match &collision.name {
            Some(name) if **name == *collision.derivation => derived,
            Some(name) => format!("`{name}`, which is {derived},"),
            None => derived,
        };
        let verb = role(collision.second.role);
        let mut text = format!("the key {named} is {verb} by `{}`", collision.second.callee);
        if collision.repeated_by.is_some() {
            text.push_str(", the same in every iteration");
        } else {
            let first = role(collision.first.role);
            let _ = write!(text, ", and an equal key was already {first} by `{}`", collision.first.callee);
        }
        if let Some(intent) = &collision.intent {
            let _ = write!(text, "; probably intended: {}", intent.reason);
        }
        let _ = write!(text, " ({} confidence)", collision.confidence);
        let derived = collision.derived_at.iter().flat_map(|(first, second)| [*first, *second]);
        let places: Vec<Place> = [collision.second.leaf, collision.first.place, collision.first.leaf]
            .into_iter()
            .chain(derived)
            .chain(collision.repeated_by)
            .chain(collision.intent.as_ref().and_then(|intent| intent.place))
            .collect();
        all.push(remark(collision.second.place, &places, collision.origin.as_ref(), text));
    }
}

/// Keys that serve several lanes, or several calls.
fn shared(facts: &Facts, all: &mut Vec<Remark>) {
    for broadcast in &facts.broadcasts {
        let (key, callee) = (key(&broadcast.derivation), &broadcast.used.callee);
        let text = format!(
            "every batch element draws from the same key {key} with `{callee}` \
             ({} confidence)",
            broadcast.confidence
        );
        let places = [broadcast.used.leaf, broadcast.mapped_at];
        all.push(remark(broadcast.used.place, &places, broadcast.origin.as_ref(), text));
    }
    for captured in &facts.captured {
        let (name, callee) = (&captured.name, &captured.callee);
        let text =
            format!("`{callee}` consumes the captured key `{name}` on every call ({} confidence)", captured.confidence);
        let places = [captured.used.leaf, captured.defined_at];
        all.push(remark(captured.used.place, &places, captured.origin.as_ref(), text));
    }
    for ignored in &facts.ignored {
        let (callee, parameter) = (&ignored.callee, &ignored.parameter);
        let text = format!("`{callee}` creates a constant key, and the parameter `{parameter}` is ignored");
        all.push(remark(ignored.place, &[ignored.declared_at, ignored.used.place, ignored.used.leaf], None, text));
    }
}

/// Consumed keys that live on.
fn state(facts: &Facts, all: &mut Vec<Remark>) {
    for stale in &facts.stale {
        let text = format!(
            "`{}` is {} and no new key is stored ({} confidence)",
            stale.name,
            by(&stale.used),
            stale.confidence
        );
        let places: Vec<Place> = [stale.used.leaf].into_iter().chain(stale.stored_at).collect();
        all.push(remark(stale.used.place, &places, None, text));
    }
    for carried in &facts.carried {
        let kind = format!("{:?}", carried.kind).to_lowercase();
        let text = format!("the key {} is {kind} after it was {}", key(&carried.derivation), by(&carried.used));
        all.push(remark(carried.place, &[carried.used.place, carried.used.leaf], None, text));
    }
}

fn remark(place: Place, further: &[Place], origin: Option<&Origin>, mut text: String) -> Remark {
    let mut places = vec![place];
    for further in further.iter().copied().chain(origin.map(|origin| origin.place)) {
        if !places.contains(&further) {
            places.push(further);
        }
    }
    if let Some(origin) = origin {
        let _ = write!(text, "; origin: {}", origin.text);
    }
    Remark { places, text }
}

fn by(used: &Use) -> String {
    format!("{} by `{}`", role(used.role), used.callee)
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Sample | Role::Library | Role::Protocol => "consumed",
        Role::Split => "split",
        Role::Fold => "folded",
        Role::Unresolved => "possibly consumed",
    }
}

fn key(derivation: &str) -> String {
    if derivation.is_empty() { "of unknown derivation".to_owned() } else { format!("`{derivation}`") }
}
