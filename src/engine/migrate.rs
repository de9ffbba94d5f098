//! From raw keys to typed ones, for a whole project at once.
//!
//! Each file is rewritten as `fix` proposes. The migrated project is then analysed, and wherever words of a typed key are still needed,
//! `key_data` is added, until nothing more is found. Finally, the changed functions are replayed in both versions of the project.
//!
//! **Invariant:** nothing is written. A file whose migration would raise, or draw from other keys, keeps its raw keys; what is not verified
//! is listed.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::contain::contained;
use super::cross_module::cross_module_usage;
use super::effects::Effects;
use super::load::Loaded;
use super::project::{Project, group};
use super::run::{Counter, ProjectFacts, gather_facts, load_all, on_workers};
use super::run_context::{Changed, RunContext, RunInputs, RunOptions};
use super::{Fixes, Job, Outcome};
use crate::analysis::{ImportSnapshot, Program};
use crate::finding::{DerivationKind, Family, Finding, Place, RuleId};
use crate::fix::{
    self, Change, CrossModuleUsage, FileMigration, FixContext, KeyRepresentation, KnownKey, RawFile, Remark, WordUse,
};
use crate::ir::{self, OpKind, Resolver as _};
use crate::judge::facts::{BufferOp, BufferUse, Facts, KeyKind, KeyUse, KeyValue, ReferenceKind, Role};
use crate::judge::{Remembered, analyse};
use crate::python::{self, SourceKind};
use crate::source::{self, SourceFile};
use crate::text::{FileId, LineIndex, Span, apply_edits};
use crate::verify::replay::{self, Comparison, FileEdits};

/// The maximum number of analyses of the migrated project.
const ROUNDS: usize = 8;

/// A place, for people, with a remark.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnmigratedPlace {
    /// The path as given.
    pub path: String,
    /// `path:row:column`.
    pub locus: String,
    /// Why it was left: a sentence without its full stop.
    pub reason: String,
}

/// What the user decided before a migration.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// Fingerprints of findings that are fixed first, although the numbers change.
    pub fixes: BTreeSet<String>,
    /// Paths, as given, of files that keep their raw keys.
    pub kept: BTreeSet<String>,
}

/// The result of a migration.
#[derive(Debug, Default)]
pub struct Migrated {
    /// The changed files, in the order in which they were given.
    pub changed: Vec<Changed>,
    /// How many places change, by the kind of change.
    pub changes: BTreeMap<Change, usize>,
    /// Places that were left unchanged, and places that a person should review.
    pub left: Vec<UnmigratedPlace>,
    /// How many functions draw from exactly the same keys as before.
    pub verified: usize,
    /// Functions that the replay could not decide.
    pub unverified: Vec<UnmigratedPlace>,
    /// The findings in the migrated files.
    pub outcome: Outcome,
}

/// The state of one file during the migration.
struct Plan {
    file: FileId,
    /// Its position among the files given.
    input: usize,
    source: SourceFile,
    /// The files that it imports, directly or indirectly.
    imports: BTreeSet<FileId>,
    /// What the analysis of the original project knows about it.
    known: Known,
    done: FileMigration,
    /// Why it keeps its raw keys.
    given_up: Option<String>,
}

/// What the analysis knows about one file.
#[derive(Default)]
struct Known {
    keys: Vec<KnownKey>,
    words: Vec<WordUse>,
    constructors: Vec<Span>,
    /// Why its keys have to stay raw, if they have to.
    refused: Option<String>,
    /// Where typed keys are already misused.
    misused: BTreeSet<Span>,
}

/// The verdict of the replay on each changed function.
#[derive(Default)]
struct Replayed {
    verified: usize,
    unverified: Vec<(Place, String)>,
}

