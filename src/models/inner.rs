//! Names that are imported by the path of an inner module of their library: `jax._src.lax.control_flow.loops.scan` is `jax.lax.scan`.
//!
//! **Invariant:** the result has a row or is an alias, and belongs to the nearest package around the name that models speak of. A module
//! that models speak of is never passed over.

use std::borrow::Cow;

use super::Models;
use super::lookup::prefixes;

impl Models {
    /// The public name of what a path without a row or an alias denotes, if all modules between it and its package are private, or are
    /// modules of which the models say nothing.
    pub(super) fn public(&self, path: &str) -> Option<String> {
        let (package, name) = path.rsplit_once('.')?;
        if self.named.contains(package) && !path.contains("._") {
            return None;
        }
        let package = without_private_modules(package);
        let nearest =
            std::iter::once(&*package).chain(prefixes(&package)).find(|around| self.named.contains(*around))?;
        let passed = package.get(nearest.len()..)?;
        // Attributes of a class are no members of its package.
        let is_module = |module: &str| module.starts_with(|first: char| first.is_ascii_lowercase());
        let passed_over = passed.split('.').skip(1).take_while(|module| is_module(module)).count();
        let starts = passed.match_indices('.').map(|(dot, _)| dot).chain([passed.len()]);
        let found = starts.take(passed_over + 1).map(|start| format!("{nearest}{}.{name}", &passed[start..]));
        found.filter(|public| public != path).find(|public| self.has_row(public) || self.follow(public).is_some())
    }
}

/// A path without the segments whose names begin with an underscore.
fn without_private_modules(package: &str) -> Cow<'_, str> {
    if !package.starts_with('_') && !package.contains("._") {
        return Cow::Borrowed(package);
    }
    let public: Vec<&str> = package.split('.').filter(|module| !module.starts_with('_')).collect();
    Cow::Owned(public.join("."))
}
