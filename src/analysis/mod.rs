//! The abstract interpreter: which values are keys, how each was derived, and where it is consumed.
//!
//! **Invariant:** forgetting is always sound. Only must-equality of derivations makes a fact.

pub mod domain;
pub mod facts;
mod heap;
mod interp;
mod log;
mod program;
mod relevance;
mod vocabulary;

pub use interp::{World, analyse};
pub use program::Program;
