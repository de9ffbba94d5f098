//! Files grouped by project, and how imports resolve within one.
//!
//! **Invariant:** the findings of a given file are reported by exactly one project; the grouping and the order of files
//! follow from paths alone.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::imports::Import;
use super::{FileTable, Job};
use crate::analysis::{ImportSnapshot, Program};
use crate::config::{Settings, absolute};
use crate::ir::Resolver;
use crate::models::Models;
use crate::python::{ModuleGraph, Resolution, initialiser_of};
use crate::text::FileId;

/// One project.
pub(super) struct Project<'a> {
    /// The absolute root.
    pub(super) root: PathBuf,
    pub(super) settings: Arc<Settings>,
    pub(super) models: &'a Models,
    /// All files known; a position here is an identity in `graph`.
    pub(super) members: Vec<Member>,
    graph: ModuleGraph,
    positions: FxHashMap<FileId, usize>,
}

/// One file of a project.
pub(super) struct Member {
    pub(super) file: FileId,
    /// Where it is.
    pub(super) path: PathBuf,
    /// The path as given.
    pub(super) display: String,
    /// Whether its findings are reported by this project.
    pub(super) is_reported: bool,
    /// Whether it is reported and a module in the folder of a package, which has an initialiser whatever files were given.
    pub(super) is_in_package: bool,
}

/// The projects of the files given, by root, and the table of all files, those given first.
pub(super) fn group<'a>(job: &Job<'a>) -> (FileTable, Vec<Project<'a>>) {
    let mut table = FileTable::default();
    let mut known: BTreeMap<PathBuf, (FileId, usize)> = BTreeMap::new();
    let mut roots: BTreeMap<PathBuf, (Arc<Settings>, Vec<usize>)> = BTreeMap::new();
    for (index, input) in job.inputs.iter().enumerate() {
        let file = table.add(PathBuf::from(&input.display), String::new());
        let full = absolute(job.cwd, &input.path);
        let settings = (job.settings)(&input.path);
        let root = absolute(job.cwd, &settings.root);
        known.entry(full).or_insert((file, index));
        roots.entry(root).or_insert_with(|| (settings, Vec::new())).1.push(index);
    }
    let mut projects = Vec::with_capacity(roots.len());
    for (root, (settings, inputs)) in roots {
        let mut members: BTreeMap<PathBuf, Member> = BTreeMap::new();
        let mut given = vec![false; job.inputs.len()];
        for index in inputs {
            given[index] = true;
        }
        // Files given for a nested project can also be imported.
        for (full, (file, index)) in known.range(root.clone()..).take_while(|(full, _)| full.starts_with(&root)) {
            let Some(input) = job.inputs.get(*index) else { continue };
            let (path, display) = (input.path.clone(), input.display.clone());
            members.insert(
                full.clone(),
                Member { file: *file, path, display, is_reported: given[*index], is_in_package: false },
            );
        }
        for path in (job.survey)(&root) {
            let full = absolute(job.cwd, &path);
            if !members.contains_key(&full) && !settings.is_excluded(&path) {
                // Written as a user in the current directory would write it.
                let display = path.strip_prefix(job.cwd).unwrap_or(&path).to_owned();
                let file = table.add(display.clone(), String::new());
                let display = display.display().to_string();
                members.insert(full, Member { file, path, display, is_reported: false, is_in_package: false });
            }
        }
        find_packages(job, &mut members);
        projects.push(Project::new(job, root, settings, members));
    }
    (table, projects)
}

/// Finds out which files are in packages. Each folder is looked at once.
fn find_packages(job: &Job<'_>, members: &mut BTreeMap<PathBuf, Member>) {
    let mut packages: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for member in members.values_mut().filter(|member| member.is_reported) {
        let Some(initialiser) = initialiser_of(&member.path) else { continue };
        member.is_in_package = match packages.entry(initialiser) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let is_there = job.files.read(new.key()).is_ok();
                *new.insert(is_there)
            }
        };
    }
}