impl RunContext<'_> {
    /// Moves the given files from raw to typed keys. The changes are overlays afterwards, as after [`Self::fix`].
    pub fn migrate(&self, given: &mut RunInputs, how: RunOptions<'_>, decided: &Decisions) -> Migrated {
        let is_wanted = |finding: &Finding| decided.fixes.contains(&finding.fingerprint);
        let fixed = if decided.fixes.is_empty() {
            Vec::new()
        } else {
            self.fix(given, RunOptions { fixes: Fixes::All, ..how }, &is_wanted).changed
        };
        let mut plans = self.step(given, how, begin);
        for plan in plans.iter_mut().filter(|plan| decided.kept.contains(&plan.source.path)) {
            plan.given_up = Some("you decided to".to_owned());
        }
        let mut replayed = Replayed::default();
        // Each round may find another file that keeps its raw keys; then all are rewritten again.
        for _ in 0..=plans.len() {
            self.step(given, how, |job| rewrite(job, &mut plans));
            if plans.iter().any(|plan| plan.done.keeps_constructors) {
                self.step(given, how, |job| rewrite(job, &mut plans));
            }
            let mut is_open = true;
            for _ in 0..ROUNDS {
                overlay(given, &plans);
                is_open = self.step(given, how, |job| again(job, &mut plans));
                if !is_open {
                    break;
                }
            }
            if is_open {
                break;
            }
            overlay(given, &plans);
            if how.verify {
                replayed = self.step(given, how, |job| verify(job, &mut plans));
            }
            if !plans.iter().any(|plan| plan.given_up.is_some() && !plan.done.edits.is_empty()) {
                break;
            }
        }
        overlay(given, &plans);
        self.summarise(given, (plans, fixed), &replayed, how)
    }

    /// Runs one step of the migration, with the key facts of each function for all callers.
    fn step<T: Send + Default>(
        &self,
        given: &RunInputs,
        how: RunOptions<'_>,
        work: impl FnOnce(&Job<'_>) -> T + Send,
    ) -> T {
        self.with(given, how, |job| {
            let job = Job { analyse: &follow, ..*job };
            on_workers(job.threads, || work(&job)).unwrap_or_default()
        })
    }

    /// A summary of the migration.
    fn summarise(
        &self,
        given: &RunInputs,
        (plans, mut fixed): (Vec<Plan>, Vec<Changed>),
        replayed: &Replayed,
        how: RunOptions<'_>,
    ) -> Migrated {
        let outcome = self.check(given, RunOptions { observes: false, ..how });
        let mut migrated = Migrated { verified: replayed.verified, ..Migrated::default() };
        let mut left: BTreeSet<UnmigratedPlace> = BTreeSet::new();
        for plan in &plans {
            let locus = |span: Span| locus(&plan.source, span);
            let remarks = plan.done.remarks.iter();
            left.extend(remarks.map(|Remark { span, reason }| UnmigratedPlace {
                path: plan.source.path.clone(),
                locus: locus(*span),
                reason: reason.clone(),
            }));
            if let Some(reason) = &plan.given_up {
                let first = plan.known.constructors.first().copied().unwrap_or_default();
                left.insert(UnmigratedPlace {
                    path: plan.source.path.clone(),
                    locus: locus(first),
                    reason: format!("the file keeps its raw keys: {reason}"),
                });
            }
            for (change, count) in &plan.done.changes {
                *migrated.changes.entry(*change).or_default() += count;
            }
            for (place, reason) in replayed.unverified.iter().filter(|(place, _)| place.file == plan.file) {
                migrated.unverified.push(UnmigratedPlace {
                    path: plan.source.path.clone(),
                    locus: locus(place.span),
                    reason: reason.clone(),
                });
            }
        }
        for reported in outcome.findings.iter().filter(|reported| reported.shown) {
            let finding = &reported.finding;
            let place = finding.primary;
            let is_said = plans.iter().filter(|plan| plan.file == place.file).any(|plan| {
                let is_there = |remark: &Remark| remark.span == place.span;
                plan.given_up.is_some() && finding.rule == RuleId::LegacyPrngkey
                    || plan.done.edits.is_empty() && plan.done.remarks.iter().any(is_there)
            });
            let is_about_names =
                matches!(finding.rule, RuleId::LegacyPrngkey | RuleId::RemovedKeyType | RuleId::PrivatePrngApi);
            if (finding.rule.family() == Family::Buffer || is_about_names) && !is_said {
                let reason = format!("{}: {}", finding.rule.code(), finding.message);
                let path = outcome.files.path(place.file).display().to_string();
                left.insert(UnmigratedPlace { path, locus: outcome.files.locus(place), reason });
            }
        }
        for plan in plans {
            let Some(input) = given.inputs.get(plan.input) else { continue };
            let (Ok(after), Ok(bytes)) =
                (apply_edits(&plan.source.text, &plan.done.edits), plan.source.rewrite(&plan.done.edits))
            else {
                continue;
            };
            let earlier = fixed.iter().position(|changed| changed.path == input.path).map(|at| fixed.swap_remove(at));
            if after != plan.source.text || earlier.is_some() {
                let (path, before) = (input.path.clone(), earlier.map_or(plan.source, |changed| changed.before));
                migrated.changed.push(Changed { path, before, after, bytes, resolved: BTreeMap::new() });
            }
        }
        migrated.changed.append(&mut fixed);
        Migrated { left: left.into_iter().collect(), outcome, ..migrated }
    }
}

