//! Reads regular files only.
//!
//! **Invariant:** a pipe or device, which may never end, is rejected before it is opened.

use std::io;
use std::path::Path;

/// The bytes of a regular file.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if std::fs::metadata(path)?.is_file() { std::fs::read(path) } else { Err(not_regular()) }
}

/// The text of a regular file.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    let bytes = read_regular(path)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The error for anything that is not a regular file.
pub fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}
