//! What a run comes to, as plain data.
//!
//! **Invariant:** findings are complete: those that are not shown are there too, marked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{HiddenCounts, KnownRule, Settings, Shown};
use crate::finding::{Finding, Place};
use crate::python::{self, SourceKind};
use crate::rules;
use crate::source::{self, Files, Problem, SourceFile};
use crate::suppress;
use crate::text::{FileId, LineIndex, Span};

/// The result of checking a set of files.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The files that findings speak of.
    pub files: FileTable,
    /// All findings, at the levels that the settings give them.
    pub findings: Vec<Reported>,
    /// How many are not shown, by the option that would show them.
    pub hidden: HiddenCounts,
    /// How many files were checked.
    pub checked: usize,
    /// Whether the run itself failed: a file could not be read, or a rule broke down.
    pub failed: bool,
}

/// A finding, and whether the settings let it be shown.
#[derive(Debug)]
pub struct Reported {
    /// The finding.
    pub finding: Finding,
    /// Whether it is shown.
    pub shown: bool,
}

/// Paths and texts of files, by identity.
#[derive(Debug, Default)]
pub struct FileTable {
    entries: Vec<(PathBuf, String)>,
}

impl FileTable {
    /// Adds a file.
    pub fn add(&mut self, path: PathBuf, text: String) -> FileId {
        let id = FileId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.entries.push((path, text));
        id
    }

    /// The path as given.
    pub fn path(&self, file: FileId) -> &Path {
        self.entries.get(file.0 as usize).map_or(Path::new(""), |(path, _)| path)
    }

    /// The decoded text.
    pub fn text(&self, file: FileId) -> &str {
        self.entries.get(file.0 as usize).map_or("", |(_, text)| text)
    }
}

/// A file to report on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Where it is.
    pub path: PathBuf,
    /// The path as given.
    pub display: String,
}

/// Gives the settings of a file.
pub type SettingsOf<'a> = &'a (dyn Fn(&Path) -> Arc<Settings> + Sync);

/// Is told how many files of how many are done.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Checks `inputs`, and reports the `problems` that were met on the way to them.
pub fn check(
    files: &dyn Files,
    inputs: &[Input],
    problems: Vec<Problem>,
    rules: &[KnownRule],
    settings: SettingsOf<'_>,
    progress: Progress<'_>,
) -> Outcome {
    let mut outcome = Outcome { checked: inputs.len(), ..Outcome::default() };
    for problem in problems {
        outcome.unreadable(&problem, settings);
    }
    for (done, input) in inputs.iter().enumerate() {
        match source::read(files, &input.path, &input.display) {
            Ok(file) => outcome.check_file(file, &settings(&input.path), rules),
            Err(problem) => outcome.unreadable(&problem, settings),
        }
        progress(done + 1, inputs.len());
    }
    outcome
}

impl Outcome {
    fn unreadable(&mut self, problem: &Problem, settings: SettingsOf<'_>) {
        let path = PathBuf::from(&problem.path);
        let settings = settings(&path);
        let file = self.files.add(path, String::new());
        self.failed = true;
        let place = Place { file, span: Span::default() };
        self.judge(vec![rules::unreadable_file(place, &problem.message)], &settings, file);
    }

    fn check_file(&mut self, source: SourceFile, settings: &Settings, known: &[KnownRule]) {
        let parsed = python::parse(&source.text, SourceKind::of_path(&source.path));
        let file = self.files.add(PathBuf::from(&source.path), source.text);
        let text = self.files.text(file);
        let place = |span| Place { file, span };
        let findings = parsed.problems.iter().map(|problem| rules::syntax_error(place(problem.span), &problem.message));
        let lines = LineIndex::new(text);
        let statements = python::statement_spans(&parsed.module, text);
        let commented =
            suppress::Source { file, text, lines: &lines, comments: &parsed.comments, statements: &statements };
        let selected = settings.for_file(self.files.path(file));
        let applied = suppress::apply(commented, known, &|code| selected.is_selected(code), findings.collect());
        self.judge(applied.findings, settings, file);
    }

    fn judge(&mut self, findings: Vec<Finding>, settings: &Settings, file: FileId) {
        let settings = settings.for_file(self.files.path(file));
        for mut finding in findings {
            let judgement = settings.judge(&finding);
            self.hidden.add(&finding, judgement);
            finding.level = judgement.level;
            if judgement.shown != Shown::Unselected {
                self.findings.push(Reported { finding, shown: judgement.shown == Shown::Yes });
            }
        }
    }
}
