//! Checks claims against runs: whether two consumptions get equal keys, and how that is shown.
//!
//! **Invariant:** *confirmed* rests on two draws of one path with equal key data; *refuted* on all paths, without anything
//! unknown on the way of the keys.

use std::rc::Rc;

use super::budget::FIRST_LOOK;
use super::callers;
use super::consistency::is_consistent;
use super::constants::are_alike;
use super::hints::Hints;
use super::keys::PLACEHOLDER;
use super::machine::Draw;
use super::numbers::drawn;
use super::search::{EntryStates, Path, Start, explore, start_of};
use super::symbol::Symbols;
use super::{Budget, DrawKind, Project};
use crate::finding::{self, Evidence, Inconclusive, Place, Sharing, Witness, WitnessStatus};

/// How many numbers are shown.
const SHOWN: usize = 3;

/// Most functions that are run for one claim.
const STARTS: usize = 4;

/// Most callers of the frame that are run for one claim, while as much is left as a first look may cost.
const CALLERS: usize = 3;

/// The fraction of an attempt's budget that is reserved for callers.
const CALLERS_SHARE: u32 = 4;

/// Two draws that get one key.
struct Pair {
    first: usize,
    second: usize,
    key: Vec<u32>,
}

/// Replays the claim of a finding. `around` are further places of the finding, which may contain a loop or transform that runs the frame in
/// question; `kept` are states of earlier replays of the program.
pub fn witness<'p>(
    project: &'p Project<'p>,
    evidence: &Evidence,
    around: &[Place],
    budget: &mut Budget,
    kept: &mut EntryStates<'p>,
) -> Witness {
    if budget.left == 0 {
        return Witness::open(Inconclusive::NoBudget);
    }
    let targets: Vec<Place> = evidence.first.iter().chain(&evidence.second).copied().collect();
    // The frame of a claim may be the body of a loop or transform elsewhere.
    let around = if evidence.sharing == Sharing::Twice { &[] } else { around };
    let mut starts = Vec::new();
    for place in evidence.first.iter().take(1).chain(around) {
        let start = start_of(project, *place);
        starts.extend(start.filter(|start| !starts.contains(start)));
    }
    let all: Vec<Place> = targets.iter().chain(around).copied().collect();
    let hints = Rc::new(Hints::new(project, &targets, &all));
    let mut furthest = Inconclusive::NeitherReached;
    // The frame of a claim may only refute it for one call of its own: code that repeats or calls it is run as well.
    let (mut refuted, mut is_open) = (None, false);
    for (index, start) in starts.into_iter().take(STARTS).enumerate() {
        // Those who call the function have a share in what a look may cost.
        let mut part = budget.part(budget.left - budget.left / CALLERS_SHARE);
        let witness = witness_from((project, &hints), evidence, start, &mut part, kept);
        budget.release(part);
        match (witness.status, witness.gap) {
            (WitnessStatus::Confirmed, _) => return witness,
            (WitnessStatus::Refuted, _) if index == 0 => refuted = Some(witness),
            (WitnessStatus::Refuted, _) => furthest = furthest.max(Inconclusive::KeysDiffer),
            (_, gap) => {
                let gap = gap.unwrap_or(Inconclusive::KeysDiffer);
                is_open |= index > 0 && gap > Inconclusive::NeverBoth;
                furthest = furthest.max(gap);
            }
        }
    }
    // Callers may know the arguments of the frame.
    let frame = evidence.first.first().and_then(|place| start_of(project, *place));
    for (caller, place) in
        frame.map(|frame| callers::callers(project, frame)).unwrap_or_default().into_iter().take(CALLERS)
    {
        if budget.left < FIRST_LOOK {
            break;
        }
        let all: Vec<Place> = all.iter().copied().chain([place]).collect();
        let hints = Rc::new(Hints::new(project, &targets, &all));
        let witness = witness_from((project, &hints), evidence, caller, budget, kept);
        match witness.status {
            WitnessStatus::Confirmed => return witness,
            _ => furthest = furthest.max(witness.gap.unwrap_or(Inconclusive::KeysDiffer)),
        }
    }
    refuted.filter(|_| !is_open).unwrap_or_else(|| Witness::open(furthest))
}

