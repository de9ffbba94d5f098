//! A program before and after a fix, run on the same paths.
//!
//! **Invariant:** two draws are the same draw if the edits moved the place of one over to that of the other and the same
//! function draws. Derivations (`split`, `fold_in`) and calls that nothing resolves are not compared: a fix adds
//! and moves them.

use std::rc::Rc;

use super::claim::{frame_of, keys_of};
use super::constants::are_alike;
use super::edits::{FileEdits, MovedPlaces, RecordedChoices};
use super::hints::Hints;
use super::machine::Draw;
use super::search::{EntryStates, Path, Start, explore, explore_with, start_of};
use super::{Budget, Comparison, DrawKind, Entry, Freedom, Project, Replacement};
use crate::finding::{Place, Sharing};
use crate::ir::{FunctionId, Name};
use crate::text::Edit;

/// The maximum number of operations in the replays of one function, if many are compared.
const STEPS_PER_FUNCTION: u32 = 50_000;

/// Why programs that draw nothing are not compared.
pub const NO_DRAW: &str = "the replays of the function reach no call that is known to draw from a key";

/// Most paths of the fixed program that correspond to one of the original.
const MOST_COUNTERPARTS: usize = 16;

/// Replays a function before and after a fix.
///
/// `edits` are sorted, non-overlapping edits of the entry's file; they turn the text that `original` was lowered from into that of
/// `patched`, and places are mapped through them. All files keep their identities. `kept` are states of earlier replays of `original`.
pub fn compare<'p>(
    (original, kept): (&'p Project<'p>, &mut EntryStates<'p>),
    patched: &Project<'_>,
    edits: &[Edit],
    entry: &Entry,
) -> Comparison {
    let targets: Vec<Place> =
        entry.claim.iter().flat_map(|claim| claim.first.iter().chain(&claim.second)).copied().collect();
    let mut drawn = 0;
    let mut claimed = false;
    let files = [(entry.place.file, edits)];
    let pair = Pair { original, patched, moved: MovedPlaces { files: &files } };
    let verdict = pair.explore(entry.place, &targets, (&mut Budget::ONE.clone(), kept), &mut |before, after| {
        claimed |= compare_path(before, after, pair.moved, entry)?;
        drawn += after.draws.iter().filter(|draw| draws(draw)).count();
        Ok(())
    });
    match verdict {
        Err(verdict) => verdict,
        Ok(()) if drawn == 0 => Comparison::Inconclusive(NO_DRAW.to_owned()),
        Ok(()) if entry.claim.is_some() && !claimed => {
            Comparison::Inconclusive("no path reaches both consumptions".to_owned())
        }
        Ok(()) => Comparison::Verified,
    }
}

