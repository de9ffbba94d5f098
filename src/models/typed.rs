//! How calls that receive raw keys behave once typed ones are made instead.
//!
//! **Invariant:** a row is about the call as written: it is *alike* only if the result, key by key, is the same for typed keys as for raw
//! ones. `fixtures/jax/typed_keys.py` checks every row against JAX.

use serde::Deserialize;

use super::lookup::Models;
use super::raw::OneOrMany;

/// What a function for arrays does with typed keys, other than with raw ones.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own that a row may set")]
pub struct Typed {
    /// The function, or the namespace of all functions below it without a row of their own.
    pub path: String,
    /// Whether typed keys are taken as raw ones are, under the conditions below; otherwise they are refused, or something
    /// else comes out.
    pub is_alike: bool,
    /// Parameters that number axes: the result is the same if those count from the front, since the axis of the words is the last.
    pub axes: Vec<String>,
    /// Whether the axes have to be passed.
    pub requires_axes: bool,
    /// Whether only arrays of keys behave the same, and not single keys.
    pub of_arrays: bool,
    /// Parameters that must not be passed: a dtype, or a shape.
    pub without: Vec<String>,
    /// Whether the library dropped the name before it had typed keys: what mentions it runs with none.
    pub is_older: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawKeys {
    Alike,
    Unlike,
    Older,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawTyped {
    pub path: Option<String>,
    #[serde(default)]
    pub paths: Vec<String>,
    keys: RawKeys,
    axes: Option<OneOrMany>,
    #[serde(default)]
    given: bool,
    #[serde(default)]
    arrays: bool,
    without: Option<OneOrMany>,
}

impl RawTyped {
    /// The row of one of its paths.
    pub(super) fn of(&self, path: String) -> Typed {
        let names = |names: &Option<OneOrMany>| names.clone().map(OneOrMany::into_vec).unwrap_or_default();
        Typed {
            path,
            is_alike: matches!(self.keys, RawKeys::Alike),
            axes: names(&self.axes),
            requires_axes: self.given,
            of_arrays: self.arrays,
            without: names(&self.without),
            is_older: matches!(self.keys, RawKeys::Older),
        }
    }
}

impl Models {
    /// What becomes of calls of this function once typed keys are made; `None` where nothing is known against them.
    pub fn typed(&self, path: &str) -> Option<&Typed> {
        let path = self.canonical(path, &[]);
        let prefixes = path.rmatch_indices('.').map(|(at, _)| &path[..at]);
        std::iter::once(&*path).chain(prefixes).find_map(|prefix| self.typed.get(prefix))
    }

    /// Whether the library removed this name, or one that it is below, before it had typed keys. A name that was replaced by another counts
    /// too.
    pub fn is_older(&self, path: &str) -> bool {
        let path = self.rooted(path, &[]);
        let prefixes = path.rmatch_indices('.').map(|(at, _)| &path[..at]);
        let mut names = std::iter::once(&*path).chain(prefixes);
        names.any(|name| self.typed.get(name).is_some_and(|typed| typed.is_older))
    }
}
