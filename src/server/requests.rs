//! Which requests there are, and who answers each.
//!
//! **Invariant:** a request that is not listed is refused; nothing but this list knows the names.

use serde_json::{Value, json};

use super::workers::{Job, Task};
use super::{code_action, hints, hover, lineage, pull, workspace};

/// The work that answers a request, and whether somebody waits for it.
pub(super) fn task(method: &str, job: Job) -> Option<(bool, Task)> {
    Some(match method {
        "textDocument/codeAction" => (true, job.task(code_action::list)),
        "codeAction/resolve" => (true, job.task(code_action::resolve)),
        "textDocument/diagnostic" => (true, job.task(pull::document)),
        "textDocument/hover" => (true, job.task(hover::hover)),
        "textDocument/inlayHint" => (true, job.task(hints::list)),
        "workspace/executeCommand" => (true, job.task(lineage::execute)),
        "workspace/diagnostic" => (false, job.task(workspace::diagnose)),
        _ => return None,
    })
}

/// The answer that says that there is nothing.
pub(super) fn nothing(method: &str) -> Value {
    match method {
        "textDocument/diagnostic" => json!({"kind": "full", "items": []}),
        "workspace/diagnostic" => json!({"items": []}),
        _ => Value::Null,
    }
}

/// Whether a request is answered only when something has changed since the client was answered last: clients ask for the
/// diagnostics of the workspace again as soon as they have them. What they name does not matter: of a workspace in which
/// nothing is wrong they have nothing to name.
pub(super) fn waits(method: &str, has_changed: bool) -> bool {
    is_long(method) && !has_changed
}

/// Whether the answer of a request holds until something is saved, or settings or files change.
pub(super) fn is_long(method: &str) -> bool {
    method == "workspace/diagnostic"
}
