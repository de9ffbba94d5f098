//! Which files a run checks.
//!
//! **Invariant:** the result is sorted by path and contains each file once, even if links lead to it, whatever the order of the arguments
//! and of the directory listings. A path that cannot be read is reported as a problem. Links to folders are not followed below the given
//! paths, so loops and files outside them are never reached.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;

use super::Problem;
use super::files::unreadable;
use crate::config::not_regular;

/// Names of folders that hold no sources of the project.
pub const DEFAULT_EXCLUDES: &[&str] = &[
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
];

/// Which files to select below the given paths.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Globs to exclude. One without `/` matches the name of any file or folder; one with `/` matches a path relative to `root`, or an
    /// absolute one.
    pub exclude: Vec<String>,
    /// Whether [`DEFAULT_EXCLUDES`] are excluded too.
    pub default_excludes: bool,
    /// Whether `exclude` also applies to files that are given by name.
    pub force_exclude: bool,
    /// Whether `.gitignore`, `.ignore` and git's own excludes apply below the given folders.
    pub ignore_files: bool,
    /// The folder that globs are relative to. Given paths are relative to the current folder.
    pub root: PathBuf,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            exclude: Vec::new(),
            default_excludes: true,
            force_exclude: false,
            ignore_files: true,
            root: PathBuf::new(),
        }
    }
}

/// A file to check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// The path for display, built from the path as the user wrote it.
    pub display: String,
    /// Whether the file itself was given, not a folder that contains it.
    pub explicit: bool,
}

/// The result of discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The files, sorted.
    pub files: Vec<Found>,
    /// Paths that could not be read, sorted.
    pub problems: Vec<Problem>,
    /// The given paths that do not exist, in the order given.
    pub missing: Vec<Problem>,
}

/// Finds the files: the given files themselves, and all `.py`, `.pyi`, `.pyw` and `.ipynb` files below the given folders.
pub fn discover(paths: &[PathBuf], selection: &Selection) -> Discovery {
    discover_where(paths, selection, &|_| None)
}

/// Like [`discover`], with a filter for the files in folders. If the filter returns `None`, the default patterns apply.
pub fn discover_where(
    paths: &[PathBuf],
    selection: &Selection,
    is_included: &dyn Fn(&Path) -> Option<bool>,
) -> Discovery {
    let mut search =
        Search { excluded: Excluded::default(), files: BTreeMap::new(), problems: Vec::new(), is_included };
    let mut missing = Vec::new();
    search.excluded = Excluded::new(selection, &mut search.problems);
    for path in paths {
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => search.folder(path, selection),
            Ok(_) if selection.force_exclude && search.excluded.path_or_parent(path) => {}
            Ok(found) if !found.is_file() => search.problem(path, unreadable(&not_regular())),
            Ok(_) => search.add(path, true, real(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing.push(Problem { path: path.display().to_string(), message: absent(path).to_owned() });
            }
            Err(error) => search.problem(path, unreadable(&error)),
        }
    }
    let mut problems = search.problems;
    problems.sort();
    problems.dedup();
    let mut files: Vec<Found> = search.files.into_values().collect();
    files.sort_by_cached_key(|found| plain(&found.path));
    Discovery { files, problems, missing }
}

/// Why a path does not exist.
fn absent(path: &Path) -> &'static str {
    match std::fs::symlink_metadata(path) {
        Ok(_) => "the link is broken",
        Err(_) => "no such file or directory",
    }
}

struct Search<'a> {
    excluded: Excluded,
    /// By canonical path, so that `a.py`, `./a.py` and a link to it are one file.
    files: BTreeMap<PathBuf, Found>,
    problems: Vec<Problem>,
    is_included: &'a dyn Fn(&Path) -> Option<bool>,
}

