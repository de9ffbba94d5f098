//! Facts as sentences, for `keylint why`.
//!
//! **Invariant:** every kind of fact has a sentence, and every place of a fact leads to it.

use std::fmt::Write;

use crate::finding::{Derivation, Place};
use crate::judge::facts::{CarryKind, Facts, KeyKind, LeakKind, Origin, Use, WrapperWay};
use crate::text::{FileId, LineIndex};

use super::FileTable;

// Writing to a string cannot fail, so the results of `write!` below are ignored.

/// One sentence about a place, and what belongs to it in other places.
pub(super) struct Remark {
    place: Place,
    text: String,
    further: Vec<(Place, String)>,
}

impl Remark {
    /// Whether one of its places starts on a row of a file.
    pub(super) fn touches(&self, file: FileId, row: u32, lines: &LineIndex) -> bool {
        let mut places = std::iter::once(&self.place).chain(self.further.iter().map(|(place, _)| place));
        places.any(|place| place.file == file && lines.row(place.span.start) == row)
    }

    /// The sentence after its place, and a line for each further place.
    pub(super) fn worded(&self, files: &FileTable) -> String {
        let mut worded = format!("{}: {}", files.locus(self.place), self.text);
        for (place, text) in &self.further {
            let _ = write!(worded, "\n  {}: {text}", files.locus(*place));
        }
        worded
    }
}

/// All facts as sentences, sorted by place.
pub(super) fn remarks(facts: &Facts) -> Vec<Remark> {
    let mut all = Vec::new();
    reuses(facts, &mut all);
    shared(facts, &mut all);
    state(facts, &mut all);
    chosen(facts, &mut all);
    traced(facts, &mut all);
    wrapped(facts, &mut all);
    for (place, brief) in facts.keys.iter().filter_map(|key| Some((key.place, key.brief.clone()?))) {
        all.push(remark(place, Vec::new(), None, brief));
    }
    for buffer in &facts.buffers {
        let effect = if buffer.raises { "raises" } else { "treats the key as numbers" };
        let kind = match buffer.kind {
            KeyKind::Typed => "a typed key",
            KeyKind::Raw => "a raw key",
            KeyKind::Unknown => "a key, typed or raw",
        };
        let text = format!("`{}` {effect}: {} is {kind}", buffer.text, key(&buffer.derivation));
        all.push(remark(buffer.place, Vec::new(), buffer.origin.as_ref(), text));
    }
    for discarded in &facts.discarded {
        let what = if discarded.whole { "the whole result" } else { "a child" };
        let name = discarded.name.as_ref().map(|name| format!(", `{name}`,")).unwrap_or_default();
        let text = format!("{what}{name} of `{}` is never used", discarded.callee);
        all.push(remark(discarded.place, Vec::new(), None, text));
    }
    for reference in facts.references.iter().filter(|reference| reference.written != reference.path) {
        let text = format!("`{}` means `{}`", reference.written, reference.path);
        all.push(remark(reference.place, Vec::new(), None, text));
    }
    for exhausted in &facts.exhausted {
        let text = format!("the analysis lost precision here: the budget for {} was used up", exhausted.budget);
        all.push(remark(exhausted.place, Vec::new(), None, text));
    }
    all.sort_by(|a, b| (a.place, &a.text, &a.further).cmp(&(b.place, &b.text, &b.further)));
    all.dedup_by(|a, b| (a.place, &a.text, &a.further) == (b.place, &b.text, &b.further));
    all
}

