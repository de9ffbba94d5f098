//! What a run comes to, as plain data.
//!
//! **Invariant:** findings are complete: those that are not shown are there too, marked.

use std::path::{Path, PathBuf};

use crate::config::HiddenCounts;
use crate::finding::Finding;
use crate::text::FileId;

/// The result of checking a set of files.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The files that findings speak of.
    pub files: FileTable,
    /// All findings, at the levels that the settings give them.
    pub findings: Vec<Reported>,
    /// How many are not shown, by the option that would show them.
    pub hidden: HiddenCounts,
    /// How many files were checked.
    pub checked: usize,
    /// Whether the run itself failed: a file could not be read, or a rule broke down.
    pub failed: bool,
}

/// A finding, and whether the settings let it be shown.
#[derive(Debug)]
pub struct Reported {
    /// The finding.
    pub finding: Finding,
    /// Whether it is shown.
    pub shown: bool,
}

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

    /// The decoded text.
    pub fn text(&self, file: FileId) -> &str {
        self.entries.get(file.0 as usize).map_or("", |(_, text)| text)
    }
}
