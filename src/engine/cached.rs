//! Results of earlier runs, by project.
//!
//! An entry has the findings of a project and the digest of every file that was read for them. Its name identifies the project, the
//! settings and the kind of result; the digest in it covers everything else besides file contents: which files there are, the settings of
//! each, and the models. A file that was not read can only have an effect by existing.
//!
//! **Invariant:** results are taken from the cache only if a run of this build on the same files would give the same results. A problem
//! with the cache never changes the results.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::file_report::FileReport;
use super::outcome::Refuted;
use super::project::Project;
use super::run::Results;
use super::{Fixes, Job, RunInputs};
use crate::cache::{Cache, FOLDER};
use crate::config::{ConfigError, Resolver, Settings};
use crate::finding::Finding;
use crate::source::{self, Problem};
use crate::text::{Digest, Digester, FileId};

/// What came from the cache, for `--verbose`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Projects whose results were taken from it.
    pub taken: usize,
    /// Projects that were analysed although there is a cache.
    pub analysed: usize,
    /// Why results could not be stored.
    pub problems: Vec<String>,
}

impl CacheUse {
    /// One project was found.
    pub(super) fn taken() -> Self {
        Self { taken: 1, ..Self::default() }
    }

    /// Adds the counts of another use.
    pub(super) fn add(&mut self, other: Self) {
        self.taken += other.taken;
        self.analysed += other.analysed;
        self.problems.extend(other.problems);
        self.problems.dedup();
    }

    /// The same as text for people; empty if no cache was used.
    pub fn sentences(&self) -> Vec<String> {
        let all = self.taken + self.analysed;
        let projects = if all == 1 { "project" } else { "projects" };
        let taken = (all > 0).then(|| format!("Cache: {} of {all} {projects} unchanged.", self.taken));
        let problems = self.problems.iter().map(|problem| format!("Cache: {problem}"));
        taken.into_iter().chain(problems).collect()
    }
}

/// The folder of the cache for a project with these settings.
pub fn cache_folder(settings: &Settings) -> PathBuf {
    settings.cache_dir.clone().unwrap_or_else(|| settings.root.join(FOLDER))
}

/// The result of removing caches.
#[derive(Debug)]
pub struct Cleaned {
    /// Each folder, and why it could not be removed.
    pub folders: Vec<(PathBuf, Result<(), String>)>,
    /// The given paths that do not exist.
    pub missing: Vec<Problem>,
}

/// Removes the caches of the projects of these paths.
pub fn clean(cwd: &Path, paths: &[PathBuf], resolver: &Resolver) -> Result<Cleaned, ConfigError> {
    let mut folders = Vec::new();
    for path in paths.iter().map(|path| cwd.join(path)).filter(|path| path.exists()) {
        let settings = if path.is_dir() { resolver.for_directory(&path)? } else { resolver.for_file(&path)? };
        folders.push(cache_folder(&settings));
    }
    let RunInputs { inputs, missing, .. } = RunInputs::discover(cwd, paths, resolver, false)?;
    for input in inputs {
        let settings = resolver.for_file(&input.path)?;
        folders.push(cache_folder(&settings));
    }
    folders.sort_unstable();
    folders.dedup();
    let cleaned = folders.into_iter().filter_map(|folder| match Cache::at(folder.clone()).clean() {
        Ok(false) => None,
        Ok(true) => Some((folder, Ok(()))),
        Err(error) => Some((folder, Err(error.to_string()))),
    });
    Ok(Cleaned { folders: cleaned.collect(), missing })
}

/// Where the results of a project are in its cache.
pub(super) struct CacheEntry {
    cache: Cache,
    name: Digest,
    inputs: Digest,
}

/// What is stored. Files are positions in the project.
#[derive(Serialize, Deserialize)]
struct Stored {
    inputs: Digest,
    read: Vec<(usize, Digest)>,
    findings: Vec<(usize, Vec<Finding>)>,
    refuted: Vec<Refuted>,
}

