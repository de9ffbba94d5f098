//! What a run needs besides the files to check: settings, models and further files of each project; and the run itself, once or in
//! rounds of fixes.
//!
//! **Invariant:** a file counts only if its own nearest configuration does not exclude it; nothing is ever written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Fixes, Input, Job, Memory, Outcome, Progress, Reported, Survey, cache_folder};
use crate::cache::Cache;
use crate::config::{self, ConfigError, Resolver, Settings, absolute};
use crate::finding::{Finding, RuleId};
use crate::fix;
use crate::judge::analyse;
use crate::judge::facts::Facts;
use crate::models::Models;
use crate::source::{self, Files, MemoryFiles, OsFiles, Problem, Selection, SourceFile, discover, discover_where};
use crate::suppress::Baseline;
use crate::text::{Digest, Digester, Edit, FileId, Span, apply_edits, moved};

/// How often files are fixed and checked again.
const ROUNDS: usize = 10;

/// The inputs of a run.
#[derive(Default)]
pub struct RunInputs {
    /// Where files are read from; unsaved texts overlay saved ones.
    pub files: MemoryFiles,
    /// The files to report on.
    pub inputs: Vec<Input>,
    /// Problems in finding them.
    pub problems: Vec<Problem>,
    /// The given paths that do not exist.
    pub missing: Vec<Problem>,
    /// The absolute paths that were given; files below a given folder belong together.
    pub folders: Vec<PathBuf>,
}

impl RunInputs {
    /// The files at the paths, without those that their configuration excludes. Files given by name stay, unless exclusion is forced.
    pub fn discover(
        cwd: &Path,
        paths: &[PathBuf],
        resolver: &Resolver,
        force_exclude: bool,
    ) -> Result<Self, ConfigError> {
        let run = resolver.for_directory(cwd).map(|settings| settings.run).unwrap_or_default();
        let ignore_files = run.respect_gitignore.unwrap_or(true);
        let selection = Selection { force_exclude, ignore_files, root: cwd.to_owned(), ..Selection::default() };
        // A mistake in the settings of a folder is reported below, or concerns no file.
        let is_included = |path: &Path| resolver.for_file(path).ok().and_then(|settings| settings.is_included(path));
        let found = discover_where(paths, &selection, &is_included);
        let mut inputs = Vec::with_capacity(found.files.len());
        for file in found.files {
            let is_excluded = resolver.for_file(&file.path)?.is_excluded(&file.path);
            if !is_excluded || (file.explicit && !force_exclude) {
                inputs.push(Input { path: file.path, display: file.display });
            }
        }
        let folders = paths.iter().map(|path| absolute(cwd, path)).collect();
        let (problems, missing) = (found.problems, found.missing);
        Ok(Self { files: MemoryFiles::over(OsFiles), inputs, problems, missing, folders })
    }

    /// One file, which need not be saved, unless its configuration excludes it or it is in a folder that is always skipped.
    pub fn one(cwd: &Path, path: &Path, resolver: &Resolver) -> Result<Self, ConfigError> {
        let selection = Selection { force_exclude: true, root: cwd.to_owned(), ..Selection::default() };
        let is_left_out = resolver.for_file(path)?.is_excluded(path)
            || (path.exists() && discover(&[path.to_owned()], &selection).files.is_empty());
        let display = path.strip_prefix(cwd).unwrap_or(path).display().to_string();
        let inputs = if is_left_out { Vec::new() } else { vec![Input { path: path.to_owned(), display }] };
        let folders = vec![path.to_owned()];
        Ok(Self { files: MemoryFiles::over(OsFiles), inputs, folders, ..Self::default() })
    }
}

/// The options of a run.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// Which findings get fixes.
    pub fixes: Fixes,
    /// Whether findings are replayed.
    pub verify: bool,
    /// Is called with the number of files that are done and of all files.
    pub progress: Progress<'a>,
    /// Whether cached results may be used.
    pub use_cache: bool,
    /// Whether every expression that is a key is recorded.
    pub observes: bool,
    /// What is remembered of the last check of the only file.
    pub memory: Option<&'a Memory>,
    /// Whether the run was cancelled: the rest is skipped, and the outcome is useless.
    pub is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        Self {
            fixes: Fixes::None,
            verify: true,
            progress: &|_, _| {},
            use_cache: false,
            observes: false,
            memory: None,
            is_cancelled: &|| false,
        }
    }
}

