//! `keylint server`.
//!
//! **Invariant:** standard output carries the protocol and nothing else.

use std::path::PathBuf;

use super::{Process, Status};
use crate::server::{self, Ended, Streams};

pub(super) fn run(process: &mut Process<'_>) -> Status {
    let home = (process.env)("HOME").or_else(|| (process.env)("USERPROFILE")).map(PathBuf::from);
    let streams = Streams { input: process.stdin, output: process.stdout, log: process.stderr };
    match server::serve(streams, process.cwd.clone(), home) {
        Ended::Orderly => Status::Clean,
        Ended::Abrupt => Status::Abandoned,
    }
}
