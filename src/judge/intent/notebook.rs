//! Notebooks, and scripts whose comments mark cells: a cell shows its last value, and may begin anew with a seed of its own.
//!
//! **Invariant:** the answers depend on where a finding's places lie among the cells alone.

use crate::finding::{Finding, Intent, IntentKind, Place};
use crate::text::{Cells, Span};

/// Whether a place is the last expression of a cell, of which a notebook shows the value.
pub fn is_shown(cells: &Cells, text: &str, span: Span) -> bool {
    let slice = |start: u32, end: u32| text.get(Span::new(start, end).range()).unwrap_or_default();
    cells.around(span.start).is_some_and(|cell| {
        let before = slice(cell.span.start, span.start);
        (before.is_empty() || before.ends_with(['\n', '\r'])) && slice(span.end, cell.span.end).trim().is_empty()
    })
}

/// A finding is about places in several cells of one file: cells of a tutorial begin anew, each with a seed of its own. `marks` are
/// the places of comments that begin cells, where the file is no notebook.
pub fn separate_cells(cells: &Cells, marks: &[u32], finding: &Finding) -> Option<Intent> {
    let cell = |place: Place| match cells.around(place.span.start) {
        Some(cell) => cell.number as usize,
        None => marks.partition_point(|mark| *mark <= place.span.start),
    };
    let mut own = finding.related.iter().map(|label| label.place).filter(|place| place.file == finding.primary.file);
    let elsewhere = own.find(|place| cell(*place) != cell(finding.primary))?;
    Some(Intent::new(IntentKind::SeparateCells, Some(elsewhere)))
}
