//! Path patterns in the style of `.gitignore`.
//!
//! A pattern without an inner slash matches a path component at any depth, and everything below it. A pattern that ends in a slash matches
//! only directories. Any other pattern is relative to the directory of its file.
//!
//! **Invariant:** matching depends only on the path, never on the file system, and treats `/` and `\` alike.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A list of patterns and the directory to which they are relative.
#[derive(Clone, Debug)]
pub struct Patterns {
    base: PathBuf,
    written: Vec<String>,
    set: GlobSet,
}

impl Patterns {
    /// Compiles patterns relative to `base`. The error is the index of the invalid pattern and what is wrong with it.
    pub fn new(base: &Path, written: &[String]) -> Result<Self, (usize, String)> {
        let mut set = GlobSetBuilder::new();
        for (index, pattern) in written.iter().enumerate() {
            for glob in expand(pattern) {
                let glob = GlobBuilder::new(&glob)
                    .literal_separator(true)
                    .build()
                    .map_err(|error| (index, error.kind().to_string()))?;
                set.add(glob);
            }
        }
        let set = set.build().map_err(|error| (0, error.to_string()))?;
        Ok(Self { base: base.to_owned(), written: written.to_vec(), set })
    }

    /// Whether an absolute path matches.
    pub fn matches(&self, path: &Path) -> bool {
        if self.set.is_empty() {
            return false;
        }
        self.set.is_match(relative(&self.base, path))
    }

    /// The patterns as written.
    pub fn written(&self) -> &[String] {
        &self.written
    }
}

/// The globs of one pattern.
fn expand(pattern: &str) -> Vec<String> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let directory = pattern.ends_with('/');
    let trimmed = pattern.trim_end_matches('/');
    let anchored = trimmed.contains('/');
    let body = trimmed.trim_start_matches('/');
    if body.is_empty() {
        return vec!["**".to_owned()];
    }
    let stem = if anchored { body.to_owned() } else { format!("**/{body}") };
    let beneath = format!("{stem}/**");
    if directory { vec![beneath] } else { vec![stem, beneath] }
}

/// `path` relative to `base`, or without its root if it is elsewhere.
fn relative(base: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix(base) {
        Ok(inner) => inner.to_owned(),
        Err(_) => path.components().filter(|part| matches!(part, Component::Normal(_))).collect(),
    }
}

/// Makes `path` absolute in `cwd`, and resolves `.` and `..` lexically (links are not followed).
pub fn absolute(cwd: &Path, path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
