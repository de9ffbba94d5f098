//! `keylint clean`.
//!
//! **Invariant:** only the cache that `keylint check` with the same arguments would use is removed.

use super::args::{Args, Clean};
use super::check::{report_missing, report_warnings, resolver};
use super::{Failure, Process, Status};
use crate::{engine, report};

pub(super) fn run(command: &Clean, args: &Args, process: &mut Process<'_>) -> Result<Status, Failure> {
    let resolver = resolver(&command.selection, &command.paths, process)?;
    let cleaned = engine::clean(&process.cwd, &command.paths, &resolver)?;
    report_warnings(&resolver, process)?;
    report_missing(&cleaned.missing, process)?;
    let mut status = if cleaned.missing.is_empty() { Status::Clean } else { Status::Failed };
    for (folder, result) in &cleaned.folders {
        let folder = report::neutral(&folder.display().to_string());
        match result {
            Ok(()) if args.quiet => {}
            Ok(()) => writeln!(process.stdout, "Removed `{folder}`.")?,
            Err(problem) => {
                status = Status::Failed;
                let problem = report::neutral(problem);
                writeln!(process.stderr, "error: the cache `{folder}` cannot be removed: {problem}")?;
            }
        }
    }
    if cleaned.folders.is_empty() && status == Status::Clean && !args.quiet {
        writeln!(process.stdout, "There is no cache.")?;
    }
    Ok(status)
}
