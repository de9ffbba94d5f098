//! Names that are imported by the path of an inner module of their library: `jax._src.lax.control_flow.loops.scan` is `jax.lax.scan`.
//!
//! **Invariant:** the result has a row or is an alias, and belongs to the nearest package around the name that models speak of. A module
//! that models speak of is never passed over.

use super::Models;

impl Models {
    /// The public name of what a path without a row or an alias denotes, if all modules between it and its package are private, or are
    /// modules of which the models say nothing.
    pub(super) fn public(&self, path: &str) -> Option<String> {
        let (package, name) = path.rsplit_once('.')?;
        if self.named.contains(package) && !path.contains("._") {
            return None;
        }
        let is_private = |module: &&str| module.starts_with('_');
        let modules: Vec<&str> = package.split('.').filter(|module| !is_private(module)).collect();
        let around = |length: usize| modules[..length].join(".");
        let nearest = (1..=modules.len()).rev().find(|length| self.named.contains(&around(*length)))?;
        // Attributes of a class are no members of its package.
        let is_module = |module: &&str| module.starts_with(|first: char| first.is_ascii_lowercase());
        let passed_over = modules[nearest..].iter().take_while(|module| is_module(module)).count();
        let found = (0..=passed_over).map(|count| {
            let inner = modules[..nearest].iter().chain(&modules[nearest + count..]).copied();
            inner.chain([name]).collect::<Vec<_>>().join(".")
        });
        found.filter(|public| public != path).find(|public| self.has_row(public) || self.follow(public).is_some())
    }
}
