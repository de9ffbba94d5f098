//! A program before and after a repair, run on the same paths.
//!
//! **Invariant:** two draws are the same draw if the edits carry the place of one over to that of the other and the same
//! function draws. Derivations (`split`, `fold_in`) and calls that nothing resolves are not compared: a repair adds
//! and moves them.

use super::claim::{frame_of, keys_of};
use super::hints::Hints;
use super::machine::Draw;
use super::search::{Path, Start, explore, run, start_of};
use super::{Budget, Comparison, DrawKind, Entry, Project};
use crate::finding::Place;
use crate::ir::FunctionId;
use crate::text::{Edit, FileId, Span};

/// Replays a function before and after a repair.
pub(super) fn compare(original: &Project<'_>, patched: &Project<'_>, edits: &[Edit], entry: &Entry) -> Comparison {
    let Some(start) = start_of(original, entry.place) else {
        return Comparison::Inconclusive("the function is not part of the program".to_owned());
    };
    let carry = Carry { file: entry.place.file, edits };
    let Some(after) = again(original, patched, start) else {
        return Comparison::Inconclusive("the function cannot be found again in the repaired program".to_owned());
    };
    let targets: Vec<Place> =
        entry.claim.iter().flat_map(|claim| claim.first.iter().chain(&claim.second)).copied().collect();
    let hints = Hints::new(original, &targets, &targets);
    let moved: Vec<Place> = targets.iter().filter_map(|place| carry.place(*place)).collect();
    let hints_after = Hints::new(patched, &moved, &moved);
    let mut verdict: Option<Comparison> = None;
    let mut drawn = 0;
    let mut claimed = false;
    explore(original, &hints, start, &mut Budget::ONE.clone(), &mut |before| {
        let choices: Vec<u8> = before.choices.iter().map(|choice| choice.value).collect();
        let path = run(patched, &hints_after, after, &choices, before.level);
        if path.choices != before.choices {
            verdict = Some(Comparison::Inconclusive("the repaired program asks other questions".to_owned()));
            return true;
        }
        if path.is_bounded && before.is_bounded && path.draws.is_empty() {
            return false;
        }
        match held_together(&before, &path, carry, entry) {
            Ok(seen) => {
                drawn += path.draws.iter().filter(|draw| draws(draw)).count();
                claimed |= seen;
                false
            }
            Err(comparison) => {
                verdict = Some(comparison);
                true
            }
        }
    });
    match verdict {
        Some(verdict) => verdict,
        None if drawn == 0 => Comparison::Inconclusive("no path draws".to_owned()),
        None if entry.claim.is_some() && !claimed => {
            Comparison::Inconclusive("no path reaches both consumptions".to_owned())
        }
        None => Comparison::Verified,
    }
}

/// The same function in the repaired program: of its qualified name and, where several have that, its number among them.
fn again(original: &Project<'_>, patched: &Project<'_>, start: Start) -> Option<Start> {
    let before = original.modules.get(start.module)?;
    let name = &before.functions.get(start.function.0 as usize)?.qualified;
    let module = patched.of_file(before.file)?;
    let numbers = |project: &Project<'_>, module: usize| -> Vec<FunctionId> {
        let functions = project.modules.get(module).map_or(&[][..], |module| &module.functions);
        (0_u32..)
            .zip(functions)
            .filter(|(_, code)| code.qualified == *name)
            .map(|(number, _)| FunctionId(number))
            .collect()
    };
    let (olds, news) = (numbers(original, start.module), numbers(patched, module));
    if olds.len() != news.len() {
        return None;
    }
    let at = olds.iter().position(|id| *id == start.function)?;
    news.get(at).map(|function| Start { module, function: *function })
}

/// Whether a draw is one that a repair must keep.
fn draws(draw: &Draw) -> bool {
    matches!(draw.kind, DrawKind::Sample | DrawKind::Consume)
}

