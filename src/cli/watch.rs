//! `keylint check --watch`.
//!
//! **Invariant:** every run reads files and configuration afresh; changes that come together make one run.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use notify::event::EventKind;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::args::Args;
use super::{Failure, Process, Status};
use crate::engine::is_source;

/// Changes within this time after another change belong to the same run.
const PAUSE: Duration = Duration::from_millis(100);

/// One check.
type Check<'a> = &'a mut dyn FnMut(&mut Process<'_>) -> Result<Status, Failure>;

/// Checks, and again whenever a file below the paths changes, until the process is ended.
pub(super) fn run(
    paths: &[PathBuf],
    args: &Args,
    process: &mut Process<'_>,
    check: Check<'_>,
) -> Result<Status, Failure> {
    if paths.iter().any(|path| path.as_path() == Path::new("-")) {
        return Err(Failure::Usage("`--watch` watches files and cannot be used with `-`".to_owned()));
    }
    // A mistyped path would be watched for ever.
    if let Some(path) = paths.iter().find(|path| !process.cwd.join(path).exists()) {
        return Err(Failure::Usage(format!("`{}`: no such file or directory", path.display())));
    }
    let (sender, changes) = mpsc::channel();
    let failed = |error: notify::Error| Failure::Usage(format!("files cannot be watched: {error}"));
    let send = move |event: notify::Result<Event>| {
        // If the output is closed, the run ends.
        let _ = sender.send(event);
    };
    let mut watcher = RecommendedWatcher::new(send, notify::Config::default()).map_err(failed)?;
    for path in paths {
        let (folder, mode) = watched(&process.cwd.join(path));
        watcher.watch(&folder, mode).map_err(failed)?;
    }
    loop {
        if process.stdout_is_terminal {
            write!(process.stdout, "\u{1b}[2J\u{1b}[H")?;
        }
        match check(process) {
            Ok(_) => {}
            // A mistake in the configuration can be corrected while we watch.
            Err(failure @ (Failure::Config(_) | Failure::Usage(_))) => super::report_failure(&failure, args, process)?,
            Err(failure) => return Err(failure),
        }
        if !args.quiet {
            writeln!(process.stderr, "Watching for changes; press Ctrl+C to stop.")?;
        }
        loop {
            let Ok(event) = changes.recv() else { return Ok(Status::Clean) };
            if event.is_ok_and(|event| matters(&event)) {
                break;
            }
        }
        while changes.recv_timeout(PAUSE).is_ok() {}
    }
}

/// What to watch for a given path: a folder with everything below it, or the folder of a file, because editors replace files.
fn watched(path: &Path) -> (PathBuf, RecursiveMode) {
    if path.is_dir() {
        return (path.to_owned(), RecursiveMode::Recursive);
    }
    (path.parent().unwrap_or(path).to_owned(), RecursiveMode::NonRecursive)
}

/// Whether an event can change the findings.
fn matters(event: &Event) -> bool {
    let is_ours = |path: &PathBuf| is_source(path) || path.extension().is_some_and(|suffix| suffix == "toml");
    !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(is_ours)
}
