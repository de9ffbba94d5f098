//! `keylint check`.
//!
//! **Invariant:** findings are printed even if something else failed; the failure then shows in the exit status.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::args::{Args, Check, Selection};
use super::backend::{Backend, CheckRequest, Listing, Stdin};
use super::baseline;
use super::destinations::Destinations;
use super::fix;
use super::ignores;
use super::output::Colour;
use super::progress::ProgressLine;
use super::watch;
use super::{Failure, Process, Status};
use crate::config::{CommandLine, Resolver};
use crate::engine::{FixOutcome, Fixes, Outcome, known_rules};
use crate::finding::{Finding, RuleId};
use crate::report::{self, Format, Report, Root};
use crate::source::{self, Problem, SourceFile};

pub(super) fn run(
    command: &Check,
    args: &Args,
    backend: &dyn Backend,
    process: &mut Process<'_>,
) -> Result<Status, Failure> {
    if !command.watch {
        return once(command, args, backend, process);
    }
    watch::run(&command.paths, args, process, &mut |process| once(command, args, backend, process))
}

/// Checks once.
fn once(command: &Check, args: &Args, backend: &dyn Backend, process: &mut Process<'_>) -> Result<Status, Failure> {
    let (paths, stdin) = inputs(command, process)?;
    let resolver = resolver_of(command.command_line().map_err(Failure::Usage)?, &paths, process)?;
    let command = &command.completed(resolver.for_directory(&process.cwd)?.run);
    let reason = command.add_ignores.as_deref().map(|written| ignores::reason(written, &process.cwd)).transpose()?;
    if reason.is_some() && stdin.is_some() {
        return Err(Failure::Usage("`--add-ignores` writes files and cannot be used with `-`".to_owned()));
    }
    let ticker = ProgressLine::new(process.stderr_is_terminal && !command.no_progress && !args.quiet);
    let stdin_source = stdin.as_ref().filter(|_| command.fix && !command.diff).map(source_of).transpose()?;
    let cwd = process.cwd.clone();
    let request = CheckRequest {
        cwd: &cwd,
        paths: &paths,
        stdin,
        resolver: &resolver,
        force_exclude: command.force_exclude,
        use_cache: !command.no_cache,
        fixes: wanted_fixes(command)?,
        verify: !command.no_verify,
        progress: &|done, total| ticker.update(done, total),
    };
    if command.show_files {
        let listing = backend.files(&request)?;
        report_warnings(&resolver, process)?;
        return show_files(&listing, process);
    }
    let started = Instant::now();
    Destinations::of(&command.output_file)?;
    countable(command)?;
    let mut fixed = if command.fix || command.diff {
        let accepted = baseline::accepted(command.baseline.as_deref(), &resolver, || backend.files(&request), process)?;
        let least = fix::least(command);
        let is_wanted = |finding: &Finding| {
            let applies = finding.fix.as_ref().is_some_and(|fix| fix.applicability >= least);
            applies && !accepted.contains(&finding.fingerprint)
        };
        backend.fix(&request, &is_wanted)?
    } else {
        FixOutcome { outcome: backend.check(&request)?, ..FixOutcome::default() }
    };
    ticker.clear();
    report_warnings(&resolver, process)?;
    report_missing(&fixed.outcome.missing, process)?;
    baseline::apply(command.baseline.as_deref(), &resolver, &mut fixed.outcome, args.quiet, process)?;
    if let Some(reason) = reason {
        let added = ignores::add(&fixed.outcome, reason, process)?;
        fixed.outcome = backend.check(&request)?;
        baseline::apply(command.baseline.as_deref(), &resolver, &mut fixed.outcome, true, process)?;
        if !args.quiet {
            writeln!(process.stderr, "{}", ignores::summary(&added, &fixed.outcome))?;
        }
    }
    let outcome = &fixed.outcome;
    let checked = outcome.checked;
    if args.verbose {
        let seconds = started.elapsed().as_secs_f64();
        writeln!(
            process.stderr,
            "Checked {checked} {} in {seconds:.2} s.",
            if checked == 1 { "file" } else { "files" }
        )?;
        for line in outcome.cache_use.sentences() {
            writeln!(process.stderr, "{}", report::neutral(&line))?;
        }
        for refuted in &outcome.refuted {
            let place = report::neutral(&outcome.files.locus(refuted.place));
            let code = refuted.rule;
            writeln!(
                process.stderr,
                "{place}: the replay refutes {code}, which is a bug in keylint: please report it"
            )?;
        }
    }
    if checked == 0 && !outcome.failed && !args.quiet {
        writeln!(process.stderr, "warning: no Python files found under the given path(s)")?;
    }
    if !args.quiet && nothing_is_selected(outcome, &resolver) {
        writeln!(process.stderr, "warning: no rules selected; only unreadable files and syntax errors are reported")?;
    }
    if command.diff {
        return show_diff(command, args, &fixed, process);
    }
    let status = status(&fixed, command);
    if command.fix {
        fix::write(&fixed, stdin_source.as_ref(), process)?;
    }
    if command.fix_only {
        return report_fixes(command, args, &fixed, process).map(|()| status);
    }
    match print(command, args, &fixed, stdin_source.is_some(), process) {
        // The reader of the output may stop early; the status still describes the run.
        Err(Failure::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(status),
        Err(failure) => Err(failure),
        Ok(()) => Ok(status),
    }
}

/// Lists the files that would be checked.
fn show_files(listing: &Listing, process: &mut Process<'_>) -> Result<Status, Failure> {
    report_missing(&listing.missing, process)?;
    for file in &listing.files {
        writeln!(process.stdout, "{}", report::neutral(&file.display().to_string()))?;
    }
    Ok(if listing.missing.is_empty() { Status::Clean } else { Status::Failed })
}

/// Lists what was fixed, if nothing else is reported.
fn report_fixes(command: &Check, args: &Args, fixed: &FixOutcome, process: &mut Process<'_>) -> Result<(), Failure> {
    for line in fix::summary(fixed, command.show_fixes).iter().filter(|_| !args.quiet) {
        writeln!(process.stderr, "{line}")?;
    }
    Ok(())
}

/// The fixes that this run applies, or for which one of its reports has a place.
fn wanted_fixes(command: &Check) -> Result<Fixes, Failure> {
    let further = Destinations::of(&command.output_file)?.further;
    // The fixes of reuse are unsafe, and looking for them takes as long as the analysis.
    let shows = |format: &Format| format.shows_fixes() || (format.marks_fixes() && command.unsafe_fixes);
    let first = Some(command.format()).filter(|_| !command.statistics);
    let mut showing = first.into_iter().chain(further.into_iter().map(|(format, _)| format)).filter(shows).peekable();
    let is_applied = command.fix || command.diff;
    Ok(if !is_applied && showing.peek().is_none() {
        Fixes::None
    } else if is_applied
        || command.baseline.is_some()
        || command.selection.names(RuleId::LegacyPrngkey)
        || !showing.all(Format::is_for_people)
    {
        Fixes::All
    } else {
        Fixes::Listed
    })
}

/// Counts have no place in the formats that others define.
fn countable(command: &Check) -> Result<(), Failure> {
    let format = command.format();
    if !command.statistics || format.is_for_people() || format == Format::Json {
        return Ok(());
    }
    let name = format.name();
    Err(Failure::Usage(format!(
        "`--statistics` supports the formats `full`, `concise`, `grouped` and `json`; use `--output-file {name}=PATH` to write \
         a `{name}` report as well"
    )))
}

/// The text from standard input, which goes back to standard output.
fn source_of(stdin: &Stdin) -> Result<SourceFile, Failure> {
    let display = stdin.filename.display().to_string();
    source::decode(&display, stdin.bytes.clone())
        .map_err(|problem| Failure::Usage(format!("{}: {}", problem.path, problem.message)))
}

/// Prints what `--fix` would change.
fn show_diff(command: &Check, args: &Args, fixed: &FixOutcome, process: &mut Process<'_>) -> Result<Status, Failure> {
    let colour = Colour::new(args.color, process.env).on(process.stdout_is_terminal);
    let diff = fix::diff(fixed, process.stdout_is_terminal, colour);
    let unverified =
        command.show_unverified.then(|| fix::unverified(&fixed.outcome, process.stdout_is_terminal, colour));
    process.stdout.write_all(diff.as_bytes())?;
    process.stdout.write_all(unverified.as_ref().map_or("", |unverified| &unverified.diff).as_bytes())?;
    process.stdout.flush()?;
    if !args.quiet {
        let would = fix::summary(fixed, command.show_fixes);
        let mut would: Vec<String> = would.into_iter().map(|line| line.replacen("Fixed", "Would fix", 1)).collect();
        would.extend(unverified.as_ref().and_then(fix::Unverified::summary));
        for line in would.into_iter().chain(fix::available(&fixed.outcome, command, false)) {
            writeln!(process.stderr, "{line}")?;
        }
    }
    let is_empty = fixed.changed.is_empty() && unverified.is_none_or(|unverified| unverified.diff.is_empty());
    Ok(match (fixed.outcome.failed, is_empty || command.exit_zero) {
        (true, _) => Status::Failed,
        (false, true) => Status::Clean,
        (false, false) => Status::Findings,
    })
}

/// Gives the settings of each file, as the options change them.
pub(super) fn resolver(selection: &Selection, paths: &[PathBuf], process: &Process<'_>) -> Result<Resolver, Failure> {
    resolver_of(selection.command_line().map_err(Failure::Usage)?, paths, process)
}

fn resolver_of(command_line: CommandLine, paths: &[PathBuf], process: &Process<'_>) -> Result<Resolver, Failure> {
    let resolver = Resolver::new(&process.cwd, known_rules(), command_line)?;
    Ok(resolver.of_paths(paths.iter().map(PathBuf::as_path)))
}

/// Checks paths for another command, as `keylint check` would.
pub(super) fn outcome_of(
    paths: &[PathBuf],
    resolver: &Resolver,
    args: &Args,
    backend: &dyn Backend,
    process: &Process<'_>,
) -> Result<Outcome, Failure> {
    let ticker = ProgressLine::new(process.stderr_is_terminal && !args.quiet);
    let request = CheckRequest {
        cwd: &process.cwd,
        paths,
        stdin: None,
        resolver,
        force_exclude: false,
        use_cache: true,
        fixes: Fixes::None,
        verify: true,
        progress: &|done, total| ticker.update(done, total),
    };
    let outcome = backend.check(&request)?;
    ticker.clear();
    Ok(outcome)
}

/// Prints warnings about the configurations of a run. A configuration that is ignored is never silent.
pub(super) fn report_warnings(resolver: &Resolver, process: &mut Process<'_>) -> Result<(), Failure> {
    for warning in resolver.warnings() {
        writeln!(process.stderr, "warning: {}", report::neutral(&warning))?;
    }
    Ok(())
}

/// Prints which of the given paths do not exist.
pub(super) fn report_missing(missing: &[Problem], process: &mut Process<'_>) -> Result<(), Failure> {
    for Problem { path, message } in missing {
        writeln!(process.stderr, "error: `{}`: {message}", report::neutral(path))?;
    }
    Ok(())
}

/// Whether files were checked, and no rule is selected for any of them.
fn nothing_is_selected(outcome: &Outcome, resolver: &Resolver) -> bool {
    let mut settings = outcome.files.paths().take(outcome.checked).filter_map(|path| resolver.for_file(path).ok());
    outcome.checked > 0 && settings.all(|settings| settings.selects_nothing())
}

/// Splits `-` off the paths and reads it.
fn inputs(command: &Check, process: &mut Process<'_>) -> Result<(Vec<PathBuf>, Option<Stdin>), Failure> {
    let is_stdin = |path: &&PathBuf| path.as_path() == Path::new("-");
    let paths: Vec<PathBuf> = command.paths.iter().filter(|path| !is_stdin(path)).cloned().collect();
    if !command.paths.iter().any(|path| is_stdin(&path)) {
        if command.stdin_filename.is_some() {
            let hint = "`--stdin-filename` needs the path `-`, which reads standard input";
            return Err(Failure::Usage(hint.to_owned()));
        }
        return Ok((paths, None));
    }
    if !paths.is_empty() {
        return Err(Failure::Usage("`-` cannot be combined with other paths".to_owned()));
    }
    let mut bytes = Vec::new();
    let read = process.stdin.read_to_end(&mut bytes);
    read.map_err(|error| Failure::Usage(format!("cannot read standard input: {error}")))?;
    let filename = command.stdin_filename.clone().unwrap_or_else(|| PathBuf::from("-"));
    Ok((paths, Some(Stdin { filename, bytes })))
}

fn status(fixed: &FixOutcome, command: &Check) -> Status {
    let remain = || fixed.outcome.findings.iter().any(|reported| reported.shown);
    let counts = !(command.exit_zero || command.fix_only);
    if fixed.outcome.failed {
        Status::Failed
    } else if counts && remain() || command.exit_non_zero_on_fix && !fixed.changed.is_empty() {
        Status::Findings
    } else {
        Status::Clean
    }
}

fn print(
    command: &Check,
    args: &Args,
    fixed: &FixOutcome,
    from_stdin: bool,
    process: &mut Process<'_>,
) -> Result<(), Failure> {
    let outcome = &fixed.outcome;
    let shown = outcome.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding);
    let report = Report::new(&outcome.files, shown, &outcome.hidden)
        .with_root(repository(&command.paths, process))
        .with_failure(outcome.failed);
    let report = report.with_raw_keys_listed(command.selection.names(RuleId::LegacyPrngkey));
    let report = report.with_applied(fix::least(command));
    let format = command.format();
    let Destinations { main, further } = Destinations::of(&command.output_file)?;
    let available = fix::available(outcome, command, report.folds_raw_keys());
    let lines: Vec<String> = fix::summary(fixed, command.show_fixes).into_iter().chain(available).collect();
    let is_void = outcome.checked == 0 && outcome.failed;
    let layout = Layout { colour: false, statistics: false, is_void, fixes: &lines };
    // A report that cannot be written does not prevent the others.
    let mut failures: Vec<String> = Vec::new();
    // The fixed text has standard output to itself.
    let aside = command.fix && from_stdin;
    for (format, to) in further {
        failures.extend(to.put(&rendered(args, &report, format, layout)?, aside, process)?.err());
    }
    let is_terminal = if aside { process.stderr_is_terminal } else { process.stdout_is_terminal };
    let colour = Colour::new(args.color, process.env).on(is_terminal && main.is_standard());
    let report = report.with_links(colour && process.stdout_has_links && !aside);
    let bytes = rendered(args, &report, format, Layout { colour, statistics: command.statistics, ..layout })?;
    failures.extend(main.put(&bytes, aside, process)?.err());
    if failures.is_empty() { Ok(()) } else { Err(Failure::Usage(failures.join("\nerror: "))) }
}

