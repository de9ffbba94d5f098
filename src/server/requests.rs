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

/// Whether a request is answered only when something has changed: clients ask for the diagnostics of the workspace again as
/// soon as they have them, and name those that they have.
pub(super) fn waits(method: &str, params: &Value, has_changed: bool) -> bool {
    let knows = params["previousResultIds"].as_array().is_some_and(|known| !known.is_empty());
    method == "workspace/diagnostic" && knows && !has_changed
}