impl CacheEntry {
    /// The entry of a project; `None` where there is no cache.
    pub(super) fn of(job: &Job<'_>, project: &Project<'_>) -> Option<Self> {
        let (cache, models) = (job.cache?)(&project.settings);
        let fixes = match job.fixes {
            Fixes::None => "none",
            Fixes::All => "all",
            Fixes::Listed => "listed",
            Fixes::At(_) => return None,
        };
        let mut name = Digester::default();
        // A cache that is moved together with its project is still valid.
        let beside = cache.folder().parent().and_then(|folder| project.root.strip_prefix(folder).ok());
        name.add(beside.unwrap_or(&project.root).as_os_str().as_encoded_bytes());
        name.add(fixes);
        name.add(if job.verify { "verified" } else { "" });
        name.add(project.settings.deciding());
        let mut inputs = Digester::default();
        inputs.add(models.to_string());
        for (position, member) in project.members.iter().enumerate() {
            let path = project.relative(job, position);
            if member.is_reported {
                name.add(&path);
            }
            inputs.add(path);
            inputs.add(if member.is_reported { "reported" } else { "" });
            inputs.add(if member.is_in_package { "in a package" } else { "" });
            inputs.add(project.settings.for_file(&member.path).deciding());
        }
        Some(Self { cache, name: name.finish(), inputs: inputs.finish() })
    }

    /// The results of an earlier run, if it read the same files as they are now.
    pub(super) fn results(&self, job: &Job<'_>, project: &Project<'_>) -> Option<Results> {
        let content = self.cache.read(self.name)?;
        let stored: Stored = serde_json::from_slice(&content).ok()?;
        if stored.inputs != self.inputs {
            return None;
        }
        let reports: Option<Vec<Option<FileReport>>> = stored
            .read
            .par_iter()
            .map(|(position, digest)| {
                let member = project.members.get(*position)?;
                let bytes = job.files.read(&member.path);
                if source::digest(&bytes) != *digest {
                    return None;
                }
                let Ok(at) = stored.findings.binary_search_by_key(position, |(position, _)| *position) else {
                    return Some(None);
                };
                let mut findings = stored.findings[at].1.clone();
                let in_project = |file: FileId| project.members.get(file.0 as usize).map(|member| member.file);
                if !rename(&mut findings, &in_project) {
                    return None;
                }
                let source = source::decoded(bytes, &member.display).ok()?;
                let (text, cells) = (source.text, source.cells);
                Some(Some(FileReport { file: member.file, findings, ignored: Vec::new(), text, cells, failed: false }))
            })
            .collect();
        let reports: Vec<FileReport> = reports?.into_iter().flatten().collect();
        if reports.len() != stored.findings.len() {
            return None;
        }
        let refuted = stored.refuted.into_iter().map(|mut refuted| {
            refuted.place.file = project.members.get(refuted.place.file.0 as usize)?.file;
            Some(refuted)
        });
        Some(Results { reports, refuted: refuted.collect::<Option<_>>()?, read: stored.read })
    }

    /// Stores results for the next run.
    pub(super) fn keep(self, project: &Project<'_>, results: &Results) -> CacheUse {
        let written = self.content(project, results).map_or(Ok(()), |content| self.cache.write(self.name, &content));
        let folder = self.cache.folder().display();
        let problem = written.err().map(|error| format!("nothing was stored in `{folder}`: {error}"));
        CacheUse { taken: 0, analysed: 1, problems: problem.into_iter().collect() }
    }

    /// The content of the entry; `None` if a file could not be checked properly, because the next run may succeed.
    fn content(&self, project: &Project<'_>, results: &Results) -> Option<Vec<u8>> {
        let position_of = |file: FileId| project.position(file).and_then(|at| u32::try_from(at).ok()).map(FileId);
        let mut findings: Vec<(usize, Vec<Finding>)> = Vec::with_capacity(results.reports.len());
        for report in &results.reports {
            let mut found = report.findings.clone();
            if report.failed || !rename(&mut found, &position_of) {
                return None;
            }
            if !found.is_empty() {
                findings.push((project.position(report.file)?, found));
            }
        }
        findings.sort_unstable_by_key(|(position, _)| *position);
        let refuted = results.refuted.iter().map(|refuted| {
            let mut refuted = *refuted;
            refuted.place.file = position_of(refuted.place.file)?;
            Some(refuted)
        });
        let refuted = refuted.collect::<Option<_>>()?;
        let stored = Stored { inputs: self.inputs, read: results.read.clone(), findings, refuted };
        serde_json::to_vec(&stored).ok()
    }
}

/// Renames the files that findings refer to; returns whether all have a name.
fn rename(findings: &mut [Finding], of: &dyn Fn(FileId) -> Option<FileId>) -> bool {
    let mut is_whole = true;
    for finding in findings {
        finding.each_place(&mut |place| match of(place.file) {
            Some(file) => place.file = file,
            None => is_whole = false,
        });
    }
    is_whole
}
