//! Concrete evaluation on the reference PRNG: what a program's keys really are.
//!
//! **Invariant:** nothing here shares code with the abstract interpreter, so that neither can hide a mistake of the
//! other.

pub mod buffer;
pub mod derived;
pub mod eval;
pub mod replay;
