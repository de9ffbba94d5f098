//! The `keylint` executable.

use std::process::ExitCode;

/// Each thread allocates many small and short-lived terms, values and guards, for which the system's allocator is slow.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keylint::cli::main(&keylint::cli::EngineBackend)
}
