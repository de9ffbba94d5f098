//! `keylint why`.
//!
//! **Invariant:** the place is read from the right, so that a path may hold colons.

use std::path::{Path, PathBuf};

use super::args::Why;
use super::backend::Backend;
use super::check::{report_warnings, resolver};
use super::{Failure, Process, Status};
use crate::python::SourceKind;
use crate::report;
use crate::source::is_source;

pub(super) fn run(command: &Why, backend: &dyn Backend, process: &mut Process<'_>) -> Result<Status, Failure> {
    let (file, cell, row) = place(&command.place).ok_or_else(|| {
        let written = &command.place;
        Failure::Usage(format!("expected `FILE:LINE`, or `FILE:CELL:LINE` for a notebook, not `{written}`"))
    })?;
    let resolver = resolver(&command.selection, &[PathBuf::from(file)], process)?;
    let answer = backend.why(Path::new(file), cell, row, &resolver);
    report_warnings(&resolver, process)?;
    write!(process.stdout, "{}", report::neutral_line(&answer.map_err(Failure::Usage)?))?;
    Ok(Status::Clean)
}

fn is_notebook(file: &str) -> bool {
    SourceKind::of_path(file) == SourceKind::Ipynb
}

/// Reads `FILE:LINE`, or `FILE:CELL:LINE` of a notebook, as reports print them: the cell as `cell 3`, and a column at the end.
pub fn place(written: &str) -> Option<(&str, Option<u32>, u32)> {
    let positive = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    let last = |text| str::rsplit_once(text, ':').and_then(|(rest, last)| Some((rest, positive(last)?)));
    let cell = |text| {
        let (file, last) = str::rsplit_once(text, ':').filter(|(file, _)| is_notebook(file))?;
        Some((file, positive(last.strip_prefix("cell ").unwrap_or(last))?))
    };
    let in_cell = |(rest, row)| cell(rest).map(|(file, cell)| (file, Some(cell), row));
    let is_code = |(file, _): &(&str, u32)| is_source(Path::new(file)) && !is_notebook(file);
    let parsed = last(written).and_then(|(rest, row)| {
        // Of two numbers, the last one is the column.
        let with_column = last(rest);
        with_column
            .and_then(in_cell)
            .or_else(|| in_cell((rest, row)))
            .or_else(|| Some(with_column.filter(is_code).map_or((rest, None, row), |(file, row)| (file, None, row))))
    });
    parsed.filter(|(file, _, _)| !file.is_empty())
}
