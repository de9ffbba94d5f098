//! Loads one file: from its bytes to what the later steps need.
//!
//! **Invariant:** syntax tree and text are dropped before [`load`] returns; operations and names are kept.

use std::sync::Arc;

use super::Job;
use super::contain::contained;
use super::effects::{Effects, misdeclared, names_us};
use super::imports::imports;
use super::memory::{Edited, Memory, Read};
use super::project::Project;
use crate::ir;
use crate::python::{self, SourceKind, SyntaxProblem, mentions};
use crate::source;
use crate::text::{Digest, Span};

/// Words of which a file that handles keys through a library contains at least one.
const KEY_WORDS: &[&str] = &["key", "rng", "seed", "Key", "RNG"];

/// Modelled libraries whose import does not suggest keys.
const GENERAL_LIBRARIES: &[&str] = &["numpy", "python"];

/// Why a file is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadReason {
    /// Its operations, if it names a library that handles keys.
    IfRelevant,
    /// Its operations.
    Lowered,
}

/// What the text of a file names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// It does not involve keys.
    Nothing,
    /// A word that a handler of keys would have.
    Keys,
    /// A library that handles keys.
    Library,
}

/// The result of loading a file.
pub(super) struct Loaded {
    /// Why its text cannot be read.
    pub(super) unreadable: Option<String>,
    /// The message of a panic in keylint.
    pub(super) broke: Option<String>,
    pub(super) problems: Vec<SyntaxProblem>,
    /// Invalid declarations in comments.
    pub(super) misdeclared: Vec<(Span, String)>,
    /// Positions of the project's files that it imports.
    pub(super) targets: Vec<usize>,
    /// Whether another file of the project that was read imports it.
    pub(super) is_imported: bool,
    pub(super) named: Named,
    pub(super) module: Option<ir::Module>,
    /// Whether a comment mentions keylint, so that it may be wrong or unused.
    pub(super) has_comments_for_us: bool,
    /// The digest of its bytes.
    pub(super) digest: Digest,
    /// The text with steady places, which the operations have, if the file is remembered.
    pub(super) edited: Option<Arc<Edited>>,
}

impl Loaded {
    /// Nothing is known of the file.
    fn nothing() -> Self {
        Self {
            unreadable: None,
            broke: None,
            problems: Vec::new(),
            misdeclared: Vec::new(),
            targets: Vec::new(),
            is_imported: false,
            named: Named::Nothing,
            module: None,
            has_comments_for_us: false,
            digest: Digest::default(),
            edited: None,
        }
    }
}

/// The words by which a file names a library that handles keys.
pub(super) fn library_words<'a>(project: &'a Project<'_>) -> Vec<&'a str> {
    let libraries = project.models.libraries().iter().map(|library| library.name.as_str());
    let mut words: Vec<&str> = libraries.filter(|name| !GENERAL_LIBRARIES.contains(name)).collect();
    words.extend(project.settings.roots.iter().map(String::as_str));
    words.sort_unstable();
    words.dedup();
    // The search for a word also finds longer words that contain it.
    let all = words.clone();
    words.retain(|word| !all.iter().any(|other| other != word && word.contains(other)));
    words
}

/// Reads, decodes and parses a file, and lowers it if requested.
pub(super) fn load(job: &Job<'_>, project: &Project<'_>, position: usize, words: &[&str], want: LoadReason) -> Loaded {
    let mut loaded = Loaded::nothing();
    let Some(member) = project.members.get(position) else { return loaded };
    let (source, digest) = source::read_with_digest(job.files, &member.path, &member.display);
    loaded.digest = digest;
    let (text, cells) = match source {
        Ok(source) => (source.text, source.cells),
        Err(problem) => {
            loaded.unreadable = Some(problem.message);
            return loaded;
        }
    };
    loaded.named = if mentions(text.as_bytes(), words) {
        Named::Library
    } else if mentions(text.as_bytes(), KEY_WORDS) {
        Named::Keys
    } else {
        Named::Nothing
    };
    let named = loaded.named;
    let memory = job.memory.filter(|_| member.is_reported && cells.is_empty());
    let parsed = contained(|| {
        let kind = SourceKind::of_path(&member.display);
        let is_wanted = want == LoadReason::Lowered || loaded.named == Named::Library;
        let again = memory.filter(|_| is_wanted).and_then(|memory| memory.begin_again(member.file, &text, kind));
        if let Some((edited, module)) = again {
            let is_checked = memory.is_some_and(Memory::checks_itself);
            assert!(
                !is_checked || is_as_a_whole(&edited, &module, kind),
                "one definition is lowered as part of its file"
            );
            return remembered(edited, module, loaded);
        }
        let python::Parsed { module, problems, comments } = python::parse_cells(&text, &cells, kind);
        let mut found = Loaded {
            has_comments_for_us: comments.iter().any(|comment| names_us(&text, *comment)),
            targets: project.targets(position, &imports(&module)),
            ..loaded
        };
        if is_wanted {
            let effects = Effects::of(&text, &comments);
            let mut lowered = ir::lower(member.file, &module, &|header| effects.on(header));
            found.misdeclared = misdeclared(&lowered);
            if let Some(memory) = memory {
                let statements = python::statement_spans(&module, &text);
                let targets = found.targets.clone();
                let read = Read { problems: problems.clone(), comments, statements, targets };
                let edited = memory.begin(text, &module, read);
                lowered.replace_spans(&|span| edited.steady.of_place(span));
                found.edited = Some(Arc::new(edited));
            }
            lowered.pack();
            found.module = Some(lowered);
        }
        found.problems = problems;
        found
    });
    parsed.unwrap_or_else(|message| Loaded { broke: Some(message), digest, named, ..Loaded::nothing() })
}

/// A file of which only one definition was read again.
fn remembered(edited: Edited, module: ir::Module, loaded: Loaded) -> Loaded {
    let Edited { text, steady, read, .. } = &edited;
    let misdeclared = misdeclared(&module).into_iter().map(|(span, problem)| (steady.place(span), problem));
    Loaded {
        misdeclared: misdeclared.collect(),
        targets: read.targets.clone(),
        has_comments_for_us: read.comments.iter().any(|comment| names_us(text, *comment)),
        module: Some(module),
        edited: Some(Arc::new(edited)),
        ..loaded
    }
}

/// Whether a text that was loaded again in part would be the same if it had been loaded as a whole.
fn is_as_a_whole(edited: &Edited, again: &ir::Module, kind: SourceKind) -> bool {
    let Edited { text, steady, read, .. } = edited;
    let python::Parsed { module, problems, comments } = python::parse(text, kind);
    let effects = Effects::of(text, &comments);
    let mut lowered = ir::lower(again.file, &module, &|header| effects.on(header));
    lowered.replace_spans(&|span| steady.of_place(span));
    let statements = python::statement_spans(&module, text);
    problems.is_empty() && again.is_same_as(&lowered) && (&comments, &statements) == (&read.comments, &read.statements)
}