impl Search<'_> {
    fn add(&mut self, path: &Path, explicit: bool, real: PathBuf) {
        let display = if explicit { path.display().to_string() } else { plain(path).display().to_string() };
        let found = Found { path: path.to_owned(), display, explicit };
        // If a file is found under several names, an explicitly given name wins, then one that is not a link, then the first by path.
        let rank = |found: &Found| {
            let is_link = std::fs::symlink_metadata(&found.path).is_ok_and(|data| data.file_type().is_symlink());
            (!found.explicit, is_link, plain(&found.path))
        };
        match self.files.entry(real) {
            Entry::Vacant(entry) => drop(entry.insert(found)),
            Entry::Occupied(mut entry) if rank(&found) < rank(entry.get()) => drop(entry.insert(found)),
            Entry::Occupied(_) => {}
        }
    }

    fn problem(&mut self, path: &Path, message: String) {
        self.problems.push(Problem { path: plain(path).display().to_string(), message });
    }

    fn folder(&mut self, folder: &Path, selection: &Selection) {
        if selection.force_exclude && self.excluded.path_or_parent(folder) {
            return;
        }
        let excluded = self.excluded.clone();
        let base = real(folder);
        let ignore_files = selection.ignore_files && !base.ancestors().any(has_endless_ignores);
        let walk = WalkBuilder::new(folder)
            .standard_filters(ignore_files)
            .hidden(false)
            .require_git(false)
            .follow_links(false)
            .filter_entry(move |entry| {
                let is_endless = |path| ignore_files && has_endless_ignores(path);
                entry.depth() == 0 || !(excluded.path(entry.path()) || is_endless(entry.path()))
            })
            .build();
        for entry in walk {
            match entry {
                Ok(entry) => {
                    let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir());
                    if is_folder || !(self.is_included)(entry.path()).unwrap_or_else(|| is_source(entry.path())) {
                        continue;
                    }
                    let is_link = entry.path_is_symlink();
                    if !is_link && !entry.file_type().is_some_and(|kind| kind.is_file()) {
                        continue;
                    }
                    if is_link {
                        match std::fs::metadata(entry.path()) {
                            Ok(target) if target.is_file() => {}
                            Ok(_) => continue,
                            Err(error) => {
                                self.problem(entry.path(), unreadable(&error));
                                continue;
                            }
                        }
                    }
                    let below = entry.path().strip_prefix(folder).ok().filter(|_| !is_link);
                    let real = below.map_or_else(|| real(entry.path()), |below| base.join(below));
                    self.add(entry.path(), false, real);
                }
                Err(error) => {
                    let path = path_of(&error).unwrap_or(folder).to_owned();
                    let message = match error.io_error() {
                        Some(error) => unreadable(error),
                        None => format!("it cannot be listed: {error}"),
                    };
                    self.problem(&path, message);
                }
            }
        }
    }
}

/// Whether an ignore file of a folder is a pipe or a device; reading it may never end.
pub(super) fn has_endless_ignores(folder: &Path) -> bool {
    [".gitignore", ".ignore"]
        .iter()
        .any(|name| std::fs::metadata(folder.join(name)).is_ok_and(|found| !(found.is_file() || found.is_dir())))
}

/// Whether the file is a module that can be imported.
pub(super) fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "py" || suffix == "pyi" || suffix == "pyw")
}

/// Whether the name is that of a source file.
pub fn is_source(path: &Path) -> bool {
    is_python(path) || is_notebook(path)
}

/// Whether the file is a notebook, which nothing imports.
pub(super) fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "ipynb")
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Loop { child, .. } => Some(child),
        ignore::Error::Partial(_)
        | ignore::Error::Io(_)
        | ignore::Error::Glob { .. }
        | ignore::Error::UnrecognizedFileType(_)
        | ignore::Error::InvalidDefinition => None,
    }
}

/// The canonical path of a file or folder.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| absolute(path))
}

/// The path without `.` parts.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Globs that exclude.
#[derive(Clone, Debug, Default)]
struct Excluded {
    names: GlobSet,
    paths: GlobSet,
    /// The root, absolute if the system can resolve it.
    root: PathBuf,
}

impl Excluded {
    fn new(selection: &Selection, problems: &mut Vec<Problem>) -> Self {
        let defaults: &[&str] = if selection.default_excludes { DEFAULT_EXCLUDES } else { &[] };
        let mut names = GlobSetBuilder::new();
        let mut paths = GlobSetBuilder::new();
        for pattern in defaults.iter().copied().chain(selection.exclude.iter().map(String::as_str)) {
            let bare = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
            match GlobBuilder::new(bare).literal_separator(true).build() {
                Ok(glob) if bare.contains('/') => drop(paths.add(glob)),
                Ok(glob) => drop(names.add(glob)),
                Err(error) => problems.push(Problem {
                    path: pattern.to_owned(),
                    message: format!("not a valid glob: {}; correct the exclude option", error.kind()),
                }),
            }
        }
        // Every glob was compiled before, so a set of them can fail only because of its size.
        let mut built = |set: &GlobSetBuilder| {
            set.build().unwrap_or_else(|error| {
                problems.push(Problem { path: String::new(), message: format!("too many exclude globs: {error}") });
                GlobSet::empty()
            })
        };
        let (names, paths) = (built(&names), built(&paths));
        Self { names, paths, root: absolute(&selection.root) }
    }

    /// Whether the path itself is excluded.
    fn path(&self, path: &Path) -> bool {
        if path.file_name().is_some_and(|name| self.names.is_match(name)) {
            return true;
        }
        if self.paths.is_empty() {
            return false;
        }
        let full = absolute(path);
        self.paths.is_match(&full) || full.strip_prefix(&self.root).is_ok_and(|inner| self.paths.is_match(inner))
    }

    /// Whether the path or an enclosing folder, up to the root, is excluded.
    fn path_or_parent(&self, path: &Path) -> bool {
        let full = absolute(path);
        full.ancestors().take_while(|part| **part != *self.root).any(|part| self.path(part))
    }
}

/// The absolute path without `.` parts. Parts `..` stay, because their meaning depends on links.
fn absolute(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let full: io::Result<PathBuf> = std::path::absolute(path);
    plain(&full.unwrap_or_else(|_| path.to_owned()))
}
