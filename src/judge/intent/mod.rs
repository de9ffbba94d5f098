//! Is a reuse intended?
//!
//! Each reason is a function of a recording and two consumptions, in its own file, and returns an [`Intent`] that names its evidence. The
//! tables below list which reasons apply to which kind of reuse, in order of preference.
//!
//! **Invariant:** each result depends on what was consumed and how, and on names of the program only if `models/words.toml` lists them. An
//! intended reuse is still reported, as a note.

mod aligned_rows;
mod compared_results;
pub mod default_key;
pub mod demonstration;
pub mod documented;
pub mod evaluation;
pub mod gap;
pub mod lanes;
mod masks;
pub mod notebook;
mod other_children;
mod pair;
mod paired_calls;
pub mod placeholder;
pub mod repeated_evaluation;
mod replaced_parts;
pub mod said_so;
pub mod separate;
mod sweep;
mod target_copy;
pub mod timing;

pub use pair::Pair;

use crate::analysis::record::Recording;
use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind};
use crate::judge::consequence::{Flows, alternatives};
use crate::judge::facts::{ReuseKind, Role, Use};
use crate::judge::intent::pair::{Calls, because, calls_apart};

/// A reason why two consumptions may be intended to share a key.
type Reason = fn(&Recording<'_>, &Pair<'_>) -> Option<Intent>;

/// Two draws that must be equal for their purpose, or of which only one matters.
const PAIRED: [Reason; 4] = [timing::warm_up, masks::masked, target_copy::target_copy, paired_calls::paired_gradients];

/// The reason if two draws are the sides of one choice.
const ALTERNATIVES: &str = "each element uses only one of the two draws";

/// Why two consumptions of one key are probably intended, if they are: as the code is written, by which parts of the
/// draws it uses, or because both start computations whose results never meet.
pub fn of(flows: &Flows<'_>, kind: ReuseKind, pair: &Pair<'_>, consequence: &Consequence) -> Option<Intent> {
    let is_repeated = || {
        let is_met = |calls: &Calls<'_>| match consequence.kind {
            ConsequenceKind::Meet => true,
            ConsequenceKind::Returned => calls.are_combined(),
            _ => false,
        };
        let calls = calls_apart(flows.run, pair, 1).filter(is_met);
        calls.is_some_and(|calls| calls.once != calls.again && calls.run_one_function(flows.run))
    };
    as_written(flows.run, kind, pair)
        // What two calls of one function draw by default is not intended to meet.
        .filter(|intent| {
            !(intent.kind == IntentKind::DocumentedDefault && kind == ReuseKind::SeededTwice && is_repeated())
        })
        .or_else(|| compared_results::compared_results(flows, kind, pair))
        .or_else(|| aligned_rows::aligned_positions(flows, pair))
        .or_else(|| repeated_evaluation::evaluated_twice(flows, kind, pair, consequence))
        .or_else(|| placeholder::placeholder(flows.run, kind, pair, consequence))
        .or_else(|| in_parts(flows, kind, pair))
        .or_else(|| match kind {
            ReuseKind::Iterated => repeated_evaluation::repeated_evaluation(flows, pair, consequence),
            _ => None,
        })
        .or_else(|| replaced_parts::replaced_parts(flows, kind, pair))
        .or_else(|| separate::separate_runs(flows, kind, pair, consequence))
}

fn as_written(run: &Recording<'_>, kind: ReuseKind, pair: &Pair<'_>) -> Option<Intent> {
    let groups: &[&[Reason]] = match kind {
        ReuseKind::SplitTwice => &[&PAIRED],
        // A function that folds is called twice.
        ReuseKind::FoldedTwice if pair.first.place == pair.second.place => &[&PAIRED],
        ReuseKind::SeededTwice => &[&[default_key::documented_default, timing::run_again, target_copy::target_copy]],
        ReuseKind::Sampled => &[&[aligned_rows::aligned_rows], &PAIRED],
        ReuseKind::Iterated => &[
            &[aligned_rows::aligned_rows, sweep::seed_sweep, sweep::methods_compared],
            &PAIRED,
            &[default_key::both_fallbacks],
        ],
        ReuseKind::SplitAndSampled | ReuseKind::FoldedTwice | ReuseKind::FoldMeetsChild | ReuseKind::FoldAndSampled => {
            &[]
        }
    };
    let reasons = groups.iter().copied().flatten();
    reasons.into_iter().find_map(|reason| reason(run, pair))
}

/// Why both draws are intended, if the code uses different parts of them.
fn in_parts(flows: &Flows<'_>, kind: ReuseKind, pair: &Pair<'_>) -> Option<Intent> {
    let are_sides = || {
        let place = alternatives(flows, pair.reuse.first, pair.reuse.second)?;
        Some(Intent::because(IntentKind::DisjointParts, ALTERNATIVES, Some(place)))
    };
    match kind {
        ReuseKind::SplitTwice => other_children::of_two_splits(flows, pair).or_else(are_sides),
        ReuseKind::Iterated => other_children::of_iterations(flows, pair).or_else(are_sides),
        ReuseKind::Sampled | ReuseKind::SplitAndSampled | ReuseKind::SeededTwice => are_sides(),
        ReuseKind::FoldedTwice | ReuseKind::FoldMeetsChild | ReuseKind::FoldAndSampled => None,
    }
}

/// Why a function that captures a key probably starts from it in each call on purpose, if it does not sample from the
/// key itself: it splits the key or passes it on, usually to evaluate something in the same way each time.
pub fn of_captured(used: &Use) -> Option<Intent> {
    let reason = "each call starts a computation from the captured key";
    (used.role != Role::Sample).then(|| because(IntentKind::SeparateRuns, reason, used.place))
}
