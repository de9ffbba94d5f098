//! The `keylint` executable.

use std::process::ExitCode;

/// Terms, values and guards are small and short-lived, and each thread makes its own: what the system's allocator does worst.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keylint::cli::main(&keylint::cli::EngineBackend)
}