/// A file that fixes changed.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Where it is.
    pub path: PathBuf,
    /// Its text before.
    pub before: SourceFile,
    /// Its text now.
    pub after: String,
    /// The same as bytes: of a notebook, the whole document.
    pub bytes: Vec<u8>,
    /// How many findings of which rules were resolved.
    pub resolved: BTreeMap<RuleId, usize>,
}

impl Changed {
    /// The edits that turn the old text into the new one; none crosses the end of a cell.
    pub fn edits(&self) -> Vec<Edit> {
        // Fixes neither add nor remove cells.
        let again = source::decode(&self.before.path, self.bytes.clone()).ok().filter(|again| !again.cells.is_empty());
        let Some(again) = again else { return fix::hunks(&self.before.text, &self.after) };
        // The line end that closes a cell does not belong to it.
        let code = |text: &str, span: Span| {
            let code = text.get(span.range()).unwrap_or_default();
            code.strip_suffix('\n').unwrap_or(code).to_owned()
        };
        let mut edits = Vec::new();
        for (old, new) in self.before.cells.iter().zip(again.cells.iter()) {
            let (before, after) = (code(&self.before.text, old.span), code(&again.text, new.span));
            edits.extend(fix::hunks(&before, &after).into_iter().map(|Edit { span, content }| Edit {
                span: Span::new(span.start + old.span.start, span.end + old.span.start),
                content,
            }));
        }
        edits
    }
}

/// The result of fixing.
#[derive(Debug, Default)]
pub struct FixOutcome {
    /// The findings in the fixed files.
    pub outcome: Outcome,
    /// The changed files, in the order in which they were given.
    pub changed: Vec<Changed>,
    /// How many findings were resolved.
    pub resolved: usize,
}

/// What surrounds the files of a run.
pub struct RunContext<'a> {
    cwd: &'a Path,
    resolver: &'a Resolver,
    fallback: Arc<Settings>,
    /// Models in addition to those that are part of keylint, by the files that the settings name.
    models: BTreeMap<Vec<PathBuf>, (Models, Digest)>,
    folders: Vec<PathBuf>,
    survey: Option<Survey<'a>>,
}

impl<'a> RunContext<'a> {
    /// Settings and models of the inputs; a mistake in them is reported here. Without a `survey`, the folders of a project are searched
    /// unless the whole project was given.
    pub fn new(
        cwd: &'a Path,
        resolver: &'a Resolver,
        given: &RunInputs,
        survey: Option<Survey<'a>>,
    ) -> Result<Self, ConfigError> {
        let fallback = resolver.for_directory(cwd)?;
        let mut models = BTreeMap::new();
        for input in &given.inputs {
            let settings = resolver.for_file(&input.path)?;
            if !settings.models.is_empty() && !models.contains_key(&settings.models) {
                models.insert(settings.models.clone(), models_of(&settings)?);
            }
        }
        Ok(Self { cwd, resolver, fallback, models, folders: given.folders.clone(), survey })
    }

    /// Checks the inputs.
    pub fn check(&self, given: &RunInputs, how: RunOptions<'_>) -> Outcome {
        let mut outcome = self.with(given, how, super::check);
        for Reported { finding, .. } in outcome.findings.iter_mut().filter(|reported| reported.finding.fix.is_some()) {
            let settings = self.resolver.for_file(outcome.files.path(finding.primary.file));
            if settings.is_ok_and(|settings| !settings.is_fixable(finding.rule)) {
                finding.fix = None;
            }
        }
        let failed = outcome.failed || !given.missing.is_empty();
        Outcome { missing: given.missing.clone(), failed, ..outcome }
    }

