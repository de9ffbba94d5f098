//! The backend that the executable runs with: registry, discovery and engine.
//!
//! **Invariant:** nothing is decided here: requests of commands are passed to the engine unchanged.

use std::path::{Path, PathBuf};

use super::backend::{Backend, CheckRequest, Listing};

use crate::config::{CommandLine, ConfigError, Resolver};
use crate::engine::{
    self, Decisions, FixOutcome, Input, Job, Lineage, Migrated, Outcome, RunContext, RunInputs, RunOptions,
};
use crate::finding::Finding;
use crate::source::{MemoryFiles, OsFiles};

/// The registry of rules, discovery and the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineBackend;

impl Backend for EngineBackend {
    fn check(&self, request: &CheckRequest<'_>) -> Result<Outcome, ConfigError> {
        let given = given(request)?;
        let context = RunContext::new(request.cwd, request.resolver, &given, None)?;
        Ok(context.check(&given, how(request)))
    }

    fn fix(&self, request: &CheckRequest<'_>, is_wanted: &dyn Fn(&Finding) -> bool) -> Result<FixOutcome, ConfigError> {
        let mut given = given(request)?;
        let context = RunContext::new(request.cwd, request.resolver, &given, None)?;
        Ok(context.fix(&mut given, how(request), is_wanted))
    }

    fn migrate(&self, request: &CheckRequest<'_>, decided: &Decisions) -> Result<Migrated, ConfigError> {
        let mut given = given(request)?;
        let context = RunContext::new(request.cwd, request.resolver, &given, None)?;
        Ok(context.migrate(&mut given, how(request), decided))
    }

    fn files(&self, request: &CheckRequest<'_>) -> Result<Listing, ConfigError> {
        let RunInputs { inputs, missing, .. } =
            RunInputs::discover(request.cwd, request.paths, request.resolver, request.force_exclude)?;
        let found = inputs.into_iter().map(|input| PathBuf::from(input.display));
        let files = found.chain(request.stdin.as_ref().map(|stdin| stdin.filename.clone())).collect();
        Ok(Listing { files, missing })
    }

    fn why(&self, file: &Path, cell: Option<u32>, row: u32, resolver: &Resolver) -> Result<String, String> {
        inspect(file, resolver, false, |job| engine::why(job, cell, row))
    }

    fn lineage(&self, file: &Path, resolver: &Resolver) -> Result<Lineage, String> {
        inspect(file, resolver, true, |job| engine::keys(job).map(|keys| Lineage::of(&keys)))
    }

    fn ir(&self, file: &Path) -> Result<String, String> {
        engine::ir(&OsFiles, file)
    }

    fn facts(&self, file: &Path) -> Result<String, String> {
        let cwd = std::env::current_dir().map_err(|error| error.to_string())?;
        let resolver = Resolver::new(&cwd, engine::known_rules(), CommandLine::default());
        inspect(file, &resolver.map_err(|error| error.to_string())?, false, engine::facts)
    }
}

/// What the request gives the engine to check.
fn given(request: &CheckRequest<'_>) -> Result<RunInputs, ConfigError> {
    let mut given = RunInputs::discover(request.cwd, request.paths, request.resolver, request.force_exclude)?;
    if let Some(stdin) = &request.stdin {
        // Its settings are read here, where a mistake in them can still be reported.
        let settings = request.resolver.for_file(&stdin.filename)?;
        if !(request.force_exclude && settings.is_excluded(&stdin.filename)) {
            given.files.insert(stdin.filename.clone(), stdin.bytes.clone());
            given.inputs.push(Input { path: stdin.filename.clone(), display: stdin.filename.display().to_string() });
        }
    }
    Ok(given)
}

fn how<'a>(request: &CheckRequest<'a>) -> RunOptions<'a> {
    // A text from standard input is not the file's: its results would only take the place of those of the file.
    let use_cache = request.use_cache && request.stdin.is_none();
    RunOptions {
        fixes: request.fixes,
        verify: request.verify,
        progress: request.progress,
        use_cache,
        ..RunOptions::default()
    }
}

/// Inspects the analysis of one file, which keeps the key facts of each expression if it `observes`.
fn inspect<T>(
    file: &Path,
    resolver: &Resolver,
    observes: bool,
    look: impl FnOnce(&Job<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let cwd = std::env::current_dir().map_err(|error| error.to_string())?;
    let inputs = vec![Input { path: file.to_owned(), display: file.display().to_string() }];
    let given = RunInputs { files: MemoryFiles::over(OsFiles), inputs, ..RunInputs::default() };
    let context = RunContext::new(&cwd, resolver, &given, None).map_err(|error| error.to_string())?;
    context.with(&given, RunOptions { verify: false, observes, ..RunOptions::default() }, look)
}
