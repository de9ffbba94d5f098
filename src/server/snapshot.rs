//! The immutable state that a request uses, as of the time when it was received, and the checks that requests share.
//!
//! **Invariant:** a snapshot never changes. A check is reused only while nothing that it read has changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gen_lsp_types::Uri;

use super::client::Client;
use super::settings::EditorSettings;
use crate::config::{ConfigError, Resolver};
use crate::engine::{self, Fixes, Keys, Memory, Outcome, RunContext, RunInputs, RunOptions};
use crate::finding::{Applicability, Finding};

/// An open document.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) uri: Uri,
    pub(super) version: i32,
    /// The file as the engine reads it.
    pub(super) bytes: Arc<[u8]>,
    /// The URI and version of each cell of a notebook.
    pub(super) cells: Option<Vec<(Uri, Option<i32>)>>,
}

/// A folder of the workspace, or the folder of files outside it.
#[derive(Debug)]
pub(super) struct Folder {
    /// The directory in which the command line would run.
    pub(super) cwd: PathBuf,
    pub(super) settings: EditorSettings,
    /// Resolves the settings of files; the error is about the editor's settings.
    pub(super) resolver: Result<Resolver, ConfigError>,
}

/// The result of a check.
pub(super) struct Checked {
    /// The epoch of its snapshot.
    pub(super) epoch: u64,
    /// For which findings fixes were searched.
    pub(super) fixes: Fixes,
    pub(super) outcome: Outcome,
}

/// The files of each project, by its root.
pub(super) type Surveyed = Mutex<BTreeMap<PathBuf, Arc<Vec<PathBuf>>>>;

/// The key facts of files, each with the epoch of its analysis.
type KnownKeys = BTreeMap<PathBuf, (u64, Arc<Keys>)>;

/// What is remembered of files.
pub(super) type Memories = BTreeMap<PathBuf, Arc<Memory>>;

/// Most files that are remembered.
const REMEMBERED: usize = 16;

/// The state that a request uses.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) client: Arc<Client>,
    /// The number of changes so far.
    pub(super) epoch: u64,
    /// The epoch of the last change of settings or of the set of files.
    pub(super) reset: u64,
    /// The epoch of the last change of each file.
    pub(super) changed: Arc<BTreeMap<PathBuf, u64>>,
    /// The open documents.
    pub(super) open: Arc<BTreeMap<PathBuf, Opened>>,
    /// The folders of the workspace, in order.
    pub(super) roots: Arc<Vec<Arc<Folder>>>,
    /// The folders of open files outside the workspace.
    pub(super) others: Arc<BTreeMap<PathBuf, Arc<Folder>>>,
    pub(super) surveyed: Arc<Surveyed>,
    pub(super) checks: Arc<Mutex<BTreeMap<PathBuf, Arc<Checked>>>>,
    /// The key facts of files.
    pub(super) keys: Arc<Mutex<KnownKeys>>,
    /// What is remembered for the next checks of open files, under these settings and with this set of files.
    pub(super) memories: Arc<Mutex<Memories>>,
}

/// Why a check has no outcome.
#[derive(Clone, Debug)]
pub enum CheckError {
    /// The configuration is wrong.
    Config(Box<ConfigError>),
    /// The baseline cannot be read.
    Baseline(String),
    /// The result is no longer needed.
    Cancelled,
}

impl From<ConfigError> for CheckError {
    fn from(error: ConfigError) -> Self {
        Self::Config(Box::new(error))
    }
}

/// Whether a result is still needed.
pub(super) type Cancelled<'a> = &'a (dyn Fn() -> bool + Sync);

impl Snapshot {
    /// The folder whose settings apply to a file: the innermost of the workspace that contains it, or its own.
    pub(super) fn folder_of(&self, path: &Path) -> Option<&Arc<Folder>> {
        let around = self.roots.iter().filter(|folder| path.starts_with(&folder.cwd));
        let own = || self.others.get(path.parent()?);
        around.max_by_key(|folder| folder.cwd.components().count()).or_else(own)
    }

    /// What the command line would report for an open file in its folder; from an earlier check if that is still valid.
    pub(super) fn checked(
        &self,
        path: &Path,
        fixes: Fixes,
        is_cancelled: Cancelled<'_>,
    ) -> Result<Arc<Checked>, CheckError> {
        if let Some(known) =
            self.known(path).filter(|known| [known.fixes, Fixes::None].contains(&fixes) || known.fixes == Fixes::All)
        {
            return Ok(known);
        }
        let memory = self.memory(path);
        let outcome = self.run(path, |context, given, folder| {
            let (verify, memory) = (folder.settings.verify, Some(&*memory));
            context.check(given, RunOptions { fixes, verify, memory, is_cancelled, ..RunOptions::default() })
        })?;
        if is_cancelled() {
            return Err(CheckError::Cancelled);
        }
        let checked = Arc::new(Checked { epoch: self.epoch, fixes, outcome });
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        // Another request may have stored a later check.
        if checks.get(path).is_none_or(|known| known.epoch <= self.epoch) {
            checks.insert(path.to_owned(), checked.clone());
        }
        Ok(checked)
    }

