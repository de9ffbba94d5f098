//! Paths and texts of files, by identity.
//!
//! **Invariant:** identities are given in order and never change hands; a text is kept only where a finding speaks of it.

use std::path::{Path, PathBuf};

use crate::text::FileId;

/// Paths and texts of files, by identity.
#[derive(Debug, Default)]
pub struct FileTable {
    entries: Vec<(PathBuf, String)>,
}

impl FileTable {
    /// Adds a file.
    pub fn add(&mut self, path: PathBuf, text: String) -> FileId {
        let id = FileId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.entries.push((path, text));
        id
    }

    /// The path as given.
    pub fn path(&self, file: FileId) -> &Path {
        self.entries.get(file.0 as usize).map_or(Path::new(""), |(path, _)| path)
    }

    /// All paths, those of the files given first.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().map(|(path, _)| path.as_path())
    }

    /// The decoded text; empty where no finding speaks of the file.
    pub fn text(&self, file: FileId) -> &str {
        self.entries.get(file.0 as usize).map_or("", |(_, text)| text)
    }

    pub(super) fn set_text(&mut self, file: FileId, text: String) {
        if let Some((_, kept)) = self.entries.get_mut(file.0 as usize) {
            *kept = text;
        }
    }
}