/// Replays the functions that contain `places` before and after a fix that keeps all keys: on every explored path the same keys are passed
/// to the same functions, in the same order.
pub fn compare_keys<'p>(
    (original, kept): (&'p Project<'p>, &mut EntryStates<'p>),
    patched: &Project<'_>,
    files: &[FileEdits<'_>],
    places: &[Place],
) -> Comparison {
    let mut budget = Budget::FILE;
    let mut starts: Vec<Option<Start>> = Vec::new();
    for place in places {
        let start = start_of(original, *place);
        if starts.contains(&start) {
            continue;
        }
        starts.push(start);
        if budget.left == 0 {
            return Comparison::Inconclusive("there are too many functions to replay".to_owned());
        }
        let mut is_shown = false;
        let pair = Pair { original, patched, moved: MovedPlaces { files } };
        let mut share = Budget { left: budget.left.min(STEPS_PER_FUNCTION) };
        budget.left -= share.left;
        let verdict = pair.explore(*place, &[*place], (&mut share, &mut *kept), &mut |before, after| {
            is_shown |= !after.is_bounded || !after.draws.is_empty();
            let (olds, news) = (given(before), given(after));
            // A fix adds operations, so the fixed program reaches the budget earlier.
            let length = if after.is_bounded { olds.len().min(news.len()) } else { olds.len() };
            let is_same = olds.get(..length) == news.get(..length) && (after.is_bounded || olds.len() == news.len());
            let refuted = || Comparison::Refuted("the edited program draws from different keys".to_owned());
            is_same.then_some(()).ok_or_else(refuted)
        });
        budget.left += share.left;
        if let Err(comparison) = verdict {
            return comparison;
        }
        if !is_shown {
            return Comparison::Inconclusive(NO_DRAW.to_owned());
        }
    }
    Comparison::Verified
}

/// The keys that were passed to calls that are known to take keys.
fn given(path: &Path) -> Vec<(DrawKind, Name, Vec<Vec<u32>>)> {
    let known = path.draws.iter().filter(|draw| draw.kind != DrawKind::Unresolved);
    known.map(|draw| (draw.kind, draw.callee.clone(), keys_of(draw, &path.symbols))).collect()
}

/// A program and its fixed version.
#[derive(Clone, Copy)]
struct Pair<'a, 'p> {
    original: &'p Project<'p>,
    patched: &'a Project<'a>,
    moved: MovedPlaces<'a>,
}

impl<'p> Pair<'_, 'p> {
    /// Runs the function around a place on paths of the original that lead to the targets, and compares each with those paths of the fixed
    /// program that make the same choices. Further choices of the fixed program are free.
    fn explore(
        self,
        place: Place,
        targets: &[Place],
        (budget, kept): (&mut Budget, &mut EntryStates<'p>),
        hold: &mut dyn FnMut(&Path, &Path) -> Result<(), Comparison>,
    ) -> Result<(), Comparison> {
        let Self { original, patched, moved } = self;
        let unknown = |why: &str| Comparison::Inconclusive(why.to_owned());
        let start = start_of(original, place).ok_or_else(|| unknown("the function is not part of the program"))?;
        let again = counterpart(original, patched, start)
            .ok_or_else(|| unknown("the edited program no longer has the function"))?;
        let hints = Rc::new(Hints::new(original, targets, targets));
        let targets_after: Vec<Place> = targets.iter().filter_map(|place| moved.place(*place)).collect();
        let hints_after = Rc::new(Hints::new(patched, &targets_after, &targets_after));
        let mut verdict = Ok(());
        let mut kept_after = EntryStates::default();
        explore((original, &hints), start, budget, kept, &mut |before| {
            let answers = Rc::new(RecordedChoices::new(&before.choices, moved));
            let mut standing = 0;
            let other = Some((&answers, before.level));
            let mut budget = Budget::ONE;
            explore_with((patched, &hints_after), again, other, &mut budget, &mut kept_after, &mut |after| {
                standing += 1;
                if after.is_bounded && before.is_bounded && after.draws.is_empty() {
                    return false;
                }
                verdict = hold(before, after).map_err(|comparison| match comparison {
                    // The edited program branched differently: this is not the same path, and refutes nothing.
                    Comparison::Refuted(_) if !after.choices.is_empty() || after.answered < answers.len() => unknown(
                        "a condition depends on what the edits change, so paths with and without them cannot be compared",
                    ),
                    comparison => comparison,
                });
                if verdict.is_ok() && standing > MOST_COUNTERPARTS {
                    verdict = Err(unknown(
                        "many conditions depend on what the edits change, so paths with and without them cannot be compared",
                    ));
                }
                verdict.is_err()
            });
            verdict.is_err()
        });
        verdict
    }
}

/// The same function in the fixed program: of its qualified name and, where several have that, its number among
/// them.
fn counterpart(original: &Project<'_>, patched: &Project<'_>, start: Start) -> Option<Start> {
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

/// Whether a draw is one that a fix must keep.
fn draws(draw: &Draw) -> bool {
    matches!(draw.kind, DrawKind::Sample | DrawKind::Consume)
}

/// Compares one path; whether it shows the claim.
fn compare_path(before: &Path, after: &Path, moved: MovedPlaces<'_>, entry: &Entry) -> Result<bool, Comparison> {
    // The number of lanes may be known in one of the programs only. Two lanes show whether they share a key.
    let of_lanes = entry.claim.as_ref().is_some_and(|claim| claim.sharing == Sharing::Lanes);
    let counts = |draw: &&Draw| draws(draw) && (!of_lanes || draw.lanes.iter().all(|lane| *lane < 2));
    let mut olds: Vec<&Draw> = before.draws.iter().filter(counts).collect();
    let mut news: Vec<&Draw> = after.draws.iter().filter(counts).collect();
    let mut reached = before.draws.len();
    if before.is_bounded && after.is_bounded {
        // What a fix adds makes a bound be reached earlier: the path is compared as far as both go.
        let length = olds.len().min(news.len());
        let cut = olds.get(length).and_then(|cut| before.draws.iter().position(|draw| std::ptr::eq(draw, *cut)));
        reached = cut.unwrap_or(reached);
        olds.truncate(length);
        news.truncate(length);
    }
    same_draws(&olds, &news, moved, None)?;
    for (old, new) in olds.iter().zip(&news) {
        if new.keys.is_empty() != old.keys.is_empty() {
            return Err(Comparison::Inconclusive("a draw no longer receives a key".to_owned()));
        }
    }
    // A fix derives new keys only from existing keys.
    if after.symbols.computed_keys() > before.symbols.computed_keys() {
        return Err(Comparison::Inconclusive("the edited program uses a computed value as a key".to_owned()));
    }
    let (old_keys, new_keys) = (all_keys(&olds, before), all_keys(&news, after));
    for second in 0..news.len() {
        for first in 0..second {
            let shares = |keys: &[Vec<Vec<u32>>]| keys[first].iter().any(|key| keys[second].contains(key));
            if !shares(&new_keys) {
                continue;
            }
            let Some(claim) = &entry.claim else {
                return Err(Comparison::Refuted("two draws of the edited program get the same key".to_owned()));
            };
            if !shares(&old_keys) {
                return Err(Comparison::Refuted("two draws that had different keys get the same key".to_owned()));
            }
            let is_claimed =
                frame_of(olds[first], &claim.first).is_some() && frame_of(olds[second], &claim.second).is_some();
            if is_claimed {
                return Err(Comparison::Refuted("the two draws still get one key".to_owned()));
            }
        }
    }
    Ok(entry.claim.as_ref().is_none_or(|claim| {
        let at = |way: &[Place]| before.draws.iter().take(reached).any(|draw| frame_of(draw, way).is_some());
        at(&claim.first) && at(&claim.second)
    }))
}

/// Whether the draws of a path are made again, one for one: by the same functions, with the same arguments, at the places to which the
/// edits move them.
fn same_draws(
    olds: &[&Draw],
    news: &[&Draw],
    moved: MovedPlaces<'_>,
    instead: Option<Replacement>,
) -> Result<(), Comparison> {
    if olds.len() != news.len() {
        let (old, new) = (olds.len(), news.len());
        return Err(Comparison::Refuted(format!("the edited program draws {new} times instead of {old}")));
    }
    for (old, new) in olds.iter().zip(news) {
        let place = old.way.last().and_then(|(place, _)| moved.place(*place));
        let Some(place) = place else {
            return Err(Comparison::Inconclusive("an edit replaces a call that draws".to_owned()));
        };
        let same_place = new.way.last().is_some_and(|(found, _)| *found == place);
        let exchanged = instead.is_some_and(|one| *old.callee == *one.gone && *new.callee == *one.successor);
        if !same_place || old.kind != new.kind || old.callee != new.callee && !exchanged {
            return Err(Comparison::Refuted("the edited program draws in a different order".to_owned()));
        }
        if !are_alike(old.numbers.as_ref(), new.numbers.as_ref()) && !exchanged {
            return Err(Comparison::Inconclusive("a draw has different arguments".to_owned()));
        }
    }
    Ok(())
}

/// Replays the function that contains `place` before and after a fix of what it draws from, which may not have been a key: on every
/// explored path the same functions draw with the same arguments at the same places in the same order, each with its own key.
pub fn compare_draws<'p>(
    (original, kept): (&'p Project<'p>, &mut EntryStates<'p>),
    patched: &Project<'_>,
    edits: &[Edit],
    place: Place,
    freedom: Freedom,
) -> Comparison {
    let instead = match freedom {
        Freedom::Successor(instead) => Some(instead),
        Freedom::None | Freedom::NewDraws => None,
    };
    let mut drawn = 0;
    let files = [(place.file, edits)];
    let pair = Pair { original, patched, moved: MovedPlaces { files: &files } };
    let verdict = pair.explore(place, &[place], (&mut Budget::ONE.clone(), kept), &mut |before, after| {
        // The fix may change the number of lanes, but not what each of them draws.
        let is_first = |draw: &&Draw| draws(draw) && draw.lanes.iter().all(|lane| *lane == 0);
        let mut olds: Vec<&Draw> = before.draws.iter().filter(is_first).collect();
        let mut news: Vec<&Draw> = after.draws.iter().filter(is_first).collect();
        // A call without a key drew nothing.
        let is_at = |draw: &Draw, place| draw.way.last().is_some_and(|(found, _)| *found == place);
        if let Some(there) = pair.moved.place(place).filter(|_| !olds.iter().any(|old| is_at(old, place))) {
            news.retain(|new| !is_at(new, there));
        }
        if freedom == Freedom::NewDraws {
            news.retain(|new| new.way.last().is_none_or(|(found, _)| !pair.moved.is_inserted(*found)));
        }
        match (before.is_bounded, after.is_bounded) {
            (false, false) => {}
            // What a fix adds makes a bound be reached earlier: the path is compared as far as both go.
            (true, true) => {
                let length = olds.len().min(news.len());
                olds.truncate(length);
                news.truncate(length);
            }
            _ => {
                return Err(Comparison::Inconclusive(
                    "one of the replays with and without the edits was cut off by a limit".to_owned(),
                ));
            }
        }
        same_draws(&olds, &news, pair.moved, instead)?;
        let all: Vec<&Draw> = after.draws.iter().filter(|draw| draws(draw)).collect();
        if all.iter().any(|draw| draw.keys.is_empty()) {
            return Err(Comparison::Inconclusive("a draw does not receive a key".to_owned()));
        }
        let mut keys: Vec<Vec<u32>> = all_keys(&all, after).into_iter().flatten().collect();
        drawn += keys.len();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        let shared = || Comparison::Inconclusive("two draws of the edited program get the same key".to_owned());
        (keys.len() == count).then_some(()).ok_or_else(shared)
    });
    match verdict {
        Err(verdict) => verdict,
        Ok(()) if drawn == 0 => Comparison::Inconclusive(NO_DRAW.to_owned()),
        Ok(()) => Comparison::Verified,
    }
}

fn all_keys(draws: &[&Draw], path: &Path) -> Vec<Vec<Vec<u32>>> {
    draws.iter().map(|draw| keys_of(draw, &path.symbols)).collect()
}
