//! The replay: a concrete interpreter of the IR on the reference PRNG, which verifies findings and fixes.
//!
//! * [`witness`] replays the lowest frame that holds both consumptions of an [`Evidence`] and says whether they are given
//!   equal keys on some path.
//! * [`trace`] replays a function and gives the sequence of its draws on every explored path.
//! * [`compare()`] replays a function before and after a fix, on the same paths, and says whether the fixed program
//!   makes the same draws at the same places in the same order, each with a key of its own; [`compare_keys`] and
//!   [`compare_draws`] do so for fixes that leave all keys as they are, and for those of draws from what was no key.
//!
//! An unknown value is a *symbol*, identified by its origin, so that one flag read twice is one symbol. A query about a symbol is a
//! *choice*; the choices of a run determine its path, and paths that lead to the target places are searched first. A symbol becomes a key
//! or a number only when one is needed: the same symbol always becomes the same one, and two symbols become two.
//!
//! **Invariant:** total. No program makes the replay panic or run forever: paths, steps, depth of calls and iterations of unknown number
//! are bounded, the bounds are counts, and if one is reached nothing is refuted.

mod access;
mod annotated;
mod budget;
mod builtin;
mod call;
mod callers;
mod claim;
mod compare;
mod consistency;
mod constants;
mod copy;
mod edits;
mod frame;
mod havoc;
mod hints;
mod iterable;
mod iterate;
mod keys;
mod library;
mod machine;
mod methods;
mod numbers;
mod prelude;
mod project;
mod search;
mod shape;
mod step;
mod stored;
mod symbol;
mod transform;
mod value;

pub use budget::Budget;
pub use claim::witness;
pub use compare::{NO_DRAW, compare, compare_draws, compare_keys};
pub use edits::FileEdits;
pub use numbers::{Answer, Problem, Settings};
pub(in crate::verify) use numbers::{Operand, calculated, evaluate as compute};
pub use project::Project;
pub use search::{EntryStates, TwicePath, explored_twice};

use std::rc::Rc;

use crate::finding::{Evidence, Place};

/// What a draw of a trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DrawKind {
    /// A sampler of the library draws numbers.
    Sample,
    /// A library function or method that is modelled as consuming its key.
    Consume,
    /// `split`.
    Split,
    /// `fold_in`, which derives and does not consume.
    Fold,
    /// A call of something unknown, which may consume.
    Unresolved,
}

/// A key passed to a function that consumes or derives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedDraw {
    /// What it is.
    pub kind: DrawKind,
    /// The calls that lead to it, outermost first; the last is the consuming call itself.
    pub way: Vec<Place>,
    /// What consumes: a qualified name.
    pub callee: String,
    /// The words of each key that was passed: one, or those of a key array.
    pub keys: Vec<Vec<u32>>,
}

/// One explored path of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The choices for symbols, in order.
    pub choices: Vec<u8>,
    /// The calls that got keys, in execution order.
    pub draws: Vec<TracedDraw>,
}

/// The explored paths of a function, the likeliest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// The paths.
    pub paths: Vec<Trace>,
    /// Whether these are all paths and no bound was reached on them.
    pub is_complete: bool,
}

/// Where a replay starts.
#[derive(Clone, Debug)]
pub struct Entry {
    /// A place in the program *before* the fix: the function that holds it is run, or else the module's body.
    pub place: Place,
    /// The claim that the fix resolves. With a claim, its two consumptions must end up with different keys and no further draws may get
    /// equal keys; without one, all draws must have different keys.
    pub claim: Option<Evidence>,
}

/// The verdict of two replays on a fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// On every explored path the same draws are made at the same places in the same order, each with its own key.
    Verified,
    /// On some path they are not: why, as part of a sentence.
    Refuted(String),
    /// The replays could not decide; the reason, as part of a sentence.
    Inconclusive(String),
}

/// A function that draws in place of a removed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The path of the removed one.
    pub gone: &'static str,
    /// The path of the one that replaces it.
    pub successor: &'static str,
}

/// What a fix may change about draws besides their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freedom {
    /// Nothing.
    None,
    /// The function that draws.
    Successor(Replacement),
    /// Their number: what the edits insert may draw as well.
    NewDraws,
}

/// Replays the function that holds `place` on all paths that the bounds allow.
pub fn trace(project: &Project<'_>, place: Place) -> Traces {
    let Some(start) = search::start_of(project, place) else { return Traces::default() };
    let (hints, mut traces) = (Rc::default(), Traces::default());
    traces.is_complete =
        search::explore((project, &hints), start, &mut Budget::ONE.clone(), &mut EntryStates::default(), &mut |path| {
            let draws = path.draws.iter().map(|draw| TracedDraw {
                kind: draw.kind,
                way: draw.way.iter().map(|(place, _)| *place).collect(),
                callee: draw.callee.to_string(),
                keys: claim::keys_of(draw, &path.symbols),
            });
            let choices = path.choices.iter().map(|choice| choice.value).collect();
            traces.paths.push(Trace { choices, draws: draws.collect() });
            false
        });
    traces
}
