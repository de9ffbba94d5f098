//! The run: which files are lowered and interpreted, and how the facts are combined.
//!
//! **Invariant:** threads get pieces of work that share only immutable data; results are combined in the order of files, so the number of
//! threads has no effect.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::cached::{CacheEntry, CacheUse};
use super::contain::contained;
use super::cross_module::cross_module_usage;
use super::file_report::{FileReport, file_report, unreadable};
use super::fix_search::{RunSummary, search_fixes, wanted};
use super::load::{LoadReason, Loaded, Named, library_words, load};
use super::memory::{Edited, Surroundings};
use super::outcome::Refuted;
use super::project::{Member, Project, group};
use super::replay_findings::{evaluate_buffer_accesses, replay_all};
use super::{Fixes, Job, Outcome, Progress, Reported};
use crate::analysis::{ImportSnapshot, Overview, Program};
use crate::config::{JaxPin, absolute};
use crate::finding::{Confidence, Finding, Level, Place, RuleId};
use crate::ir;
use crate::judge::facts::Facts;
use crate::judge::{analyse, reconcile};
use crate::python::WORKER_STACK_BYTES;
use crate::rules;
use crate::source;
use crate::text::{Cells, Digest, FileId, Span};

/// The most files beyond those given that are read for one project because something imports them.
const DEPENDENCY_LIMIT: usize = 5_000;

/// Checks files, and reports the problems in finding them.
pub fn check(job: &Job<'_>) -> Outcome {
    on_workers(job.threads, || check_here(job)).unwrap_or_else(|message| {
        let mut outcome = Outcome { failed: true, ..Outcome::default() };
        let place = Place { file: outcome.files.add(PathBuf::new(), String::new()), span: Span::default() };
        outcome.findings.push(Reported { finding: rules::internal_error(place, &message), shown: true });
        outcome
    })
}

/// Runs `work` on threads whose stacks are large enough for any tree and any nesting of calls.
pub(super) fn on_workers<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    let build = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(WORKER_STACK_BYTES).build();
    let pool = build(threads).or_else(|_| build(1));
    let pool = pool.map_err(|error| format!("not enough memory for the stacks of worker threads: {error}"))?;
    Ok(pool.install(work))
}

/// The results of one project.
pub(super) struct Results {
    pub(super) reports: Vec<FileReport>,
    pub(super) refuted: Vec<Refuted>,
    /// The indices of the files that were read, each with its digest.
    pub(super) read: Vec<(usize, Digest)>,
}

fn check_here(job: &Job<'_>) -> Outcome {
    let (files, projects) = group(job);
    let progress = Counter::new(job);
    let results: Vec<(Results, CacheUse)> = projects
        .par_iter()
        .map(|project| {
            let entry = CacheEntry::of(job, project);
            if let Some(known) = entry.as_ref().and_then(|entry| entry.results(job, project)) {
                progress.add(project.members.iter().filter(|member| member.is_reported).count());
                return (known, CacheUse::taken());
            }
            let results = analysed(job, project, &progress);
            let cache_use = entry.map(|entry| entry.keep(project, &results)).unwrap_or_default();
            (results, cache_use)
        })
        .collect();
    let mut outcome = Outcome { files, checked: job.inputs.len(), ..Outcome::default() };
    let mut reports: BTreeMap<FileId, (usize, FileReport)> = BTreeMap::new();
    for ((index, project), (results, cache_use)) in projects.iter().enumerate().zip(results) {
        reports.extend(results.reports.into_iter().map(|file| (file.file, (index, file))));
        outcome.refuted.extend(results.refuted);
        outcome.cache_use.add(cache_use);
        let read = results.read.into_iter().filter_map(|(position, _)| project.members.get(position));
        let read = read.filter(|member| !member.is_reported);
        outcome.read.extend(read.map(|member| absolute(job.cwd, &member.path)));
    }
    outcome.read.sort_unstable();
    outcome.read.dedup();
    outcome.refuted.sort_unstable();
    drop_repeated(&mut reports);
    let mut texts = BTreeMap::new();
    for (file, (index, report)) in reports {
        outcome.failed |= report.failed;
        if let Some(project) = projects.get(index) {
            outcome.judge(report.findings, &project.settings, file);
        }
        texts.insert(file, (report.text, report.cells));
    }
    for problem in job.problems {
        let path = PathBuf::from(&problem.path);
        let settings = (job.settings)(&path);
        let file = outcome.files.add(path, String::new());
        outcome.failed = true;
        outcome.judge(unreadable(file, &problem.path, &problem.message).findings, &settings, file);
    }
    keep_texts(job, &projects, texts, &mut outcome);
    outcome
}

