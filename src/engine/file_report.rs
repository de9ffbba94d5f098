//! The report on one file: its findings after its comments were applied, identified by their fingerprints.
//!
//! **Invariant:** spans and text belong together: a file that changed since it was analysed is reported as such.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use super::Job;
use super::contain::contained;
use super::fingerprint::{Subject, name_all};
use super::load::Loaded;
use super::project::{Member, Project};
use crate::finding::{Finding, Level, Place, RuleId};
use crate::judge::demonstration::UsedBy;
use crate::judge::{demonstration, documented, evaluation, gap, notebook, said_so};
use crate::python::{self, Comment, SourceKind, StatementSpan, marks};
use crate::rules;
use crate::source;
use crate::suppress;
use crate::text::{Cells, FileId, LineIndex, Span};

/// The report on a file.
pub(super) struct FileReport {
    pub(super) file: FileId,
    pub(super) findings: Vec<Finding>,
    /// The findings that comments suppress.
    pub(super) ignored: Vec<Finding>,
    pub(super) text: String,
    pub(super) cells: Cells,
    /// Whether the file was not checked as it should.
    pub(super) failed: bool,
}

/// The report on one file; `None` if there is nothing to report.
pub(super) fn file_report(
    job: &Job<'_>,
    project: &Project<'_>,
    position: usize,
    loaded: &Loaded,
    mut findings: Vec<Finding>,
) -> Option<FileReport> {
    let member = project.members.get(position)?;
    let file = member.file;
    let place = |span| Place { file, span };
    let path = project.relative(job, position);
    if let Some(message) = &loaded.unreadable {
        return Some(unreadable(file, &path, message));
    }
    let broke = loaded.broke.iter().map(|message| rules::internal_error(place(Span::default()), message));
    findings.extend(broke);
    findings.extend(loaded.problems.iter().map(|problem| rules::syntax_error(place(problem.span), &problem.message)));
    findings.extend(loaded.misdeclared.iter().map(|(span, problem)| {
        let mut finding = rules::invalid_suppression(place(*span), problem);
        finding.help = Some("name a parameter of the `def` that the comment belongs to".to_owned());
        finding
    }));
    if findings.is_empty() && !loaded.has_comments_for_us {
        return None;
    }
    sort(&mut findings);
    findings.dedup_by(|a, b| (a.primary, a.rule, &a.message) == (b.primary, b.rule, &b.message));
    let (source, digest) = source::read_with_digest(job.files, &member.path, &member.display);
    let (text, cells) = match source {
        Ok(source) if digest == loaded.digest => (source.text, source.cells),
        Ok(_) => return Some(unreadable(file, &path, "the file changed during the check; run again")),
        Err(problem) => return Some(unreadable(file, &path, &problem.message)),
    };
    let read;
    let (comments, statements) = if let Some(edited) = &loaded.edited {
        (&edited.read.comments, &edited.read.statements)
    } else {
        read = comments_and_statements(&member.display, &text, &cells);
        (&read.0, &read.1)
    };
    findings.retain(|finding| {
        !(finding.rule == RuleId::SplitDiscarded && notebook::is_shown(&cells, &text, finding.primary.span))
    });
    let marks = if cells.is_empty() { marks(&text, comments) } else { Vec::new() };
    notebook::note_separate_cells(&cells, &marks, &mut findings);
    notebook::note_cells(&cells, &mut findings);
    let lines = LineIndex::new(&text);
    keep_first_syntax_errors(&cells, &mut findings);
    let spans: Vec<Span> = comments.iter().map(|comment| comment.span).collect();
    let written = said_so::Written { text: &text, lines: &lines, comments: &spans, statements };
    if !cells.is_empty() {
        gap::note_gaps(written, &cells, &mut findings);
    }
    note_stated_intent(project, &path, written, used_by(loaded.is_imported, member), &mut findings);
    let subject = Subject { path: &path, text: &text, statements };
    for finding in &mut findings {
        rules::fit_advice(finding, subject.written(finding.primary.span));
    }
    // Suppressed findings count as well, so that a suppression does not rename its neighbours.
    name_all(subject, &mut findings);
    let commented = suppress::Source { file, text: &text, lines: &lines, cells: &cells, comments, statements };
    let selected = project.settings.for_file(&member.path);
    let (mut findings, ignored) = if project.settings.ignores_comments {
        (findings, Vec::new())
    } else {
        let applied = suppress::apply(commented, &|rule| selected.is_selected(rule), findings);
        (applied.findings, applied.suppressed.into_iter().map(|one| one.finding).collect())
    };
    name_all(subject, &mut findings);
    sort(&mut findings);
    Some(FileReport { file, findings, ignored, text, cells, failed: loaded.broke.is_some() })
}