    /// The cached state of one file.
    fn memory(&self, path: &Path) -> Arc<Memory> {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        if memories.len() >= REMEMBERED && !memories.contains_key(path) {
            memories.clear();
        }
        memories.entry(path.to_owned()).or_default().clone()
    }

    /// An earlier check that is still valid.
    pub(super) fn known(&self, path: &Path) -> Option<Arc<Checked>> {
        let known = self.checks.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()?;
        // A check of a later snapshot does not apply to this one.
        (known.epoch <= self.epoch && self.holds(path, known.epoch, &known.outcome)).then_some(known)
    }

    /// The key facts of an open file; `None` if the file does not use keys.
    pub(super) fn keys(&self, path: &Path, is_cancelled: Cancelled<'_>) -> Result<Option<Arc<Keys>>, CheckError> {
        let known = self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if let Some((_, keys)) = known.filter(|(epoch, _)| *epoch == self.epoch) {
            return Ok(Some(keys));
        }
        let keys = self.with(path, |context, given, _| {
            if given.inputs.is_empty() {
                return None;
            }
            let how = RunOptions { observes: true, verify: false, is_cancelled, ..RunOptions::default() };
            context.with(given, how, engine::keys).ok().map(Arc::new)
        })?;
        if is_cancelled() {
            return Err(CheckError::Cancelled);
        }
        if let Some(keys) = &keys {
            let mut known = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(path.to_owned(), (self.epoch, keys.clone()));
        }
        Ok(keys)
    }

    /// Whether the results for a file at some epoch are still valid.
    pub(super) fn holds(&self, path: &Path, epoch: u64, outcome: &Outcome) -> bool {
        let is_old = |path: &Path| self.changed.get(path).is_none_or(|changed| *changed <= epoch);
        self.reset <= epoch && is_old(path) && outcome.read.iter().all(|path| is_old(path))
    }

    /// Runs `work` with an open file as the only input, or without input if the configuration excludes it.
    pub(super) fn run(
        &self,
        path: &Path,
        work: impl FnOnce(&RunContext<'_>, &mut RunInputs, &Folder) -> Outcome,
    ) -> Result<Outcome, CheckError> {
        self.with(path, |context, given, folder| {
            let mut outcome = work(context, given, folder);
            accept(folder, &mut outcome).map(|()| outcome)
        })?
    }

    /// Runs `work` with an open file as the only input.
    pub(super) fn with<T>(
        &self,
        path: &Path,
        work: impl FnOnce(&RunContext<'_>, &mut RunInputs, &Folder) -> T,
    ) -> Result<T, CheckError> {
        let folder = self.folder_of(path).ok_or(CheckError::Cancelled)?;
        let resolver = folder.resolver.as_ref().map_err(Clone::clone)?;
        let mut given = RunInputs::one(&folder.cwd, path, resolver)?;
        if !folder.settings.enable {
            given.inputs.clear();
        }
        given.folders = self.roots.iter().map(|root| root.cwd.clone()).filter(|root| path.starts_with(root)).collect();
        self.overlay(&mut given);
        let survey = |root: &Path| self.survey(root);
        let context = RunContext::new(&folder.cwd, resolver, &given, Some(&survey))?;
        Ok(work(&context, &mut given, folder))
    }

    /// Overlays the saved files with the open ones.
    pub(super) fn overlay(&self, given: &mut RunInputs) {
        for (path, opened) in self.open.iter() {
            given.files.insert(path.clone(), &*opened.bytes);
        }
    }

    /// The files of a project, cached until files are added or removed.
    fn survey(&self, root: &Path) -> Vec<PathBuf> {
        let known = self.surveyed.lock().unwrap_or_else(PoisonError::into_inner).get(root).cloned();
        let found = known.unwrap_or_else(|| {
            let found = Arc::new(engine::survey(root));
            self.surveyed.lock().unwrap_or_else(PoisonError::into_inner).insert(root.to_owned(), found.clone());
            found
        });
        found.to_vec()
    }
}

impl Folder {
    /// Whether fix-all applies the fix of a finding, as `--fix` would.
    pub(super) fn applies(&self, finding: &Finding) -> bool {
        let least = if self.settings.unsafe_fixes { Applicability::Unsafe } else { Applicability::Safe };
        finding.fix.as_ref().is_some_and(|fix| fix.applicability >= least)
    }
}

/// Hides the findings that the baseline accepts.
pub(super) fn accept(folder: &Folder, outcome: &mut Outcome) -> Result<(), CheckError> {
    let resolver = folder.resolver.as_ref().map_err(Clone::clone)?;
    engine::accept(resolver, outcome)?.map_err(CheckError::Baseline)
}
