//! Possible callers of a function: other entry points for a claim whose own frame does not know its arguments.
//!
//! **Invariant:** found by names alone, in the order of files and places. A caller is run like any other function: what it
//! does not call by that name after all shows nothing.

use super::project::Project;
use super::search::{Start, start_of};
use crate::finding::Place;
use crate::ir::FunctionKind;

/// Functions and module bodies that mention a function, those of its own file first, each with the places.
pub(super) fn callers(project: &Project<'_>, start: Start) -> Vec<(Start, Place)> {
    let Some(module) = project.modules.get(start.module) else { return Vec::new() };
    let code = module.functions.get(start.function.0 as usize).filter(|code| code.kind == FunctionKind::Def);
    let Some(places) = code.and_then(|code| project.mentions().get(&code.name)) else { return Vec::new() };
    let (near, far): (Vec<Place>, Vec<Place>) = places.iter().partition(|place| place.file == module.file);
    let mut found: Vec<(Start, Place)> = Vec::new();
    for place in near.into_iter().chain(far) {
        let caller = start_of(project, place).filter(|caller| *caller != start);
        if let Some(caller) = caller
            && !found.iter().any(|(known, _)| *known == caller)
        {
            found.push((caller, place));
        }
    }
    found
}
