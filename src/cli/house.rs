//! The backend that the executable runs with: registry, discovery and engine.
//!
//! **Invariant:** a file counts only if its own nearest configuration does not leave it out.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::backend::{Backend, CheckRequest, RuleInfo};
use super::fix::{Changed, Repaired};

use crate::config::{CommandLine, ConfigError, Resolver, Settings};
use crate::engine::{self, Input, Job, Outcome, Progress};
use crate::finding::Finding;
use crate::fix;
use crate::models::Models;
use crate::rules::{self, Status};
use crate::source::{self, Discovery, Files, MemoryFiles, OsFiles, Problem, Selection, SourceFile, discover};
use crate::text::{Edit, FileId, apply_edits};

/// How often files are repaired and checked again.
const ROUNDS: usize = 10;

/// The rest of the house, as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct House;

impl Backend for House {
    fn rules(&self) -> Vec<RuleInfo> {
        let live = rules::all().iter().filter(|rule| rule.status != Status::Removed);
        live.map(|rule| RuleInfo {
            code: rule.code,
            name: rule.name,
            aliases: &rule.aliases,
            level: rule.level,
            opt_in: rule.opt_in,
            summary: rule.summary.clone(),
            page: rule.page.to_owned(),
        })
        .collect()
    }

    fn check(&self, request: &CheckRequest<'_>) -> Result<Outcome, ConfigError> {
        Given::of(request)?.with(request, |given, project| project.check(request, given))
    }

    fn fix(&self, request: &CheckRequest<'_>, is_wanted: &dyn Fn(&Finding) -> bool) -> Result<Repaired, ConfigError> {
        Given::of(request)?.with(request, |given, project| project.fix(request, given, is_wanted))
    }

    fn files(&self, request: &CheckRequest<'_>) -> Result<Vec<PathBuf>, ConfigError> {
        let found = search(request)?.files.into_iter().map(|found| PathBuf::from(found.display));
        Ok(found.chain(request.stdin.as_ref().map(|stdin| stdin.filename.clone())).collect())
    }

    fn why(&self, file: &Path, cell: Option<u32>, row: u32, resolver: &Resolver) -> Result<String, String> {
        inspect(file, resolver, |job| engine::why(job, cell, row))
    }

    fn ir(&self, file: &Path) -> Result<String, String> {
        engine::ir(&OsFiles, file)
    }

    fn facts(&self, file: &Path) -> Result<String, String> {
        let cwd = std::env::current_dir().map_err(|error| error.to_string())?;
        let resolver = Resolver::new(&cwd, engine::known_rules(), CommandLine::default());
        inspect(file, &resolver.map_err(|error| error.to_string())?, engine::facts)
    }
}

/// What a run was given to check.
struct Given {
    files: MemoryFiles,
    inputs: Vec<Input>,
    problems: Vec<Problem>,
}

impl Given {
    fn of(request: &CheckRequest<'_>) -> Result<Self, ConfigError> {
        let mut found = search(request)?;
        let problems = std::mem::take(&mut found.problems);
        let mut inputs: Vec<Input> =
            found.files.into_iter().map(|found| Input { path: found.path, display: found.display }).collect();
        let mut files = MemoryFiles::over(OsFiles);
        if let Some(stdin) = &request.stdin {
            // Its settings are asked for here, where a mistake in them can still be told.
            let settings = request.resolver.for_file(&stdin.filename)?;
            if !(request.force_exclude && settings.is_excluded(&stdin.filename)) {
                files.insert(stdin.filename.clone(), stdin.bytes.clone());
                inputs.push(Input { path: stdin.filename.clone(), display: stdin.filename.display().to_string() });
            }
        }
        Ok(Self { files, inputs, problems })
    }

    fn with<T>(
        mut self,
        request: &CheckRequest<'_>,
        work: impl FnOnce(&mut Self, &Surroundings<'_>) -> T,
    ) -> Result<T, ConfigError> {
        let paths: Vec<PathBuf> = request.paths.iter().map(|path| absolute(request.cwd, path)).collect();
        let project = Surroundings::new(request.cwd, request.resolver, &self.inputs, &paths)?;
        Ok(work(&mut self, &project))
    }
}

/// Looks into the analysis of one file.
fn inspect(
    file: &Path,
    resolver: &Resolver,
    look: impl FnOnce(&Job<'_>) -> Result<String, String>,
) -> Result<String, String> {
    let cwd = std::env::current_dir().map_err(|error| error.to_string())?;
    let inputs = [Input { path: file.to_owned(), display: file.display().to_string() }];
    let project = Surroundings::new(&cwd, resolver, &inputs, &[]).map_err(|error| error.to_string())?;
    project.with(&OsFiles, &inputs, &[], &|_, _| {}, look)
}

/// What surrounds the files of a run: settings, models and the folders that were given as a whole.
struct Surroundings<'a> {
    cwd: &'a Path,
    resolver: &'a Resolver,
    fallback: Arc<Settings>,
    /// Models beyond those that keylint brings along, by the files that the settings name.
    models: BTreeMap<Vec<PathBuf>, Models>,
    /// The absolute paths given.
    given: &'a [PathBuf],
}

impl<'a> Surroundings<'a> {
    fn new(cwd: &'a Path, resolver: &'a Resolver, inputs: &[Input], given: &'a [PathBuf]) -> Result<Self, ConfigError> {
        let fallback = resolver.for_directory(cwd)?;
        let mut models = BTreeMap::new();
        for input in inputs {
            let settings = resolver.for_file(&input.path)?;
            if !settings.models.is_empty() && !models.contains_key(&settings.models) {
                models.insert(settings.models.clone(), models_of(&settings)?);
            }
        }
        Ok(Self { cwd, resolver, fallback, models, given })
    }

