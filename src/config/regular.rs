//! Reading files that the system names: regular ones only.
//!
//! **Invariant:** a pipe or a device, which may never end, is refused before it is opened.

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

/// Why something else is not read.
pub fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}
