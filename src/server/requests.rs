//! The supported requests, and their handlers.
//!
//! **Invariant:** a request that is not listed is rejected; only this list contains the names of requests.

use serde_json::{Value, json};

use super::workers::{Job, Task};
use super::{code_action, hints, hover, lineage, pull, workspace};

/// The task of a request, and whether the user waits for it.
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

/// An empty response.
pub(super) fn nothing(method: &str) -> Value {
    match method {
        "textDocument/diagnostic" => json!({"kind": "full", "items": []}),
        "workspace/diagnostic" => json!({"items": []}),
        _ => Value::Null,
    }
}

/// The last response about the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkspaceResponse {
    /// The number of changes before it.
    pub(super) changes: u64,
    /// Whether it contained any reports.
    pub(super) has_items: bool,
}

/// Whether to delay the response to a request until something changes. Clients request the diagnostics of the workspace again as soon as
/// they have received them, so a repeated request without a change must wait. A client with a clean workspace has no result identifiers to
/// send; a client that sends none although it received some has lost them, and gets a response at once.
pub(super) fn waits(method: &str, params: &Value, answered: Option<WorkspaceResponse>) -> bool {
    let names_any = params["previousResultIds"].as_array().is_some_and(|ids| !ids.is_empty());
    is_long(method) && answered.is_some_and(|answered| names_any || !answered.has_items)
}

/// Whether the response to a request stays valid until something is saved, or settings or files change.
pub(super) fn is_long(method: &str) -> bool {
    method == "workspace/diagnostic"
}
