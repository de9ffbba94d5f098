//! The `keylint` executable.
fn main() {}
