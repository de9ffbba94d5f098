//! Checks texts that are not in files.
//!
//! **Invariant:** settings are the defaults and only the given texts are read, so that the same texts give the same findings on any
//! machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keylint::config::{CommandLine, Options, Resolver, Settings};
use keylint::engine::{Input, Job, Outcome, check, known_rules};
use keylint::finding::Finding;
use keylint::source::MemoryFiles;
use keylint::text::LineIndex;

/// The folder in which the texts are placed.
const FOLDER: &str = "/";

/// A finding, whether it is shown, and where it starts.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The finding.
    pub finding: Finding,
    /// Whether the default settings show it.
    pub shown: bool,
    /// Row of the primary location, from 1.
    pub row: usize,
    /// Column of the primary location in characters, from 1.
    pub column: usize,
}

/// The findings in one text, under a path that need not exist.
pub fn check_text(path: &str, text: &str) -> Vec<Checked> {
    check_texts(&[(path, text)])
}

/// The findings in one text if rules are selected in addition to the default ones: opt-in rules report only then.
pub fn check_text_with(path: &str, text: &str, selected: &[&str]) -> Vec<Checked> {
    sorted(outcome(&[(path, text)], selected))
}

/// The findings in texts that make up one project, by path and text. The position of a text is its file's identity in the
/// findings, which are sorted by file, place and code.
pub fn check_texts(texts: &[(&str, &str)]) -> Vec<Checked> {
    sorted(outcome(texts, &[]))
}

fn sorted(outcome: Outcome) -> Vec<Checked> {
    let mut checked: Vec<Checked> = outcome
        .findings
        .into_iter()
        .map(|reported| {
            let primary = reported.finding.primary;
            let text = outcome.files.text(primary.file);
            let at = LineIndex::new(text).line_column(text, primary.span.start);
            Checked {
                finding: reported.finding,
                shown: reported.shown,
                row: at.row as usize,
                column: at.column as usize,
            }
        })
        .collect();
    checked.sort_by_key(|checked| (checked.finding.primary.file, checked.row, checked.column, checked.finding.rule));
    checked
}

fn outcome(texts: &[(&str, &str)], selected: &[&str]) -> Outcome {
    let folder = Path::new(FOLDER);
    let files: MemoryFiles = texts.iter().map(|(path, text)| (PathBuf::from(*path), *text)).collect();
    let inputs: Vec<Input> =
        texts.iter().map(|(path, _)| Input { path: PathBuf::from(*path), display: (*path).to_owned() }).collect();
    let rules = known_rules();
    let extend_select = Some(selected.iter().map(|&rule| rule.to_owned()).collect());
    let options = Options { extend_select, ..Options::default() };
    let isolated = CommandLine { isolated: true, options, ..CommandLine::default() };
    let resolver = Resolver::new(folder, rules, isolated).unwrap();
    let mut settings = Settings::clone(&resolver.for_directory(folder).unwrap());
    // The machine may pin a version there.
    settings.jax_version = None;
    let settings = Arc::new(settings);
    check(&Job::new(&files, folder, &inputs, &|_| settings.clone()))
}