    /// Checks and fixes the requested findings in turns, until there is nothing left to resolve. The fixed texts
    /// overlay the given files, which stay unchanged.
    pub fn fix(&self, given: &mut RunInputs, how: RunOptions<'_>, is_wanted: &dyn Fn(&Finding) -> bool) -> FixOutcome {
        let mut changed: BTreeMap<FileId, Changed> = BTreeMap::new();
        let mut resolved = 0;
        let mut rounds = 0;
        // Where comments were unused before any fix; a comment that a fix makes unused may hold a reason that is still worth reading.
        let mut unused: BTreeMap<FileId, Vec<u32>> = BTreeMap::new();
        loop {
            let outcome = self.check(given, how);
            if rounds == 0 {
                let all = outcome.findings.iter().map(|reported| &reported.finding);
                for finding in all.filter(|finding| finding.rule == RuleId::UnusedSuppression) {
                    unused.entry(finding.primary.file).or_default().push(finding.primary.span.start);
                }
            }
            let was_unused = |finding: &Finding| {
                let starts = unused.get(&finding.primary.file);
                starts.is_some_and(|starts| starts.contains(&finding.primary.span.start))
            };
            let may_change = |finding: &&Finding| finding.rule != RuleId::UnusedSuppression || was_unused(finding);
            let mut goes_on = false;
            if rounds < ROUNDS {
                rounds += 1;
                let shown = outcome.findings.iter().filter(|reported| reported.shown);
                let wanted =
                    shown.map(|reported| &reported.finding).filter(|finding| is_wanted(finding)).filter(may_change);
                for (file, batch) in fix::select(wanted, |file| outcome.files.text(file)) {
                    let Some(input) = given.inputs.get(file.0 as usize) else { continue };
                    let Some((before, after)) = fixed(&given.files, input, outcome.files.text(file), &batch.edits)
                    else {
                        continue;
                    };
                    // Text that the encoding cannot represent is not changed.
                    let Ok(bytes) = before.rewrite(&batch.edits) else { continue };
                    given.files.insert(input.path.clone(), bytes.clone());
                    for start in unused.get_mut(&file).into_iter().flatten() {
                        *start = moved(*start, &batch.edits);
                    }
                    resolved += batch.resolved.len();
                    goes_on = true;
                    let known = changed.entry(file).or_insert_with(|| Changed {
                        path: input.path.clone(),
                        before,
                        after: String::new(),
                        bytes: Vec::new(),
                        resolved: BTreeMap::new(),
                    });
                    (known.after, known.bytes) = (after, bytes);
                    for rule in batch.resolved {
                        *known.resolved.entry(rule).or_default() += 1;
                    }
                }
            }
            if !goes_on {
                return FixOutcome { outcome, changed: changed.into_values().collect(), resolved };
            }
        }
    }

    /// Passes the whole job to `work`.
    pub fn with<T>(&self, given: &RunInputs, how: RunOptions<'_>, work: impl FnOnce(&Job<'_>) -> T) -> T {
        let cache_of = |settings: &Settings| {
            let models = self.models.get(&settings.models).map(|(_, digest)| *digest).unwrap_or_default();
            (Cache::at(cache_folder(settings)), models)
        };
        if let Some(memory) = how.memory {
            let mut models = Digester::default();
            self.models.values().for_each(|(_, digest)| models.add(digest.to_string()));
            memory.use_models(models.finish());
        }
        // Results for unsaved texts would only replace those of the saved ones.
        let is_cached = how.use_cache && !how.observes && given.files.is_empty();
        work(&Job {
            files: &given.files,
            cwd: self.cwd,
            inputs: &given.inputs,
            problems: &given.problems,
            settings: &|path| self.resolver.for_file(path).unwrap_or_else(|_| self.fallback.clone()),
            models: &|settings| {
                self.models.get(&settings.models).map_or_else(|| Models::builtin(), |(models, _)| models)
            },
            survey: &|root| self.further(root),
            progress: how.progress,
            cache: if is_cached { Some(&cache_of) } else { None },
            threads: 0,
            verify: how.verify,
            fixes: how.fixes,
            // The search for fixes reads the text together with the operations.
            memory: how.memory.filter(|_| how.fixes == Fixes::None && !how.observes && given.inputs.len() == 1),
            analyse: &|snapshot, program, module, remembered| {
                if (how.is_cancelled)() {
                    Facts::default()
                } else if how.observes {
                    analyse(snapshot, &program.observing(), module, remembered)
                } else {
                    analyse(snapshot, program, module, remembered)
                }
            },
        })
    }

    /// Further files of a project.
    fn further(&self, root: &Path) -> Vec<PathBuf> {
        match self.survey {
            Some(survey) => survey(root),
            None if self.folders.iter().any(|folder| root.starts_with(folder)) => Vec::new(),
            None if source::holds_installed_packages(root) => {
                let part = |path: &Path| path.strip_prefix(root).ok()?.components().next().map(|part| root.join(part));
                let given: BTreeSet<PathBuf> = self.folders.iter().filter_map(|path| part(path)).collect();
                source::survey(root)
                    .into_iter()
                    .filter(|path| part(path).is_some_and(|at| given.contains(&at)))
                    .collect()
            }
            None => source::survey(root),
        }
    }
}

