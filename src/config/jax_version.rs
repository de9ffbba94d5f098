//! Which JAX version the code runs with, read from lock files.
//!
//! **Invariant:** only exact pins count; a lower bound says what may run, not what does. Pins that disagree say nothing.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::regular::read_regular_text;

/// A released version of JAX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JaxVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl JaxVersion {
    /// Parses `0.4`, `0.4.35`, `0.4.36.dev20250101` and the like; pre-release and local parts are dropped.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split(['.', '+', '-']);
        let mut number = |required: bool| match parts.next() {
            None if required => None,
            None => Some(0),
            Some(part) => {
                let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
                if digits.is_empty() && !required { Some(0) } else { digits.parse().ok() }
            }
        };
        Some(Self { major: number(true)?, minor: number(true)?, patch: number(false)? })
    }
}

impl fmt::Display for JaxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The version pinned near `root`: in it, or in a directory above it up to the repository's.
pub(super) fn find(root: &Path, packages: &[String]) -> Option<(JaxVersion, PathBuf)> {
    for dir in root.ancestors() {
        if let Some(found) = find_in(dir, packages) {
            return Some(found);
        }
        if dir.join(".git").exists() {
            return None;
        }
    }
    None
}

fn find_in(dir: &Path, packages: &[String]) -> Option<(JaxVersion, PathBuf)> {
    for name in ["uv.lock", "poetry.lock", "pdm.lock"] {
        let path = dir.join(name);
        if let Ok(text) = read_regular_text(&path)
            && let Some(version) = agreed(&from_lock(&text, packages))
        {
            return Some((version, path));
        }
    }
    let mut requirements: Vec<PathBuf> = fs::read_dir(dir)
        .ok()?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with("requirements") && path.extension().is_some_and(|extension| extension == "txt")
        })
        .collect();
    requirements.sort();
    requirements.into_iter().find_map(|path| {
        let text = read_regular_text(&path).ok()?;
        let version = agreed(&from_requirements(&text, packages))?;
        Some((version, path))
    })
}

/// The one version all pins name.
fn agreed(versions: &[JaxVersion]) -> Option<JaxVersion> {
    let first = *versions.first()?;
    versions.iter().all(|version| *version == first).then_some(first)
}

fn from_lock(text: &str, packages: &[String]) -> Vec<JaxVersion> {
    // Lock files run to megabytes; most name no JAX at all.
    if !packages.iter().any(|package| text.contains(package.as_str())) {
        return Vec::new();
    }
    let Ok(lock) = text.parse::<toml::Table>() else { return Vec::new() };
    let entries = lock.get("package").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .filter(|entry| {
            let name = entry.get("name").and_then(toml::Value::as_str);
            name.is_some_and(|name| packages.iter().any(|package| package == name))
        })
        .filter_map(|entry| JaxVersion::parse(entry.get("version")?.as_str()?))
        .collect()
}

fn from_requirements(text: &str, packages: &[String]) -> Vec<JaxVersion> {
    text.lines()
        .filter_map(|line| {
            let (name, rest) = line.split(['#', ';']).next()?.split_once("==")?;
            let name = name.split('[').next()?.trim().to_lowercase();
            let version = rest.trim_start_matches('=').split([' ', ',', '\\']).find(|word| !word.is_empty())?;
            let exact = packages.contains(&name) && !version.contains('*');
            if exact { JaxVersion::parse(version) } else { None }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jax() -> Vec<String> {
        vec!["jax".to_owned()]
    }

    fn version(text: &str) -> Option<String> {
        JaxVersion::parse(text).map(|version| version.to_string())
    }

    #[test]
    fn versions_are_read_leniently() {
        assert_eq!(version("0.4.35").as_deref(), Some("0.4.35"));
        assert_eq!(version("0.4").as_deref(), Some("0.4.0"));
        assert_eq!(version("0.5.1rc2").as_deref(), Some("0.5.1"));
        assert_eq!(version("0.6.0.dev20250401+abc").as_deref(), Some("0.6.0"));
        assert_eq!(version("latest"), None);
        assert_eq!(version("7"), None);
    }

    #[test]
    fn only_exact_pins_of_the_package_count() {
        let text = "jaxlib==0.4.1\njax[cuda12]==0.4.30 ; python_version > '3.9'\nflax>=0.8\n";
        assert_eq!(from_requirements(text, &jax()), vec![JaxVersion { major: 0, minor: 4, patch: 30 }]);
        assert!(from_requirements("jax>=0.4.30\njax==0.4.*\n# jax==0.4.1\n", &jax()).is_empty());
    }

    #[test]
    fn lock_files_are_read_and_disagreeing_pins_say_nothing() {
        let one = "[[package]]\nname = \"jax\"\nversion = \"0.4.31\"\n";
        assert_eq!(agreed(&from_lock(one, &jax())).map(|found| found.patch), Some(31));
        let two = format!("{one}[[package]]\nname = \"jax\"\nversion = \"0.5.0\"\n");
        assert_eq!(agreed(&from_lock(&two, &jax())), None);
        assert!(from_lock("jax = [", &jax()).is_empty());
    }
}
