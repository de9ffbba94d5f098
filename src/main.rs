//! The `keylint` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    keylint::cli::main(&keylint::cli::House)
}
