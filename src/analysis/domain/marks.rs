//! Reserved names in terms, for values that have no name in the program.
//!
//! **Invariant:** none of them is an identifier of Python.

/// A seed together with its implementation, where that is not the default.
pub const SEEDED: &str = "<seeded>";

/// The implementation of keys that are made without `impl`, where the program chooses the default.
pub const CHOSEN: &str = "<chosen>";

/// The name of a key that a stateful source supplied.
pub const SUPPLIED: &str = "<supplied key>";

/// The name of a sequence of keys that a stateful source supplied.
pub const SUPPLIED_KEYS: &str = "<supplied keys>";

/// The prefix of the names of exception edges.
pub const RAISES: &str = "<raises";

/// The class of an instance from outside: the number of a class that inherits from the known one.
pub const OVERRIDDEN: &str = "<overridden>";

/// The name of the edge into a body that is expected to raise.
pub const EXPECTED: &str = "<raises as expected>";

/// The name of `...`.
pub const ELLIPSIS: &str = "<ellipsis>";

/// The name of the exception edges of one activation.
pub fn raised_in(activation: u32) -> String {
    format!("{RAISES} in {activation}>")
}
