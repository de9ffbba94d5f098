//! Views of the analysis of one file, for developers and users.
//!
//! **Invariant:** what is shown is what a run would use: the same files, settings and steps.

use std::fmt::Write;
use std::path::Path;

use super::contain::contained;
use super::effects::Effects;
use super::explain::remarks;
use super::project::group;
use super::run::{Counter, ProjectFacts, gather_facts, on_workers};
use super::{FileTable, Job};
use crate::finding::Place;
use crate::ir;
use crate::judge::facts::Facts;
use crate::models::Models;
use crate::python::{self, SourceKind, SyntaxProblem};
use crate::source::{self, Files};
use crate::text::{FileId, LineIndex};

/// The operations that a file is lowered to; otherwise why there are none.
pub fn ir(files: &dyn Files, path: &Path) -> Result<String, String> {
    let display = path.display().to_string();
    let source = source::read(files, path, &display).map_err(|problem| format!("{display}: {}", problem.message))?;
    on_workers(1, || {
        contained(|| {
            let parsed = python::parse_cells(&source.text, &source.cells, SourceKind::of_path(&display));
            let effects = Effects::of(&source.text, &parsed.comments);
            ir::lower(FileId(0), &parsed.module, &|header| effects.on(header)).to_string()
        })
    })?
}

/// The facts of the only file of the job; otherwise why there are none.
pub fn facts(job: &Job<'_>) -> Result<String, String> {
    with_facts(job, |seen| Ok(format!("{:#?}\n", seen.facts)))
}

/// Rows that are searched for facts if a row has none.
const NEAR: u32 = 40;

/// The key facts of a 1-based row of the only file of the job, or of a cell of it; otherwise why there are none.
pub fn why(job: &Job<'_>, cell: Option<u32>, row: u32) -> Result<String, String> {
    with_facts(job, |&Seen { facts, files, file, problems, .. }| {
        let lines = LineIndex::new(files.text(file));
        let path = files.path(file).display();
        let (text, first, line) = match (cell, files.cells(file)) {
            (Some(number), cells) => match cells.numbered(number) {
                Some(cell) => {
                    let code = files.text(file).get(cell.span.range()).unwrap_or_default();
                    (code, lines.row(cell.span.start), format!("line {row} of cell {number}"))
                }
                None => return Err(format!("`{path}` has no Python cell {number}")),
            },
            (None, cells) if !cells.is_empty() => {
                return Err(format!("`{path}` is a notebook; name the cell as well: `{path}:CELL:LINE`"));
            }
            (None, _) => (files.text(file), 1, format!("line {row}")),
        };
        let last = text.lines().count().max(1);
        if row as usize > last {
            let lines = if last == 1 { "1 line".to_owned() } else { format!("{last} lines") };
            return Err(format!("there is no {line} of `{path}`, which has {lines}"));
        }
        let row = row.saturating_add(first - 1);
        let mut answer = String::new();
        let remarks = remarks(facts);
        for remark in remarks.iter().filter(|remark| remark.touches(file, row, &lines)) {
            // Writing to a string cannot fail.
            let _ = writeln!(answer, "{}", remark.worded(files));
        }
        if answer.is_empty() {
            // On the line of a `def`, what is known is on the lines of its body.
            let is_known = |row: &u32| remarks.iter().any(|remark| remark.touches(file, *row, &lines));
            let end = first - 1 + u32::try_from(last).unwrap_or(u32::MAX);
            let next = (row + 1..=end.min(row + NEAR)).find(is_known).map(|next| next - (first - 1));
            let hint = next.map(|next| format!("; the next line with keys is {next}")).unwrap_or_default();
            let _ = writeln!(answer, "nothing is known about keys on {line} of `{path}`{hint}");
        }
        if let Some(problem) = syntax_error(files, file, problems) {
            let _ = writeln!(answer, "{problem}, so that more may happen here than keylint knows");
        }
        Ok(answer)
    })
}

/// The first syntax error of a file, with its place.
pub(super) fn syntax_error(files: &FileTable, file: FileId, problems: &[SyntaxProblem]) -> Option<String> {
    problems.first().map(|problem| {
        let locus = files.locus(Place { file, span: problem.span });
        format!("{locus}: syntax error: {}", problem.message)
    })
}

/// The facts of one file.
pub(super) struct Seen<'a> {
    pub(super) facts: &'a Facts,
    /// The models that the project configures.
    pub(super) models: &'a Models,
    pub(super) files: &'a FileTable,
    pub(super) file: FileId,
    /// Its syntax error, which may cause facts to be missing.
    pub(super) problems: &'a [SyntaxProblem],
}

/// Loads the project of the only file of the job, and passes its facts to `show`.
pub(super) fn with_facts<T: Send>(
    job: &Job<'_>,
    show: impl Fn(&Seen<'_>) -> Result<T, String> + Sync,
) -> Result<T, String> {
    on_workers(job.threads, || {
        let (mut files, projects) = group(job);
        let progress = Counter::new(job);
        let found = projects.iter().find(|project| project.members.iter().any(|member| member.is_reported));
        let project = found.ok_or_else(|| "no file was given".to_owned())?;
        let ProjectFacts { loaded, facts, positions, .. } = gather_facts(job, project, &progress, &|_| {});
        for (member, file) in project.members.iter().zip(&loaded) {
            let Some(file) = file else { continue };
            let path = &member.display;
            if let Some(message) = file.unreadable.as_ref().filter(|_| member.is_reported) {
                return Err(format!("{path}: {message}"));
            }
            if let Some(message) = file.broke.as_ref().filter(|_| member.is_reported) {
                return Err(format!("keylint failed on `{path}`: {message}"));
            }
            if let Ok(source) = source::read(job.files, &member.path, path) {
                files.set_text(member.file, source.text, source.cells);
            }
        }
        let mut members = project.members.iter().zip(&loaded).filter(|(member, _)| member.is_reported);
        let broken = members.find_map(|(member, loaded)| syntax_error(&files, member.file, &loaded.as_ref()?.problems));
        let position = positions.first().copied();
        let member =
            position.and_then(|position| Some((project.members.get(position)?, loaded.get(position)?.as_ref()?)));
        match (facts.first(), member) {
            (Some(facts), Some((member, loaded))) => show(&Seen {
                facts,
                models: project.models,
                files: &files,
                file: member.file,
                problems: &loaded.problems,
            }),
            _ => Err(broken.unwrap_or_else(|| {
                "the file uses no library that handles keys, and imports no module that does".to_owned()
            })),
        }
    })?
}