fn witness_from<'p>(
    (project, hints): (&'p Project<'p>, &Rc<Hints>),
    evidence: &Evidence,
    start: Start,
    budget: &mut Budget,
    kept: &mut EntryStates<'p>,
) -> Witness {
    let mut found = None;
    let mut seen = Seen::default();
    let is_complete = explore((project, hints), start, budget, kept, &mut |path| {
        if let Some(pair) = equal_pair(path, evidence) {
            // No values take this path, so it proves nothing.
            if !is_consistent(&path.symbols) {
                return false;
            }
            if [pair.first, pair.second].iter().any(|draw| path.draws[*draw].kind == DrawKind::Unresolved) {
                seen.add(path, evidence);
                (seen.both, seen.unknown) = (Some(Inconclusive::CallUnknown), true);
                return false;
            }
            found = Some(witness_of(path, evidence, &pair));
            return true;
        }
        seen.add(path, evidence);
        false
    });
    match found {
        Some(found) => found,
        None if is_complete && seen.refutes() => Witness::silent(WitnessStatus::Refuted),
        None => Witness::open(seen.gap()),
    }
}

/// The results of runs that do not show a claim.
#[derive(Default)]
struct Seen {
    first: bool,
    second: bool,
    /// How far runs got that reached both.
    both: Option<Inconclusive>,
    /// Whether something at one of them was unknown.
    unknown: bool,
}

impl Seen {
    fn add(&mut self, path: &Path, evidence: &Evidence) {
        let (firsts, seconds) = (draws_at(path, &evidence.first), draws_at(path, &evidence.second));
        self.first |= !firsts.is_empty();
        self.second |= !seconds.is_empty();
        let mut at_either = firsts.iter().chain(&seconds).filter_map(|(index, _)| path.draws.get(*index));
        self.unknown |= at_either.any(|draw| !draw.is_known || !draw.maybe.is_empty() || draw.keys.is_empty());
        let has_keys = |draw: &Draw| !keys_of(draw, &path.symbols).is_empty();
        for (second, second_frame) in &seconds {
            for (first, first_frame) in firsts.iter().filter(|(first, _)| first < second) {
                let (earlier, later) = (&path.draws[*first], &path.draws[*second]);
                let gap = if !is_claimed(evidence.sharing, (earlier, *first_frame), (later, *second_frame)) {
                    Inconclusive::OtherExecutions
                } else if has_keys(earlier) && has_keys(later) {
                    Inconclusive::KeysDiffer
                } else {
                    Inconclusive::NoKeys
                };
                self.both = self.both.max(Some(gap));
            }
        }
    }

    /// Whether runs of all paths that saw this refute the claim.
    fn refutes(&self) -> bool {
        self.both.is_some() && !self.unknown
    }

    fn gap(&self) -> Inconclusive {
        match self {
            Self { both: Some(gap), .. } => *gap,
            Self { first: true, second: true, .. } => Inconclusive::NeverBoth,
            Self { first: true, .. } => Inconclusive::SecondNotReached,
            Self { second: true, .. } => Inconclusive::FirstNotReached,
            _ => Inconclusive::NeitherReached,
        }
    }
}

/// The part of a draw's call chain that starts in the frame of the claim; `None` if the draw is not at this place.
pub(super) fn frame_of(draw: &Draw, way: &[Place]) -> Option<usize> {
    let (first, leaf) = (way.first()?, way.last()?);
    if draw.way.last().is_none_or(|(place, _)| place != leaf) {
        return None;
    }
    draw.way.iter().rposition(|(place, _)| place == first)
}

/// The keys of a draw, including those passed to an unresolved call.
pub(super) fn keys_of(draw: &Draw, symbols: &Symbols) -> Vec<Vec<u32>> {
    let mut keys = draw.keys.clone();
    for symbol in &draw.maybe {
        keys.extend(symbols.known_key(*symbol).map(|number| vec![PLACEHOLDER, number]));
    }
    keys
}

/// The draws of a path at a place, up to a bound, each with the part of its call chain that starts in the frame of the claim.
fn draws_at(path: &Path, way: &[Place]) -> Vec<(usize, usize)> {
    let draws = path.draws.iter().enumerate();
    draws.filter_map(|(index, draw)| Some((index, frame_of(draw, way)?))).take(512).collect()
}

/// Whether two draws are related as the claim says.
fn is_claimed(sharing: Sharing, (earlier, first): (&Draw, usize), (later, second): (&Draw, usize)) -> bool {
    match sharing {
        Sharing::Twice => earlier.way[first].1 == later.way[second].1,
        Sharing::Iteration => true,
        Sharing::Lanes => earlier.lanes != later.lanes,
    }
}