impl<'a> Project<'a> {
    fn new(job: &Job<'a>, root: PathBuf, settings: Arc<Settings>, members: BTreeMap<PathBuf, Member>) -> Self {
        let paths: Vec<String> = members.keys().map(|full| within(&root, full)).collect();
        let graph = ModuleGraph::new(&paths);
        let members: Vec<Member> = members.into_values().collect();
        let positions = members.iter().enumerate().map(|(position, member)| (member.file, position)).collect();
        let models = (job.models)(&settings);
        Self { root, settings, models, members, graph, positions }
    }

    /// The indices of the files that a file imports, sorted.
    pub(super) fn targets(&self, position: usize, imports: &[Import]) -> Vec<usize> {
        let mut targets = Vec::new();
        for import in imports {
            let found = self.resolve(position, import.level, import.module.as_deref(), import.name.as_deref());
            if let Resolution::Module { file, submodule, .. } = found {
                targets.extend([Some(file), submodule].into_iter().flatten().map(|file| file.0 as usize));
            }
        }
        targets.sort_unstable();
        targets.dedup();
        targets.retain(|target| *target != position);
        targets
    }

    /// What an import names. If Python would find it only in the folder of a script, it is a module of that folder,
    /// unless a library has this name.
    fn resolve(&self, position: usize, level: u32, module: Option<&str>, name: Option<&str>) -> Resolution {
        match (self.graph.resolve(id(position), level, module, name), module) {
            (Resolution::External, Some(module)) if level == 0 && !self.models.knows(module, &self.settings.roots) => {
                self.graph.resolve_from_script(id(position), module, name)
            }
            (found, _) => found,
        }
    }

    /// The position of a file.
    pub(super) fn position(&self, file: FileId) -> Option<usize> {
        self.positions.get(&file).copied()
    }

    /// The import snapshot of a program with modules of this project. A class in a notebook implements methods for the notebook alone.
    pub(super) fn snapshot_of(&self, program: &Program<'_>) -> ImportSnapshot {
        let position = |index: usize| self.position(program.module(index).file);
        let is_reported = |position: usize| self.members.get(position).is_some_and(|member| member.is_reported);
        let can_be_imported = |position: usize| self.graph.can_be_imported(id(position));
        ImportSnapshot::of(program, &|base, module| {
            position(base).is_some_and(is_reported) && position(module).is_some_and(can_be_imported)
        })
    }

    /// Where a file is.
    pub(super) fn path_of(&self, file: FileId) -> Option<&Path> {
        let position = *self.positions.get(&file)?;
        self.members.get(position).map(|member| member.path.as_path())
    }

    /// The path of a file in its fingerprints: relative to the root if it is below it, with forward slashes.
    pub(super) fn relative(&self, job: &Job<'_>, position: usize) -> String {
        self.members
            .get(position)
            .map_or_else(String::new, |member| within(&self.root, &absolute(job.cwd, &member.path)))
    }
}

impl Resolver for Project<'_> {
    fn module(&self, from: FileId, level: u32, path: &str) -> Option<FileId> {
        let position = *self.positions.get(&from)?;
        let module = Some(path).filter(|path| !path.is_empty());
        match self.resolve(position, level, module, None) {
            Resolution::Module { file, rest, .. } if rest.is_empty() => {
                self.members.get(file.0 as usize).map(|member| member.file)
            }
            _ => None,
        }
    }

    fn absolute(&self, from: FileId, level: u32, path: &str) -> String {
        let Some(position) = self.positions.get(&from).filter(|_| level > 0) else { return path.to_owned() };
        let mut package: Vec<&str> = self.graph.name(id(*position)).split('.').collect();
        let up = level as usize - usize::from(self.graph.is_package(id(*position)));
        package.truncate(package.len().saturating_sub(up));
        package.extend(path.split('.').filter(|part| !part.is_empty()));
        package.join(".")
    }
}

fn id(position: usize) -> FileId {
    FileId(u32::try_from(position).unwrap_or(u32::MAX))
}

/// The path below `root`, or the whole path, with forward slashes.
fn within(root: &Path, full: &Path) -> String {
    let inner = full.strip_prefix(root).unwrap_or(full).to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' { inner.into_owned() } else { inner.replace(std::path::MAIN_SEPARATOR, "/") }
}
