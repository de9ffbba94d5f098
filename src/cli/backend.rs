//! What the commands need from lower rooms.
//!
//! **Invariant:** commands use lower rooms only through this trait, so that a test can pass in its own findings.

use std::path::{Path, PathBuf};

use crate::config::{ConfigError, Resolver};
use crate::engine::{Decisions, FixOutcome, Fixes, Lineage, Migrated, Outcome};
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
pub struct CheckRequest<'a> {
    /// The absolute current directory.
    pub cwd: &'a Path,
    /// Files and directories, as given.
    pub paths: &'a [PathBuf],
    /// An additional file from standard input.
    pub stdin: Option<Stdin>,
    /// Gives the settings of each file.
    pub resolver: &'a Resolver,
    /// Whether excluded files are skipped even if they are given as arguments.
    pub force_exclude: bool,
    /// Whether results may come from and go to the cache.
    pub use_cache: bool,
    /// Which findings get fixes.
    pub fixes: Fixes,
    /// Whether findings are replayed.
    pub verify: bool,
    /// Called with the number of files done and their total number.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// The files at the given paths.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The files, sorted.
    pub files: Vec<PathBuf>,
    /// The given paths that do not exist.
    pub missing: Vec<Problem>,
}

/// The services that commands use.
pub trait Backend {
    /// Checks files.
    fn check(&self, request: &CheckRequest<'_>) -> Result<Outcome, ConfigError>;

    /// Checks files, applies the fixes of the wanted findings, and checks again, until nothing is left to fix. Writes nothing.
    fn fix(&self, request: &CheckRequest<'_>, is_wanted: &dyn Fn(&Finding) -> bool) -> Result<FixOutcome, ConfigError>;

    /// Migrates files from raw to typed keys according to the user's decisions. Writes nothing.
    fn migrate(&self, request: &CheckRequest<'_>, decided: &Decisions) -> Result<Migrated, ConfigError>;

    /// The files that would be checked.
    fn files(&self, request: &CheckRequest<'_>) -> Result<Listing, ConfigError>;

    /// The key facts of a 1-based row of a file, or of a cell of it; otherwise why there are none.
    fn why(&self, file: &Path, cell: Option<u32>, row: u32, resolver: &Resolver) -> Result<String, String>;

    /// The keys of a file, function by function; otherwise why there are none.
    fn lineage(&self, file: &Path, resolver: &Resolver) -> Result<Lineage, String>;

    /// The intermediate representation of a file.
    fn ir(&self, file: &Path) -> Result<String, String>;

    /// The facts that the analysis found in a file.
    fn facts(&self, file: &Path) -> Result<String, String>;
}
