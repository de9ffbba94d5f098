//! `keylint why`.
//!
//! **Invariant:** the place is read from the right, so that a path may hold colons.

use std::path::{Path, PathBuf};

use super::args::Why;
use super::backend::Backend;
use super::check::resolver;
use super::{Failure, Status, World};
use crate::python::SourceKind;
use crate::report;

pub(super) fn run(command: &Why, backend: &dyn Backend, world: &mut World<'_>) -> Result<Status, Failure> {
    let (file, cell, row) = place(&command.place)?;
    let resolver = resolver(&command.selection, &[PathBuf::from(file)], world)?;
    let answer = backend.why(Path::new(file), cell, row, &resolver).map_err(Failure::Usage)?;
    write!(world.stdout, "{}", report::neutral_line(&answer))?;
    Ok(Status::Clean)
}

fn is_notebook(file: &str) -> bool {
    SourceKind::of_path(file) == SourceKind::Ipynb
}

/// Reads `FILE:LINE`, or `FILE:CELL:LINE` of a notebook, where the cell may be written as in reports: `cell 3`.
fn place(written: &str) -> Result<(&str, Option<u32>, u32), Failure> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    let last = |text| -> Option<(&str, u32)> {
        let (rest, last) = str::rsplit_once(text, ':')?;
        Some((rest, number(last.strip_prefix("cell ").unwrap_or(last))?))
    };
    let parsed = last(written).map(|(rest, row)| match last(rest).filter(|(file, _)| is_notebook(file)) {
        Some((file, cell)) => (file, Some(cell), row),
        None => (rest, None, row),
    });
    parsed.filter(|(file, _, _)| !file.is_empty()).ok_or_else(|| {
        Failure::Usage(format!("expected `FILE:LINE`, or `FILE:CELL:LINE` for a notebook, not `{written}`"))
    })
}