    fn check(&self, request: &CheckRequest<'_>, given: &Given) -> Outcome {
        let Given { files, inputs, problems } = given;
        let check = |job: &Job<'_>| engine::check(&Job { verify: request.verify, fixes: request.fixes, ..*job });
        self.with(files, inputs, problems, request.progress, check)
    }

    /// Checks and repairs in turns. What is repaired lies over the files that were given, which stay as they are.
    fn fix(&self, request: &CheckRequest<'_>, given: &mut Given, is_wanted: &dyn Fn(&Finding) -> bool) -> Repaired {
        let mut changed: BTreeMap<FileId, Changed> = BTreeMap::new();
        let mut mended = 0;
        let mut rounds = 0;
        loop {
            let outcome = self.check(request, given);
            let mut goes_on = false;
            if rounds < ROUNDS {
                rounds += 1;
                let shown = outcome.findings.iter().filter(|reported| reported.shown);
                let wanted = shown.map(|reported| &reported.finding).filter(|finding| is_wanted(finding));
                for (file, batch) in fix::select(wanted) {
                    let Some(input) = given.inputs.get(file.0 as usize) else { continue };
                    let Some((before, after)) = repaired(&given.files, input, outcome.files.text(file), &batch.edits)
                    else {
                        continue;
                    };
                    // What the encoding cannot spell is left as it is.
                    let Ok(bytes) = before.rewrite(&batch.edits) else { continue };
                    given.files.insert(input.path.clone(), bytes.clone());
                    mended += batch.mended;
                    goes_on = true;
                    let known = Changed { path: input.path.clone(), before, after: String::new(), bytes: Vec::new() };
                    let known = changed.entry(file).or_insert(known);
                    (known.after, known.bytes) = (after, bytes);
                }
            }
            if !goes_on {
                return Repaired { outcome, changed: changed.into_values().collect(), mended };
            }
        }
    }

    /// Hands the whole job to `work`.
    fn with<T>(
        &self,
        files: &dyn Files,
        inputs: &[Input],
        problems: &[Problem],
        progress: Progress<'_>,
        work: impl FnOnce(&Job<'_>) -> T,
    ) -> T {
        work(&Job {
            files,
            cwd: self.cwd,
            inputs,
            given: self.given,
            problems,
            rules: &engine::known_rules(),
            settings: &|path| self.resolver.for_file(path).unwrap_or_else(|_| self.fallback.clone()),
            models: &|settings| self.models.get(&settings.models).unwrap_or_else(|| Models::builtin()),
            survey: &|root| self.survey(root),
            progress,
            threads: 0,
            verify: false,
            fixes: false,
            analyse: &engine::analyse,
        })
    }

    /// Further files of a project; none where the whole of it was given.
    fn survey(&self, root: &Path) -> Vec<PathBuf> {
        if self.given.iter().any(|given| root.starts_with(given)) { Vec::new() } else { source::survey(root) }
    }
}

/// A file before and after edits of this very text.
fn repaired(files: &dyn Files, input: &Input, text: &str, edits: &[Edit]) -> Option<(SourceFile, String)> {
    let before = source::read(files, &input.path, &input.display).ok().filter(|before| before.text == text)?;
    let after = apply_edits(text, edits).ok().filter(|after| after != text)?;
    Some((before, after))
}

/// The models that keylint brings along, with those that the settings add.
fn models_of(settings: &Settings) -> Result<Models, ConfigError> {
    let mut models = Models::builtin().clone();
    for path in &settings.models {
        let origin = path.display().to_string();
        let wrong = |message: String, help| ConfigError {
            origin: origin.clone(),
            text: String::new(),
            span: None,
            message,
            help,
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            wrong(format!("the models cannot be read: {error}"), Some("check `models` in the configuration".to_owned()))
        })?;
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
    Ok(models)
}

/// The path, from the root of the file system, without `.` parts.
fn absolute(cwd: &Path, path: &Path) -> PathBuf {
    cwd.join(path).components().filter(|part| *part != Component::CurDir).collect()
}

/// The files that the paths stand for, less those that their own configuration leaves out.
fn search(request: &CheckRequest<'_>) -> Result<Discovery, ConfigError> {
    let selection =
        Selection { force_exclude: request.force_exclude, root: request.cwd.to_owned(), ..Selection::default() };
    let mut found = discover(request.paths, &selection);
    let mut kept = Vec::new();
    for file in found.files {
        let is_excluded = request.resolver.for_file(&file.path)?.is_excluded(&file.path);
        if !is_excluded || (file.explicit && !request.force_exclude) {
            kept.push(file);
        }
    }
    found.files = kept;
    Ok(found)
}
