//! The state of the session: folders, documents and settings of the client.
//!
//! **Invariant:** only the main loop owns the session. Every change increments the epoch, so that outdated results can be recognised.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gen_lsp_types::{NotebookDocumentCellChanges, TextDocumentContentChangeEvent, Uri};
use serde_json::Value;

use super::client::Client;
use super::documents::Document;
use super::notebook::Notebook;
use super::settings::{EditorSettings, Written, expanded};
use super::snapshot::{Folder, Opened, Snapshot};
use crate::config::Resolver;
use crate::engine;

/// An open document.
#[derive(Clone, Debug)]
enum Open {
    Text(Document),
    Notebook(Notebook),
}

/// The state of the session.
pub(super) struct Session {
    snapshot: Snapshot,
    /// The home directory of the user.
    home: Option<PathBuf>,
    /// The working directory of the process, for files outside folders.
    start: PathBuf,
    roots: Vec<(PathBuf, Uri)>,
    pub(super) written: Written,
    open: BTreeMap<PathBuf, Open>,
    /// Problems of the settings that are not reported yet.
    problems: BTreeSet<String>,
    reported: BTreeSet<String>,
    /// Errors that prevented a check and were reported.
    troubles: BTreeSet<String>,
}

impl Session {
    pub(super) fn new(client: Client, start: PathBuf, home: Option<PathBuf>, roots: &[Uri], written: Written) -> Self {
        let snapshot = Snapshot {
            client: Arc::new(client),
            epoch: 0,
            reset: 0,
            changed: Arc::default(),
            open: Arc::default(),
            roots: Arc::default(),
            others: Arc::default(),
            surveyed: Arc::default(),
            checks: Arc::default(),
            keys: Arc::default(),
            memories: Arc::default(),
        };
        let mut session = Self {
            snapshot,
            home,
            start,
            roots: Vec::new(),
            written,
            open: BTreeMap::new(),
            problems: BTreeSet::new(),
            reported: BTreeSet::new(),
            troubles: BTreeSet::new(),
        };
        session.change_roots(roots, &[]);
        session
    }

    pub(super) fn client(&self) -> &Client {
        &self.snapshot.client
    }