/// The comments and statements of a file. Most files need them for nothing, so they are read again.
fn comments_and_statements(display: &str, text: &str, cells: &Cells) -> (Vec<Comment>, Vec<StatementSpan>) {
    let read = || {
        let parsed = python::parse_cells(text, cells, SourceKind::of_path(display));
        let statements = python::statement_spans(&parsed.module, text);
        (parsed.comments, statements)
    };
    contained(read).unwrap_or_default()
}

/// Keeps the first syntax error of the file, or of each cell of a notebook: later errors usually follow from the first. A cell with an
/// error does not run at all, so nothing else is reported there: a parameter of a broken `def` may look like a global. Expects the findings
/// in source order.
fn keep_first_syntax_errors(cells: &Cells, findings: &mut Vec<Finding>) {
    let cell = |finding: &Finding| cells.around(finding.primary.span.start).map(|cell| cell.number);
    let mut broken = BTreeSet::new();
    findings.retain(|finding| finding.rule != RuleId::SyntaxError || broken.insert(cell(finding)));
    let runs = |finding: &Finding| cell(finding).is_none_or(|number| !broken.contains(&Some(number)));
    findings.retain(|finding| finding.rule == RuleId::SyntaxError || runs(finding));
}

/// Makes findings notes if comments, docstrings, names of functions or main blocks show that they are intended.
fn note_stated_intent(
    project: &Project<'_>,
    path: &str,
    written: said_so::Written<'_>,
    used_by: Option<UsedBy>,
    findings: &mut Vec<Finding>,
) {
    let may_be_intended = |finding: &Finding| finding.rule.may_be_intended() && finding.level > Level::Note;
    if !findings.iter().any(may_be_intended) {
        return;
    }
    documented::note_default_keys(written, findings);
    for finding in findings.iter_mut().filter(|finding| may_be_intended(finding)) {
        if let Some(intent) = said_so::said_so(written, &project.models.words, finding) {
            finding.note_intent(intent);
        }
    }
    let script = Path::new(path).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    evaluation::note_evaluations(written, &project.models.words, script, findings);
    if let Some(used_by) = used_by {
        demonstration::note_demonstrations(written, used_by, findings);
    }
}

/// What uses a file besides the person who runs it.
fn used_by(is_imported: bool, member: &Member) -> Option<UsedBy> {
    match (is_imported, member.is_in_package) {
        (true, _) => Some(UsedBy::Modules),
        (false, true) => Some(UsedBy::Package),
        (false, false) => None,
    }
}

/// A file that could not be read.
pub(super) fn unreadable(file: FileId, path: &str, message: &str) -> FileReport {
    let mut findings = vec![rules::unreadable_file(Place { file, span: Span::default() }, message)];
    name_all(Subject { path, text: "", statements: &[] }, &mut findings);
    FileReport { file, findings, ignored: Vec::new(), text: String::new(), cells: Cells::NONE, failed: true }
}

fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| (a.primary, a.rule, &a.message).cmp(&(b.primary, b.rule, &b.message)));
}