/// The layout of one report.
#[derive(Clone, Copy)]
struct Layout<'a> {
    colour: bool,
    /// Counts in place of findings.
    statistics: bool,
    /// Whether the run failed before it checked a file.
    is_void: bool,
    /// What was fixed and what could be, in sentences.
    fixes: &'a [String],
}

/// One report, with the summary where people read it.
fn rendered(args: &Args, report: &Report<'_>, format: Format, layout: Layout<'_>) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if !layout.statistics {
        report.write(format, layout.colour, &mut bytes)?;
    } else if format.is_for_people() {
        bytes.extend(report::statistics(report).bytes());
    } else {
        bytes.extend(report::statistics_json(report).bytes());
    }
    // If nothing could be checked, there is no summary.
    if format.is_for_people() && !args.quiet && !(layout.is_void && report.findings().is_empty()) {
        if let Some(table) = report::table(report).filter(|_| !layout.statistics) {
            let gap = if bytes.ends_with(b"\n\n") { "" } else { "\n" };
            writeln!(bytes, "{gap}{table}")?;
        }
        writeln!(bytes, "{}", report::summary(report))?;
        for line in layout.fixes {
            writeln!(bytes, "{line}")?;
        }
    }
    Ok(bytes)
}

/// The root of the repository, to which machine formats make paths relative: the directory that the CI system names, else the nearest
/// common ancestor of all checked files that contains `.git`, else the current directory, else the common ancestor. Links are resolved,
/// because the URIs must be those of the repository.
fn repository(paths: &[PathBuf], process: &Process<'_>) -> Root {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let cwd = real(&process.cwd);
    let folder = |path: &PathBuf| {
        let path = real(&cwd.join(path));
        if path.is_dir() { path } else { path.parent().unwrap_or(&path).to_owned() }
    };
    // Standard input belongs to the current directory.
    let given = paths.iter().filter(|path| path.as_path() != Path::new("-")).map(folder);
    let common = |one: PathBuf, other: PathBuf| {
        one.ancestors().find(|around| other.starts_with(around)).unwrap_or(Path::new("/")).to_owned()
    };
    let around = given.reduce(common).unwrap_or_else(|| cwd.clone());
    let named = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"].into_iter().filter_map(|name| (process.env)(name));
    let named = named.map(|path| real(Path::new(&path))).find(|root| root.is_absolute() && around.starts_with(root));
    let marked = || around.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned);
    let root = named.or_else(marked).unwrap_or_else(|| if around.starts_with(&cwd) { cwd.clone() } else { around });
    Root::new(root, cwd)
}
