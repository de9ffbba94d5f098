//! `source.fixAll.keylint`: all fixes of a document at once.
//!
//! **Invariant:** the resulting text equals what `keylint check --fix` would write: the same rounds with the same fixes.

use std::path::Path;

use gen_lsp_types::WorkspaceEdit;

use super::edits::workspace_edit;
use super::places::Page;
use super::snapshot::{CheckError, Opened};
use super::workers::{Failure, RequestContext};
use crate::engine::{self, Changed, Fixes, RunOptions};
use crate::text::LineIndex;

/// The edit that applies all fixes; `None` if there are none.
pub(super) fn edit(
    request: &RequestContext<'_>,
    path: &Path,
    opened: &Opened,
) -> Result<Option<WorkspaceEdit>, Failure> {
    let snapshot = request.snapshot;
    let fixed = snapshot.with(path, |context, given, folder| {
        let resolver = folder.resolver.as_ref().map_err(Clone::clone)?;
        let baseline = engine::baseline(resolver, path)?.map_err(CheckError::Baseline)?;
        let accepted = baseline.as_ref().map(|baseline| baseline.fingerprints()).unwrap_or_default();
        let how = RunOptions {
            fixes: Fixes::All,
            verify: folder.settings.verify,
            is_cancelled: request.is_cancelled,
            ..RunOptions::default()
        };
        let is_wanted = |finding: &crate::finding::Finding| {
            folder.applies(finding) && !accepted.contains(finding.fingerprint.as_str())
        };
        Ok::<_, CheckError>(context.fix(given, how, &is_wanted))
    })??;
    if (request.is_cancelled)() {
        return Err(Failure::cancelled());
    }
    let Some(changed) = fixed.changed.iter().find(|changed| changed.path == path) else { return Ok(None) };
    let Changed { before, .. } = changed;
    let lines = LineIndex::new(&before.text);
    let page = Page { text: &before.text, lines: &lines, cells: &before.cells, unit: snapshot.client.unit };
    Ok(workspace_edit(snapshot, opened, page, &changed.edits()))
}
