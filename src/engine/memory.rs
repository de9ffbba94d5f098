//! What is remembered of the last checks of one file, so that the check after an edit repeats only what the edit can affect.
//!
//! An analysis depends on the lowered modules, on how their imports resolve and on the models. The lowered module of the edited file has
//! [steady places](super::steady), so an edit within one statement changes the operations of the functions in it, and nothing else. Which
//! operations an entry or a replay has read is recorded; see [`KeptRuns`](crate::analysis::KeptRuns).
//!
//! **Invariant:** a check with a memory has the findings of one without. What is remembered is used only if everything that the analysis
//! depends on is the same, except for the operations of functions of the edited file; its owner drops it when settings or the set of files
//! change.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashSet;

use super::kept_replays::KeptReplays;
use super::reload::{After, Before, reloaded};
use super::steady::{Difference, Steady};
use crate::analysis::Overview;
use crate::ir::{self, FunctionId};
use crate::judge::Remembered;
use crate::python::{Comment, SourceKind, StatementSpan, SyntaxProblem, ast};
use crate::text::{Digest, FileId};

/// How many versions are remembered. While code is typed, texts with and without syntax errors alternate, and often have other statements.
const VERSIONS: usize = 2;

/// What is remembered of one file.
#[derive(Default)]
pub struct Memory {
    state: Mutex<State>,
    /// Whether what is read in part is also read as a whole, to compare both.
    checks_itself: bool,
}

#[derive(Default)]
struct State {
    /// The most recently used first.
    versions: Vec<Version>,
    /// How many texts were checked.
    checked: u64,
    /// The digest of the models in addition to those that are part of keylint.
    models: Digest,
}

/// The text that is checked, and what was read from it.
pub(super) struct Edited {
    /// Which check of the file this is.
    number: u64,
    pub(super) text: String,
    pub(super) steady: Steady,
    pub(super) read: Read,
    /// The remembered version with which it is compared, and what differs.
    old: Option<(u64, Difference)>,
}

/// What was read from a text.
pub(super) struct Read {
    pub(super) problems: Vec<SyntaxProblem>,
    pub(super) comments: Vec<Comment>,
    pub(super) statements: Vec<StatementSpan>,
    /// Positions of the project's files that it imports.
    pub(super) targets: Vec<usize>,
}

/// One version of the file, as analysed.
struct Version {
    edited: Arc<Edited>,
    module: ir::Module,
    surroundings: Surroundings,
    remembered: Remembered,
    replays: KeptReplays,
}

/// What the analysis of the file depends on besides its module.
pub(super) struct Surroundings {
    /// The files that were read, with their digests; not the edited one.
    pub(super) others: Vec<(FileId, Digest)>,
    /// What is known of all modules.
    pub(super) overview: Overview,
    /// The modules that ran for the import snapshot.
    pub(super) imported: Vec<usize>,
    /// The settings that decide.
    pub(super) settings: String,
}

impl Memory {
    /// A memory for tests: what is read in part is also read as a whole, and a difference is a failure.
    pub fn checking() -> Self {
        Self { checks_itself: true, ..Self::default() }
    }

