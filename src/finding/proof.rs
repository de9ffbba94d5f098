//! What a finding claims in a form that can be replayed, what the replay showed, and how the misuse is fixed.
//!
//! **Invariant:** plain data, like the finding that carries it.

use serde::{Deserialize, Serialize};

use super::{Derivation, Place};
use crate::text::Edit;

/// How two consumptions share a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Sharing {
    /// Two consumptions at `first` and `second` (which may be one place, reached by two calls) get equal keys.
    Twice,
    /// A later iteration of a loop gives the consumption at `second` a key that an earlier one consumed.
    Iteration,
    /// All lanes of a mapped function give the consumption at `second` one key.
    Lanes,
}

/// Two consumptions that are claimed to get equal keys.
///
/// A consumption is identified by the calls that lead to it: from the reporting frame's own call to the consuming call itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Evidence {
    /// How the key is shared.
    pub sharing: Sharing,
    /// The way to the earlier consumption: at least one place, outermost first.
    pub first: Vec<Place>,
    /// The way to the later consumption.
    pub second: Vec<Place>,
    /// Whether both consumptions draw numbers by calling functions of the library itself.
    pub draws_numbers: bool,
    /// Whether the second one is a split, of a key that the first consumed.
    pub ends_in_split: bool,
    /// Whether the result of one of them is not followed to its end.
    pub is_open: bool,
}

/// What an operation reaches of a key's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferPart {
    /// A new key is made from one of its words.
    Seed,
    /// One of its words is taken.
    Word,
    /// Its words are unpacked.
    Words,
    /// It is an operand of arithmetic.
    Sum,
    /// The axis of its words is mapped over or moved.
    Axis,
}

/// An operation on a key's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferAccess {
    /// What it reaches.
    pub what: BufferPart,
    /// How the key was derived: `key(0)`, `split(key(0))[1]`, or the name under which it came from somewhere else.
    pub derivation: Derivation,
}

/// What a fix needs to know about a finding besides its places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixHints {
    /// The keys of the earlier and the later consuming call, as written, if they are names or attribute chains.
    pub written: [Option<String>; 2],
    /// The two calls that derived equal keys, where they are two (seeds, folds).
    pub derived_at: Option<(Place, Place)>,
    /// The loop or the loop-like call that repeats a consumption.
    pub repeated_by: Option<Place>,
    /// Whether the two keys have one seed, which is often intended to make two things equal.
    pub is_seeded_alike: bool,
    /// A sister of the key, or a parameter, that nothing uses, and so was probably intended.
    pub unused: Option<String>,
    /// The only consumption that the finding is about, in its own frame.
    pub used_at: Option<Place>,
    /// The class whose object takes the place of a key: its name, and where it is defined.
    pub wrapper: Option<(String, Place)>,
    /// The implementation to name where the program left it to the default.
    pub implementation: Option<String>,
    /// Whether the operation raises for raw keys as well as for typed ones, so that the words of the key do not help.
    pub always_raises: bool,
}

/// The verdict of a replay on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WitnessStatus {
    /// An explored path reaches both consumptions with equal key data.
    Confirmed,
    /// Every path was explored, nothing in the derivation of the keys was unknown, and no two keys were equal.
    Refuted,
    /// Neither.
    Inconclusive,
    /// Replays were switched off.
    NotRun,
}

/// Why a replay was inconclusive. Ordered by how far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inconclusive {
    /// keylint itself failed.
    Failed,
    /// Earlier claims had used up the budget for the replays of the file.
    NoBudget,
    /// No run reached either consumption.
    NeitherReached,
    /// Runs reached only the later consumption.
    FirstNotReached,
    /// Runs reached only the earlier consumption.
    SecondNotReached,
    /// Each was reached, but no run reached both in the claimed order.
    NeverBoth,
    /// A run reached both, in two executions of the frame that makes the claim.
    OtherExecutions,
    /// A run reached both, and one of them got something that is not a key.
    NoKeys,
    /// All runs that reached both gave them different keys.
    KeysDiffer,
    /// In all runs in which both get one key, one of them is a call of unknown code, which may not consume it.
    CallUnknown,
}

/// One consumption of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// The call, in the frame that the finding is reported in.
    pub place: Place,
    /// The words of its key.
    pub key_data: Vec<u32>,
}

/// What a replay showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// Whether it confirms the finding.
    pub status: WitnessStatus,
    /// The two consumptions that got equal keys, or the keys of a raw-buffer collision; empty unless confirmed.
    pub draws: Vec<Draw>,
    /// What it shows, in a sentence for people; empty unless confirmed.
    pub sentence: String,
    /// Why it shows nothing; `None` unless inconclusive.
    pub gap: Option<Inconclusive>,
}

impl Witness {
    /// An inconclusive replay.
    pub fn open(gap: Inconclusive) -> Self {
        Self { gap: Some(gap), ..Self::silent(WitnessStatus::Inconclusive) }
    }

    /// A replay with nothing to show.
    pub fn silent(status: WitnessStatus) -> Self {
        Self { status, draws: Vec::new(), sentence: String::new(), gap: None }
    }
}

/// Who may apply a fix. Ordered: `Display < Unsafe < Safe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Applicability {
    /// The user, by hand: shown, never applied.
    Display,
    /// `--unsafe-fixes`: numbers, shapes or checkpoints change, as they must when a reuse is fixed.
    Unsafe,
    /// `--fix`: nothing that can be observed changes.
    Safe,
}

/// What the replay of the fixed program showed. A refuted fix is withheld, so it has no variant here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The finding is gone, there is no new one, and the same draws are made, each with its own key.
    Verified,
    /// The replay could not decide.
    Inconclusive,
    /// Replays were switched off.
    NotRun,
}

/// A fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// The effect of the fix, as an imperative without full stop; it says if numbers change.
    pub message: String,
    /// Who may apply it.
    pub applicability: Applicability,
    /// What its replay showed.
    pub verdict: Verdict,
    /// Why it is not verified: lower case, no full stop; `None` if it is.
    pub reason: Option<String>,
    /// Sorted edits of the finding's file that do not overlap.
    pub edits: Vec<Edit>,
}
