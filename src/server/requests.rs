//! The supported requests, and their handlers.
//!
//! **Invariant:** a request that is not listed is refused; nothing but this list knows the names.

use serde_json::{Value, json};

use super::workers::{Job, Task};
use super::{code_action, hints, hover, lineage, pull, workspace};

/// The task of a request, and whether the client waits for it.
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

/// What the client last learned about the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answered {
    /// How many changes there had been by then.
    pub(super) changes: u64,
    /// Whether the client learned anything.
    pub(super) has_items: bool,
}

/// Whether a request is answered only when something changes, given what the client has received since the last change: clients request the
/// diagnostics of the workspace again as soon as they have them. A client with a clean workspace has no result identifiers to send; one
/// that sends none although there were some has lost them.
pub(super) fn waits(method: &str, params: &Value, answered: Option<Answered>) -> bool {
    let names_any = params["previousResultIds"].as_array().is_some_and(|ids| !ids.is_empty());
    is_long(method) && answered.is_some_and(|answered| names_any || !answered.has_items)
}

/// Whether the response to a request stays valid until something is saved, or settings or files change.
pub(super) fn is_long(method: &str) -> bool {
    method == "workspace/diagnostic"
}
