//! Why a true finding is only a note, and what happens to its two draws.
//!
//! **Invariant:** plain data with evidence: readers of an intent or a consequence need not judge it again.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Place;

/// Why what a finding reports is probably intended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The kind of reason.
    pub kind: IntentKind,
    /// The reason in a sentence: lower case, no full stop. [`IntentKind::reason`] unless the judge is more specific.
    pub reason: String,
    /// The evidence, if it is one place in the program.
    pub place: Option<Place>,
}

impl Intent {
    /// An intent with the reason of its kind.
    pub fn new(kind: IntentKind, place: Option<Place>) -> Self {
        Self::because(kind, kind.reason(), place)
    }

    /// An intent with a more specific reason.
    pub fn because(kind: IntentKind, reason: &str, place: Option<Place>) -> Self {
        Self { kind, reason: reason.to_owned(), place }
    }
}

/// What happens to the two draws of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consequence {
    /// The kind of consequence.
    pub kind: ConsequenceKind,
    /// The consequence in a sentence: lower case, no full stop.
    pub message: String,
    /// Where it happens.
    pub place: Option<Place>,
    /// Whether the draws meet only in that the first is part of a condition, on which the second depends.
    pub is_decision: bool,
}

impl Consequence {
    /// A consequence of a kind, in the sentence of the kind.
    pub fn of(kind: ConsequenceKind, place: Option<Place>) -> Self {
        Self { kind, message: kind.sentence().to_owned(), place, is_decision: false }
    }
}

/// Makes an enumeration whose members have a kebab-case name and a sentence.
macro_rules! kinds {
    ($(#[$about:meta])* $kinds:ident, $text:ident, $(#[$said:meta])* { $($(#[$doc:meta])* $kind:ident $name:literal $sentence:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// Why two draws, or a derivation, are probably intended.
    IntentKind, reason,
    /// The reason in a sentence: lower case, no full stop.
    {
        /// The module is a test: draws share a key so that results can be compared.
        TestCode "test-code" "in a test, draws share a key so that their results can be compared",
        /// The first of two runs warms up the compiler, or is only timed.
        WarmUp "warm-up" "the first of two identical calls is a warm-up whose result is not used",
        /// Methods or settings are compared under one key.
        Comparison "comparison" "several ways to do the same work are compared with one key",
        /// Two arrays are arranged by one key, so that their rows stay together.
        AlignedRows "aligned-rows" "one key reorders two arrays so that their rows stay aligned",
        /// Two calls belong together and need one draw: a loss and its gradients.
        PairedCalls "paired-calls" "the two calls belong together and need the same numbers",
        /// A network and its target copy.
        TargetCopy "target-copy" "both draws initialise a network and its target copy",
        /// A documented default: `seed=0`, a fallback seed.
        DocumentedDefault "documented-default" "the seed is a default value",
        /// Cells of a notebook each start from the same seed.
        SeparateCells "separate-cells" "cells of the notebook start again from the same seed or key",
        /// Each of several computations starts from the same key.
        SeparateRuns "separate-runs" "each computation starts from the same key, and their results never meet",
        /// The main block of a module that other modules import, or of a module of a package.
        Demonstration "demonstration" "other modules import this one, and its main block only demonstrates it",
        /// Code that evaluates or shows what a program computes.
        Evaluation "evaluation" "code that evaluates or shows something usually starts the same way each time",
        /// The program uses different numbers of the two draws.
        DisjointParts "disjoint-parts" "the code uses different parts of the two draws",
        /// All lanes share the draws that should be equal, and have their own keys for the others.
        PerLane "per-lane" "the mapped function derives one key per batch element where the elements should differ",
        /// A comment or a name says so.
        SaidSo "said-so" "a comment or a name says that the key is shared on purpose",
    }
}

kinds! {
    /// What happens to two draws from one key.
    ConsequenceKind, sentence,
    /// The consequence in a sentence: lower case, no full stop.
    {
        /// Both go into one value.
        Meet "meet" "both draws flow into one value",
        /// Both are returned.
        Returned "returned" "both draws are returned",
        /// Both are stored.
        Stored "stored" "both draws are stored",
        /// Both leave the analysed code.
        Escapes "escapes" "both draws leave the analysed code",
        /// The call that draws gets what an earlier iteration of the loop drew, as a training step does.
        Carried "carried" "each iteration continues with what the earlier ones drew",
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
    /// Whether the numbers of both draws are never observed together, so that it makes no difference that they are equal.
    pub const fn is_harmless(self) -> bool {
        matches!(self, Self::Compared | Self::Timed | Self::ShapeOnly | Self::Unobserved)
    }
}
