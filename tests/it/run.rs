//! One run of the command line without a process: arguments and standard input in, status and printed text out.
//!
//! **Invariant:** nothing of the environment reaches the run but the folder that it is given.

use std::ffi::OsString;
use std::path::Path;

use keylint::cli::{self, EngineBackend, Status, World};

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

/// Runs `keylint` in a folder.
pub fn keylint(folder: &Path, arguments: impl IntoIterator<Item = impl Into<OsString>>, mut input: &[u8]) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut world = World {
        cwd: folder.to_owned(),
        env: &|_| None,
        stdout_is_terminal: false,
        stdout_has_links: false,
        stderr_is_terminal: false,
        stdin: &mut input,
        stdout: &mut out,
        stderr: &mut err,
    };
    let arguments = [OsString::from("keylint")].into_iter().chain(arguments.into_iter().map(Into::into));
    let status = cli::run(arguments, &EngineBackend, &mut world);
    Ran { status, out, err: String::from_utf8(err).unwrap() }
}
