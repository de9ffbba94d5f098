//! Findings as diagnostics.
//!
//! **Invariant:** there is one diagnostic for each finding that the command line shows; the client's capabilities affect only
//! details.

use std::collections::BTreeMap;
use std::path::Path;

use gen_lsp_types::{
    Code, CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Message, Uri,
};
use serde_json::json;

use super::places::Places;
use super::snapshot::{Opened, Snapshot};
use crate::engine::Outcome;
use crate::finding::{Finding, Level, RuleId};
use crate::rules;
use crate::text::FileId;

/// The rules whose findings are about unnecessary code.
const UNNECESSARY: [RuleId; 2] = [RuleId::UnusedSuppression, RuleId::SplitDiscarded];

/// The diagnostics of an open document by URI. For a notebook, there is an entry for each cell, even an empty one.
pub(super) fn of_document(
    snapshot: &Snapshot,
    cwd: &Path,
    opened: &Opened,
    outcome: &Outcome,
) -> BTreeMap<Uri, Vec<Diagnostic>> {
    let mut all: BTreeMap<Uri, Vec<Diagnostic>> =
        opened.addresses().into_iter().map(|(uri, _)| (uri, Vec::new())).collect();
    let mut writer = Writer { snapshot, places: Places::new(snapshot, cwd, &outcome.files) };
    for finding in outcome.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding) {
        if let Some((uri, diagnostic)) = writer.diagnostic(finding) {
            all.entry(uri).or_default().push(diagnostic);
        } else if let Some(mut first) = all.first_entry() {
            // A problem of the notebook as a whole is shown at the top of its first cell.
            first.get_mut().push(writer.details(finding));
        }
    }
    all
}

/// The diagnostics of many files, by URI.
pub(super) fn of_files(snapshot: &Snapshot, cwd: &Path, outcome: &Outcome) -> BTreeMap<Uri, Vec<Diagnostic>> {
    let mut all: BTreeMap<Uri, Vec<Diagnostic>> = BTreeMap::new();
    let mut writer = Writer { snapshot, places: Places::new(snapshot, cwd, &outcome.files) };
    for finding in outcome.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding) {
        if let Some((uri, diagnostic)) = writer.diagnostic(finding) {
            all.entry(uri).or_default().push(diagnostic);
        }
    }
    all
}

struct Writer<'a> {
    snapshot: &'a Snapshot,
    places: Places<'a>,
}

impl Writer<'_> {
    fn diagnostic(&mut self, finding: &Finding) -> Option<(Uri, Diagnostic)> {
        let location = self.places.location(finding.primary)?;
        Some((location.uri, Diagnostic { range: location.range, ..self.details(finding) }))
    }

    /// A diagnostic without its range.
    fn details(&mut self, finding: &Finding) -> Diagnostic {
        let client = &self.snapshot.client;
        let href = Uri::parse(&rules::get(finding.rule).url()).ok();
        let related = client.related_information.then(|| self.related(finding)).filter(|related| !related.is_empty());
        let is_unnecessary = client.unnecessary_tag && UNNECESSARY.contains(&finding.rule);
        Diagnostic {
            severity: Some(match finding.level {
                Level::Error => DiagnosticSeverity::Error,
                Level::Warning => DiagnosticSeverity::Warning,
                Level::Note => DiagnosticSeverity::Information,
            }),
            code: Some(Code::String(finding.rule.to_string())),
            code_description: href.filter(|_| client.code_description).map(|href| CodeDescription { href }),
            source: Some("keylint".to_owned()),
            message: Message::String(finding.message.clone()),
            tags: is_unnecessary.then(|| vec![DiagnosticTag::Unnecessary]),
            related_information: related,
            data: client.diagnostic_data.then(|| {
                let intent = finding.intent.as_ref().map(|intent| intent.kind.name());
                json!({"fingerprint": finding.fingerprint, "name": finding.rule.name(), "intent": intent})
            }),
            ..Diagnostic::default()
        }
    }

    fn related(&mut self, finding: &Finding) -> Vec<DiagnosticRelatedInformation> {
        let mut related = Vec::new();
        for label in &finding.related {
            if let Some(location) = self.places.location(label.place) {
                related.push(DiagnosticRelatedInformation { location, message: label.message.clone() });
            }
        }
        related
    }
}

/// The file at a path in an outcome.
pub(super) fn file_of(outcome: &Outcome, cwd: &Path, path: &Path) -> Option<FileId> {
    let index = outcome.files.paths().position(|known| cwd.join(known) == path)?;
    u32::try_from(index).ok().map(FileId)
}
