//! `keylint check`.
//!
//! **Invariant:** findings are printed whatever else went wrong; a run that failed says so by its status alone.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::args::{Args, Check};
use super::backend::{Backend, CheckRequest, Stdin};
use super::fix::{self, Repaired};
use super::output::{Colour, write_file};
use super::{Failure, Status, World};
use crate::config::{KnownRule, Resolver};
use crate::engine::{Fixes, Outcome};
use crate::report::{self, Format, Report};
use crate::source::{self, SourceFile};

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
    let stdin_source = stdin.as_ref().map(source_of).transpose()?;
    let request = CheckRequest {
        cwd: &world.cwd,
        paths: &paths,
        stdin,
        resolver: &resolver,
        force_exclude: command.force_exclude,
        use_cache: !command.no_cache,
        fixes: fixes(command),
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
    let repaired = if command.fix || command.diff {
        backend.fix(&request, fix::least(command))?
    } else {
        Repaired { outcome: backend.check(&request)?, ..Repaired::default() }
    };
    let outcome = &repaired.outcome;
    ticker.clear();
    let checked = outcome.checked;
    if args.verbose {
        let seconds = started.elapsed().as_secs_f64();
        writeln!(world.stderr, "Checked {checked} {} in {seconds:.2} s.", if checked == 1 { "file" } else { "files" })?;
    }
    if checked == 0 && !outcome.failed && !args.quiet {
        writeln!(world.stderr, "warning: no Python files were found under the given paths")?;
    }
    if command.diff {
        return show_diff(command, args, &repaired, world);
    }
    let status = status(outcome, command.exit_zero);
    if command.fix {
        fix::write(&repaired, stdin_source.as_ref(), world)?;
    }
    match print(command, args, &repaired, stdin_source.is_some(), world) {
        // Whoever reads the findings may stop early; the status is that of the run all the same.
        Err(Failure::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(status),
        Err(failure) => Err(failure),
        Ok(()) => Ok(status),
    }
}

/// Whether this run has to look for fixes.
fn fixes(command: &Check) -> Fixes {
    let format = Format::from(command.output_format);
    let are_shown = !command.statistics && format.shows_fixes();
    match (command.fix || command.diff || are_shown, command.no_verify) {
        (false, _) => Fixes::None,
        (true, true) => Fixes::Unverified,
        (true, false) => Fixes::Verified,
    }
}

/// The text from standard input. What cannot be decoded is reported as any such file is, and printed as it came.
fn source_of(stdin: &Stdin) -> Result<SourceFile, Failure> {
    let display = stdin.filename.display().to_string();
    source::decode(&display, stdin.bytes.clone())
        .map_err(|problem| Failure::Usage(format!("{}: {}", problem.path, problem.message)))
}

/// Prints what `--fix` would change.
fn show_diff(command: &Check, args: &Args, repaired: &Repaired, world: &mut World<'_>) -> Result<Status, Failure> {
    let diff = fix::diff(repaired, world.stdout_is_terminal);
    world.stdout.write_all(diff.as_bytes())?;
    world.stdout.flush()?;
    if !args.quiet {
        let would = fix::summary(repaired).map(|line| line.replacen("Fixed", "Would fix", 1));
        for line in would.into_iter().chain(fix::available(&repaired.outcome, command)) {
            writeln!(world.stderr, "{line}")?;
        }
    }
    Ok(match (repaired.outcome.failed, repaired.changed.is_empty() || command.exit_zero) {
        (true, _) => Status::Failed,
        (false, true) => Status::Clean,
        (false, false) => Status::Findings,
    })
}

/// Splits `-` off the paths and reads it.
fn inputs(command: &Check, world: &mut World<'_>) -> Result<(Vec<PathBuf>, Option<Stdin>), Failure> {
    let is_stdin = |path: &&PathBuf| path.as_path() == Path::new("-");
    let paths: Vec<PathBuf> = command.paths.iter().filter(|path| !is_stdin(path)).cloned().collect();
    if !command.paths.iter().any(|path| is_stdin(&path)) {
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

fn print(
    command: &Check,
    args: &Args,
    repaired: &Repaired,
    from_stdin: bool,
    world: &mut World<'_>,
) -> Result<(), Failure> {
    let outcome = &repaired.outcome;
    // The repaired text has standard output to itself.
    let aside = command.fix && from_stdin;
    let shown = outcome.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding);
    let report = Report::new(&outcome.files, shown, &outcome.hidden);
    let format = Format::from(command.output_format);
    let colour = Colour::new(args.color, world.env);
    let is_terminal = if aside { world.stderr_is_terminal } else { world.stdout_is_terminal };
    let colour = colour.on(is_terminal && command.output_file.is_none());
    let mut bytes = Vec::new();
    if !command.statistics {
        report.write(format, colour, &mut bytes)?;
    } else if format.is_for_people() {
        bytes.extend(report::statistics(&report).bytes());
    } else {
        bytes.extend(report::statistics_json(&report).bytes());
    }
    if format.is_for_people() && !args.quiet {
        if let Some(line) = fix::summary(repaired) {
            writeln!(bytes, "{line}")?;
        }
        writeln!(bytes, "{}", report::summary(&report))?;
        if let Some(line) = fix::available(outcome, command) {
            writeln!(bytes, "{line}")?;
        }
    }
    if let Some(path) = &command.output_file {
        let written = write_file(path, &bytes);
        return written.map_err(|error| Failure::Usage(format!("cannot write `{}`: {error}", path.display())));
    }
    let out: &mut dyn Write = if aside { world.stderr } else { world.stdout };
    out.write_all(&bytes)?;
    Ok(out.flush()?)
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