    /// A snapshot of the current state.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.snapshot.clone()
    }

    /// The epoch of the last change that is known, without a check, to affect a file.
    pub(super) fn changed_at(&self, path: &Path) -> u64 {
        self.snapshot.changed.get(path).copied().unwrap_or_default().max(self.snapshot.reset)
    }

    /// The URIs of the folders of the workspace.
    pub(super) fn roots(&self) -> impl Iterator<Item = &Uri> {
        self.roots.iter().map(|(_, uri)| uri)
    }

    /// Problems of the settings that are not reported yet.
    pub(super) fn take_problems(&mut self) -> Vec<String> {
        let fresh: Vec<String> =
            std::mem::take(&mut self.problems).into_iter().filter(|problem| !self.reported.contains(problem)).collect();
        self.reported.extend(fresh.iter().cloned());
        fresh
    }

    /// Whether an error that prevents a check has not been reported since settings or files last changed; marks it as reported.
    pub(super) fn tells(&mut self, message: &str) -> bool {
        self.troubles.insert(message.to_owned())
    }

    /// The path that the engine uses for a URI; for a cell, the path of its notebook.
    pub(super) fn path_of(&self, uri: &Uri) -> PathBuf {
        if let Some((path, _)) = self.snapshot.open.iter().find(|(_, opened)| opened.has_uri(uri)) {
            return path.clone();
        }
        self.path_for(uri)
    }

    /// The path of the document that is open under a URI, unless the URI is that of a cell.
    fn path_opened(&self, uri: &Uri) -> Option<PathBuf> {
        let path = self.path_of(uri);
        let opened = self.snapshot.open.get(&path)?;
        // Clients may spell one path in several ways.
        let is_its_own = opened.uri == *uri || !opened.has_uri(uri) && file_path(uri).is_some_and(|it| it == path);
        is_its_own.then_some(path)
    }

    /// Applies the client's response for folders; returns whether any settings changed.
    pub(super) fn take_configured(&mut self, configured: Vec<(String, Value)>) -> bool {
        let before = self.settings_in_force();
        self.written.replace_configured(configured);
        before != self.settings_in_force()
    }

    /// The settings of each folder of the workspace, then those of files outside folders.
    fn settings_in_force(&self) -> Vec<EditorSettings> {
        let folders = self.roots.iter().map(|(path, _)| path.as_path()).chain([Path::new("")]);
        folders.map(|folder| self.editor_settings(folder).0).collect()
    }

    /// Whether a file may affect how files of the workspace, or open files, are checked.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let Some(folder) = path.parent() else { return false };
        let roots = self.roots.iter().map(|(root, _)| root);
        roots.clone().any(|root| path.starts_with(root))
            || roots.chain(self.open.keys()).any(|below| below.starts_with(folder))
    }

    /// The paths of open documents.
    pub(super) fn open_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.open.keys()
    }

    pub(super) fn is_open(&self, path: &Path) -> bool {
        self.open.contains_key(path)
    }

    pub(super) fn open_text(&mut self, uri: &Uri, document: Document) -> Option<PathBuf> {
        let path = self.path_for(uri);
        if !(document.is_python || engine::is_source(&path)) {
            return None;
        }
        self.put(uri, &path, Open::Text(document));
        Some(path)
    }

    pub(super) fn open_notebook(&mut self, uri: &Uri, notebook: Notebook) -> PathBuf {
        let mut path = self.path_for(uri);
        if path.extension().is_none_or(|suffix| suffix != "ipynb") {
            // The engine recognises notebooks by their suffix.
            path.as_mut_os_string().push(".ipynb");
        }
        self.put(uri, &path, Open::Notebook(notebook));
        path
    }

    /// Applies changes of an open document. Returns false if it is out of sync with the editor from now on.
    pub(super) fn change_text(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: &[TextDocumentContentChangeEvent],
    ) -> Option<bool> {
        let path = self.path_opened(uri)?;
        let unit = self.client().unit;
        let mut open = self.open.remove(&path)?;
        let is_in_step = match &mut open {
            Open::Text(document) => document.change(version, changes, unit),
            Open::Notebook(_) => true,
        };
        self.put(uri, &path, open);
        Some(is_in_step)
    }

    /// Updates a document to the saved text, if it differs.
    pub(super) fn resynchronise(&mut self, uri: &Uri, saved: &str) -> Option<()> {
        let path = self.path_opened(uri)?;
        let mut open = self.open.remove(&path)?;
        let differs = match &mut open {
            Open::Text(document) => document.resynchronise(saved),
            Open::Notebook(_) => false,
        };
        if differs {
            self.put(uri, &path, open);
        } else {
            self.open.insert(path, open);
        }
        differs.then_some(())
    }

    /// Applies changes of an open notebook. Returns false if it is out of sync with the editor from now on.
    pub(super) fn change_notebook(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: Option<&NotebookDocumentCellChanges>,
    ) -> Option<bool> {
        let path = self.path_opened(uri)?;
        let unit = self.client().unit;
        let mut open = self.open.remove(&path)?;
        let mut is_in_step = true;
        if let Open::Notebook(notebook) = &mut open {
            notebook.version = version;
            is_in_step = changes.is_none_or(|changes| notebook.change(version, changes, unit));
        }
        self.put(uri, &path, open);
        Some(is_in_step)
    }

    /// Forgets closed documents. Returns the URIs for which diagnostics were sent.
    pub(super) fn close(&mut self, uri: &Uri) -> Option<(PathBuf, Opened)> {
        let path = self.path_opened(uri)?;
        self.open.remove(&path)?;
        let opened = Arc::make_mut(&mut self.snapshot.open).remove(&path)?;
        self.snapshot.checks.lock().unwrap_or_else(PoisonError::into_inner).remove(&path);
        self.snapshot.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&path);
        self.snapshot.memories.lock().unwrap_or_else(PoisonError::into_inner).remove(&path);
        self.mark_changed(&path);
        Some((path, opened))
    }

    /// Records that a file changed.
    pub(super) fn mark_changed(&mut self, path: &Path) {
        self.snapshot.epoch += 1;
        Arc::make_mut(&mut self.snapshot.changed).insert(path.to_owned(), self.snapshot.epoch);
    }

    /// Records that settings changed, or files were added or removed. Everything is checked again.
    pub(super) fn reset(&mut self) {
        self.snapshot.epoch += 1;
        self.snapshot.reset = self.snapshot.epoch;
        self.snapshot.changed = Arc::default();
        self.troubles.clear();
        self.snapshot.surveyed = Arc::new(Mutex::default());
        self.snapshot.memories = Arc::default();
        let roots: Vec<PathBuf> = self.roots.iter().map(|(path, _)| path.clone()).collect();
        let roots = roots.iter().map(|cwd| self.folder(cwd)).collect();
        self.snapshot.roots = Arc::new(roots);
        self.snapshot.others = Arc::default();
        let open: Vec<PathBuf> = self.open.keys().cloned().collect();
        for path in open {
            self.know_folder(&path);
        }
    }

    /// Adds and removes folders of the workspace.
    pub(super) fn change_roots(&mut self, added: &[Uri], removed: &[Uri]) {
        self.roots.retain(|(_, uri)| !removed.contains(uri));
        for uri in added {
            if let Some(path) = file_path(uri)
                && self.roots.iter().all(|(known, _)| *known != path)
            {
                self.roots.push((path, uri.clone()));
            }
        }
        self.reset();
    }

    fn put(&mut self, uri: &Uri, path: &Path, open: Open) {
        self.mark_changed(path);
        let opened = Opened::new(uri, &open);
        Arc::make_mut(&mut self.snapshot.open).insert(path.to_owned(), opened);
        self.open.insert(path.to_owned(), open);
        self.know_folder(path);
    }

    /// Adds a folder for a file outside the workspace.
    fn know_folder(&mut self, path: &Path) {
        let Some(parent) = path.parent() else { return };
        if self.snapshot.folder_of(path).is_none() {
            let folder = self.folder(parent);
            Arc::make_mut(&mut self.snapshot.others).insert(parent.to_owned(), folder);
        }
    }

    fn folder(&mut self, cwd: &Path) -> Arc<Folder> {
        let (mut settings, problems) = self.editor_settings(cwd);
        self.problems.extend(problems);
        for value in &mut settings.command_line.config {
            *value = expanded(value, self.home.as_deref());
        }
        let resolver = Resolver::new(cwd, engine::known_rules(), settings.command_line.clone());
        Arc::new(Folder { cwd: cwd.to_owned(), settings, resolver })
    }

    /// The client's settings for a folder, and their problems.
    fn editor_settings(&self, cwd: &Path) -> (EditorSettings, Vec<String>) {
        let here = self.roots.iter().find(|(root, _)| root == cwd).map(|(_, uri)| uri);
        let is_here = |address: &str| match Uri::parse(address).ok().and_then(|uri| file_path(&uri)) {
            Some(path) => path == cwd,
            None => here.is_some_and(|uri| uri.as_str() == address) || Path::new(address) == cwd,
        };
        EditorSettings::read(&self.written.of(is_here))
    }

    /// The path of a URI. If the URI is not that of a file, the path is in the first folder, with a name that no file has: an unsaved document,
    /// or an older version that is shown beside a file, must not replace a file.
    fn path_for(&self, uri: &Uri) -> PathBuf {
        if let Some(path) = file_path(uri) {
            return path;
        }
        let base = self.roots.first().map_or(&self.start, |(path, _)| path);
        let name = uri.path().rsplit('/').find(|part| !part.is_empty()).unwrap_or("untitled");
        let name = name.replace(|character: char| !(character.is_alphanumeric() || "-_.".contains(character)), "_");
        let (stem, suffix) = name.rsplit_once('.').unwrap_or((&name, "py"));
        let scheme = uri.scheme();
        let numbered = |number: usize| {
            let path = base.join(match number {
                1 => format!("{stem}@{scheme}.{suffix}"),
                _ => format!("{stem}@{scheme}-{number}.{suffix}"),
            });
            if engine::is_source(&path) { path } else { path.with_added_extension("py") }
        };
        // The number of open documents is finite, so a free name is found.
        let mut free = (1..=self.open.len() + 1).map(numbered).filter(|path| !self.open.contains_key(path));
        free.next().unwrap_or_else(|| numbered(1))
    }
}

