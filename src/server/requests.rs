//! Which requests there are, and who answers each.
//!
//! **Invariant:** a request that is not listed is refused; nothing but this list knows the names.

use serde_json::Value;

use super::code_action;
use super::session::Session;
use super::workers::{Job, Task};

/// The work that answers a request, and whether somebody waits for it.
pub(super) fn task(method: &str, job: Job) -> Option<(bool, Task)> {
    Some(match method {
        "textDocument/codeAction" => (true, job.task(code_action::list)),
        "codeAction/resolve" => (true, job.task(code_action::resolve)),
        _ => return None,
    })
}

/// Whether a request is answered only when something has changed.
pub(super) fn waits(_method: &str, _params: &Value, _session: &Session) -> bool {
    false
}
