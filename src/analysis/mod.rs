//! The abstract interpreter: which values are keys, how each was derived, and where it is consumed.
//!
//! **Invariant:** forgetting is always sound. Only must-equality of derivations makes a fact.

pub mod domain;
pub mod heap;
mod interp;
pub mod names;
mod program;
pub mod record;
mod relevance;
mod vocabulary;

pub use interp::{World, run};
pub use program::{Program, is_entry};
