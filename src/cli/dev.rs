//! `keylint dev`.
//!
//! **Invariant:** nothing here is a contract; it is for developing keylint.

use super::args::{Dev, DevCommand};
use super::backend::Backend;
use super::{Failure, Process, Status};
use crate::report;

pub(super) fn run(command: &Dev, backend: &dyn Backend, process: &mut Process<'_>) -> Result<Status, Failure> {
    let text = match &command.what {
        DevCommand::Ir { file } => backend.ir(file),
        DevCommand::Facts { file } => backend.facts(file),
    };
    write!(process.stdout, "{}", report::neutral_line(&text.map_err(Failure::Usage)?))?;
    Ok(Status::Clean)
}
