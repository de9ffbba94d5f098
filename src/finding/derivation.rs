//! How a key was derived, as data.
//!
//! **Invariant:** the text is for people and is never parsed; code that needs to know how a key was made uses [`Made`].

use std::fmt;
use std::ops::Deref;

/// A key, or an array of keys, by how it was derived.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Derivation {
    /// As a program would write it: `split(key(0))[1]`; shortened if it is long.
    text: String,
    made: Made,
}

/// The operation that makes a key from another key or a seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Made {
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
    pub fn new(text: String, made: Made) -> Self {
        Self { text, made }
    }

    /// What made it.
    pub fn made(&self) -> &Made {
        &self.made
    }

    /// The key from which it was made.
    pub fn parent(&self) -> Option<&Self> {
        match &self.made {
            Made::Elsewhere | Made::Seed(..) => None,
            Made::Part(parent)
            | Made::Children(parent)
            | Made::Child(parent, _)
            | Made::Fold(parent, _)
            | Made::Clone(parent) => Some(parent),
        }
    }

    /// Whether a `split` is part of how it was derived.
    pub fn is_split(&self) -> bool {
        matches!(self.made, Made::Children(_) | Made::Child(..)) || self.parent().is_some_and(Self::is_split)
    }

    /// Whether it was derived from another key, directly or not.
    pub fn is_made_of(&self, other: &Self) -> bool {
        let mut parent = self.parent();
        while let Some(current) = parent {
            if current.text == other.text && other.text.len() < self.text.len() {
                return true;
            }
            // A child is described by the parent of its `split`, but it is derived from the array of all children.
            if let Made::Child(of, _) = &self.made
                && let Made::Children(whole) = &other.made
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
