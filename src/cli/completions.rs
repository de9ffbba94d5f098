//! `keylint completions`.
//!
//! **Invariant:** completions come from the same definitions that parse the arguments.

use clap::CommandFactory;

use super::args::{Args, Completions};
use super::{Failure, Process, Status};

pub(super) fn run(command: &Completions, process: &mut Process<'_>) -> Result<Status, Failure> {
    // The generator panics where it cannot write; into memory it always can.
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Args::command(), "keylint", &mut script);
    process.stdout.write_all(&script)?;
    Ok(Status::Clean)
}
