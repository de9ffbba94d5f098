//! `keylint check --add-ignores`.
//!
//! **Invariant:** files are written whole or not at all, in their own encoding and with their own line ends, and what counts as
//! suppressed is what a second run no longer shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::output::write_file;
use super::{Failure, Process};
use crate::engine::Outcome;
use crate::finding::Finding;
use crate::python::SourceKind;
use crate::source::{self, OsFiles};
use crate::suppress::{self, FindingToSuppress};
use crate::text::FileId;

/// What was written.
pub(super) struct Added {
    /// The fingerprints of the findings that are to be suppressed.
    wanted: BTreeSet<String>,
    files: usize,
}

/// A reason that is valid in a comment.
pub(super) fn reason<'a>(written: &'a str, cwd: &Path) -> Result<&'a str, Failure> {
    let reason = written.trim();
    if reason.is_empty() || reason.contains(|character: char| character.is_control() || character == '#') {
        let message = "`--add-ignores` expects a one-line reason without `#`, such as \"compares two runs\"";
        return Err(Failure::Usage(message.to_owned()));
    }
    if cwd.join(reason).exists() {
        let message = format!(
            "`--add-ignores` expects a reason, and `{reason}` is a path: write `--add-ignores REASON {reason}`"
        );
        return Err(Failure::Usage(message));
    }
    Ok(reason)
}

/// Adds comments that suppress the findings shown, and writes the files.
pub(super) fn add(outcome: &Outcome, reason: &str, process: &Process<'_>) -> Result<Added, Failure> {
    let mut by_file: BTreeMap<FileId, Vec<&Finding>> = BTreeMap::new();
    for reported in outcome.findings.iter().filter(|reported| reported.shown) {
        if suppress::can_be_ignored(reported.finding.rule) {
            by_file.entry(reported.finding.primary.file).or_default().push(&reported.finding);
        }
    }
    // Everything is computed before anything is written.
    let mut rewritten: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for (file, findings) in &by_file {
        let path = outcome.files.path(*file);
        let display = path.display().to_string();
        let reported = |problem: source::Problem| Failure::Usage(format!("{}: {}", problem.path, problem.message));
        let full = process.cwd.join(path);
        let source = source::read(&OsFiles, &full, &display).map_err(reported)?;
        if source.text != outcome.files.text(*file) {
            return Err(Failure::Usage(format!("{display}: the file changed during the check; run again")));
        }
        let wanted: Vec<FindingToSuppress> = findings
            .iter()
            .map(|finding| FindingToSuppress { rule: finding.rule, span: finding.primary.span })
            .collect();
        let kind = SourceKind::of_path(&display);
        let edits = suppress::insertions(&source.text, &source.cells, kind, &wanted, reason);
        if !edits.is_empty() {
            rewritten.push((full, source.rewrite(&edits).map_err(reported)?));
        }
    }
    for (path, bytes) in &rewritten {
        write_file(path, bytes)
            .map_err(|error| Failure::Usage(format!("cannot write `{}`: {error}", path.display())))?;
    }
    let wanted = by_file.into_values().flatten().map(|finding| finding.fingerprint.clone()).collect();
    Ok(Added { wanted, files: rewritten.len() })
}

/// A summary, based on a second run.
pub(super) fn summary(added: &Added, again: &Outcome) -> String {
    let shown: Vec<&Finding> =
        again.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding).collect();
    let left = shown.iter().filter(|finding| added.wanted.contains(&finding.fingerprint)).count();
    let reserved = shown.iter().filter(|finding| !suppress::can_be_ignored(finding.rule));
    let (about_comments, beyond): (Vec<&Finding>, Vec<&Finding>) =
        reserved.partition(|finding| suppress::is_about_comments(finding.rule));
    let (about_comments, beyond) = (about_comments.len(), beyond.len());
    let suppressed = added.wanted.len().saturating_sub(left);
    let mut summary = format!("Suppressed {} in {}.", counted(suppressed, "finding"), counted(added.files, "file"));
    if left > 0 {
        // Writing to a string cannot fail.
        let left = counted(left, "finding");
        let _ = write!(
            summary,
            " {left} could not be suppressed: a file has syntax errors, or a statement has no \
                                 place for a comment."
        );
    }
    if beyond > 0 {
        let _ = write!(summary, " {} about the run itself cannot be ignored.", counted(beyond, "finding"));
    }
    if about_comments > 0 {
        let reported = counted(about_comments, "finding");
        let (remain, comments) = if about_comments == 1 { ("remains", "comment") } else { ("remain", "comments") };
        let _ = write!(summary, " {reported} about comments {remain}: correct or remove the {comments}.");
    }
    summary
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
