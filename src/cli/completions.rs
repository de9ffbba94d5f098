//! `keylint completions`.
//!
//! **Invariant:** completions come from the same definitions that parse the arguments.

use clap::CommandFactory;

use super::args::{Args, Completions};
use super::{Failure, Status, World};

pub(super) fn run(command: &Completions, world: &mut World<'_>) -> Result<Status, Failure> {
    // The generator panics where it cannot write; into memory it always can.
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Args::command(), "keylint", &mut script);
    world.stdout.write_all(&script)?;
    Ok(Status::Clean)
}
