//! `keylint version`.
//!
//! **Invariant:** the version is that of the package, as `keylint --version` prints it.

use super::args::{TextOrJson, Version};
use super::{Failure, Process, Status};

pub(super) fn run(command: &Version, process: &mut Process<'_>) -> Result<Status, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    match command.output_format {
        TextOrJson::Text => writeln!(process.stdout, "keylint {version}")?,
        TextOrJson::Json => writeln!(process.stdout, "{:#}", serde_json::json!({"version": version}))?,
    }
    Ok(Status::Clean)
}