/// Analyses a module, and records what callees in other modules do with its keys.
fn follow(
    snapshot: &mut ImportSnapshot,
    program: &Program<'_>,
    module: usize,
    remembered: Option<&mut Remembered>,
) -> Facts {
    analyse(snapshot, &program.following(), module, remembered)
}

/// `path:row:column`, in a notebook with the cell.
fn locus(source: &SourceFile, span: Span) -> String {
    let at = source.cells.line_column(&LineIndex::new(&source.text), &source.text, span.start, span.start);
    let cell = source.cells.around(span.start).map(|cell| format!(":cell {}", cell.number)).unwrap_or_default();
    format!("{}{cell}:{}:{}", source.path, at.row, at.column)
}

/// Overlays the given files with the migrated ones.
fn overlay(given: &mut RunInputs, plans: &[Plan]) {
    for plan in plans {
        let Some(input) = given.inputs.get(plan.input) else { continue };
        // Text that the encoding cannot represent is not changed; edits contain only ASCII letters.
        if let Ok(bytes) = plan.source.rewrite(&plan.done.edits) {
            given.files.insert(input.path.clone(), bytes);
        }
    }
}

/// The facts of each project.
fn facts_of_projects<'a>(job: &Job<'a>) -> Vec<(Project<'a>, ProjectFacts)> {
    let (_, projects) = group(job);
    let progress = Counter::new(job);
    projects
        .into_iter()
        .map(|project| {
            let project_facts = gather_facts(job, &project, &progress, &|_| {});
            (project, project_facts)
        })
        .collect()
}

/// The files that handle keys, unchanged.
fn begin(job: &Job<'_>) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (project, project_facts) in facts_of_projects(job) {
        let mut known = known_of(&project_facts.facts);
        let imports = imports_of(&project, &project_facts.loaded);
        for ((member, loaded), imports) in project.members.iter().zip(&project_facts.loaded).zip(imports) {
            let is_lowered = loaded.as_ref().is_some_and(|loaded| loaded.module.is_some() && loaded.broke.is_none());
            if !member.is_reported || !is_lowered {
                continue;
            }
            let Ok(source) = source::read(job.files, &member.path, &member.display) else { continue };
            let known = known.remove(&member.file).unwrap_or_default();
            plans.push(Plan {
                given_up: known.refused.clone(),
                imports,
                file: member.file,
                input: member.file.0 as usize,
                source,
                known,
                done: FileMigration::default(),
            });
        }
    }
    plans.sort_by_key(|plan| plan.file);
    plans
}

