//! Diagnostics for clients that do not pull them: when documents are checked after edits, and which results are sent.
//!
//! **Invariant:** diagnostics name the version to which they belong, and are never older than those sent before; those of the newest text
//! are sent as soon as they are ready. Diagnostics of a removed URI are cleared.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gen_lsp_types::{PublishDiagnosticsParams, Uri};
use serde_json::json;

use super::diagnostics;
use super::main_loop::MainLoop;
use super::snapshot::{Checked, Opened, Snapshot};
use super::workers::{Failure, Finished, Published};
use crate::engine::{Fixes, contained};

/// The delay between an edit and the check. Edits in between are checked together.
const PAUSE: Duration = Duration::from_millis(30);

/// While the user keeps typing, outdated diagnostics are sent if the last ones are older than this.
const PATIENCE: Duration = Duration::from_millis(500);

impl MainLoop<'_> {
    /// A check of a document has ended.
    pub(super) fn checked(&mut self, path: PathBuf, result: Result<(Arc<Checked>, Published), Failure>) {
        let was_open = self.checking.remove(&path).unwrap_or_default();
        let again = self.again.remove(&path);
        let Some(session) = self.session.as_ref().filter(|session| session.is_open(&path)) else { return };
        match result {
            Ok((checked, mut published)) => {
                let now = session.snapshot();
                if now.holds(&path, checked.epoch, &checked.outcome) {
                    return self.publish(&path, published);
                }
                // Checks of a document run one after another, so this one is newer than the last one sent. Results under outdated
                // settings are never sent, because settings rarely change.
                let waits_long = self.published.get(&path).is_none_or(|(at, _)| at.elapsed() >= PATIENCE);
                if was_open && waits_long && now.reset <= checked.epoch {
                    let versions: BTreeMap<Uri, Option<i32>> =
                        now.open.get(&path).map(Opened::addresses).unwrap_or_default().into_iter().collect();
                    published.retain(|(uri, version, _)| versions.get(uri).is_some_and(|newest| version <= newest));
                    self.publish(&path, published);
                }
                self.due.entry(path).or_insert_with(Instant::now);
            }
            Err(failure) => {
                let published = session.snapshot().open.get(&path).map(|opened| {
                    opened.addresses().into_iter().map(|(uri, version)| (uri, version, Vec::new())).collect()
                });
                if let Some(trouble) = &failure.trouble {
                    self.report_trouble(trouble);
                } else {
                    self.say(&format!("{}: {}", path.display(), failure.error.message));
                }
                self.publish(&path, published.unwrap_or_default());
                if again {
                    self.due.entry(path).or_insert_with(Instant::now);
                }
            }
        }
    }

    /// Pushes the diagnostics of a document, and clears those of URIs that it no longer has.
    fn publish(&mut self, path: &Path, published: Published) {
        let addresses: BTreeSet<Uri> = published.iter().map(|(uri, _, _)| uri.clone()).collect();
        let before = self.published.insert(path.to_owned(), (Instant::now(), addresses.clone()));
        for uri in before.into_iter().flat_map(|(_, before)| before).filter(|uri| !addresses.contains(uri)) {
            self.notify("textDocument/publishDiagnostics", &json!({"uri": uri, "diagnostics": []}));
        }
        for (uri, version, diagnostics) in published {
            let params = PublishDiagnosticsParams { uri, version, diagnostics };
            self.notify("textDocument/publishDiagnostics", &serde_json::to_value(params).unwrap_or_default());
        }
    }

    /// Starts the checks that are due.
    pub(super) fn check_due(&mut self) {
        let now = Instant::now();
        let Some(session) = &self.session else { return };
        let ready: Vec<PathBuf> =
            self.due.iter().filter(|(_, due)| **due <= now).map(|(path, _)| path.clone()).collect();
        for path in ready {
            self.due.remove(&path);
            if !session.is_open(&path) {
                continue;
            }
            // A running check must end first.
            if let Entry::Vacant(entry) = self.checking.entry(path.clone()) {
                entry.insert(true);
                let snapshot = session.snapshot();
                // Workers live as long as the loop.
                let _ = self.queues.documents.send(Box::new(move || check(&snapshot, path)));
            } else {
                self.again.insert(path);
            }
        }
    }

    /// After a change: checks affected documents again, or makes the client pull again.
    pub(super) fn changed(&mut self, pause: bool) {
        let Some(session) = &self.session else { return };
        if self.is_shut_down || session.client().pulls {
            return;
        }
        let snapshot = session.snapshot();
        let at = Instant::now() + if pause { PAUSE } else { Duration::ZERO };
        for path in session.open_paths().filter(|path| snapshot.known(path).is_none()) {
            self.due.entry(path.clone()).or_insert(at);
        }
    }

    /// Clears the diagnostics of a closed document.
    pub(super) fn forget(&mut self, path: &Path) {
        self.due.remove(path);
        if let Some(was_open) = self.checking.get_mut(path) {
            *was_open = false;
        }
        for uri in self.published.remove(path).into_iter().flat_map(|(_, addresses)| addresses) {
            self.notify("textDocument/publishDiagnostics", &json!({"uri": uri, "diagnostics": []}));
        }
    }
}

/// The task that checks one document and returns the diagnostics to push.
fn check(snapshot: &Snapshot, path: PathBuf) -> Finished {
    let work = || -> Result<_, Failure> {
        let opened = snapshot.open.get(&path).ok_or_else(Failure::gone)?;
        let checked = snapshot.checked(&path, Fixes::None, &|| false)?;
        let folder = snapshot.folder_of(&path).ok_or_else(Failure::gone)?;
        let published = diagnostics::of_document(snapshot, &folder.cwd, opened, &checked.outcome);
        let mut versions: BTreeMap<Uri, Option<i32>> = opened.addresses().into_iter().collect();
        let published =
            published.into_iter().map(|(uri, diagnostics)| (versions.remove(&uri).flatten(), uri, diagnostics));
        Ok((checked, published.map(|(version, uri, diagnostics)| (uri, version, diagnostics)).collect()))
    };
    let result = contained(work).unwrap_or_else(|message| Err(Failure::internal(format!("keylint failed: {message}"))));
    Finished::Checked { path, result }
}
