//! Samplers of JAX that draw what a generator of the host draws.
//!
//! **Invariant:** a row is about the distribution: its parameters have the same meaning in both functions. All parameters that a row names
//! are parameters of the host's function, and its sampler has the parameters that the row needs.

use std::mem::take;

use serde::Deserialize;

use super::load::{Reader, Row};
use super::lookup::Models;

/// A sampler with the same distribution as a function of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Equivalent {
    /// The function of the host.
    #[serde(default)]
    pub path: String,
    #[serde(default)]
    paths: Vec<String>,
    /// Its parameters; a last one that begins with `*` takes the extents of the result.
    #[serde(default)]
    pub params: Vec<String>,
    /// The sampler.
    pub sampler: String,
    /// The parameter that is the shape of the result; without it the result is one number.
    pub shape: Option<String>,
    /// The parameter that is added to the draws.
    pub loc: Option<String>,
    /// The parameter by which the draws are multiplied.
    pub scale: Option<String>,
    /// Parameters that the sampler takes between the key and the shape.
    #[serde(default)]
    pub own: Vec<String>,
    /// The parameters that are the lowest and the highest number.
    #[serde(default)]
    pub bounds: Vec<String>,
    /// Whether a bound alone is the highest number; the lowest is then 0.
    #[serde(default)]
    pub single_is_high: bool,
    /// Whether the highest number is drawn as well.
    #[serde(default)]
    pub inclusive: bool,
    /// Whether it draws integers.
    #[serde(default)]
    pub integers: bool,
}

impl Reader<'_> {
    pub(super) fn equivalent(&mut self, row: &Row, mut raw: Equivalent) {
        let named = [&raw.shape, &raw.loc, &raw.scale].into_iter().flatten().chain(&raw.own).chain(&raw.bounds);
        for name in named {
            if !raw.params.contains(name) {
                self.problem(row.span.clone(), format!("`{name}` is none of `params`"));
            }
        }
        if !matches!(raw.bounds.len(), 0 | 2) {
            self.problem(row.span.clone(), "`bounds` are two parameters".to_owned());
        }
        let paths = self.paths(row, Some(take(&mut raw.path)), take(&mut raw.paths));
        self.add(row, paths, |models, path| {
            models.equivalents.insert(path.clone(), Equivalent { path, ..raw.clone() }).is_some()
        });
    }
}

impl Models {
    /// The sampler that draws what a function of the host draws.
    pub fn equivalent(&self, path: &str) -> Option<&Equivalent> {
        self.equivalents.get(path)
    }

    /// All of them, by path.
    pub fn equivalents(&self) -> impl Iterator<Item = &Equivalent> {
        self.equivalents.values()
    }
}
