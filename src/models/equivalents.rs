//! Samplers of JAX that draw what a generator of the host draws.
//!
//! **Invariant:** a row is about the distribution: its parameters have the same meaning in both functions. All parameters that a row names
//! are parameters of the host's function, and its sampler has the parameters that the row needs.

use serde::Deserialize;

use super::load::{Reader, Row};
use super::lookup::Models;

/// A sampler with the same distribution as a function of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Equivalent {
    /// The function of the host.
    pub path: String,
    /// Its parameters; a last one that begins with `*` takes the extents of the result.
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
    pub own: Vec<String>,
    /// The parameters that are the lowest and the highest number.
    pub bounds: Vec<String>,
    /// Whether a bound alone is the highest number; the lowest is then 0.
    pub single_is_high: bool,
    /// Whether the highest number is drawn as well.
    pub inclusive: bool,
    /// Whether it draws integers.
    pub integers: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawEquivalent {
    path: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    params: Vec<String>,
    sampler: String,
    shape: Option<String>,
    loc: Option<String>,
    scale: Option<String>,
    #[serde(default)]
    own: Vec<String>,
    #[serde(default)]
    bounds: Vec<String>,
    #[serde(default)]
    single_is_high: bool,
    #[serde(default)]
    inclusive: bool,
    #[serde(default)]
    integers: bool,
}

impl Reader<'_> {
    #[expect(clippy::needless_pass_by_value, reason = "rows are passed whole")]
    pub(super) fn equivalent(&mut self, row: &Row, raw: RawEquivalent) {
        let named = [&raw.shape, &raw.loc, &raw.scale].into_iter().flatten().chain(&raw.own).chain(&raw.bounds);
        for name in named {
            if !raw.params.contains(name) {
                self.problem(row.span.clone(), format!("`{name}` is none of `params`"));
            }
        }
        if !matches!(raw.bounds.len(), 0 | 2) {
            self.problem(row.span.clone(), "`bounds` are two parameters".to_owned());
        }
        for path in self.paths(row, raw.path.clone(), raw.paths.clone()) {
            let equivalent = Equivalent {
                path: path.clone(),
                params: raw.params.clone(),
                sampler: raw.sampler.clone(),
                shape: raw.shape.clone(),
                loc: raw.loc.clone(),
                scale: raw.scale.clone(),
                own: raw.own.clone(),
                bounds: raw.bounds.clone(),
                single_is_high: raw.single_is_high,
                inclusive: raw.inclusive,
                integers: raw.integers,
            };
            if self.models.equivalents.insert(path.clone(), equivalent).is_some() {
                self.problem(row.span.clone(), format!("`{path}` has two rows"));
            }
        }
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
