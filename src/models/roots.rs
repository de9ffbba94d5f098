//! By which names programs call the array library.
//!
//! **Invariant:** a path into the library has one form, below [`ROOT`], whatever its root package is called.

use std::borrow::Cow;

/// The root of the array library's rows, whatever the package is called.
pub const ROOT: &str = "jax";

/// The package with the library's private modules. Only the library's own repository has its source.
pub const PRIVATE_ROOT: &str = "jax._src";

/// Root packages that are the library in every project, without being configured.
pub const ROOTS: [&str; 2] = [ROOT, "olympus"];

/// A path under its canonical root: [`ROOT`] for each of [`ROOTS`] and of `more`.
pub fn rooted<'p>(path: &'p str, more: &[String]) -> Cow<'p, str> {
    let (root, rest) = path.split_once('.').map_or((path, None), |(root, rest)| (root, Some(rest)));
    if root == ROOT || !(ROOTS.contains(&root) || more.iter().any(|other| other == root)) {
        return Cow::Borrowed(path);
    }
    Cow::Owned(rest.map_or_else(|| ROOT.to_owned(), |rest| format!("{ROOT}.{rest}")))
}
