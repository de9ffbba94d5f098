//! What the commands ask of the rooms below.
//!
//! **Invariant:** the commands know no other door: a test passes in findings of its own and sees all of their fate.

use std::path::{Path, PathBuf};

use crate::config::{ConfigError, Resolver};
use crate::engine::{Decisions, FixOutcome, Lineage, Migrated, Outcome};
use crate::finding::Finding;
use crate::source::Problem;

/// A file that is read from standard input.
#[derive(Clone, Debug)]
pub struct Stdin {
    /// The name it is reported under, and whose settings it has.
    pub filename: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What to check.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for or not, by an option of its own")]
pub struct CheckRequest<'a> {
    /// The absolute current directory.
    pub cwd: &'a Path,
    /// Files and directories, as given.
    pub paths: &'a [PathBuf],
    /// A further file from standard input.
    pub stdin: Option<Stdin>,
    /// Gives the settings of each file.
    pub resolver: &'a Resolver,
    /// Whether excluded files are left out even where they are given as such.
    pub force_exclude: bool,
    /// Whether results may come from and go to the cache.
    pub use_cache: bool,
    /// Whether findings get fixes.
    pub fixes: bool,
    /// Whether findings are replayed.
    pub verify: bool,
    /// Is informed how many files of how many are done.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// The files that paths stand for.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The files, sorted.
    pub files: Vec<PathBuf>,
    /// The paths given at which there is nothing.
    pub missing: Vec<Problem>,
}

/// What the commands run on.
pub trait Backend {
    /// Checks files.
    fn check(&self, request: &CheckRequest<'_>) -> Result<Outcome, ConfigError>;

    /// Checks files, applies the fixes of the findings that are wanted, and checks again, until nothing more is to be
    /// fixed.
    /// Writes nothing.
    fn fix(&self, request: &CheckRequest<'_>, is_wanted: &dyn Fn(&Finding) -> bool) -> Result<FixOutcome, ConfigError>;

    /// Moves files from raw to typed keys, as was decided. Writes nothing.
    fn migrate(&self, request: &CheckRequest<'_>, decided: &Decisions) -> Result<Migrated, ConfigError>;

    /// The files that would be checked.
    fn files(&self, request: &CheckRequest<'_>) -> Result<Listing, ConfigError>;

    /// What is believed of the keys on a 1-based row of a file, or of a cell of it; otherwise why nothing can be said.
    fn why(&self, file: &Path, cell: Option<u32>, row: u32, resolver: &Resolver) -> Result<String, String>;

    /// The keys of a file, function by function; otherwise why nothing can be said.
    fn lineage(&self, file: &Path, resolver: &Resolver) -> Result<Lineage, String>;

    /// The intermediate representation of a file.
    fn ir(&self, file: &Path) -> Result<String, String>;

    /// The facts that the analysis found in a file.
    fn facts(&self, file: &Path) -> Result<String, String>;
}
