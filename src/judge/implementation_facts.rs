//! Facts about implementations of keys, words that leave, and seeds, as plain data that rules read.
//!
//! **Invariant:** like all facts, they are free of the interpreter's handles.

use crate::analysis::domain::kinds::ImplementationConflict;
use crate::analysis::program::choices::ChoiceKind;
use crate::finding::{Confidence, Place};
use crate::judge::facts::Origin;

/// Keys of one implementation where another one is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where they meet.
    pub kind: ImplementationConflict,
    /// The call.
    pub place: Place,
    /// Its qualified name.
    pub callee: String,
    /// The implementation of the key, and the other one.
    pub names: [String; 2],
    /// The number of words of a key of each, or of the wrapped words if they belong to no key.
    pub widths: [u32; 2],
    /// Where the keys came from.
    pub origins: [Option<Origin>; 2],
    /// Whether each of them is only the default of JAX, which the program does not name.
    pub are_defaults: [bool; 2],
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the function.
    pub function: String,
}

impl Mismatch {
    /// Whether words are taken as a key of the default implementation.
    pub fn is_by_default(&self) -> bool {
        match self.kind {
            ImplementationConflict::Joined | ImplementationConflict::Carried | ImplementationConflict::Branches => {
                false
            }
            ImplementationConflict::Wrapped | ImplementationConflict::Width | ImplementationConflict::Taken => {
                self.are_defaults[1]
            }
        }
    }

    /// The implementation that the program names, if the other one is the default.
    pub fn named(&self) -> Option<&str> {
        match self.are_defaults {
            [false, true] => Some(&self.names[0]),
            [true, false] => Some(&self.names[1]),
            _ => None,
        }
    }

    /// Whether JAX raises.
    pub fn raises(&self) -> bool {
        match self.kind {
            ImplementationConflict::Joined | ImplementationConflict::Carried | ImplementationConflict::Branches => true,
            ImplementationConflict::Wrapped | ImplementationConflict::Width | ImplementationConflict::Taken => {
                self.widths[0] != self.widths[1]
            }
        }
    }
}

/// A place that chooses the implementation of all keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalChoice {
    /// How.
    pub kind: ChoiceKind,
    /// Where.
    pub place: Place,
    /// The function that is called, or the target that is written.
    pub by: String,
    /// The implementation, where it is a literal.
    pub name: Option<String>,
    /// The guarantee that it loses under `vmap`.
    pub caveat: Option<String>,
    /// Qualified name of the function.
    pub function: String,
}

/// Words of a key that are passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawBridge {
    /// Where the words are taken.
    pub place: Place,
    /// The function that takes them.
    pub callee: String,
    /// Where they leave.
    pub leaves_at: Place,
    /// What they are passed to, as written; `None` where they are returned.
    pub passed_to: Option<String>,
    /// Qualified name of the function.
    pub function: String,
}

/// A seed that no other run repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnstableSeed {
    /// The call that takes the seed.
    pub place: Place,
    /// Its qualified name.
    pub callee: String,
    /// The source of the number.
    pub source: String,
    /// Where.
    pub source_at: Place,
    /// Whether it is the hash of something.
    pub is_hash: bool,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the function.
    pub function: String,
}