/// The baseline that the configuration of a file names, if it names one, or why it cannot be read.
pub fn baseline(resolver: &Resolver, path: &Path) -> Result<Result<Option<Baseline>, String>, ConfigError> {
    let Some(file) = &resolver.for_file(path)?.baseline else { return Ok(Ok(None)) };
    let name = file.display();
    let text = match config::read_regular_text(file) {
        Ok(text) => text,
        Err(error) => return Ok(Err(format!("cannot read the baseline `{name}`: {error}"))),
    };
    let baseline = Baseline::parse(&text).map(Some);
    Ok(baseline.map_err(|error| format!("`{name}` is not a valid baseline: {error}")))
}

/// Hides the findings that the configured baselines accept; otherwise says why a baseline cannot be read.
pub fn accept(resolver: &Resolver, outcome: &mut Outcome) -> Result<Result<(), String>, ConfigError> {
    let mut files: BTreeMap<PathBuf, Vec<FileId>> = BTreeMap::new();
    for (file, path) in (0..).map(FileId).zip(outcome.files.paths().take(outcome.checked)) {
        if let Some(baseline) = &resolver.for_file(path)?.baseline {
            files.entry(baseline.clone()).or_default().push(file);
        }
    }
    for files in files.into_values() {
        let path = files.first().map(|file| outcome.files.path(*file).to_owned()).unwrap_or_default();
        match baseline(resolver, &path)? {
            Ok(Some(baseline)) => {
                outcome.accept(&baseline, |finding| files.binary_search(&finding.primary.file).is_ok());
            }
            Ok(None) => {}
            Err(problem) => return Ok(Err(problem)),
        }
    }
    Ok(Ok(()))
}

/// A file before and after edits of this very text.
fn fixed(files: &dyn Files, input: &Input, text: &str, edits: &[Edit]) -> Option<(SourceFile, String)> {
    let before = source::read(files, &input.path, &input.display).ok().filter(|before| before.text == text)?;
    let after = apply_edits(text, edits).ok().filter(|after| after != text)?;
    Some((before, after))
}

/// The models that are part of keylint, with those that the settings add, and the digest of the latter.
fn models_of(settings: &Settings) -> Result<(Models, Digest), ConfigError> {
    let mut models = Models::builtin().clone();
    let mut texts = Digester::default();
    for path in &settings.models {
        let origin = path.display().to_string();
        let wrong = |message: String, help| ConfigError {
            origin: origin.clone(),
            text: String::new(),
            span: None,
            message,
            help,
        };
        let text = config::read_regular_text(path).map_err(|error| {
            wrong(format!("the models cannot be read: {error}"), Some("check `models` in the configuration".to_owned()))
        })?;
        texts.add(&text);
        let own = Models::parse(&text, &origin).map_err(|problems| match problems.into_iter().next() {
            Some(first) => ConfigError {
                origin: origin.clone(),
                text: text.clone(),
                span: Some(first.span.start as usize..first.span.end as usize),
                message: first.message,
                help: None,
            },
            None => wrong("no models".to_owned(), None),
        })?;
        models.merge(own);
    }
    Ok((models, texts.finish()))
}
