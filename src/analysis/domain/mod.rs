//! The abstract domain: terms (how a value was derived), guards (on which paths), values (guarded alternatives), and
//! extents (which keys of an array).
//!
//! **Invariant:** equal handles mean equal things; different handles mean nothing. Only must-equality makes a fact, so any
//! operation here may forget by returning something fresh.

pub mod claim;
pub mod extent;
pub mod guard;
mod range;
pub mod term;
pub mod value;

#[cfg(test)]
mod tests;
