//! `keylint why`.
//!
//! **Invariant:** the place is read from the right, so that a path may hold colons.

use std::path::Path;

use super::args::Why;
use super::backend::{Backend, RuleInfo};
use super::{Failure, Status, World};
use crate::config::Resolver;
use crate::report;

pub(super) fn run(command: &Why, backend: &dyn Backend, world: &mut World<'_>) -> Result<Status, Failure> {
    let rules = backend.rules().iter().map(RuleInfo::known).collect();
    let command_line = command.selection.command_line().map_err(Failure::Usage)?;
    let resolver = Resolver::new(&world.cwd, rules, command_line)?;
    let (file, row) = place(&command.place)?;
    let answer = backend.why(Path::new(file), row, &resolver).map_err(Failure::Usage)?;
    write!(world.stdout, "{}", report::neutral_line(&answer))?;
    Ok(Status::Clean)
}

fn place(written: &str) -> Result<(&str, usize), Failure> {
    let parsed = written.rsplit_once(':').and_then(|(file, row)| Some((file, row.parse::<usize>().ok()?)));
    parsed
        .filter(|(file, row)| !file.is_empty() && *row > 0)
        .ok_or_else(|| Failure::Usage(format!("expected `FILE:LINE`, not `{written}`")))
}
