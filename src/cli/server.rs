//! `keylint server`.
//!
//! **Invariant:** standard output carries the protocol and nothing else.

use std::path::PathBuf;

use super::{Status, World};
use crate::server::{self, Ended, Streams};

pub(super) fn run(world: &mut World<'_>) -> Status {
    let home = (world.env)("HOME").or_else(|| (world.env)("USERPROFILE")).map(PathBuf::from);
    let streams = Streams { input: world.stdin, output: world.stdout, log: world.stderr };
    match server::serve(streams, world.cwd.clone(), home) {
        Ended::Orderly => Status::Clean,
        Ended::Abrupt => Status::Abandoned,
    }
}