fn equal_pair(path: &Path, evidence: &Evidence) -> Option<Pair> {
    let (firsts, seconds) = (draws_at(path, &evidence.first), draws_at(path, &evidence.second));
    for (second, second_frame) in &seconds {
        let later = &path.draws[*second];
        let keys = keys_of(later, &path.symbols);
        // One call that gets one key twice.
        let twice = keys.iter().enumerate().find(|(index, key)| keys[..*index].contains(key));
        if evidence.sharing == Sharing::Twice
            && evidence.first == evidence.second
            && let Some((_, key)) = twice
        {
            return Some(Pair { first: *second, second: *second, key: key.clone() });
        }
        for (first, first_frame) in firsts.iter().filter(|(first, _)| first < second) {
            let earlier = &path.draws[*first];
            let fits = is_claimed(evidence.sharing, (earlier, *first_frame), (later, *second_frame));
            if !fits {
                continue;
            }
            let shared = keys_of(earlier, &path.symbols).into_iter().find(|key| keys.contains(key));
            if let Some(key) = shared {
                return Some(Pair { first: *first, second: *second, key });
            }
        }
    }
    None
}

fn witness_of(path: &Path, evidence: &Evidence, pair: &Pair) -> Witness {
    let (first, second) = (&path.draws[pair.first], &path.draws[pair.second]);
    let place = |draw: &Draw, way: &[Place]| {
        let frame = frame_of(draw, way).and_then(|frame| draw.way.get(frame));
        frame.or(draw.way.last()).map(|(place, _)| *place)
    };
    let draws = [place(first, &evidence.first), place(second, &evidence.second)]
        .into_iter()
        .flatten()
        .map(|place| finding::Draw { place, key_data: pair.key.clone() })
        .collect();
    Witness { draws, sentence: sentence(path, evidence, pair), ..Witness::silent(WitnessStatus::Confirmed) }
}

fn sentence(path: &Path, evidence: &Evidence, pair: &Pair) -> String {
    let (first, second) = (&path.draws[pair.first], &path.draws[pair.second]);
    let key = words(&pair.key);
    let both = match evidence.sharing {
        Sharing::Twice => "both calls",
        Sharing::Iteration => "two iterations",
        Sharing::Lanes => "two batch elements",
    };
    let placeholder = match &pair.key[..] {
        [PLACEHOLDER, number] => path.symbols.of_key(*number),
        _ => None,
    };
    let mut text = match placeholder {
        Some(symbol) => {
            let written = path.symbols.written(symbol);
            let whose = written.map_or_else(|| "key".to_owned(), |name| format!("`{}`", name.replace('\'', "\"")));
            format!("verified by replay with a made-up {whose} = {key}: {both} receive the same key")
        }
        None if first.is_known && second.is_known => format!("verified by replay: {both} receive the key {key}"),
        None => format!("verified by replay with made-up values for unknowns: {both} receive the key {key}"),
    };
    if evidence.draws_numbers
        && let Some(numbers) = numbers(first, second, &pair.key)
    {
        text.push_str("; ");
        text.push_str(&numbers);
    }
    text
}

/// What both draws give, at first if it is much, where both are the same sampler of the library with the same parameters.
fn numbers(first: &Draw, second: &Draw, key: &[u32]) -> Option<String> {
    let is_same = first.kind == DrawKind::Sample
        && second.kind == DrawKind::Sample
        && first.callee == second.callee
        && first.keys.len() == 1
        && second.keys.len() == 1;
    let rest = first.numbers.as_ref().filter(|_| is_same)?;
    let function =
        first.callee.strip_prefix("jax.random.").filter(|_| are_alike(Some(rest), second.numbers.as_ref()))?;
    let numbers = drawn(function, key, rest, SHOWN + 1)?;
    let shown = numbers.get(..SHOWN.min(numbers.len())).filter(|shown| !shown.is_empty())?.join(", ");
    Some(if numbers.len() > SHOWN { format!("both start with {shown}, …") } else { format!("both draw {shown}") })
}

/// The words of a key as Python writes them.
fn words(key: &[u32]) -> String {
    let words: Vec<String> = key.iter().map(ToString::to_string).collect();
    format!("[{}]", words.join(", "))
}
