//! A folder with the results of earlier runs.
//!
//! An entry is one file: a header line with the format, the build that wrote it and the digest of the content, then the content. It is
//! written to a temporary file and renamed, so that any number of processes can share the folder. A damaged entry, or one from another
//! build, is ignored. If the folder exceeds a size limit, the least recently used entries are removed.
//!
//! **Invariant:** an entry is returned only if it is intact and this exact build stored it. Nothing is written to or removed from a folder
//! that contains files of others.

mod marks;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use crate::config::read_regular;
use crate::text::Digest;

/// The name of the folder, which is next to the configuration file or in the project's root.
pub const FOLDER: &str = ".keylint_cache";

/// The first words of an entry's header.
const FORMAT: &str = "keylint cache 1";

/// The identity of this build: a digest of everything that it is built from.
pub const BUILD: &str = env!("KEYLINT_BUILD");

/// The total size of the entries above which old ones are removed.
const MOST_BYTES: u64 = 64 << 20;

/// The total size at which the removal stops.
const KEPT_BYTES: u64 = 48 << 20;

/// How old an entry's recorded time of last use may be before it is updated.
const STALE: Duration = Duration::from_hours(1);

/// The extension of entries.
const ENTRY: &str = "entry";

/// The extension of temporary files.
const UNFINISHED: &str = "part";

/// A folder of entries. It need not exist.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The content that this build stored under a name, if it is there and undamaged.
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

    /// Stores content under a name, replacing any previous content.
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
            // If this fails, `shrink` removes the file later.
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        self.shrink(MOST_BYTES, KEPT_BYTES)
    }

    /// Removes all entries, and the folder if nothing else is in it. Returns whether there was anything to remove.
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

    /// The file of an entry.
    pub fn path_of(&self, name: Digest) -> PathBuf {
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

    /// Creates a temporary file with a unique name.
    fn unfinished(&self, name: Digest) -> io::Result<(PathBuf, File)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // Processes on several machines may share a folder, and may have the same process identifier.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = self.folder.join(format!("{name}-{process}-{count}-{now}.{UNFINISHED}"));
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((path, file))
    }

    /// If the entries are larger than `most` in total, removes the least recently used ones until they are no larger than `kept`.
    pub fn shrink(&self, most: u64, kept: u64) -> io::Result<()> {
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

/// An entry in the folder's listing.
struct Entry {
    path: PathBuf,
    used: SystemTime,
    size: u64,
}

/// Whether a file is an entry or the temporary file of one.
fn is_entry(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENTRY || ending == UNFINISHED)
}

fn header(content: &[u8]) -> String {
    format!("{FORMAT} {BUILD} {}", Digest::of(content))
}

/// Updates the time of last use. Errors are ignored: a read-only cache still works.
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

/// Removes a file; it is no error if another process has removed it.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
