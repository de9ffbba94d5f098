//! Computes the identity of the build, for the cache. What keylint finds depends only on its sources, its rules and the versions
//! of its dependencies.
//!
//! **Invariant:** equal files give the same identity on every machine.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The inputs of a build.
const PARTS: [&str; 4] = ["src", "rules", "Cargo.toml", "Cargo.lock"];

fn main() -> io::Result<()> {
    let mut hasher = DefaultHasher::new();
    for part in PARTS {
        println!("cargo::rerun-if-changed={part}");
        // A crate from a registry may have no lock file.
        if Path::new(part).exists() {
            add(Path::new(part), &mut hasher)?;
        }
    }
    println!("cargo::rustc-env=KEYLINT_BUILD={:016x}", hasher.finish());
    Ok(())
}

fn add(path: &Path, hasher: &mut impl Hasher) -> io::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| add(entry, hasher));
    }
    let name: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    name.join("/").hash(hasher);
    fs::read(path)?.hash(hasher);
    Ok(())
}
