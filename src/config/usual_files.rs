//! The default patterns of `rules/files.toml`, by the purpose of files.
//!
//! **Invariant:** the patterns are data; no other module of `config` holds one.

use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use super::error::ConfigError;
use super::patterns::Patterns;

/// Patterns of files, by the purpose of the files.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsualFiles {
    /// Files to check.
    pub sources: Vec<String>,
    /// Tests.
    pub tests: Vec<String>,
    /// Benchmarks.
    pub benchmarks: Vec<String>,
    /// Documentation.
    pub docs: Vec<String>,
}

impl UsualFiles {
    /// The built-in patterns.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<UsualFiles> = OnceLock::new();
        // A test checks that the file is valid. If it were not, there would be no patterns, but the run would continue.
        BUILTIN.get_or_init(|| toml::from_str(include_str!("../../rules/files.toml")).unwrap_or_default())
    }

    /// Whether a folder, by its name, contains a project's tests or benchmarks.
    pub fn is_part(&self, dir: &Path) -> bool {
        let name = dir.file_name().and_then(|name| name.to_str());
        let folders = self.tests.iter().chain(&self.benchmarks).filter_map(|pattern| pattern.strip_suffix('/'));
        folders.map(Some).any(|folder| folder == name)
    }
}

/// Compiles patterns below the root of a project; errors name them by `key`.
pub fn usual(root: &Path, key: &str, written: &[String]) -> Result<Patterns, ConfigError> {
    Patterns::new(root, written).map_err(|(_, message)| ConfigError::of_file(key, message))
}
