//! The replay: a concrete interpreter of the IR on the reference PRNG, which bears findings and fixes out.
//!
//! * [`witness`] replays the lowest frame that holds both consumptions of an [`Evidence`] and says whether they are given
//!   equal keys on some path.
//! * [`trace`] replays a function and gives the sequence of its draws on every explored path.
//! * [`compare()`] replays a function before and after a repair, on the same paths, and says whether the repaired program
//!   makes the same draws at the same places in the same order, each with a key of its own; [`compare_keys`] and
//!   [`compare_draws`] do so for repairs that leave all keys as they are, and for those of draws from what was no key.
//!
//! What is not known of the program is a *symbol*: it is identified by where it came from, so that one flag read twice is one
//! symbol. A question about a symbol is a *choice*; what a run chooses decides its path, and the paths are searched with
//! those first that lead to the places in question. A symbol becomes a key or a number only where one is demanded: the
//! same symbol always the same one, two symbols two.
//!
//! **Invariant:** total. No program makes the replay panic or run on: paths, steps, depth of calls and iterations of what
//! cannot be counted are bounded, the bounds are counts, and where one is met nothing is refuted.

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
pub use compare::{compare, compare_draws, compare_keys};
pub use edits::FileEdits;
pub use numbers::{Answer, Problem, Settings};
pub(in crate::verify) use numbers::{Operand, calculated, evaluate as compute};
pub use project::Project;

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
    /// What was chosen for the symbols that were asked, in the order in which they were asked first.
    pub choices: Vec<u8>,
    /// What was given keys, in execution order.
    pub draws: Vec<TracedDraw>,
}

/// The explored paths of a function, the likeliest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// The paths.
    pub paths: Vec<Trace>,
    /// Whether these are all paths there are and no bound was met on them.
    pub is_complete: bool,
}

/// Where a replay starts.
#[derive(Clone, Debug)]
pub struct Entry {
    /// A place in the program *before* the repair: the function that holds it is run, or else the module's body.
    pub place: Place,
    /// The claim that the repair answers. With one, its two consumptions must end up with different keys and no further
    /// draws may get equal keys; without, all draws must have keys of their own.
    pub claim: Option<Evidence>,
}

/// What two replays say of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// On every explored path the same draws are made at the same places in the same order, each with a key of its own.
    Verified,
    /// On some path they are not: why, as part of a sentence.
    Refuted(String),
    /// The replays could not tell: why, as part of a sentence.
    Inconclusive(String),
}

/// A function that draws in place of one that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instead {
    /// The path of the one that is gone.
    pub gone: &'static str,
    /// The path of the one that replaces it.
    pub successor: &'static str,
}

/// Replays the function that holds `place` on all paths that the bounds allow.
pub fn trace(project: &Project<'_>, place: Place) -> Traces {
    let Some(start) = search::start_of(project, place) else { return Traces::default() };
    let mut traces = Traces::default();
    traces.is_complete =
        search::explore(project, &hints::Hints::default(), start, &mut Budget::ONE.clone(), &mut |path| {
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