/// The path of a `file` URI. Other URIs, such as that of an older version in Git, may have paths too.
pub(super) fn file_path(uri: &Uri) -> Option<PathBuf> {
    if uri.scheme() == "file" { uri.to_file_path().ok() } else { None }
}

impl Opened {
    fn new(uri: &Uri, open: &Open) -> Self {
        let (version, bytes, cells) = match open {
            Open::Text(document) => (document.version, engine::encoded(&document.text), None),
            Open::Notebook(notebook) => {
                let version = |cell: &super::notebook::Cell| cell.document.as_ref().map(|document| document.version);
                let cells = notebook.cells.iter().map(|cell| (cell.uri.clone(), version(cell))).collect();
                (notebook.version, notebook.saved(), Some(cells))
            }
        };
        Self { uri: uri.clone(), version, bytes: bytes.into(), cells }
    }

    /// The URIs for which diagnostics are sent, with their versions; for a notebook, those of its cells.
    pub(super) fn addresses(&self) -> Vec<(Uri, Option<i32>)> {
        match &self.cells {
            None => vec![(self.uri.clone(), Some(self.version))],
            Some(cells) => cells.clone(),
        }
    }

    /// Whether a URI is that of this document or of one of its cells.
    pub(super) fn has_uri(&self, uri: &Uri) -> bool {
        self.uri == *uri || self.cells.iter().flatten().any(|(cell, _)| cell == uri)
    }
}
