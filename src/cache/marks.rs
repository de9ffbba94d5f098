//! The files that mark a folder as a cache, so that backups may skip it and version control ignores it.
//!
//! **Invariant:** a folder is ours if it has our marker files, or contains only files of ours.

use std::fs;
use std::io;
use std::path::Path;

use super::{is_entry, remove as remove_file};

/// The cache directory tag: <https://bford.info/cachedir/>.
const TAG: (&str, &str) = (
    "CACHEDIR.TAG",
    "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of keylint. It can be removed at any time.\n",
);

/// Keeps the folder out of version control.
const IGNORE: (&str, &str) = (".gitignore", "# Written by keylint.\n*\n");

/// Whether a folder has our marker files.
pub(super) fn are_in(folder: &Path) -> bool {
    fs::read(folder.join(TAG.0)).is_ok_and(|found| found == TAG.1.as_bytes())
}

/// Whether a folder has our marker files, or contains only files of ours, for example because another process has just created it.
pub(super) fn is_ours(folder: &Path) -> io::Result<bool> {
    if are_in(folder) {
        return Ok(true);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_mark = path.file_name().is_some_and(|name| name == TAG.0 || name == IGNORE.0);
        if !is_mark && !is_entry(&path) {
            return Ok(false);
        }
    }
    // A `.gitignore` with other content was not written by keylint.
    let ignored = folder.join(IGNORE.0);
    Ok(!ignored.exists() || fs::read(ignored).is_ok_and(|found| IGNORE.1.as_bytes().starts_with(&found)))
}

/// Writes the marker files.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    for (name, content) in [IGNORE, TAG] {
        fs::write(folder.join(name), content)?;
    }
    Ok(())
}

/// Removes the marker files, unless somebody changed them.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    for (name, content) in [IGNORE, TAG] {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|found| found == content.as_bytes()) {
            remove_file(&path)?;
        }
    }
    Ok(())
}