/// The facts of each file.
fn known_of(facts: &[Facts]) -> BTreeMap<FileId, Known> {
    let mut known: BTreeMap<FileId, Known> = BTreeMap::new();
    for value in facts.iter().flat_map(|facts| &facts.values).filter(|value| is_key(value)) {
        let (is_raw, is_typed) = (value.kind == KeyKind::Raw, value.kind == KeyKind::Typed);
        let KeyValue { is_array, is_called, .. } = *value;
        let key = KnownKey { span: value.place.span, is_raw, is_typed, is_array, is_called };
        known.entry(value.place.file).or_default().keys.push(key);
    }
    for used in facts.iter().flat_map(|facts| &facts.buffers) {
        let of = known.entry(used.place.file).or_default();
        if used.kind == KeyKind::Typed {
            of.misused.insert(used.place.span);
        } else if matches!(used.op, BufferOp::Index | BufferOp::Unpack | BufferOp::Arithmetic) {
            of.words.push(word_use(used));
        } else if used.op == BufferOp::MapAxis && used.kind == KeyKind::Raw {
            of.refused.get_or_insert_with(|| format!("`{}` maps over the words of keys", used.text));
        }
    }
    for reference in facts.iter().flat_map(|facts| &facts.references) {
        let makes = matches!(reference.kind, ReferenceKind::Call | ReferenceKind::Value);
        if makes && reference.path == fix::RAW_KEY {
            known.entry(reference.place.file).or_default().constructors.push(reference.place.span);
        }
    }
    known
}

/// Whether a value is a key by more than being passed to something unknown.
fn is_key(value: &KeyValue) -> bool {
    let is_evident = |used: &KeyUse| used.role != Role::Unresolved;
    let is_made = !matches!(value.derivation.kind(), DerivationKind::Elsewhere | DerivationKind::Part(_));
    let is_declared = value.uses.is_empty() && !value.is_array;
    value.kind != KeyKind::Unknown || is_made || is_declared || value.uses.iter().any(is_evident)
}

fn word_use(used: &BufferUse) -> WordUse {
    let review = match used.op {
        BufferOp::Index | BufferOp::Unpack => {
            Some("a word of a key is not a key; the word is kept, but `jax.random.split` was probably intended")
        }
        BufferOp::Arithmetic => Some(
            "this is arithmetic on the words of a key; they are kept, but `jax.random.fold_in` was probably intended",
        ),
        _ => None,
    };
    WordUse { span: used.place.span, review, is_called: used.is_called }
}

