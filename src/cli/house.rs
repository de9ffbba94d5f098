//! The backend that the executable runs with: registry, discovery and engine.
//!
//! **Invariant:** a file counts only if its own nearest configuration does not leave it out.

use std::path::{Path, PathBuf};

use super::backend::{Backend, CheckRequest, RuleInfo};
use crate::config::{ConfigError, KnownRule, Resolver};
use crate::engine::{self, Input, Outcome};
use crate::rules::{self, Status};
use crate::source::{Discovery, MemoryFiles, OsFiles, Selection, discover};

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
        let fallback = request.resolver.for_directory(request.cwd)?;
        let settings = |path: &Path| request.resolver.for_file(path).unwrap_or_else(|_| fallback.clone());
        let known: Vec<KnownRule> = self.rules().iter().map(RuleInfo::known).collect();
        Ok(engine::check(&files, &inputs, problems, &known, &settings, request.progress))
    }

    fn files(&self, request: &CheckRequest<'_>) -> Result<Vec<PathBuf>, ConfigError> {
        let found = search(request)?.files.into_iter().map(|found| PathBuf::from(found.display));
        Ok(found.chain(request.stdin.as_ref().map(|stdin| stdin.filename.clone())).collect())
    }

    fn why(&self, file: &Path, _row: usize, _resolver: &Resolver) -> Result<String, String> {
        Err(format!("nothing is known of `{}`", file.display()))
    }

    fn ir(&self, file: &Path) -> Result<String, String> {
        Err(format!("nothing is known of `{}`", file.display()))
    }

    fn facts(&self, file: &Path) -> Result<String, String> {
        Err(format!("nothing is known of `{}`", file.display()))
    }
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
