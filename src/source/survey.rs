//! A cheap survey of the Python files of a project, to resolve imports of files that are not checked.
//!
//! **Invariant:** at most [`SURVEY_LIMIT`] entries are visited, in an order that does not depend on the file system, and no file is read.
//! Unreadable folders are skipped silently, because the user did not name them.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::config::PROJECT_MARKS;

use super::discover::{DEFAULT_EXCLUDES, has_endless_ignores, is_python};

/// The maximum number of entries that a survey visits. Files beyond it are unknown, and imports of them stay unresolved.
pub const SURVEY_LIMIT: usize = 100_000;

/// The maximum depth of folders that a survey enters.
const DEPTH: usize = 24;

/// The folders into which Python's tools install packages.
const INSTALLED: [&str; 2] = ["site-packages", "dist-packages"];

/// Whether a folder, by its name, holds installed packages, which do not belong together.
pub fn holds_installed_packages(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| INSTALLED.iter().any(|installed| name == *installed))
}

/// Whether a folder of this name can be imported.
fn is_identifier(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|part| part == '_' || part.is_alphanumeric())
}

/// The `.py` and `.pyi` files below `root`, sorted. Ignore files and [`DEFAULT_EXCLUDES`] apply, and links to folders are not
/// followed. If nothing marks `root` as the root of a project, only folders that can be imported are entered.
pub fn survey(root: &Path) -> Vec<PathBuf> {
    let is_project = PROJECT_MARKS.iter().any(|mark| root.join(mark).exists());
    if root.ancestors().any(has_endless_ignores) {
        return Vec::new();
    }
    let walk = WalkBuilder::new(root)
        .hidden(true)
        .require_git(false)
        .follow_links(false)
        .max_depth(Some(DEPTH))
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| {
            let name = entry.file_name().to_str();
            let can_be_imported =
                is_project || !entry.file_type().is_some_and(|kind| kind.is_dir()) || name.is_some_and(is_identifier);
            entry.depth() == 0
                || can_be_imported
                    && name.is_none_or(|name| !DEFAULT_EXCLUDES.contains(&name))
                    && !has_endless_ignores(entry.path())
        })
        .build();
    let mut files: Vec<PathBuf> = walk
        .take(SURVEY_LIMIT)
        .filter_map(Result::ok)
        .filter(|entry| {
            entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink()) && is_python(entry.path())
        })
        .map(ignore::DirEntry::into_path)
        .collect();
    files.sort();
    files
}
