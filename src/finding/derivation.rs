//! How a key was derived, as data.
//!
//! **Invariant:** the text is for people and is never parsed; code that needs to know how a key was made uses [`DerivationKind`].

use std::fmt;
use std::ops::Deref;

/// A key, or an array of keys, by how it was derived.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Derivation {
    /// As a program would write it: `split(key(0))[1]`; shortened if it is long.
    text: String,
    kind: DerivationKind,
}

/// The operation that makes a key from another key or a seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DerivationKind {
    /// It comes from somewhere else: a parameter, a name, an unknown call.
    #[default]
    Elsewhere,
    /// It is an attribute or element of this, or its words.
    Part(Box<Derivation>),
    /// `key(seed, impl=…)`, with a seed that is a number.
    Seed(Option<i128>, Option<String>),
    /// `split(parent)`: all children.
    Children(Box<Derivation>),
    /// `split(parent)[index]`, with an index that is a number.
    Child(Box<Derivation>, Option<i128>),
    /// `fold_in(parent, data)`, with data that are a number.
    Fold(Box<Derivation>, Option<i128>),
    /// `clone(parent)`
    Clone(Box<Derivation>),
}

impl Derivation {
    /// A derivation, with its text.
    pub fn new(text: String, kind: DerivationKind) -> Self {
        Self { text, kind }
    }

    /// What made it.
    pub fn kind(&self) -> &DerivationKind {
        &self.kind
    }

    /// The key from which it was made.
    pub fn parent(&self) -> Option<&Self> {
        match &self.kind {
            DerivationKind::Elsewhere | DerivationKind::Seed(..) => None,
            DerivationKind::Part(parent)
            | DerivationKind::Children(parent)
            | DerivationKind::Child(parent, _)
            | DerivationKind::Fold(parent, _)
            | DerivationKind::Clone(parent) => Some(parent),
        }
    }

    /// Whether a `split` is part of how it was derived.
    pub fn is_split(&self) -> bool {
        matches!(self.kind, DerivationKind::Children(_) | DerivationKind::Child(..))
            || self.parent().is_some_and(Self::is_split)
    }

    /// Whether it was derived from another key, directly or not.
    pub fn is_made_of(&self, other: &Self) -> bool {
        let mut parent = self.parent();
        while let Some(current) = parent {
            if current.text == other.text && other.text.len() < self.text.len() {
                return true;
            }
            // A child is described by the parent of its `split`, but it is derived from the array of all children.
            if let DerivationKind::Child(of, _) = &self.kind
                && let DerivationKind::Children(whole) = &other.kind
                && of.text == whole.text
            {
                return true;
            }
            parent = current.parent();
        }
        false
    }
}

impl Deref for Derivation {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Derivation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
