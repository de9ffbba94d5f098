//! `keylint check`.
//!
//! **Invariant:** findings are printed whatever else went wrong; a run that failed says so by its status alone.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::args::{Args, Check};
use super::backend::{Backend, CheckRequest, Stdin};
use super::output::{Colour, write_file};
use super::{Failure, Status, World};
use crate::config::{KnownRule, Resolver};
use crate::engine::Outcome;
use crate::report::{self, Format, Report};

/// How long a run may last before it shows progress, and how often it does then.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) fn run(
    command: &Check,
    args: &Args,
    backend: &dyn Backend,
    world: &mut World<'_>,
) -> Result<Status, Failure> {
    let rules: Vec<KnownRule> = backend.rules().iter().map(super::RuleInfo::known).collect();
    let command_line = command.selection.command_line().map_err(Failure::Usage)?;
    let resolver = Resolver::new(&world.cwd, rules, command_line)?;
    let (paths, stdin) = inputs(command, world)?;
    let ticker = Ticker::new(world.stderr_is_terminal && !command.no_progress && !args.quiet);
    let request = CheckRequest {
        cwd: &world.cwd,
        paths: &paths,
        stdin,
        resolver: &resolver,
        force_exclude: command.force_exclude,
        use_cache: !command.no_cache,
        progress: &|done, total| ticker.tell(done, total),
    };
    if command.show_files {
        let files = backend.files(&request)?;
        for file in files {
            writeln!(world.stdout, "{}", report::neutral(&file.display().to_string()))?;
        }
        return Ok(Status::Clean);
    }
    let started = Instant::now();
    let outcome = backend.check(&request)?;
    ticker.clear();
    let checked = outcome.checked;
    if args.verbose {
        let seconds = started.elapsed().as_secs_f64();
        writeln!(world.stderr, "Checked {checked} {} in {seconds:.2} s.", if checked == 1 { "file" } else { "files" })?;
    }
    if checked == 0 && !outcome.failed && !args.quiet {
        writeln!(world.stderr, "warning: no Python files were found under the given paths")?;
    }
    let status = status(&outcome, command.exit_zero);
    match print(command, args, &outcome, world) {
        // Whoever reads the findings may stop early; the status is that of the run all the same.
        Err(Failure::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(status),
        Err(failure) => Err(failure),
        Ok(()) => Ok(status),
    }
}

/// Splits `-` off the paths and reads it.
fn inputs(command: &Check, world: &mut World<'_>) -> Result<(Vec<PathBuf>, Option<Stdin>), Failure> {
    let is_stdin = |path: &&PathBuf| path.as_path() == Path::new("-");
    let paths: Vec<PathBuf> = command.paths.iter().filter(|path| !is_stdin(path)).cloned().collect();
    if !command.paths.iter().any(|path| is_stdin(&path)) {
        if command.stdin_filename.is_some() {
            let hint = "`--stdin-filename` names what is read from standard input, which is asked for by the path `-`";
            return Err(Failure::Usage(hint.to_owned()));
        }
        return Ok((paths, None));
    }
    if !paths.is_empty() {
        return Err(Failure::Usage("`-` cannot be combined with other paths".to_owned()));
    }
    let mut bytes = Vec::new();
    let read = world.stdin.read_to_end(&mut bytes);
    read.map_err(|error| Failure::Usage(format!("cannot read standard input: {error}")))?;
    let filename = command.stdin_filename.clone().unwrap_or_else(|| PathBuf::from("-"));
    Ok((paths, Some(Stdin { filename, bytes })))
}

fn status(outcome: &Outcome, exit_zero: bool) -> Status {
    if outcome.failed {
        Status::Failed
    } else if outcome.findings.iter().any(|reported| reported.shown) && !exit_zero {
        Status::Findings
    } else {
        Status::Clean
    }
}

fn print(command: &Check, args: &Args, outcome: &Outcome, world: &mut World<'_>) -> Result<(), Failure> {
    let shown = outcome.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding);
    let report = Report::new(&outcome.files, shown, &outcome.hidden);
    let format = Format::from(command.output_format);
    let colour = Colour::new(args.color, world.env);
    let colour = colour.on(world.stdout_is_terminal && command.output_file.is_none());
    let mut bytes = Vec::new();
    if !command.statistics {
        report.write(format, colour, &mut bytes)?;
    } else if format.is_for_people() {
        bytes.extend(report::statistics(&report).bytes());
    } else {
        bytes.extend(report::statistics_json(&report).bytes());
    }
    if format.is_for_people() && !args.quiet {
        writeln!(bytes, "{}", report::summary(&report))?;
    }
    if let Some(path) = &command.output_file {
        let written = write_file(path, &bytes);
        return written.map_err(|error| Failure::Usage(format!("cannot write `{}`: {error}", path.display())));
    }
    world.stdout.write_all(&bytes)?;
    Ok(world.stdout.flush()?)
}

/// Shows progress on one line of standard error.
struct Ticker {
    started: Instant,
    last: Option<Mutex<Option<Instant>>>,
}

impl Ticker {
    fn new(enabled: bool) -> Self {
        Self { started: Instant::now(), last: enabled.then(Mutex::default) }
    }

    fn tell(&self, done: usize, total: usize) {
        let Some(last) = &self.last else { return };
        // Whoever holds the lock is printing already.
        let Ok(mut last) = last.try_lock() else { return };
        if last.unwrap_or(self.started).elapsed() >= PATIENCE {
            *last = Some(Instant::now());
            // Progress that cannot be shown is no loss.
            let _ = write!(std::io::stderr(), "\r\u{1b}[2KChecking {done} of {total} files …");
        }
    }

    fn clear(&self) {
        let shown = self.last.as_ref().is_some_and(|last| last.lock().is_ok_and(|last| last.is_some()));
        if shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[2K");
        }
    }
}