/// Reads and analyses one project.
fn analysed(job: &Job<'_>, project: &Project<'_>, progress: &Counter<'_>) -> Results {
    let mut project_facts = gather_facts(job, project, progress, &rules::drop_unread);
    let is_test = |member: &&Member| project.settings.for_file(&member.path).is_test();
    let tests: BTreeSet<FileId> = project.members.iter().filter(is_test).map(|member| member.file).collect();
    reconcile(&mut project_facts.facts, &|file| tests.contains(&file));
    let loaded = project_facts.loaded.iter().enumerate();
    let read = loaded.filter_map(|(position, loaded)| Some((position, loaded.as_ref()?.digest))).collect();
    let (reports, refuted) = judge(job, project, project_facts);
    Results { reports, refuted, read }
}

/// Drops the reuses of a project's callers within a function of another project that reports them itself: the facts of
/// each project were reconciled separately.
fn drop_repeated(reports: &mut BTreeMap<FileId, (usize, FileReport)>) {
    let mut reported: BTreeMap<(RuleId, Place), (usize, Level, Confidence)> = BTreeMap::new();
    for (project, report) in reports.values() {
        for Finding { rule, primary, level, confidence, .. } in &report.findings {
            reported.insert((*rule, *primary), (*project, *level, *confidence));
        }
    }
    for (project, report) in reports.values_mut() {
        report.findings.retain(|finding| {
            !finding.related.iter().any(|label| {
                let within = reported.get(&(finding.rule, label.place));
                within.is_some_and(|(other, level, confidence)| {
                    other != project && *level >= finding.level && *confidence >= finding.confidence
                })
            })
        });
    }
}

