//! The model of the library function that an expression names, without running it.
//!
//! **Invariant:** only imports decide; a name that the program rebinds in a function has no model.

use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::record::Recording;
use crate::ir::{Function, Temp};
use crate::models::Callable;

/// The model of the library function that a temp of a function denotes.
pub fn model_of<'r>(run: &Recording<'r>, module: ModuleIndex, code: &Function, temp: Temp) -> Option<&'r Callable> {
    let path = run.library_named(module, code, temp)?;
    run.program.models.callable(&path)
}