    pub(super) fn checks_itself(&self) -> bool {
        self.checks_itself
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets everything if it was learned with other models.
    pub(super) fn use_models(&self, models: Digest) {
        self.with(|state| {
            if state.models != models {
                *state = State { models, checked: state.checked, ..State::default() };
            }
        });
    }

    /// How many entries the last check took from the one before, for tests.
    pub fn entries_taken(&self) -> usize {
        self.with(|state| state.versions.first().map_or(0, |version| version.remembered.taken()))
    }

    /// Begins the check of a text: gives it steady places, which are those of a remembered version if that differs in few statements.
    pub(super) fn begin(&self, text: String, module: &ast::ModModule, read: Read) -> Edited {
        self.with(|state| {
            state.checked += 1;
            let number = state.checked;
            let found = state.versions.iter().find_map(|Version { edited: old, .. }| {
                let (before, now) = ((&*old.text, &*old.read.problems), (&*text, &*read.problems));
                let (steady, difference) = old.steady.edited(before, now, module)?;
                Some((steady, (old.number, difference)))
            });
            let (steady, old) = match found {
                Some((steady, old)) => (steady, Some(old)),
                None => (Steady::of(&text, module), None),
            };
            Edited { number, text, steady, read, old }
        })
    }

    /// Begins the check of a text that differs from a remembered version within one definition. Also returns the lowered module.
    pub(super) fn begin_again(&self, file: FileId, text: &str, kind: SourceKind) -> Option<(Edited, ir::Module)> {
        self.with(|state| {
            let (old, after) =
                state.versions.iter().filter(|version| version.module.file == file).find_map(|version| {
                    let Version { edited, module, .. } = version;
                    let before = Before { text: &edited.text, steady: &edited.steady, read: &edited.read, module };
                    Some((edited.number, reloaded(&before, text, kind)?))
                })?;
            state.checked += 1;
            let After { steady, difference, read, module } = after;
            let (number, text) = (state.checked, text.to_owned());
            Some((Edited { number, text, steady, read, old: Some((old, difference)) }, module))
        })
    }

    /// Analyses the text with what is remembered.
    pub(super) fn analysed<T>(
        &self,
        edited: &Arc<Edited>,
        module: &ir::Module,
        surroundings: Surroundings,
        analyse: impl FnOnce(&mut Remembered) -> T,
    ) -> T {
        let old = edited.old.as_ref().and_then(|(number, difference)| {
            self.with(|state| {
                let at = state.versions.iter().position(|version| version.edited.number == *number)?;
                let changed = state.versions[at].changed(module, &surroundings, difference)?;
                let Version { mut remembered, mut replays, .. } = state.versions.remove(at);
                remembered.drop_changed(&changed);
                replays.drop_changed(&changed);
                Some((remembered, replays))
            })
        });
        let (mut remembered, replays) = old.unwrap_or_default();
        let result = analyse(&mut remembered);
        let (edited, module) = (Arc::clone(edited), module.clone());
        self.with(|state| {
            state.versions.truncate(VERSIONS - 1);
            state.versions.insert(0, Version { edited, module, surroundings, remembered, replays });
        });
        result
    }

    /// Takes the kept replays for a text that was analysed; [`Memory::keep_replays`] gives them back.
    pub(super) fn take_replays(&self, edited: &Edited) -> Option<KeptReplays> {
        self.with(|state| state.version(edited).map(|version| std::mem::take(&mut version.replays)))
    }

    /// Keeps the replays for a text.
    pub(super) fn keep_replays(&self, edited: &Edited, replays: KeptReplays) {
        self.with(|state| {
            if let Some(version) = state.version(edited) {
                version.replays = replays;
            }
        });
    }
}

impl State {
    fn version(&mut self, edited: &Edited) -> Option<&mut Version> {
        self.versions.iter_mut().find(|version| version.edited.number == edited.number)
    }
}

impl Version {
    /// The functions whose operations differ; `None` if anything else does.
    fn changed(
        &self,
        module: &ir::Module,
        now: &Surroundings,
        difference: &Difference,
    ) -> Option<FxHashSet<FunctionId>> {
        let Surroundings { others, overview, imported, settings } = &self.surroundings;
        let is_same = (others, imported, settings) == (&now.others, &now.imported, &now.settings)
            && overview.is_same_as(&now.overview);
        let old = &self.module;
        if !is_same || old.functions.len() != module.functions.len() || old.classes.len() != module.classes.len() {
            return None;
        }
        let mut classes = old.classes.iter().zip(&module.classes);
        if !classes.all(|(old, new)| !difference.holds(new.span) || old == new) {
            return None;
        }
        let mut changed = FxHashSet::default();
        for (id, (old, new)) in (0u32..).map(FunctionId).zip(old.functions.iter().zip(&module.functions)) {
            let is_body = id == ir::Module::BODY;
            if !is_body && !difference.holds(new.full) {
                continue;
            }
            let is_same = new.has_signature_of(old);
            // An edit moves what follows it in its function. Only the operations of that function, which differ, make the functions in it.
            let is_moved =
                || new.parent.is_some_and(|around| changed.contains(&around)) && new.has_moved_signature_of(old);
            if !is_same && !is_moved() {
                return None;
            }
            if !is_same || !new.has_body_of(old) {
                // The definitions and uses of the module's body depend on these slots of all functions.
                if is_body || old.outer_slots() != new.outer_slots() {
                    return None;
                }
                changed.insert(id);
            }
        }
        Some(changed)
    }
}
