//! `keylint dev`.
//!
//! **Invariant:** nothing here is a contract; it is for developing keylint.

use super::args::{Dev, DevCommand};
use super::backend::Backend;
use super::{Failure, Status, World};
use crate::report;

pub(super) fn run(command: &Dev, backend: &dyn Backend, world: &mut World<'_>) -> Result<Status, Failure> {
    let text = match &command.what {
        DevCommand::Ir { file } => backend.ir(file),
        DevCommand::Facts { file } => backend.facts(file),
    };
    write!(world.stdout, "{}", report::neutral_line(&text.map_err(Failure::Usage)?))?;
    Ok(Status::Clean)
}
