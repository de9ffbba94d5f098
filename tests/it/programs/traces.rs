//! Compares the draws of the replay with those of `CPython`.
//!
//! **Invariant:** where the replay explored every path, one of them makes the draws that `CPython` made: the same functions at the same
//! rows in the same order, and of any two draws either both say that the keys are equal or neither does.

use keylint::finding::Place;
use keylint::ir::{self, Module};
use keylint::models::Models;
use keylint::python::{SourceKind, parse};
use keylint::text::{FileId, LineIndex, Span};
use keylint::verify::replay::{self, DrawKind, Project, Trace};

use crate::replay::SingleFile;

/// A draw: its row, what draws, and a number that is the same for equal keys.
pub type Draw = (usize, String, usize);

/// The result of a comparison.
#[derive(Debug, PartialEq)]
pub enum Agreement {
    /// A path of the replay makes the same draws as the program.
    Agrees,
    /// None does, but not all paths were explored.
    Open,
    /// All paths were explored, and none does; with the path that is most like it.
    Differs(Vec<Draw>),
}

/// Replays the body of a program, and looks for these draws.
pub fn agreement(source: &str, drawn: &[Draw]) -> Agreement {
    let file = FileId(0);
    let module: Module = ir::lower(file, &parse(source, SourceKind::Py).module, &|_| Vec::new());
    let project = Project::new(vec![&module], &SingleFile, Models::builtin(), &[]);
    let end = u32::try_from(source.trim_end().len()).unwrap();
    let traces = replay::trace(&project, Place { file, span: Span::new(end - 1, end) });
    let lines = LineIndex::new(source);
    let mut nearest: (usize, Vec<Draw>) = (0, Vec::new());
    for path in &traces.paths {
        let draws = draws_of(path, |place| lines.line_column(source, place.span.start).row as usize);
        if draws == drawn {
            return Agreement::Agrees;
        }
        let alike = draws.iter().zip(drawn).take_while(|(a, b)| a == b).count();
        if alike >= nearest.0 {
            nearest = (alike, draws);
        }
    }
    if traces.is_complete { Agreement::Differs(nearest.1) } else { Agreement::Open }
}

fn draws_of(path: &Trace, row: impl Fn(Place) -> usize) -> Vec<Draw> {
    let mut seen: Vec<&Vec<u32>> = Vec::new();
    let mut draws = Vec::new();
    for draw in path.draws.iter().filter(|draw| matches!(draw.kind, DrawKind::Sample | DrawKind::Split)) {
        let Some(place) = draw.way.last() else { continue };
        let name = draw.callee.rsplit('.').next().unwrap_or_default();
        for key in &draw.keys {
            let number = seen.iter().position(|other| *other == key).unwrap_or_else(|| {
                seen.push(key);
                seen.len() - 1
            });
            draws.push((row(*place), name.to_owned(), number));
        }
    }
    draws
}