/// Compares one path; whether it shows the claim.
fn held_together(before: &Path, after: &Path, carry: Carry<'_>, entry: &Entry) -> Result<bool, Comparison> {
    let olds: Vec<&Draw> = before.draws.iter().filter(|draw| draws(draw)).collect();
    let news: Vec<&Draw> = after.draws.iter().filter(|draw| draws(draw)).collect();
    if olds.len() != news.len() {
        let (old, new) = (olds.len(), news.len());
        return Err(Comparison::Refuted(format!("the repaired program draws {new} times instead of {old}")));
    }
    for (old, new) in olds.iter().zip(&news) {
        let place = old.way.last().and_then(|(place, _)| carry.place(*place));
        let Some(place) = place else {
            return Err(Comparison::Inconclusive("an edit replaces a call that draws".to_owned()));
        };
        let same_place = new.way.last().is_some_and(|(found, _)| *found == place);
        if !same_place || old.callee != new.callee {
            return Err(Comparison::Refuted("the repaired program draws in another order".to_owned()));
        }
        if new.keys.is_empty() != old.keys.is_empty() {
            return Err(Comparison::Inconclusive("what a draw is given is no key any more".to_owned()));
        }
    }
    // A repair makes keys of keys that were there.
    if after.symbols.computed_keys() > before.symbols.computed_keys() {
        return Err(Comparison::Inconclusive("the repaired program takes what it computes for a key".to_owned()));
    }
    let (old_keys, new_keys) = (all_keys(&olds, before), all_keys(&news, after));
    for second in 0..news.len() {
        for first in 0..second {
            let shares = |keys: &[Vec<Vec<u32>>]| keys[first].iter().any(|key| keys[second].contains(key));
            if !shares(&new_keys) {
                continue;
            }
            let Some(claim) = &entry.claim else {
                return Err(Comparison::Refuted("two draws of the repaired program get one key".to_owned()));
            };
            if !shares(&old_keys) {
                return Err(Comparison::Refuted("two draws get one key that had keys of their own".to_owned()));
            }
            let is_claimed =
                frame_of(olds[first], &claim.first).is_some() && frame_of(olds[second], &claim.second).is_some();
            if is_claimed {
                return Err(Comparison::Refuted("the two draws still get one key".to_owned()));
            }
        }
    }
    Ok(entry.claim.as_ref().is_none_or(|claim| {
        let at = |way: &[Place]| before.draws.iter().any(|draw| frame_of(draw, way).is_some());
        at(&claim.first) && at(&claim.second)
    }))
}

fn all_keys(draws: &[&Draw], path: &Path) -> Vec<Vec<Vec<u32>>> {
    draws.iter().map(|draw| keys_of(draw, &path.symbols)).collect()
}

/// Carries places over from before the edits to after them.
#[derive(Clone, Copy)]
struct Carry<'a> {
    file: FileId,
    edits: &'a [Edit],
}

impl Carry<'_> {
    /// The place after the edits; `None` where an edit replaces its start or end.
    fn place(self, place: Place) -> Option<Place> {
        if place.file != self.file {
            return Some(place);
        }
        let inside = |at: u32| self.edits.iter().any(|edit| edit.span.start < at && at < edit.span.end);
        // What an edit replaces from the very start of the place on is not what it was.
        let replaced =
            self.edits.iter().any(|edit| edit.span.start == place.span.start && edit.span.end > place.span.start);
        if inside(place.span.start) || inside(place.span.end) || replaced {
            return None;
        }
        let start = self.shifted(place.span.start, |edit| edit.span.end <= place.span.start)?;
        // An insertion at the very end of the place stands behind it.
        let end = self.shifted(place.span.end, |edit| {
            edit.span.end < place.span.end || edit.span.end == place.span.end && edit.span.start < edit.span.end
        })?;
        Some(Place { file: place.file, span: Span::new(start, end) })
    }

    fn shifted(self, at: u32, counts: impl Fn(&Edit) -> bool) -> Option<u32> {
        let mut shifted = i64::from(at);
        for edit in self.edits.iter().filter(|edit| counts(edit)) {
            shifted += i64::try_from(edit.content.len()).ok()? - i64::from(edit.span.end - edit.span.start);
        }
        u32::try_from(shifted).ok()
    }
}