fn reuses(facts: &Facts, all: &mut Vec<Remark>) {
    for reuse in &facts.reuses {
        let named = named(&reuse.second, &reuse.derivation);
        let text = format!("{named} is {} ({} confidence)", by(&reuse.second), reuse.confidence);
        let mut further = inner(&reuse.second);
        match reuse.repeated_by {
            Some(place) => {
                if reuse.first.leaf != reuse.second.leaf {
                    let text = format!("an equal key was {} in an earlier iteration", by(&reuse.first));
                    further.push((reuse.first.place, text));
                }
                further.push((place, "this loop repeats it".to_owned()));
            }
            None => further.push((reuse.first.place, format!("an equal key was {} before", by(&reuse.first)))),
        }
        further.extend(inner(&reuse.first));
        if let Some((first, second)) = reuse.derived_at {
            further.extend([(first, "the first key is derived"), (second, "the other is derived")].map(owned));
        }
        if let Some(intent) = &reuse.intent {
            let place = intent.place.unwrap_or(reuse.second.place);
            further.push((place, format!("probably intended: {}", intent.reason)));
        }
        all.push(remark(reuse.second.place, further, reuse.origin.as_ref(), text));
    }
}

/// Keys that several lanes, or several calls, share.
fn shared(facts: &Facts, all: &mut Vec<Remark>) {
    for broadcast in &facts.broadcasts {
        let (key, callee) = (named(&broadcast.used, &broadcast.derivation), &broadcast.used.callee);
        let lane = if broadcast.on_devices { "device" } else { "batch element" };
        let text = format!("every {lane} gives {key} to `{callee}` ({} confidence)", broadcast.confidence);
        let mut further = inner(&broadcast.used);
        further.push((broadcast.mapped_at, "mapped".to_owned()));
        all.push(remark(broadcast.used.place, further, broadcast.origin.as_ref(), text));
    }
    for captured in &facts.captured {
        let (name, callee) = (&captured.name, &captured.callee);
        let text =
            format!("`{callee}` consumes the captured key `{name}` on every call ({} confidence)", captured.confidence);
        let mut further = inner(&captured.used);
        further.push((captured.defined_at, format!("`{callee}` is defined")));
        all.push(remark(captured.used.place, further, captured.origin.as_ref(), text));
    }
    for ignored in &facts.ignored {
        let (callee, parameter) = (&ignored.callee, &ignored.parameter);
        let text = format!("`{callee}` creates a constant key, and the parameter `{parameter}` is ignored");
        let mut further = vec![(ignored.declared_at, format!("`{parameter}` is declared"))];
        further.push((ignored.used.place, format!("the constant key is {}", by(&ignored.used))));
        all.push(remark(ignored.place, further, None, text));
    }
}

/// Consumed keys that are used elsewhere afterwards.
fn state(facts: &Facts, all: &mut Vec<Remark>) {
    for stale in &facts.stale {
        let text = format!(
            "`{}` is {} and no new key is stored ({} confidence)",
            stale.name,
            by(&stale.used),
            stale.confidence
        );
        let mut further = inner(&stale.used);
        further.extend(stale.stored_at.map(|place| (place, "the key is stored".to_owned())));
        all.push(remark(stale.used.place, further, None, text));
    }
    for carried in &facts.carried {
        let kind = match carried.kind {
            CarryKind::Returned => "returned",
            CarryKind::Held => "returned in its state",
            CarryKind::Copied => "returned in a copy of its state",
            CarryKind::Stored => "stored",
            CarryKind::Kept => "returned and kept",
            CarryKind::Left => "derived from again",
        };
        let text =
            format!("{} is {kind} after it was {}", named(&carried.used, &carried.derivation), by(&carried.used));
        let mut further = vec![(carried.used.place, "consumed".to_owned())];
        further.extend(inner(&carried.used));
        all.push(remark(carried.place, further, None, text));
    }
}

/// Implementations of keys, words passed on as raw keys, and unstable seeds.
fn chosen(facts: &Facts, all: &mut Vec<Remark>) {
    for found in &facts.mismatches {
        let text =
            format!("`{}` gets a key of `{}` where `{}` is expected", found.callee, found.names[0], found.names[1]);
        all.push(remark(found.place, Vec::new(), found.origins[0].as_ref(), text));
    }
    for choice in &facts.choices {
        let name = choice.name.as_deref().unwrap_or("…");
        all.push(remark(choice.place, Vec::new(), None, format!("`{}` chooses `{name}` for all keys", choice.by)));
    }
    for bridge in &facts.bridges {
        let whereto = bridge.passed_to.as_ref().map_or("returned".to_owned(), |name| format!("passed to `{name}`"));
        let further = vec![(bridge.leaves_at, format!("the words are {whereto}"))];
        all.push(remark(bridge.place, further, None, format!("`{}` takes the words of a key", bridge.callee)));
    }
    for seed in &facts.unstable {
        let text = format!("`{}` gets a number from `{}` ({} confidence)", seed.callee, seed.source, seed.confidence);
        all.push(remark(seed.place, vec![(seed.source_at, "the number".to_owned())], None, text));
    }
}

