//! Read access to the file system, behind one trait.
//!
//! **Invariant:** nothing here writes, and [`MemoryFiles`] never reads the underlying file of an overlay.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::{Problem, SourceFile, decode};
use crate::config;
use crate::text::{Digest, Digester};

/// Read access to files.
pub trait Files: Send + Sync {
    /// The bytes of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsFiles;

impl Files for OsFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        config::read_regular(path)
    }
}

/// Files in memory: on their own for tests, or overlaid on other files for the unsaved texts of an editor.
#[derive(Default)]
pub struct MemoryFiles {
    files: BTreeMap<PathBuf, Vec<u8>>,
    under: Option<Box<dyn Files>>,
}

impl MemoryFiles {
    /// No overlays yet: all files come from `under`.
    pub fn over(under: impl Files + 'static) -> Self {
        Self { files: BTreeMap::new(), under: Some(Box::new(under)) }
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), content.into());
    }

    /// Whether there are no overlays.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

impl<P: Into<PathBuf>, C: Into<Vec<u8>>> FromIterator<(P, C)> for MemoryFiles {
    fn from_iter<I: IntoIterator<Item = (P, C)>>(files: I) -> Self {
        let files = files.into_iter().map(|(path, content)| (path.into(), content.into())).collect();
        Self { files, under: None }
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match (self.files.get(path), &self.under) {
            (Some(content), _) => Ok(content.clone()),
            (None, Some(under)) => under.read(path),
            (None, None) => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Reads and decodes the file at `path`, which is displayed as `display`.
pub fn read(files: &dyn Files, path: &Path, display: &str) -> Result<SourceFile, Problem> {
    decoded(files.read(path), display)
}

/// Like [`read`], with the digest of the file's bytes, or of the error.
pub fn read_with_digest(files: &dyn Files, path: &Path, display: &str) -> (Result<SourceFile, Problem>, Digest) {
    let bytes = files.read(path);
    let digest = digest(&bytes);
    (decoded(bytes, display), digest)
}

/// The digest of the bytes, or of the error.
pub fn digest(bytes: &io::Result<Vec<u8>>) -> Digest {
    let mut digester = Digester::default();
    match bytes {
        Ok(bytes) => digester.add(bytes),
        Err(error) => {
            digester.add("unreadable");
            digester.add(unreadable(error));
        }
    }
    digester.finish()
}

/// Decodes bytes that were read.
pub fn decoded(bytes: io::Result<Vec<u8>>, display: &str) -> Result<SourceFile, Problem> {
    match bytes {
        Ok(bytes) => decode(display, bytes),
        Err(error) => Err(Problem { path: display.to_owned(), message: unreadable(&error) }),
    }
}

/// The meaning of an I/O error, and what to do about it.
pub(super) fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied; grant read access or exclude the path".to_owned(),
        _ => error.to_string(),
    }
}
