//! Cross-module usage: which names of a file other modules use, and which functions may run under a trace.
//!
//! **Invariant:** a name stands for everything of that name; a result may be more conservative than necessary.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::text::FileId;

/// What is known about the project around a file.
#[derive(Clone, Debug, Default)]
pub struct CrossModuleUsage {
    /// The files that import a name from other modules, or read an attribute of that name.
    used: BTreeMap<Arc<str>, BTreeSet<FileId>>,
    traced: BTreeSet<Arc<str>>,
    makers: BTreeSet<FileId>,
    older: Option<String>,
}

impl CrossModuleUsage {
    /// Records that a file imports a name, or reads an attribute of that name.
    pub fn note_use(&mut self, file: FileId, name: &Arc<str>) {
        self.used.entry(name.clone()).or_default().insert(file);
    }

    /// Records that functions of a name may run under a trace.
    pub fn note_traced(&mut self, name: Arc<str>) {
        self.traced.insert(name);
    }

    /// Records that a file makes keys from seeds.
    pub fn note_maker(&mut self, file: FileId) {
        self.makers.insert(file);
    }

    /// Whether a file other than this one makes keys from seeds.
    pub fn others_make_keys(&self, file: FileId) -> bool {
        self.makers.iter().any(|maker| *maker != file)
    }

    /// Records that a file mentions a name that JAX removed before it had typed keys.
    pub fn note_older(&mut self, path: &str) {
        self.older.get_or_insert_with(|| path.to_owned());
    }

    /// A name that the project mentions and that no JAX with typed keys has.
    pub fn older(&self) -> Option<&str> {
        self.older.as_deref()
    }

    /// Whether a file other than this one may use the variable of this name in this file.
    pub fn is_used_elsewhere(&self, file: FileId, name: &str) -> bool {
        self.used.get(name).is_some_and(|files| files.iter().any(|other| *other != file))
    }

    /// Whether anything runs under a trace.
    pub fn has_traces(&self) -> bool {
        !self.traced.is_empty()
    }

    /// Whether a function of this name may run under a trace, somewhere in the project.
    pub fn is_traced(&self, name: &str) -> bool {
        self.traced.contains(name)
    }
}
