//! Why a finding that is true is only a note, and what becomes of two draws.
//!
//! **Invariant:** plain data with evidence: whoever reads an intent or a consequence never has to judge it again.

use std::fmt;

use super::Place;

/// Why the program probably means what a finding reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Which reason it is.
    pub kind: IntentKind,
    /// The reason in a sentence: lower case, no full stop. [`IntentKind::reason`] unless the judge can be more specific.
    pub reason: String,
    /// The evidence, where it is one place in the program.
    pub place: Option<Place>,
}

impl Intent {
    /// An intent that says no more than its kind does.
    pub fn new(kind: IntentKind, place: Option<Place>) -> Self {
        Self { kind, reason: kind.reason().to_owned(), place }
    }
}

/// What becomes of the two draws of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consequence {
    /// Which fate it is.
    pub kind: ConsequenceKind,
    /// It in a sentence: lower case, no full stop.
    pub message: String,
    /// Where it happens.
    pub place: Option<Place>,
}

/// Makes an enumeration whose members have a kebab-case name and a sentence.
macro_rules! kinds {
    ($(#[$about:meta])* $kinds:ident, $text:ident, $(#[$said:meta])* { $($(#[$doc:meta])* $kind:ident $name:literal $sentence:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kinds {
            $($(#[$doc])* $kind,)*
        }

        impl $kinds {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The name in machine formats.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            $(#[$said])*
            pub const fn $text(self) -> &'static str {
                match self {
                    $(Self::$kind => $sentence,)*
                }
            }
        }

        impl fmt::Display for $kinds {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

kinds! {
    /// Why two draws, or a derivation, are probably meant as they are.
    IntentKind, reason,
    /// The reason in a sentence: lower case, no full stop.
    {
        /// The module is a test: what is shared there is shared to be compared.
        TestCode "test-code" "in a test, draws share a key so that their results can be compared",
        /// One of the runs is only timed or warms up the compiler.
        Timed "timed" "one of the two runs is only timed, or warms up the compiler",
        /// A function measures how long each of the runs takes.
        Measured "measured" "a function measures how long each of these runs takes",
        /// The first of two identical calls is made for nothing.
        WarmUp "warm-up" "the first of two identical calls is a warm-up whose result is not used",
        /// Two arrays are arranged by one key, so that their rows stay together.
        AlignedRows "aligned-rows" "one key reorders two arrays so that their rows stay aligned",
        /// A function and its inverse.
        Inverse "inverse" "the second function undoes the first and needs the same numbers",
        /// Two sides of one choice.
        Alternatives "alternatives" "each element uses only one of the two draws",
        /// A loss and its gradients.
        PairedGradients "paired-gradients" "a loss and its gradients are taken under the same draw",
        /// A network and its target copy.
        TargetCopy "target-copy" "both draws initialise a network and its target copy",
        /// One set of options goes to two calls of one function.
        SharedOptions "shared-options" "both calls receive the same options, including the key",
        /// Each key only stands in where the caller gives none.
        StandIn "stand-in" "each key is only a fallback for callers that pass none",
        /// A documented default: `seed=0`, a fallback seed.
        DocumentedDefault "documented-default" "the seed is a default value",
        /// Each iteration of an outer loop goes through the seeds of an inner one.
        SeedSweep "seed-sweep" "each iteration loops over the same list of seeds",
        /// Cells of a notebook each start from the same seed.
        SeparateCells "separate-cells" "each cell of the notebook starts again from the same seed",
        /// A loop compares settings under one key.
        Sweep "sweep" "the loop compares settings under the same key",
        /// The call is there to raise.
        ExpectedError "expected-error" "one of the calls is expected to raise",
        /// No key is asked of a stream.
        UnusedStream "unused-stream" "no key is requested from one of the streams",
        /// Different children of two equal splits are used.
        DisjointChildren "disjoint-children" "the code uses different children of the two splits",
        /// Only one lane of a mapped draw is used.
        OneLane "one-lane" "only one lane of the mapped result is used",
        /// The mapped function makes a key for each lane where the lanes are to differ.
        PerLane "per-lane" "the mapped function derives a key for each lane where the lanes should differ",
        /// The program says so in a comment or a name.
        SaidSo "said-so" "a comment or a name says that the key is shared on purpose",
    }
}

impl IntentKind {
    /// Whether a reuse with this intent is a note. The other kinds say that a consumption serves no numbers, so that it is doubtful
    /// whether there is a reuse at all: that lowers its confidence.
    pub const fn excuses(self) -> bool {
        !matches!(self, Self::ExpectedError | Self::UnusedStream)
    }
}

kinds! {
    /// What becomes of two draws from one key.
    ConsequenceKind, sentence,
    /// The consequence in a sentence: lower case, no full stop.
    {
        /// Both go into one value.
        Meet "meet" "both draws go into one value",
        /// Both are returned.
        Returned "returned" "both draws are returned",
        /// Both are stored.
        Stored "stored" "both draws are stored",
        /// Both leave the analysed code.
        Escapes "escapes" "both draws leave the analysed code",
        /// They are only compared.
        Compared "compared" "the draws are only compared",
        /// They are only timed.
        Timed "timed" "the draws are only timed",
        /// Only a shape or a structure is used.
        ShapeOnly "shape-only" "only the shape of a draw is used",
        /// Nothing observes one of them.
        Unobserved "unobserved" "nothing observes one of the draws",
    }
}

impl ConsequenceKind {
    /// Whether nobody sees the numbers of both draws, so that it makes no difference that they are equal.
    pub const fn is_harmless(self) -> bool {
        matches!(self, Self::Compared | Self::Timed | Self::ShapeOnly | Self::Unobserved)
    }
}
