//! Discovery, reading and decoding of files, and editor overlays.
//!
//! **Invariant:** a problem with a file or folder never stops a run; it is returned as a [`Problem`] with the results. All access to the
//! file system outside discovery goes through [`Files`].

mod decode;
mod discover;
mod files;
mod notebook;
mod rewrite;
mod survey;

pub use decode::{Encoding, SourceFile, decode, encoded};
pub use discover::{DEFAULT_EXCLUDES, Discovery, Found, Selection, discover, discover_where, is_source};
pub use files::{Files, MemoryFiles, OsFiles, decoded, digest, read, read_with_digest};
pub use survey::{SURVEY_LIMIT, holds_installed_packages, survey};

/// Something that could not be read: reported as `KEY004`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file or folder, as given.
    pub path: String,
    /// What is wrong, where, and what to do: lower case, no full stop.
    pub message: String,
}
