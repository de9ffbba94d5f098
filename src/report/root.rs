//! Paths and URIs of files relative to the root of the repository, for machine formats.
//!
//! **Invariant:** paths have forward slashes, and URIs are correctly encoded.

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::config::absolute;

/// The characters that a path segment of a URI may contain unescaped (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The root of the repository.
#[derive(Clone, Debug, Default)]
pub struct Root {
    root: PathBuf,
    cwd: PathBuf,
}

impl Root {
    /// Both paths must be absolute. Relative paths of files are relative to `cwd`.
    pub fn new(root: PathBuf, cwd: PathBuf) -> Self {
        Self { root, cwd }
    }

    /// The segments of a path relative to the root; `None` if it is not below the root.
    fn segments(&self, path: &Path) -> Option<Vec<String>> {
        let full = absolute(&self.cwd, path);
        let inner = full.strip_prefix(&self.root).ok()?;
        Some(inner.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect())
    }

    /// The path relative to the root, or as given if it is not below the root; with forward slashes.
    pub fn relative(&self, path: &Path) -> String {
        self.segments(path).map_or_else(|| slashes(path), |segments| segments.join("/"))
    }

    /// The URI of a file, and whether it is relative to the root; otherwise it is absolute.
    pub fn uri(&self, path: &Path) -> (String, bool) {
        match self.segments(path) {
            Some(segments) => (segments.iter().map(|segment| encode(segment)).collect::<Vec<_>>().join("/"), true),
            None => (file_uri(&absolute(&self.cwd, path)), false),
        }
    }

    /// The URI of the root, as a folder; `None` if there is no root.
    pub fn folder_uri(&self) -> Option<String> {
        self.root.is_absolute().then(|| {
            let uri = file_uri(&self.root);
            if uri.ends_with('/') { uri } else { format!("{uri}/") }
        })
    }
}

fn encode(segment: &str) -> String {
    utf8_percent_encode(segment, ENCODED).to_string()
}

fn file_uri(path: &Path) -> String {
    let path = slashes(path);
    let encoded: Vec<String> = path.trim_start_matches('/').split('/').map(encode_drive).collect();
    format!("file:///{}", encoded.join("/"))
}

/// A Windows drive keeps its colon.
fn encode_drive(segment: &str) -> String {
    match segment.strip_suffix(':') {
        Some(drive) if drive.len() == 1 => segment.to_owned(),
        _ => encode(segment),
    }
}

fn slashes(path: &Path) -> String {
    let text = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' { text.into_owned() } else { text.replace(std::path::MAIN_SEPARATOR, "/") }
}
