//! `keylint version`.
//!
//! **Invariant:** the version is that of the package, as `keylint --version` prints it.

use super::args::{TextOrJson, Version};
use super::{Failure, Status, World};

pub(super) fn run(command: &Version, world: &mut World<'_>) -> Result<Status, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    match command.output_format {
        TextOrJson::Text => writeln!(world.stdout, "keylint {version}")?,
        TextOrJson::Json => writeln!(world.stdout, "{:#}", serde_json::json!({"version": version}))?,
    }
    Ok(Status::Clean)
}
