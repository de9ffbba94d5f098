//! Names of libraries that rules report: those that no longer exist, and those that are private.
//!
//! **Invariant:** a row covers its name and all that is below it.

use serde::Deserialize;

use super::array_objects::version_numbers;
use super::load::{Reader, Row};
use super::lookup::{Models, prefixes};

/// Why a name is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameStatus {
    /// The library removed it in this version.
    Removed([u32; 3]),
    /// It is not part of the library's interface.
    Private,
}

/// A name that rules report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportedName {
    /// The name: `jax.random.KeyArray`.
    pub path: String,
    /// Why it is reported.
    pub status: NameStatus,
    /// What to do instead, as an imperative without a full stop.
    pub instead: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawReportedName {
    path: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    of_dtype: Vec<String>,
    removed: Option<String>,
    #[serde(default)]
    private: bool,
    instead: String,
}

impl Reader<'_> {
    pub(super) fn reported(&mut self, row: &Row, raw: RawReportedName) {
        let RawReportedName { path, paths, of_dtype, removed, private, instead } = raw;
        let status = match (removed, private) {
            (Some(removed), false) => {
                self.version(row, "removed", &removed);
                NameStatus::Removed(version_numbers(&removed))
            }
            (None, true) => NameStatus::Private,
            _ => return self.problem(row.span.clone(), "a row needs either `removed` or `private = true`".to_owned()),
        };
        let attributes = of_dtype.iter().map(|attribute| path_of_dtype(attribute)).collect();
        let is_named = path.is_some() || !paths.is_empty() || of_dtype.is_empty();
        let named = if is_named { self.paths(row, path, paths) } else { Vec::new() };
        self.models.dtype_attributes.extend(of_dtype);
        for path in [named, attributes].concat() {
            let name = ReportedName { path: path.clone(), status, instead: instead.clone() };
            if self.models.reported.insert(path.clone(), name).is_some() {
                self.problem(row.span.clone(), format!("`{path}` is reported twice"));
            }
        }
    }
}

impl Models {
    /// The reported name that a path is, or is below.
    pub fn reported(&self, path: &str) -> Option<&ReportedName> {
        std::iter::once(path).chain(prefixes(path)).find_map(|prefix| self.reported.get(prefix))
    }

    /// Whether an attribute of a key's dtype is reported.
    pub fn is_reported_of_dtype(&self, attribute: &str) -> bool {
        self.dtype_attributes.contains(attribute)
    }
}

/// The name of an attribute of a key's dtype: the key itself has no name that all programs share.
pub fn path_of_dtype(attribute: &str) -> String {
    format!("key.dtype.{attribute}")
}
