//! `workspace/diagnostic`: what `keylint check` reports for every folder of the workspace.
//!
//! **Invariant:** every file with findings, now or in the client, is reported; a file whose findings are gone is reported as clean.

use std::collections::BTreeMap;

use gen_lsp_types::{Diagnostic, Uri, WorkspaceDiagnosticParams};
use serde_json::{Value, json};

use super::diagnostics;
use super::progress::Progress;
use super::pull::report;
use super::snapshot::{self, CheckError, Folder};
use super::workers::{Failure, RequestContext};
use crate::engine::{RunContext, RunInputs, RunOptions};

pub(super) fn diagnose(request: &RequestContext<'_>, params: &WorkspaceDiagnosticParams) -> Result<Value, Failure> {
    let mut reports: BTreeMap<Uri, Vec<Diagnostic>> = BTreeMap::new();
    let token = params.work_done_progress_params.work_done_token.as_ref();
    let progress = Progress::begin(request, token, "Checking the workspace");
    for folder in request.snapshot.roots.iter() {
        match scan(request, folder, &progress) {
            // Nested folders share files, which have the same findings in both.
            Ok(found) => found.into_iter().for_each(|(uri, diagnostics)| {
                reports.entry(uri).or_insert(diagnostics);
            }),
            // A folder with an invalid configuration does not affect the others.
            Err(Failure { error, trouble: Some(_) }) if request.snapshot.roots.len() > 1 => {
                let message = format!("{}: {}", folder.cwd.display(), error.message);
                (request.notify)("window/logMessage", json!({"type": 1, "message": message}));
            }
            Err(failure) => return Err(failure),
        }
    }
    progress.end();
    let mut previous: BTreeMap<&Uri, &str> = BTreeMap::new();
    for known in &params.previous_result_ids {
        previous.insert(&known.uri, &known.value);
        reports.entry(known.uri.clone()).or_default();
    }
    let items: Vec<Value> = reports
        .iter()
        .map(|(uri, diagnostics)| {
            let mut item = report(diagnostics, previous.get(uri).copied());
            item["uri"] = json!(uri);
            item["version"] = json!(version(request, uri));
            item
        })
        .collect();
    Ok(json!({"items": items}))
}

fn version(request: &RequestContext<'_>, uri: &Uri) -> Option<i32> {
    let (_, opened) = request.document(uri)?;
    opened.addresses().into_iter().find(|(address, _)| address == uri).and_then(|(_, version)| version)
}

/// Checks one folder as the command line would, with the saved files overlaid by the open ones.
fn scan(
    request: &RequestContext<'_>,
    folder: &Folder,
    progress: &Progress<'_>,
) -> Result<BTreeMap<Uri, Vec<Diagnostic>>, Failure> {
    let snapshot = request.snapshot;
    if !folder.settings.enable {
        return Ok(BTreeMap::new());
    }
    let resolver = folder.resolver.as_ref().map_err(|error| CheckError::from(error.clone()))?;
    let cwd = &folder.cwd;
    let mut given = RunInputs::discover(cwd, std::slice::from_ref(cwd), resolver, true).map_err(CheckError::from)?;
    for input in &mut given.inputs {
        if let Ok(below) = input.path.strip_prefix(cwd) {
            input.display = below.display().to_string();
        }
    }
    snapshot.overlay(&mut given);
    let context = RunContext::new(cwd, resolver, &given, None).map_err(CheckError::from)?;
    let how = RunOptions {
        verify: folder.settings.verify,
        progress: &|done, total| progress.report(done, total),
        is_cancelled: request.is_cancelled,
        ..RunOptions::default()
    };
    let mut outcome = context.check(&given, how);
    if (request.is_cancelled)() {
        return Err(Failure::cancelled());
    }
    snapshot::accept(folder, &mut outcome)?;
    Ok(diagnostics::of_files(snapshot, cwd, &outcome))
}
