//! The one pipeline, for terminal, editor and tests: files in, judged findings out.
//!
//! The unit of analysis is the project. Files given choose what is reported; the modules that they import, transitively
//! and within their project, are read as well, so that a helper's effect on a key is known. Per project the steps are:
//! read and parse ([`load`]), lower what can matter ([`run`]), interpret, apply the rules, then apply the comments and
//! settings of each file ([`file_report`]).
//!
//! **Invariant:** the outcome depends on files and settings alone, never on threads or time. A problem with one file (unreadable,
//! unparsable, a panic in keylint) is a finding of that file and does not affect the others.

mod cached;
mod contain;
mod cross_module;
mod edited;
pub mod effects;
mod explain;
mod file_report;
pub mod fingerprint;
mod fix_search;
mod ignore_edits;
pub mod imports;
mod inspect;
mod kept_replays;
mod keys;
mod lineage;
mod load;
mod memory;
mod migrate;
mod outcome;
mod project;
mod reload;
mod replay_findings;
mod run;
mod run_context;
pub mod steady;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::analysis::{ImportSnapshot, Program};
use crate::cache::Cache;
use crate::config::{KnownRule, Settings};
use crate::judge::Remembered;
use crate::judge::facts::Facts;
use crate::models::Models;
use crate::rules;
use crate::source::{Files, Problem};
use crate::text::{Digest, Span};

pub use crate::judge::analyse;
pub use crate::source::{SourceFile, decode, encoded, is_source, survey};
pub use cached::{CacheUse, Cleaned, cache_folder, clean};
pub use contain::contained;
pub use ignore_edits::{can_be_ignored, ignore_comments};
pub use inspect::{facts, ir, why};
pub use keys::{KeyNote, Keys, NoteUse, evaluated, keys};
pub use lineage::{FunctionKeys, Lineage, LineageKey, LineageUse};
pub use memory::Memory;
pub use migrate::{Decisions, Migrated, UnmigratedPlace};
pub use outcome::{Outcome, Refuted, Reported};
pub use run::check;
pub use run_context::{Changed, FixOutcome, RunContext, RunInputs, RunOptions, accept, baseline};
pub use table::FileTable;

/// A file to report on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Where it is.
    pub path: PathBuf,
    /// The path as given.
    pub display: String,
}

/// Returns the settings of a file.
pub type SettingsOf<'a> = &'a (dyn Fn(&Path) -> Arc<Settings> + Sync);

/// Returns the API models for these settings.
pub type ModelsOf<'a> = &'a (dyn Fn(&Settings) -> &'a Models + Sync);

/// Lists the Python files of a project beyond those given, by its absolute root.
pub type Survey<'a> = &'a (dyn Fn(&Path) -> Vec<PathBuf> + Sync);

/// Is called with the number of files that are done and of all files; the numbers never decrease.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The cache of a project, and what its results depend on besides texts and settings.
pub type CacheOf<'a> = &'a (dyn Fn(&Settings) -> (Cache, Digest) + Sync);

/// Interprets one module of a program, in an import snapshot of that program.
pub type Analyse<'a> = &'a (dyn Fn(&mut ImportSnapshot, &Program<'_>, usize, Option<&mut Remembered>) -> Facts + Sync);

/// Which findings get fixes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fixes {
    /// None.
    #[default]
    None,
    /// All that are shown.
    All,
    /// Those that text reports list. If several files create raw keys, these reports count them in one line.
    Listed,
    /// Those that touch these bytes of the only file.
    At(Span),
}

/// What to check, and how.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// Where files are read from.
    pub files: &'a dyn Files,
    /// The absolute folder to which relative paths refer.
    pub cwd: &'a Path,
    /// The files to report on.
    pub inputs: &'a [Input],
    /// Problems in finding them.
    pub problems: &'a [Problem],
    /// The settings of each file.
    pub settings: SettingsOf<'a>,
    /// The models of each project.
    pub models: ModelsOf<'a>,
    /// Further files of each project.
    pub survey: Survey<'a>,
    /// Is informed about progress.
    pub progress: Progress<'a>,
    /// The cache of earlier results, if it is used.
    pub cache: Option<CacheOf<'a>>,
    /// How many threads work; 0 for as many as there are processors.
    pub threads: usize,
    /// Which of the findings that are shown get fixes.
    pub fixes: Fixes,
    /// Whether findings are replayed.
    pub verify: bool,
    /// The interpreter.
    pub analyse: Analyse<'a>,
    /// What is remembered of the last check of the only file to report on, if its next check is to be faster.
    pub memory: Option<&'a Memory>,
}

impl<'a> Job<'a> {
    /// Checks some files on their own, in one thread: with replays, without fixes, cache and further files.
    pub fn new(files: &'a dyn Files, cwd: &'a Path, inputs: &'a [Input], settings: SettingsOf<'a>) -> Self {
        Self {
            files,
            cwd,
            inputs,
            problems: &[],
            settings,
            models: &|_| Models::builtin(),
            survey: &|_| Vec::new(),
            progress: &|_, _| {},
            cache: None,
            threads: 1,
            fixes: Fixes::None,
            verify: true,
            analyse: &analyse,
            memory: None,
        }
    }
}

/// The rules that are in force, as the configuration knows them.
pub fn known_rules() -> Vec<KnownRule> {
    rules::in_force()
        .map(|rule| KnownRule { id: rule.id, aliases: &rule.aliases, level: rule.level, opt_in: rule.opt_in })
        .collect()
}
