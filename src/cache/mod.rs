//! A folder of results of earlier runs.
//!
//! An entry is one file: a line with the format, the build that wrote it and the digest of the rest, then the content. It is written beside
//! its final place and renamed, so that any number of processes can share the folder. An entry that is damaged or from another build is
//! ignored. If the folder exceeds a size limit, the least recently used entries are removed.
//!
//! **Invariant:** a content is returned only as this very build stored it. No file is written to or removed from a folder that contains
//! anything else.

mod marks;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use crate::config::read_regular;
use crate::text::Digest;

/// The name of the folder beside a configuration or in a project's root.
pub const FOLDER: &str = ".keylint_cache";

/// What an entry starts with.
const FORMAT: &str = "keylint cache 1";

/// The identity of this build: a digest of all that it is made of.
const BUILD: &str = env!("KEYLINT_BUILD");

/// The size of all entries of a folder beyond which old ones go.
const MOST_BYTES: u64 = 64 << 20;

/// The size to which they are then reduced.
const KEPT_BYTES: u64 = 48 << 20;

/// How old the time of an entry's last use may become before it is noted again.
const STALE: Duration = Duration::from_hours(1);

/// The ending of entries.
const ENTRY: &str = "entry";

/// The ending of files that are being written.
const UNFINISHED: &str = "part";

/// A folder of entries, which need not exist.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What this build stored under a name, if it is there and whole.
    pub fn read(&self, name: Digest) -> Option<Vec<u8>> {
        let path = self.path_of(name);
        let mut bytes = read_regular(&path).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let content = bytes.split_off(end + 1);
        bytes.pop();
        if bytes != header(&content).as_bytes() {
            return None;
        }
        note_use(&path);
        Some(content)
    }

    /// Stores a content under a name, replacing the previous one.
    pub fn write(&self, name: Digest, content: &[u8]) -> io::Result<()> {
        self.prepare()?;
        let (unfinished, mut file) = self.unfinished(name)?;
        let written = file
            .write_all(header(content).as_bytes())
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.write_all(content));
        drop(file);
        let written = written.and_then(|()| fs::rename(&unfinished, self.path_of(name)));
        if written.is_err() {
            // What cannot be removed is found again when the folder has grown too large.
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        self.shrink(MOST_BYTES, KEPT_BYTES)
    }

    /// Removes all entries, and the folder if nothing else is in it; whether there was anything.
    pub fn clean(&self) -> io::Result<bool> {
        if !self.folder.is_dir() {
            return Ok(false);
        }
        if !marks::is_ours(&self.folder)? {
            return Err(foreign());
        }
        for entry in self.entries()? {
            remove(&entry.path)?;
        }
        marks::remove(&self.folder)?;
        match fs::remove_dir(&self.folder) {
            // Another process is working here, or the user keeps other files here.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(true),
            other => other.map(|()| true),
        }
    }

    fn path_of(&self, name: Digest) -> PathBuf {
        self.folder.join(format!("{name}.{ENTRY}"))
    }

    /// Creates the folder, and marks it as a cache.
    fn prepare(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        if marks::are_in(&self.folder) {
            return Ok(());
        }
        if !marks::is_ours(&self.folder)? {
            return Err(foreign());
        }
        marks::write(&self.folder)
    }

    /// A file of our own to write to.
    fn unfinished(&self, name: Digest) -> io::Result<(PathBuf, File)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // Processes on several machines may share a folder, and an identity.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = self.folder.join(format!("{name}-{process}-{count}-{now}.{UNFINISHED}"));
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((path, file))
    }

    /// Removes the least recently used entries, if all together are larger than `most`, until they are no larger than `kept`.
    fn shrink(&self, most: u64, kept: u64) -> io::Result<()> {
        let mut entries = self.entries()?;
        let mut size: u64 = entries.iter().map(|entry| entry.size).sum();
        if size <= most {
            return Ok(());
        }
        entries.sort_by_key(|entry| entry.used);
        for entry in entries {
            if size <= kept {
                break;
            }
            remove(&entry.path)?;
            size = size.saturating_sub(entry.size);
        }
        Ok(())
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if !is_entry(&path) {
                continue;
            }
            // Another process may have removed it.
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(Entry { path, used, size: found.len() });
        }
        Ok(entries)
    }
}

/// An entry as the folder shows it.
struct Entry {
    path: PathBuf,
    used: SystemTime,
    size: u64,
}

/// Whether a file is an entry, or was to become one.
fn is_entry(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENTRY || ending == UNFINISHED)
}

fn header(content: &[u8]) -> String {
    format!("{FORMAT} {BUILD} {}", Digest::of(content))
}

/// Records that an entry was used; a cache that cannot be written to still works.
fn note_use(path: &Path) {
    let now = SystemTime::now();
    let used = fs::metadata(path).and_then(|found| found.modified());
    if used.is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > STALE))
        && let Ok(file) = OpenOptions::new().append(true).open(path)
    {
        let _ = file.set_modified(now);
    }
}

fn foreign() -> io::Error {
    io::Error::other("the folder holds other files and is not marked as a keylint cache")
}

/// Removes a file, unless another process has.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(of: &str) -> Digest {
        Digest::of(of.as_bytes())
    }

    #[test]
    fn damaged_or_foreign_entries_count_as_absent() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("a/b"));
        assert_eq!(cache.read(name("x")), None);
        cache.write(name("x"), b"content\nof two lines").unwrap();
        assert_eq!(cache.read(name("x")).unwrap(), b"content\nof two lines");
        let path = cache.path_of(name("x"));
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(cache.read(name("x")), None, "cut after {cut} bytes");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.read(name("x")), None, "byte {at} damaged");
        }
        let of_another = String::from_utf8(whole).unwrap().replacen(BUILD, "0123456789abcdef", 1);
        fs::write(&path, of_another).unwrap();
        assert_eq!(cache.read(name("x")), None);
        cache.write(name("x"), b"again").unwrap();
        assert_eq!(cache.read(name("x")).unwrap(), b"again");
    }

    #[test]
    fn foreign_folders_are_not_cleaned() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        let cache = Cache::at(folder.path().to_owned());
        assert!(cache.write(name("x"), b"").is_err());
        assert!(cache.clean().is_err());
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["notes.txt"]);
    }

    #[test]
    fn cleaning_removes_only_our_entries() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"));
        assert!(!cache.clean().unwrap());
        cache.write(name("x"), b"x").unwrap();
        assert!(cache.folder().join(".gitignore").is_file() && cache.folder().join("CACHEDIR.TAG").is_file());
        assert!(cache.clean().unwrap());
        assert!(!cache.folder().exists());
        cache.write(name("x"), b"x").unwrap();
        fs::write(cache.folder().join("notes.txt"), "mine").unwrap();
        assert!(cache.clean().unwrap());
        assert!(cache.folder().join("notes.txt").exists());
    }

    #[test]
    fn oldest_entries_are_evicted_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let names = ["a", "b", "c", "d"].map(name);
        for (age, name) in names.into_iter().enumerate() {
            cache.write(name, &[0; 1000]).unwrap();
            let file = OpenOptions::new().append(true).open(cache.path_of(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(10 * (4 - age as u64))).unwrap();
        }
        cache.shrink(10_000, 0).unwrap();
        assert!(names.iter().all(|name| cache.read(*name).is_some()));
        cache.shrink(4_000, 2_500).unwrap();
        assert_eq!(names.map(|name| cache.read(name).is_some()), [false, false, true, true]);
    }
}