/// What happened while a function was traced.
fn traced(facts: &Facts, all: &mut Vec<Remark>) {
    for leak in &facts.leaked {
        let Some(trace) = &leak.trace else { continue };
        let what = if leak.kind == LeakKind::Iterator { "advances" } else { "gets a key" };
        let text = format!("`{}` {what} while `{}` traces `{}`", leak.name, trace.transform, trace.function);
        let further = vec![(leak.leaf, "the key".to_owned()), (trace.at, "traced".to_owned())];
        all.push(remark(trace.place, further, None, text));
    }
    for (key, trace) in facts.constant.iter().filter_map(|key| Some((key, key.trace.as_ref()?))) {
        let text =
            format!("`{}` makes a constant key while `{}` traces `{}`", key.maker, trace.transform, trace.function);
        let further = vec![(key.made_at, "made".to_owned()), (key.used.leaf, format!("the key is {}", by(&key.used)))];
        all.push(remark(trace.place, further, None, text));
    }
    for (draw, trace) in facts.host.iter().filter_map(|draw| Some((draw, draw.trace.as_ref()?))) {
        let text = format!("`{}` runs while `{}` traces `{}`", draw.source, trace.transform, trace.function);
        all.push(remark(
            trace.place,
            vec![(draw.leaf, "drawn".to_owned()), (trace.at, "traced".to_owned())],
            None,
            text,
        ));
    }
}

/// Objects with `__jax_array__` around a key, and parameters that accept both kinds of keys.
fn wrapped(facts: &Facts, all: &mut Vec<Remark>) {
    for wrapped in &facts.wrapped {
        let how = match wrapped.way {
            WrapperWay::Handed => "does not convert",
            WrapperWay::Argument => "gets",
            WrapperWay::Result => "returns",
        };
        let text = format!("`{}` {how} a `{}`, which has `{}`", wrapped.callee, wrapped.class, wrapped.method);
        let class = wrapped.class_at.map(|place| (place, "the class".to_owned()));
        let further = class.into_iter().chain([(wrapped.leaf, "the call".to_owned())]).collect();
        all.push(remark(wrapped.place, further, None, text));
    }
    for untyped in &facts.untyped {
        let text = format!("`{}` uses `{}` as a key, whether it is typed or raw", untyped.function, untyped.name);
        all.push(remark(untyped.place, vec![(untyped.used.leaf, by(&untyped.used))], None, text));
    }
}

fn owned((place, text): (Place, &str)) -> (Place, String) {
    (place, text.to_owned())
}

/// The consuming call, if it is below the reported place.
fn inner(used: &Use) -> Vec<(Place, String)> {
    if used.leaf == used.place { Vec::new() } else { vec![(used.leaf, format!("`{}` is called", used.callee))] }
}

fn named(used: &Use, derivation: &Derivation) -> String {
    used.name.as_ref().map_or_else(|| key(derivation), |name| format!("`{}`", name.text))
}

fn remark(place: Place, mut further: Vec<(Place, String)>, origin: Option<&Origin>, text: String) -> Remark {
    further.extend(origin.map(|origin| (origin.place, origin.text.clone())));
    let mut seen = vec![place];
    further.retain(|(further, _)| {
        let is_new = !seen.contains(further);
        seen.push(*further);
        is_new
    });
    Remark { place, text, further }
}

fn by(used: &Use) -> String {
    format!("{} by `{}`", used.role.participle(), used.callee)
}

fn key(derivation: &str) -> String {
    if derivation.is_empty() { "a key of unknown derivation".to_owned() } else { format!("`{derivation}`") }
}