/// Passes the syntax of a plan's file to `work`, in its project.
fn in_syntax<T>(
    project: &Project<'_>,
    usage: &CrossModuleUsage,
    plan: &Plan,
    work: impl FnOnce(&FixContext<'_>, &python::Parsed) -> T,
) -> T {
    let SourceFile { path, text, cells, .. } = &plan.source;
    let parsed = python::parse_cells(text, cells, SourceKind::of_path(path));
    let cx = FixContext::new(plan.file, text, &parsed.module, project.models, &project.settings.roots)
        .in_cells(cells.iter().map(|cell| cell.span))
        .in_project(usage);
    work(&cx, &parsed)
}

/// The plans of a project's files.
fn own<'p>(project: &Project<'_>, plans: &'p mut [Plan]) -> Vec<&'p mut Plan> {
    let is_own = |plan: &&mut Plan| project.position(plan.file).is_some_and(|at| project.members[at].is_reported);
    plans.iter_mut().filter(is_own).collect()
}

/// Rewrites all files again from the current knowledge.
fn rewrite(job: &Job<'_>, plans: &mut [Plan]) {
    let mixes: BTreeMap<FileId, KeyRepresentation> =
        plans.iter().map(|plan| (plan.file, representation_of(plan, plans))).collect();
    for project in group(job).1 {
        let own = own(&project, plans);
        let modules: Vec<ir::Module> = own.par_iter().map(|plan| lowered(plan, &[])).collect();
        let modules: Vec<&ir::Module> = modules.iter().collect();
        let usage = cross_module_usage(&modules, project.models);
        let (exported, nothing) = (exported(&project, &modules), BTreeSet::new());
        own.into_par_iter().for_each(|plan| {
            plan.done = FileMigration::default();
            if plan.given_up.is_some() {
                return;
            }
            let done = contained(|| {
                in_syntax(&project, &usage, plan, |cx, parsed| {
                    if !parsed.problems.is_empty() {
                        return Err("it cannot be parsed".to_owned());
                    }
                    let Known { keys, words, constructors, .. } = &plan.known;
                    let exported = exported.get(&plan.file).unwrap_or(&nothing);
                    let mix = mixes.get(&plan.file).copied().unwrap_or(KeyRepresentation::Either);
                    let raw = RawFile { held: keys, words, made: constructors, exported, mix };
                    Ok(fix::migrate(cx, raw))
                })
            });
            match done.unwrap_or_else(|message| Err(format!("keylint failed on it: {message}"))) {
                Ok(done) => plan.done = done,
                Err(reason) if !plan.known.constructors.is_empty() => plan.given_up = Some(reason),
                Err(_) => {}
            }
        });
    }
}

/// The kinds of keys that may reach a file: those of all files that import it or that it imports, directly or indirectly.
fn representation_of(plan: &Plan, plans: &[Plan]) -> KeyRepresentation {
    let is_linked = |other: &&Plan| {
        other.file == plan.file || other.imports.contains(&plan.file) || plan.imports.contains(&other.file)
    };
    let linked: Vec<&Plan> = plans.iter().filter(is_linked).collect();
    if linked.iter().any(|other| other.given_up.is_some() || other.done.keeps_constructors) {
        KeyRepresentation::Either
    } else if linked.iter().all(|other| other.known.constructors.is_empty()) {
        let makes_typed = |other: &&Plan| other.known.keys.iter().any(|key| key.is_typed);
        if linked.iter().any(makes_typed) { KeyRepresentation::Known } else { KeyRepresentation::Unseen }
    } else {
        KeyRepresentation::Typed
    }
}

/// The files that each file imports, directly or indirectly.
fn imports_of(project: &Project<'_>, loaded: &[Option<Loaded>]) -> Vec<BTreeSet<FileId>> {
    let targets = |position: usize| loaded[position].as_ref().map_or(&[][..], |loaded| loaded.targets.as_slice());
    (0..loaded.len())
        .map(|position| {
            let mut reached: BTreeSet<usize> = BTreeSet::new();
            let mut open: Vec<usize> = targets(position).to_vec();
            while let Some(next) = open.pop() {
                if reached.insert(next) {
                    open.extend(targets(next));
                }
            }
            reached.into_iter().filter_map(|at| project.members.get(at).map(|member| member.file)).collect()
        })
        .collect()
}

/// The names that modules of a project import from each of its files.
fn exported(project: &Project<'_>, modules: &[&ir::Module]) -> BTreeMap<FileId, BTreeSet<String>> {
    let mut exported: BTreeMap<FileId, BTreeSet<String>> = BTreeMap::new();
    for module in modules {
        for op in module.functions.iter().flat_map(|function| &function.ops) {
            let OpKind::ImportFrom { level, module: from, name } = &op.kind else { continue };
            if let Some(file) = project.module(module.file, *level, from) {
                exported.entry(file).or_default().insert(name.to_string());
            }
        }
    }
    exported
}

/// The operations of a plan's file with edits.
fn lowered(plan: &Plan, edits: &[crate::text::Edit]) -> ir::Module {
    let text = apply_edits(&plan.source.text, edits).unwrap_or_else(|_| plan.source.text.clone());
    let cells = plan.source.cells.edited(edits);
    let parsed = python::parse_cells(&text, &cells, SourceKind::of_path(&plan.source.path));
    let effects = Effects::of(&text, &parsed.comments);
    ir::lower(plan.file, &parsed.module, &|header| effects.on(header))
}

/// Analyses the migrated project, and adds `key_data` where words are still needed; returns whether there were such
/// places.
fn again(job: &Job<'_>, plans: &mut [Plan]) -> bool {
    let mut has_more = false;
    for (project, project_facts) in facts_of_projects(job) {
        let usage = CrossModuleUsage::default();
        let mut found: BTreeMap<FileId, Vec<&BufferUse>> = BTreeMap::new();
        for used in project_facts.facts.iter().flat_map(|facts| &facts.buffers).filter(|used| needs_words(used)) {
            found.entry(used.place.file).or_default().push(used);
        }
        let mut stuck: Vec<(FileId, String)> = Vec::new();
        for plan in own(&project, plans) {
            let edits = plan.done.edits.clone();
            for used in found.remove(&plan.file).unwrap_or_default() {
                let span = fix::place_before(used.place.span, &edits);
                if span.is_some_and(|span| plan.known.misused.contains(&span)) {
                    continue;
                }
                let mut done = std::mem::take(&mut plan.done);
                let is_taken = span.is_some_and(|span| {
                    let word = WordUse { span, ..word_use(used) };
                    in_syntax(&project, &usage, plan, |cx, _| fix::take_more(cx, &mut done, &[word]))
                });
                has_more |= done.edits.len() > edits.len();
                plan.done = done;
                if !is_taken {
                    let origin = used.origin.as_ref().map_or(plan.file, |origin| origin.place.file);
                    let at = span.map_or_else(String::new, |span| format!(" at {}", locus(&plan.source, span)));
                    stuck.push((origin, format!("`{}`{at} needs raw keys", used.text)));
                }
            }
        }
        for (file, reason) in stuck {
            if let Some(plan) = plans.iter_mut().find(|plan| plan.file == file && plan.given_up.is_none()) {
                plan.given_up = Some(reason);
            }
        }
    }
    has_more
}

/// Whether an operation raises for a typed key, or does something else.
fn needs_words(used: &BufferUse) -> bool {
    let is_new_key = matches!(used.op, BufferOp::Fabricate | BufferOp::Rewrap | BufferOp::Reseed);
    used.kind == KeyKind::Typed && !is_new_key && !used.op.always_raises()
}

/// Replays every function that changes, in the original and in the migrated project.
fn verify(job: &Job<'_>, plans: &mut [Plan]) -> Replayed {
    let mut replayed = Replayed::default();
    for project in group(job).1 {
        let files: BTreeSet<FileId> = plans.iter().map(|plan| plan.file).collect();
        let (loaded, _) = load_all(job, &project);
        let loaded: Vec<ir::Module> = loaded.into_iter().flatten().filter_map(|file| file.module).collect();
        let own = own(&project, plans);
        let before: Vec<ir::Module> = own.par_iter().map(|plan| lowered(plan, &[])).collect();
        let edits: Vec<FileEdits<'_>> = own.iter().map(|plan| (plan.file, plan.done.edits.as_slice())).collect();
        let rest = || loaded.iter().filter(|module| !files.contains(&module.file));
        let after = loaded.iter().filter(|module| files.contains(&module.file));
        let replay = |modules| replay::Project::new(modules, &project, project.models, &project.settings.roots);
        let original = replay(before.iter().chain(rest()).collect());
        let patched = replay(after.chain(rest()).collect());
        let changed = own.iter().enumerate().filter(|(_, plan)| !plan.done.places.is_empty());
        let verdicts: Vec<(usize, Vec<(Place, Comparison)>)> = changed
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|(index, plan)| {
                let functions = functions_at(&before[index], &plan.done.places);
                let mut kept = replay::EntryStates::default();
                let mut compare = |span: Span| {
                    let place = Place { file: plan.file, span };
                    let verdict =
                        contained(|| replay::compare_keys((&original, &mut kept), &patched, &edits, &[place]));
                    (place, verdict.unwrap_or_else(|_| Comparison::Inconclusive("the replay failed".to_owned())))
                };
                (index, functions.into_iter().map(&mut compare).collect())
            })
            .collect();
        drop(edits);
        let mut own = own;
        for (index, verdicts) in verdicts {
            for (place, verdict) in verdicts {
                match verdict {
                    Comparison::Verified => replayed.verified += 1,
                    Comparison::Inconclusive(why) => replayed.unverified.push((place, why)),
                    Comparison::Refuted(why) => {
                        let at = locus(&own[index].source, place.span);
                        own[index].given_up.get_or_insert_with(|| format!("{why}, in the function at {at}"));
                    }
                }
            }
        }
    }
    replayed
}

/// One place for each function that holds one of these.
fn functions_at(module: &ir::Module, places: &[Span]) -> Vec<Span> {
    let mut functions: BTreeMap<Span, Span> = BTreeMap::new();
    for place in places {
        let innermost = module.function(module.innermost(*place)).full;
        functions.entry(innermost).or_insert(*place);
    }
    functions.into_values().collect()
}
