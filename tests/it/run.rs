//! One run of the command line without a process: arguments and standard input in, status and printed text out.
//!
//! **Invariant:** a run depends only on the folder and the variables that it is given.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use keylint::cli::{self, EngineBackend, Process, Status};
use tempfile::TempDir;

/// What a run printed.
pub struct Ran {
    pub status: Status,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    /// What it printed on standard output.
    pub fn text(self) -> String {
        String::from_utf8(self.out).unwrap()
    }
}

/// Writes files below a folder.
pub fn write<T: AsRef<[u8]>>(folder: &Path, files: &[(&str, T)]) {
    for (path, content) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// A separate folder with these files.
pub fn folder<T: AsRef<[u8]>>(files: &[(&str, T)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    folder
}

/// Runs `keylint` in a folder.
pub fn keylint(folder: &Path, arguments: impl IntoIterator<Item = impl Into<OsString>>, input: &[u8]) -> Ran {
    keylint_with(&[], folder, arguments, input)
}

/// Runs `keylint` in a folder with these variables; with `LINKS`, the terminal of standard output has links.
pub fn keylint_with(
    env: &[(&str, &str)],
    folder: &Path,
    arguments: impl IntoIterator<Item = impl Into<OsString>>,
    mut input: &[u8],
) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut process = Process {
        cwd: folder.to_owned(),
        env: &|name| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        stdout_is_terminal: false,
        stdout_has_links: env.iter().any(|(name, _)| *name == "LINKS"),
        stderr_is_terminal: false,
        stdin: &mut input,
        stdout: &mut out,
        stderr: &mut err,
    };
    let arguments = [OsString::from("keylint")].into_iter().chain(arguments.into_iter().map(Into::into));
    let status = cli::run(arguments, &EngineBackend, &mut process);
    Ran { status, out, err: String::from_utf8(err).unwrap() }
}