/// Keeps the texts that findings refer to, and reads those that are missing.
fn keep_texts(
    job: &Job<'_>,
    projects: &[Project<'_>],
    mut texts: BTreeMap<FileId, (String, Cells)>,
    outcome: &mut Outcome,
) {
    let mut spoken_of: BTreeSet<FileId> = BTreeSet::new();
    for Reported { finding, .. } in &outcome.findings {
        let labels = finding.related.iter().chain(&finding.flow).map(|label| label.place.file);
        spoken_of.extend(labels.chain([finding.primary.file]));
    }
    let members = projects.iter().flat_map(|project| &project.members);
    for member in members.filter(|member| spoken_of.contains(&member.file)) {
        let kept = texts.remove(&member.file).filter(|(text, _)| !text.is_empty());
        // A file that cannot be read again is shown without its text.
        let again = || source::read(job.files, &member.path, &member.display).ok();
        let kept = kept.or_else(|| again().map(|source| (source.text, source.cells)));
        let (text, cells) = kept.unwrap_or_default();
        outcome.files.set_text(member.file, text, cells);
    }
}

/// What is known about one project.
pub(super) struct ProjectFacts {
    /// By index; `None` for files that were not requested.
    pub(super) loaded: Vec<Option<Loaded>>,
    /// Facts of the modules that were interpreted, in the order of files.
    pub(super) facts: Vec<Facts>,
    /// The position of the module that each of `facts` is about.
    pub(super) positions: Vec<usize>,
    /// What is known of all modules together.
    pub(super) overview: Overview,
    /// The import snapshot of all modules, if one was interpreted.
    snapshot: Option<ImportSnapshot>,
}

/// Loads and interprets one project. `reduce` drops facts of a module that the caller does not need: those of all modules are in memory
/// at the same time.
pub(super) fn gather_facts(
    job: &Job<'_>,
    project: &Project<'_>,
    progress: &Counter<'_>,
    reduce: &(dyn Fn(&mut Facts) + Sync),
) -> ProjectFacts {
    let (mut loaded, relevant) = load_all(job, project);
    let reported = |position: usize| project.members.get(position).is_some_and(|member| member.is_reported);
    let selected: Vec<usize> = relevant.iter().copied().filter(|position| reported(*position)).collect();
    let given = project.members.iter().filter(|member| member.is_reported).count();
    progress.add(given.saturating_sub(selected.len()));
    let (models, roots) = (project.models, &project.settings.roots);
    let program = Program::new(lowered(&loaded), project, models, roots);
    let first = (!selected.is_empty()).then(|| contained(|| project.snapshot_of(&program)).unwrap_or_default());
    let overview = program.overview();
    let imported = first.as_ref().map(|first| first.imported.clone()).unwrap_or_default();
    let snapshot = first.clone().filter(|_| job.fixes != Fixes::None);
    // The bodies of modules, which have run now, are most of what was unpacked.
    loaded.iter_mut().flatten().filter_map(|file| file.module.as_mut()).for_each(ir::Module::fold);
    let program = Program::with_overview(lowered(&loaded), project, models, roots, overview);
    let surroundings = |position: usize| Surroundings {
        others: other_files(project, &loaded, position),
        overview: program.overview(),
        imported: imported.clone(),
        settings: project.settings.deciding(),
    };
    let results = on_each(selected, first, |snapshot, position| {
        let edited = loaded.get(position).and_then(Option::as_ref).and_then(|file| file.edited.as_ref());
        let edited = edited.map(|edited| (edited, surroundings(position)));
        let mut result = interpret(job, project, &program, (position, edited), snapshot);
        result.iter_mut().for_each(reduce);
        progress.add(1);
        (position, result)
    });
    let overview = program.overview();
    let (mut facts, mut positions) = (Vec::with_capacity(results.len()), Vec::with_capacity(results.len()));
    for (position, result) in results {
        match result {
            Ok(found) => {
                facts.push(found);
                positions.push(position);
            }
            Err(message) => mark_broken(&mut loaded, position, message),
        }
    }
    ProjectFacts { loaded, facts, positions, overview, snapshot }
}

/// The modules that were lowered.
fn lowered(loaded: &[Option<Loaded>]) -> Vec<&ir::Module> {
    loaded.iter().flatten().filter_map(|file| file.module.as_ref()).collect()
}

/// Distributes items to workers, each of which has a copy of the snapshot and keeps it between items; results are in the order of items.
fn on_each<T: Send, R: Send>(
    items: Vec<T>,
    first: Option<ImportSnapshot>,
    work: impl Fn(&mut Option<ImportSnapshot>, T) -> R + Sync,
) -> Vec<R> {
    let workers = rayon::current_num_threads().clamp(1, items.len().max(1));
    let queue = Mutex::new(items.into_iter().enumerate());
    let snapshots: Vec<Option<ImportSnapshot>> = std::iter::repeat_n(first, workers).collect();
    let mut results: Vec<(usize, R)> = snapshots
        .into_par_iter()
        .with_max_len(1)
        .flat_map_iter(|mut snapshot| {
            let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let mut done = Vec::new();
            while let Some((index, item)) = next() {
                done.push((index, work(&mut snapshot, item)));
            }
            done
        })
        .collect();
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Interprets one module.
fn interpret(
    job: &Job<'_>,
    project: &Project<'_>,
    program: &Program<'_>,
    (position, edited): (usize, Option<(&Arc<Edited>, Surroundings)>),
    snapshot: &mut Option<ImportSnapshot>,
) -> Result<Facts, String> {
    let module = project.members.get(position).and_then(|member| program.of_file(member.file));
    // An analysis that panicked has taken its snapshot with it. If one module makes the import snapshot panic, each is analysed in an empty
    // one, so that only those that need it fail.
    let mut there = snapshot.take().unwrap_or_else(|| contained(|| project.snapshot_of(program)).unwrap_or_default());
    let result = contained(|| {
        let facts = module.map(|index| {
            // What is unpacked to analyse a module is not kept.
            let copy = program.module(index).clone();
            let program = program.with_copy(index, &copy);
            match job.memory.zip(edited).filter(|(_, (_, around))| !around.imported.contains(&index)) {
                Some((memory, (edited, around))) => memory.analysed(edited, &copy, around, |remembered| {
                    analyse(&mut there, &program, index, Some(remembered))
                }),
                None => (job.analyse)(&mut there, &program, index, None),
            }
        });
        (facts.unwrap_or_default(), there)
    });
    result.map(|(facts, there)| {
        *snapshot = Some(there);
        facts
    })
}

/// The files that were read beside one, with their digests.
fn other_files(project: &Project<'_>, loaded: &[Option<Loaded>], position: usize) -> Vec<(FileId, Digest)> {
    let read = project.members.iter().zip(loaded).enumerate().filter(|(other, _)| *other != position);
    read.filter_map(|(_, (member, loaded))| Some((member.file, loaded.as_ref()?.digest))).collect()
}

fn mark_broken(loaded: &mut [Option<Loaded>], position: usize, message: String) {
    if let Some(Some(file)) = loaded.get_mut(position) {
        file.broke = Some(message);
    }
}

/// Loads the given files and their imports; also returns the indices, sorted, of the relevant modules.
pub(super) fn load_all(job: &Job<'_>, project: &Project<'_>) -> (Vec<Option<Loaded>>, Vec<usize>) {
    let words = library_words(project);
    let count = project.members.len();
    let mut loaded: Vec<Option<Loaded>> = std::iter::repeat_with(|| None).take(count).collect();
    let reported = |position: &usize| project.members[*position].is_reported;
    let mut wanted: Vec<(usize, LoadReason)> =
        (0..count).filter(reported).map(|position| (position, LoadReason::IfRelevant)).collect();
    let mut is_settled = vec![false; count];
    let mut budget = DEPENDENCY_LIMIT;
    while !wanted.is_empty() {
        let fresh: Vec<(usize, LoadReason, Loaded)> = std::mem::take(&mut wanted)
            .into_par_iter()
            .map(|(position, want)| (position, want, load(job, project, position, &words, want)))
            .collect();
        for (position, want, file) in fresh {
            // A file that could not be lowered now cannot be lowered the next time either.
            is_settled[position] = want == LoadReason::Lowered || file.module.is_some();
            loaded[position] = Some(file);
        }
        let needed = reachable(&loaded, relevant(&loaded));
        let unknown = reachable(&loaded, candidates(&loaded));
        for position in 0..count {
            let want = if needed[position] && !is_settled[position] {
                LoadReason::Lowered
            } else if unknown[position] && loaded[position].is_none() {
                LoadReason::IfRelevant
            } else {
                continue;
            };
            if loaded[position].is_none() && !reported(&position) {
                if budget == 0 {
                    continue;
                }
                budget -= 1;
            }
            wanted.push((position, want));
        }
    }
    let relevant = relevant(&loaded);
    let imported: BTreeSet<usize> = loaded.iter().flatten().flat_map(|file| file.targets.iter().copied()).collect();
    for position in imported {
        if let Some(file) = &mut loaded[position] {
            file.is_imported = true;
        }
    }
    (loaded, relevant)
}

/// The modules in which a key can be misused: those that name a library, those that contain a word for keys and import, directly or
/// indirectly, one that does, and those that import one from it or from a module that imports it.
fn relevant(loaded: &[Option<Loaded>]) -> Vec<usize> {
    let mut importers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut reached: Vec<usize> = Vec::new();
    let mut carries = vec![false; loaded.len()];
    for (position, file) in loaded.iter().enumerate() {
        let Some(file) = file else { continue };
        for target in &file.targets {
            importers.entry(*target).or_default().push(position);
        }
        if file.named == Named::Library {
            carries[position] = true;
            reached.push(position);
        }
    }
    while let Some(position) = reached.pop() {
        for importer in importers.get(&position).map_or(&[][..], Vec::as_slice) {
            if !std::mem::replace(&mut carries[*importer], true) {
                reached.push(*importer);
            }
        }
    }
    let mut relevant = candidates(loaded);
    relevant.retain(|position| carries[*position]);
    relevant
}

/// The files that contain a word for keys, and those that use a file that names a library, possibly through a package that exports what the
/// file defines: `for _ in range(3): state = step(state)`. Their imports decide whether they are relevant.
fn candidates(loaded: &[Option<Loaded>]) -> Vec<usize> {
    let named = |position: usize| loaded[position].as_ref().map_or(Named::Nothing, |file| file.named);
    let targets = |position: usize| loaded[position].iter().flat_map(|file| file.targets.iter().copied());
    let is_library = |position: usize| named(position) == Named::Library;
    let uses_library =
        |position: usize| targets(position).any(|target| is_library(target) || targets(target).any(is_library));
    (0..loaded.len()).filter(|position| named(*position) != Named::Nothing || uses_library(*position)).collect()
}

/// Which files are in `start`, or are imported by those, transitively.
fn reachable(loaded: &[Option<Loaded>], mut start: Vec<usize>) -> Vec<bool> {
    let mut is_reached = vec![false; loaded.len()];
    for position in &start {
        is_reached[*position] = true;
    }
    while let Some(position) = start.pop() {
        let targets = loaded[position].as_ref().map_or(&[][..], |file| file.targets.as_slice());
        for target in targets {
            if !std::mem::replace(&mut is_reached[*target], true) {
                start.push(*target);
            }
        }
    }
    is_reached
}

/// Applies the rules to the facts, replays the findings, and makes the report on every requested file; also returns the refuted findings.
fn judge(job: &Job<'_>, project: &Project<'_>, project_facts: ProjectFacts) -> (Vec<FileReport>, Vec<Refuted>) {
    let ProjectFacts { mut loaded, facts, positions, overview, snapshot } = project_facts;
    let jax = project.settings.jax_version.map(JaxPin::newest).map(|newest| [newest.major, newest.minor, newest.patch]);
    let check = |facts: Facts| {
        contained(|| {
            let mut facts = facts.for_version(jax);
            let findings = rules::check(&facts);
            let summary = RunSummary::of(&mut facts, &findings);
            (findings, summary)
        })
    };
    let checked: Vec<Result<(Vec<Finding>, RunSummary), String>> = facts.into_par_iter().map(check).collect();
    let mut all: Vec<Finding> = Vec::new();
    let mut summaries: BTreeMap<FileId, RunSummary> = BTreeMap::new();
    for (position, result) in positions.into_iter().zip(checked) {
        match result {
            Ok((findings, summary)) => {
                all.extend(findings);
                summaries.extend(project.members.get(position).map(|member| (member.file, summary)));
            }
            Err(message) => mark_broken(&mut loaded, position, message),
        }
    }
    let mut refuted = replay_all(job, project, (&loaded, &overview), &mut all);
    leave_steady_places(project, &loaded, &mut all, &mut refuted);
    let modules = loaded.iter_mut().flatten().map(|file| file.module.take());
    let modules: Vec<ir::Module> = modules.flatten().filter(|_| job.fixes != Fixes::None).collect();
    let mut by_file: BTreeMap<FileId, Vec<Finding>> = BTreeMap::new();
    for finding in all {
        by_file.entry(finding.primary.file).or_default().push(finding);
    }
    let mut work = Vec::new();
    for (position, file) in loaded.into_iter().enumerate() {
        if let Some(member) = project.members.get(position).filter(|member| member.is_reported)
            && let Some(file) = file
        {
            work.push((position, file, by_file.remove(&member.file).unwrap_or_default()));
        }
    }
    let report = |(position, file, findings)| {
        let mut report = file_report(job, project, position, &file, findings)?;
        evaluate_buffer_accesses(job, project, &mut report);
        Some(report)
    };
    let mut reports: Vec<FileReport> = work.into_par_iter().filter_map(report).collect();
    find_fixes(job, project, (modules, overview, snapshot), (&mut reports, &summaries));
    (reports, refuted)
}

/// Adds the fixes that are requested to the findings of a project.
fn find_fixes(
    job: &Job<'_>,
    project: &Project<'_>,
    (mut modules, overview, snapshot): (Vec<ir::Module>, Overview, Option<ImportSnapshot>),
    (reports, summaries): (&mut [FileReport], &BTreeMap<FileId, RunSummary>),
) {
    let wanted = wanted(job, project, reports);
    let wanted = reports.iter_mut().zip(wanted).filter(|(_, wanted)| !wanted.is_empty());
    let work: Vec<_> = wanted
        .filter_map(|(report, wanted)| {
            let summary = summaries.get(&report.file)?;
            Some((report, summary, wanted))
        })
        .collect();
    if work.is_empty() {
        return;
    }
    // What the replays have run is not what the search for fixes reads.
    modules.iter_mut().for_each(ir::Module::fold);
    let modules: Vec<&ir::Module> = modules.iter().collect();
    let program = Program::with_overview(modules, project, project.models, &project.settings.roots, overview);
    let usage = cross_module_usage(program.modules(), project.models);
    on_each(work, snapshot, |snapshot, (report, summary, wanted)| {
        search_fixes(job, project, (&program, &usage), (report, summary, &wanted), snapshot);
    });
}

/// Gives findings the places that they have in the text.
fn leave_steady_places(
    project: &Project<'_>,
    loaded: &[Option<Loaded>],
    findings: &mut [Finding],
    refuted: &mut [Refuted],
) {
    for (member, file) in project.members.iter().zip(loaded) {
        let Some(edited) = file.as_ref().and_then(|file| file.edited.as_ref()) else { continue };
        let mut leave = |place: &mut Place| {
            if place.file == member.file {
                place.span = edited.steady.place(place.span);
            }
        };
        for finding in &mut *findings {
            finding.each_place(&mut leave);
        }
        for refuted in &mut *refuted {
            leave(&mut refuted.place);
        }
    }
}

/// Counts files that are done.
pub(super) struct Counter<'a> {
    done: Mutex<usize>,
    total: usize,
    progress: Progress<'a>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(job: &Job<'a>) -> Self {
        Self { done: Mutex::new(0), total: job.inputs.len(), progress: job.progress }
    }

    fn add(&self, count: usize) {
        // Reported under the lock, so that the numbers never decrease.
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += count;
        if count > 0 {
            (self.progress)(*done, self.total);
        }
    }
}
