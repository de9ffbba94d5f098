//! `textDocument/diagnostic`: the diagnostics of one document, for clients that pull.
//!
//! **Invariant:** the response equals what would be pushed. A result that the client already has is not sent again.

use std::path::Path;

use gen_lsp_types::{Diagnostic, DocumentDiagnosticParams, Uri};
use rustc_hash::FxHasher;
use serde_json::{Value, json};
use std::hash::Hasher;

use super::diagnostics;
use super::snapshot::Opened;
use super::workers::{Failure, RequestContext};
use crate::engine::Fixes;

pub(super) fn document(request: &RequestContext<'_>, params: &DocumentDiagnosticParams) -> Result<Value, Failure> {
    let uri = &params.text_document.uri;
    let diagnostics = match request.document(uri) {
        Some((path, opened)) => of_address(request, path, opened, uri)?,
        None => Vec::new(),
    };
    Ok(report(&diagnostics, params.previous_result_id.as_deref()))
}

/// The diagnostics of an open document, or of one cell of it.
fn of_address(
    request: &RequestContext<'_>,
    path: &Path,
    opened: &Opened,
    uri: &Uri,
) -> Result<Vec<Diagnostic>, Failure> {
    let checked = request.snapshot.checked(path, Fixes::None, request.is_cancelled)?;
    let folder = request.snapshot.folder_of(path).ok_or_else(Failure::gone)?;
    let mut all = diagnostics::of_document(request.snapshot, &folder.cwd, opened, &checked.outcome);
    Ok(all.remove(uri).unwrap_or_default())
}

/// A report with these diagnostics, or one that says that they are unchanged.
pub(super) fn report(diagnostics: &[Diagnostic], previous: Option<&str>) -> Value {
    let items = serde_json::to_value(diagnostics).unwrap_or_default();
    let mut hasher = FxHasher::default();
    hasher.write(items.to_string().as_bytes());
    let id = format!("{:016x}", hasher.finish());
    if previous == Some(id.as_str()) {
        json!({"kind": "unchanged", "resultId": id})
    } else {
        json!({"kind": "full", "resultId": id, "items": items})
    }
}
