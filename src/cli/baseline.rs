//! `keylint baseline`, and the baseline of `keylint check`.
//!
//! **Invariant:** a baseline is written completely or not at all, and never by a run that could not read every file: it would lose the
//! entries of the unread ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::args::{Args, BaselineCommand};
use super::backend::{Backend, Listing};
use super::check;
use super::output::write_file;
use super::{Failure, Process, Status};
use crate::config::{self, ConfigError, FileSettings, Resolver, absolute};
use crate::engine::{Outcome, Reported};
use crate::finding::{Finding, RuleId};
use crate::suppress::{Baseline, Entry};
use crate::text::FileId;

/// The default file.
const USUAL: &str = "keylint-baseline.json";

pub(super) fn run(
    command: &BaselineCommand,
    args: &Args,
    backend: &dyn Backend,
    process: &mut Process<'_>,
) -> Result<Status, Failure> {
    let what = command.what();
    let resolver = check::resolver(&what.selection, &what.paths, process)?;
    if let (BaselineCommand::Create(_), Some(file)) = (command, &what.file) {
        must_be_new(&absolute(&process.cwd, file), process)?;
    }
    let outcome = check::outcome_of(&what.paths, &resolver, args, backend, process)?;
    check::report_warnings(&resolver, process)?;
    check::report_missing(&outcome.missing, process)?;
    // Everything is computed before anything is written.
    let mut written: Vec<(PathBuf, String, String)> = Vec::new();
    for (file, governed) in BaselineFiles::of(what.file.as_deref(), &resolver, &outcome, Some(USUAL), process)? {
        let old = match command {
            BaselineCommand::Create(_) => {
                must_be_new(&file, process)?;
                Baseline::default()
            }
            BaselineCommand::Update(_) | BaselineCommand::Prune(_) => read(&file, process)?,
        };
        if outcome.failed {
            return Err(Failure::Usage(format!(
                "some files could not be checked, so `{}` is unchanged; `keylint check` shows which",
                shown(&file, process)
            )));
        }
        let folder = folder(&file);
        let live = old.without(&old.stale(findings(&outcome), &decided(&outcome, &folder, &resolver, process)));
        let stale = old.len() - live.len();
        let current = outcome.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding);
        let current = current.filter(|finding| Baseline::can_accept(finding) && governed.holds(finding));
        let current = Baseline::of(
            current.map(|finding| (relative(outcome.files.path(finding.primary.file), &folder, process), finding)),
        );
        let new = match command {
            BaselineCommand::Prune(_) => live.clone(),
            BaselineCommand::Create(_) | BaselineCommand::Update(_) => live.with(&current),
        };
        let (kept, added) = (new.len(), new.len() - live.len());
        let line = format!("{}: {kept} accepted ({added} added, {stale} removed).", shown(&file, process));
        written.push((file, new.render(), line));
    }
    for (file, text, line) in written {
        write_file(&file, text.as_bytes())
            .map_err(|error| Failure::Usage(format!("cannot write `{}`: {error}", shown(&file, process))))?;
        if !args.quiet {
            writeln!(process.stdout, "{line}")?;
        }
        let is_from_file = what.file.is_none() && file != absolute(&process.cwd, Path::new(USUAL));
        let is_configured = is_from_file || configured(&file, &resolver)?.is_some_and(|used| used == file);
        if matches!(command, BaselineCommand::Create(_)) && !is_configured && !args.quiet {
            let name = shown(&file, process);
            writeln!(process.stdout, "To use it, add `baseline = \"{name}\"` to the configuration.")?;
        }
    }
    Ok(Status::Clean)
}

fn must_be_new(file: &Path, process: &Process<'_>) -> Result<(), Failure> {
    if file.exists() {
        let file = shown(file, process);
        return Err(Failure::Usage(format!("`{file}` already exists; `keylint baseline update` updates it")));
    }
    Ok(())
}

/// Hides the findings that the baselines accept, and warns about entries that match nothing.
pub(super) fn apply(
    option: Option<&Path>,
    resolver: &Resolver,
    outcome: &mut Outcome,
    quiet: bool,
    process: &mut Process<'_>,
) -> Result<(), Failure> {
    for (file, governed) in BaselineFiles::of(option, resolver, outcome, None, process)? {
        let baseline = read(&file, process)?;
        let folder = folder(&file);
        let stale = baseline.stale(findings(outcome), &decided(outcome, &folder, resolver, process)).len();
        outcome.accept(&baseline, |finding| governed.holds(finding));
        if stale > 0 && !outcome.failed && !quiet {
            let (entries, them) = if stale == 1 { ("entry", "it") } else { ("entries", "them") };
            writeln!(
                process.stderr,
                "warning: {stale} {entries} of `{}` matched no finding; `keylint baseline prune` removes {them}",
                shown(&file, process)
            )?;
        }
    }
    Ok(())
}

