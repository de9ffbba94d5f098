//! The JAX version that the code runs with, from lock files and from the requirements of the project.
//!
//! **Invariant:** a lower bound does not limit the newest version and is ignored. If requirements disagree, the version is unknown.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::regular::read_regular;
use super::requirements::mentions;

/// A released version of JAX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JaxVersion {
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
    /// The patch version.
    pub patch: u32,
}

impl JaxVersion {
    /// Parses versions such as `0.4`, `0.4.35` and `0.4.36.dev20250101`; pre-release and local parts are dropped.
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

    /// The first version that is greater in its first `numbers` components.
    pub(super) fn after(self, numbers: usize) -> Self {
        let Self { major, minor, patch } = self;
        match numbers {
            0 | 1 => Self { major: major.saturating_add(1), minor: 0, patch: 0 },
            2 => Self { major, minor: minor.saturating_add(1), patch: 0 },
            _ => Self { major, minor, patch: patch.saturating_add(1) },
        }
    }
}

impl fmt::Display for JaxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// What a project says about its version of JAX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JaxPin {
    /// Exactly this version.
    Exact(JaxVersion),
    /// Some version before this one.
    Below(JaxVersion),
}

impl JaxPin {
    /// Parses `0.4.35`, or `<0.4`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.trim().strip_prefix('<') {
            Some(bound) => JaxVersion::parse(bound).map(Self::Below),
            None => JaxVersion::parse(text).map(Self::Exact),
        }
    }

    /// The newest possible version; its patch number may be greater than any that was released.
    pub fn newest(self) -> JaxVersion {
        match self {
            Self::Exact(version) => version,
            Self::Below(JaxVersion { major, minor, patch }) => match (major, minor, patch) {
                (0, 0, 0) => JaxVersion { major, minor, patch },
                (_, 0, 0) => JaxVersion { major: major - 1, minor: u32::MAX, patch: u32::MAX },
                (_, _, 0) => JaxVersion { major, minor: minor - 1, patch: u32::MAX },
                _ => JaxVersion { major, minor, patch: patch - 1 },
            },
        }
    }

    /// Whether it is an exact version.
    pub(super) fn is_exact(self) -> bool {
        matches!(self, Self::Exact(_))
    }
}

impl fmt::Display for JaxPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(version) => version.fmt(f),
            Self::Below(version) => write!(f, "<{version}"),
        }
    }
}

/// The version pinned in `root`, or in a directory above it up to the root of the repository, and the file that pins it.
pub(super) fn find(root: &Path, packages: &[String]) -> Option<(JaxPin, PathBuf)> {
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

fn find_in(dir: &Path, packages: &[String]) -> Option<(JaxPin, PathBuf)> {
    let locks = ["uv.lock", "poetry.lock", "pdm.lock"].map(|name| dir.join(name));
    let of_lock = |path: PathBuf| Some((agreed(&from_lock(&read(&path)?, packages))?, path));
    if let Some(found) = locks.into_iter().find_map(of_lock) {
        return Some(found);
    }
    let names = fs::read_dir(dir).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_list =
        |name: &String| name.starts_with("requirements") && Path::new(name).extension() == Some("txt".as_ref());
    let mut names: Vec<String> = names.filter(is_list).collect();
    names.sort();
    names.extend(["pyproject.toml", "setup.cfg", "setup.py", "environment.yml", "environment.yaml"].map(str::to_owned));
    names.iter().find_map(|name| {
        let path = dir.join(name);
        Some((agreed(&mentions(name, &read(&path)?, packages))?, path))
    })
}

/// Reads a file as text. As in `pip`, a byte order mark determines the encoding.
fn read(path: &Path) -> Option<String> {
    let bytes = read_regular(path).ok()?;
    Some(encoding_rs::UTF_8.decode(&bytes).0.into_owned())
}

/// The version on which all requirements agree.
pub fn agreed(mentions: &[Option<JaxPin>]) -> Option<JaxPin> {
    let first = (*mentions.first()?)?;
    mentions.iter().all(|mention| *mention == Some(first)).then_some(first)
}

/// The versions of the packages in the text of a lock file.
pub fn from_lock(text: &str, packages: &[String]) -> Vec<Option<JaxPin>> {
    // Lock files can have megabytes, and most do not name JAX.
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
        .map(|entry| JaxVersion::parse(entry.get("version")?.as_str()?).map(JaxPin::Exact))
        .collect()
}
