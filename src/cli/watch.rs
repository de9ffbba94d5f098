//! `keylint check --watch`.
//!
//! **Invariant:** every run reads files and configuration afresh; changes that come together make one run.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use notify::event::EventKind;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::args::Args;
use super::{Failure, Process, Status};
use crate::engine::is_source;
use crate::report;

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
    let mut heading = String::new();
    loop {
        if process.stdout_is_terminal {
            write!(process.stdout, "\u{1b}[2J\u{1b}[H")?;
        }
        if !heading.is_empty() {
            let gap = if process.stdout_is_terminal { "" } else { "\n" };
            writeln!(process.stderr, "{gap}{heading}")?;
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
            if let Ok(event) = event
                && let Some(path) = changed(&event)
            {
                if !args.quiet {
                    let path = path.strip_prefix(&process.cwd).unwrap_or(path).display().to_string();
                    heading = format!("[{}] `{}` changed.", time_of_day(), report::neutral(&path));
                }
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

/// The time in UTC, because the standard library does not know the time zone.
fn time_of_day() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs() % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The file through which an event can change the findings.
fn changed(event: &Event) -> Option<&PathBuf> {
    let is_ours = |path: &PathBuf| is_source(path) || path.extension().is_some_and(|suffix| suffix == "toml");
    let mut paths = event.paths.iter().filter(|_| !matches!(event.kind, EventKind::Access(_)));
    paths.find(|path| is_ours(path))
}