/// The fingerprints that the baselines of these files accept.
pub(super) fn accepted(
    option: Option<&Path>,
    resolver: &Resolver,
    files: impl FnOnce() -> Result<Listing, ConfigError>,
    process: &Process<'_>,
) -> Result<BTreeSet<String>, Failure> {
    let baselines: BTreeSet<PathBuf> = if let Some(file) = option {
        std::iter::once(absolute(&process.cwd, file)).collect()
    } else {
        let named: Result<Vec<_>, _> = files()?.files.iter().map(|path| configured(path, resolver)).collect();
        named?.into_iter().flatten().collect()
    };
    let mut accepted = BTreeSet::new();
    for file in baselines {
        accepted.extend(read(&file, process)?.fingerprints().into_iter().map(str::to_owned));
    }
    Ok(accepted)
}

/// The files that a baseline is for.
struct BaselineFiles {
    files: BTreeSet<FileId>,
}

impl BaselineFiles {
    /// The baselines of a run in order, each with its files: the one from the option applies to all files; without it a file has that of
    /// its configuration, and if no file was checked, that of the current directory applies. Files of a configuration that names none have
    /// the file `usual` in the current directory.
    fn of(
        option: Option<&Path>,
        resolver: &Resolver,
        outcome: &Outcome,
        usual: Option<&str>,
        process: &Process<'_>,
    ) -> Result<Vec<(PathBuf, Self)>, ConfigError> {
        let usual = usual.map(|name| process.cwd.join(name));
        let given = || (0..).map(FileId).zip(outcome.files.paths().take(outcome.checked));
        let mut governed: BTreeMap<PathBuf, BTreeSet<FileId>> = BTreeMap::new();
        if let Some(option) = option {
            // Entries are named from the folder of the file, which has to be known as such.
            governed.insert(absolute(&process.cwd, option), given().map(|(file, _)| file).collect());
        } else if outcome.checked == 0 {
            let here = resolver.for_directory(&process.cwd)?.baseline.clone();
            governed.extend(here.or(usual).map(|baseline| (baseline, BTreeSet::new())));
        } else {
            for (file, path) in given() {
                if let Some(baseline) = configured(path, resolver)?.or_else(|| usual.clone()) {
                    governed.entry(baseline).or_default().insert(file);
                }
            }
        }
        Ok(governed.into_iter().map(|(baseline, files)| (baseline, Self { files })).collect())
    }

    fn holds(&self, finding: &Finding) -> bool {
        self.files.contains(&finding.primary.file)
    }
}

/// The baseline that the configuration of a file names, which is relative to where it is named.
fn configured(path: &Path, resolver: &Resolver) -> Result<Option<PathBuf>, ConfigError> {
    Ok(resolver.for_file(path)?.baseline.clone())
}

fn read(file: &Path, process: &Process<'_>) -> Result<Baseline, Failure> {
    let name = shown(file, process);
    let text = config::read_regular_text(file).map_err(|error| {
        Failure::Usage(format!("cannot read the baseline `{name}`: {error}; `keylint baseline create` creates one"))
    })?;
    Baseline::parse(&text).map_err(|error| {
        Failure::Usage(format!(
            "`{name}` is not a valid baseline: {error}; repair it, or delete it and run `keylint baseline create`"
        ))
    })
}

fn findings(outcome: &Outcome) -> impl Iterator<Item = &Finding> {
    outcome.findings.iter().map(|Reported { finding, .. }| finding)
}

/// Whether the run would have found the finding of an entry again: its file was checked completely with its rule, or the file is gone.
fn decided<'a>(
    outcome: &'a Outcome,
    folder: &Path,
    resolver: &'a Resolver,
    process: &Process<'_>,
) -> impl Fn(&Entry) -> bool + use<'a> {
    let broken: BTreeSet<&Path> = findings(outcome)
        .filter(|finding| finding.rule == RuleId::SyntaxError)
        .map(|finding| outcome.files.path(finding.primary.file))
        .collect();
    let given = outcome.files.paths().take(outcome.checked);
    let checked: BTreeMap<String, &Path> = given.map(|path| (relative(path, folder, process), path)).collect();
    let folder = folder.to_owned();
    let is_selected = |settings: &FileSettings<'_>, entry: &Entry| {
        RuleId::from_code(&entry.code).is_some_and(|rule| settings.is_selected(rule))
    };
    move |entry| match checked.get(&entry.path) {
        Some(path) if broken.contains(path) => false,
        Some(path) => resolver.for_file(path).is_ok_and(|settings| is_selected(&settings.for_file(path), entry)),
        None => !folder.join(&entry.path).exists(),
    }
}

fn folder(file: &Path) -> PathBuf {
    file.parent().map(Path::to_owned).unwrap_or_default()
}

/// The path from `folder`, with forward slashes.
fn relative(path: &Path, folder: &Path, process: &Process<'_>) -> String {
    let full = absolute(&process.cwd, path);
    let shared = folder.ancestors().position(|ancestor| full.starts_with(ancestor));
    let up = shared.unwrap_or_default();
    let below = folder.ancestors().nth(up).and_then(|ancestor| full.strip_prefix(ancestor).ok());
    let parts = below.unwrap_or(&full);
    let parts = parts.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    std::iter::repeat_n("..".to_owned(), up).chain(parts).collect::<Vec<_>>().join("/")
}

fn shown(file: &Path, process: &Process<'_>) -> String {
    file.strip_prefix(&process.cwd).unwrap_or(file).display().to_string()
}
