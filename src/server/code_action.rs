//! `textDocument/codeAction` and `codeAction/resolve`: fixes and suppressions for the findings in a range.
//!
//! **Invariant:** an action's edit equals what the command line would write: the fix that `check` shows, all fixes that `--fix` applies, or
//! the comment that `--add-ignores` adds.

use std::path::Path;

use gen_lsp_types::{CodeAction, CodeActionKind, CodeActionParams, Diagnostic, Location, Range, Uri};
use serde::{Deserialize, Serialize};

use super::client::{FIX_ALL, FIX_ALL_OF_NOTEBOOK};
use super::diagnostics::file_of;
use super::edits::workspace_edit;
use super::fix_all;
use super::places::Page;
use super::snapshot::{Checked, Folder, Opened};
use super::workers::{Failure, RequestContext};
use crate::engine::{self, Fixes};
use crate::finding::{Applicability, Finding, Fix, RuleId, Verdict};
use crate::rules::{self, FixAvailability};
use crate::text::{FileId, LineIndex, Span};

/// The request that completes an action.
const RESOLVE: &str = "codeAction/resolve";

/// The data of an action that is not yet resolved.
#[derive(Debug, Deserialize, Serialize)]
struct ActionData {
    /// What to compute.
    what: ActionKind,
    /// The URI of the document.
    uri: Uri,
    /// Its version.
    version: i32,
    /// The fingerprints of the findings in question.
    #[serde(default)]
    fingerprints: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum ActionKind {
    Ignore,
    FixAll,
}

pub(super) fn list(
    request: &RequestContext<'_>,
    params: &CodeActionParams,
) -> Result<Option<Vec<CodeAction>>, Failure> {
    let Some((path, opened)) = request.document(&params.text_document.uri) else { return Ok(None) };
    let wants = |kind: &str| {
        params
            .context
            .only
            .as_ref()
            .is_none_or(|only| only.iter().any(|wanted| is_within(kind, &String::from(wanted.clone()))))
    };
    // For a whole notebook, editors request a kind of its own.
    let all = if params.context.only.is_some() && wants(FIX_ALL_OF_NOTEBOOK) { FIX_ALL_OF_NOTEBOOK } else { FIX_ALL };
    let (wants_fixes, wants_all) = (wants("quickfix"), wants(all));
    if !wants_fixes && !wants_all {
        return Ok(None);
    }
    let known = &params.context.diagnostics;
    let mut actions = Vec::new();
    let plain = request.snapshot.checked(path, Fixes::None, request.is_cancelled)?;
    let Some(document) = CheckedDocument::new(request, path, opened, &plain)? else { return Ok(None) };
    let here = document.site().findings_at(params);
    let fixable: Vec<Span> =
        here.iter().filter(|(finding, _)| has_fixes(finding.rule)).map(|(finding, _)| finding.primary.span).collect();
    // Fixes are searched only for the requested findings; for the whole file only if the request covers it.
    let fixes = match fixable.into_iter().reduce(Span::cover) {
        _ if wants_all && params.context.only.is_some() => Fixes::All,
        Some(span) if wants_fixes => Fixes::At(span),
        _ => Fixes::None,
    };
    let checked = request.snapshot.checked(path, fixes, request.is_cancelled)?;
    let Some(document) = CheckedDocument::new(request, path, opened, &checked)? else { return Ok(None) };
    let site = document.site();
    if wants_fixes {
        let here = site.findings_at(params);
        actions.extend(site.quick_fixes(&here, known));
        actions.extend(site.ignores(&here, known)?);
    }
    if wants_all {
        actions.extend(site.fix_all(all)?);
    }
    Ok(Some(actions))
}

pub(super) fn resolve(request: &RequestContext<'_>, action: &CodeAction) -> Result<CodeAction, Failure> {
    let data = action.data.clone().and_then(|data| serde_json::from_value::<ActionData>(data).ok());
    let Some(data) = data else { return Ok(action.clone()) };
    let (path, opened) = request.document(&data.uri).ok_or_else(|| Failure::stale(RESOLVE))?;
    if opened.version != data.version {
        return Err(Failure::stale(RESOLVE));
    }
    if data.what == ActionKind::FixAll {
        return Ok(CodeAction { edit: fix_all::edit(request, path, opened)?, ..action.clone() });
    }
    let checked = request.snapshot.checked(path, Fixes::None, request.is_cancelled)?;
    let document = CheckedDocument::new(request, path, opened, &checked)?.ok_or_else(|| Failure::stale(RESOLVE))?;
    let site = document.site();
    let findings =
        site.findings().filter(|finding| data.fingerprints.contains(&finding.fingerprint)).collect::<Vec<_>>();
    Ok(CodeAction { edit: site.ignoring(&findings), ..action.clone() })
}

/// Whether a kind equals the requested one or is a subkind of it.
pub fn is_within(kind: &str, wanted: &str) -> bool {
    wanted.is_empty() || kind == wanted || kind.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether findings of a rule can be fixed at all.
fn has_fixes(rule: RuleId) -> bool {
    rules::get(rule).fix != FixAvailability::None
}

/// A checked document.
struct CheckedDocument<'a> {
    request: &'a RequestContext<'a>,
    folder: &'a Folder,
    opened: &'a Opened,
    checked: &'a Checked,
    file: FileId,
    lines: LineIndex,
}

impl<'a> CheckedDocument<'a> {
    /// `None` if the document has no findings.
    fn new(
        request: &'a RequestContext<'a>,
        path: &Path,
        opened: &'a Opened,
        checked: &'a Checked,
    ) -> Result<Option<Self>, Failure> {
        let folder = request.snapshot.folder_of(path).ok_or_else(Failure::gone)?;
        let Some(file) = file_of(&checked.outcome, &folder.cwd, path) else { return Ok(None) };
        let lines = LineIndex::new(checked.outcome.files.text(file));
        Ok(Some(Self { request, folder, opened, checked, file, lines }))
    }

    fn site(&self) -> Site<'_> {
        let Self { request, folder, opened, checked, file, ref lines } = *self;
        let (text, cells) = (checked.outcome.files.text(file), checked.outcome.files.cells(file));
        let page = Page { text, lines, cells, unit: request.snapshot.client.unit };
        Site { request, folder, opened, checked, file, page }
    }
}

/// The document for which actions are requested.
struct Site<'a> {
    request: &'a RequestContext<'a>,
    folder: &'a Folder,
    opened: &'a Opened,
    checked: &'a Checked,
    file: FileId,
    page: Page<'a>,
}

impl<'a> Site<'a> {
    /// The findings of the document that are shown.
    fn findings(&self) -> impl Iterator<Item = &'a Finding> + use<'a> {
        let file = self.file;
        let shown = self.checked.outcome.findings.iter().filter(|reported| reported.shown);
        shown.map(|reported| &reported.finding).filter(move |finding| finding.primary.file == file)
    }

    /// The findings that touch the requested range, with their places in the client.
    fn findings_at(&self, params: &CodeActionParams) -> Vec<(&'a Finding, Range)> {
        let touches = |Location { uri, range }: &Location| {
            *uri == params.text_document.uri && range.start <= params.range.end && params.range.start <= range.end
        };
        let placed = self.findings().filter_map(|finding| {
            let location = self.page.location(self.opened, finding.primary.span).filter(touches)?;
            Some((finding, location.range))
        });
        placed.collect()
    }

    fn quick_fixes(&self, here: &[(&'a Finding, Range)], known: &[Diagnostic]) -> Vec<CodeAction> {
        let mut done: Vec<&Fix> = Vec::new();
        let mut actions = Vec::new();
        for (finding, _) in here {
            let Some(fix) = finding.fix.as_ref().filter(|fix| !done.iter().any(|other| other.edits == fix.edits))
            else {
                continue;
            };
            done.push(fix);
            let resolved: Vec<&(&Finding, Range)> = here
                .iter()
                .filter(|(other, _)| other.fix.as_ref().is_some_and(|other| other.edits == fix.edits))
                .collect();
            let Some(edit) = workspace_edit(self.request.snapshot, self.opened, self.page, &fix.edits) else {
                continue;
            };
            actions.push(CodeAction {
                title: title(finding.rule, fix),
                kind: Some(CodeActionKind::QuickFix),
                diagnostics: Some(matching(known, &resolved)),
                is_preferred: Some(fix.applicability == Applicability::Safe),
                edit: Some(edit),
                ..CodeAction::default()
            });
        }
        actions
    }

    /// For each finding, the action that suppresses it by a comment.
    fn ignores(&self, here: &[(&'a Finding, Range)], known: &[Diagnostic]) -> Result<Vec<CodeAction>, Failure> {
        let mut actions: Vec<CodeAction> = Vec::new();
        for placed @ (finding, _) in here.iter().filter(|(finding, _)| engine::can_be_ignored(finding.rule)) {
            let data = self.data(ActionKind::Ignore, vec![finding.fingerprint.clone()])?;
            let is_lazy = self.request.snapshot.client.resolves_edits;
            let edit = if is_lazy { None } else { self.ignoring(&[finding]) };
            if edit.is_none() && !is_lazy {
                continue;
            }
            actions.push(CodeAction {
                title: format!("{}: Ignore here with a comment ({})", finding.rule, self.folder.settings.ignore_reason),
                kind: Some(CodeActionKind::QuickFix),
                diagnostics: Some(matching(known, &[placed])),
                is_preferred: Some(false),
                edit,
                data: is_lazy.then_some(data),
                ..CodeAction::default()
            });
        }
        Ok(actions)
    }

    fn ignoring(&self, findings: &[&Finding]) -> Option<gen_lsp_types::WorkspaceEdit> {
        let reason = &self.folder.settings.ignore_reason;
        let edits = engine::ignore_comments(&self.checked.outcome, self.file, findings, reason);
        let edits = Some(edits).filter(|edits| !edits.is_empty())?;
        workspace_edit(self.request.snapshot, self.opened, self.page, &edits)
    }

    /// The action that applies all fixes, if there is one to apply.
    fn fix_all(&self, kind: &'static str) -> Result<Option<CodeAction>, Failure> {
        // If fixes were not searched for the whole file, assume that unsafe ones exist.
        let likely = self.folder.settings.unsafe_fixes && self.checked.fixes != Fixes::All;
        if !self.findings().any(|finding| self.folder.applies(finding) || (likely && has_fixes(finding.rule))) {
            return Ok(None);
        }
        let path = self.request.document(&self.opened.uri).map(|(path, _)| path).ok_or_else(Failure::gone)?;
        let is_lazy = self.request.snapshot.client.resolves_edits;
        let edit = if is_lazy { None } else { fix_all::edit(self.request, path, self.opened)? };
        let data = if is_lazy { Some(self.data(ActionKind::FixAll, Vec::new())?) } else { None };
        let which = if self.folder.settings.unsafe_fixes { "fixable" } else { "safely fixable" };
        Ok(Some(CodeAction {
            title: format!("keylint: Fix all {which} findings"),
            kind: Some(CodeActionKind::Custom(kind.into())),
            edit,
            data,
            ..CodeAction::default()
        }))
    }

    fn data(&self, what: ActionKind, fingerprints: Vec<String>) -> Result<serde_json::Value, Failure> {
        let data = ActionData { what, uri: self.opened.uri.clone(), version: self.opened.version, fingerprints };
        serde_json::to_value(data).map_err(|error| Failure::internal(error.to_string()))
    }
}

/// The title: what a fix does, its applicability, and the result of its replay.
fn title(rule: RuleId, fix: &Fix) -> String {
    let verdict = match fix.verdict {
        Verdict::Verified => "verified",
        Verdict::Inconclusive => "not verified",
        Verdict::NotRun => "not replayed",
    };
    let applicability = match fix.applicability {
        Applicability::Safe => "safe",
        Applicability::Unsafe => "unsafe",
        Applicability::Display => "display only",
    };
    format!("{rule}: {} ({applicability}, {verdict})", fix.message)
}

/// The client's diagnostics for these findings.
fn matching(known: &[Diagnostic], findings: &[&(&Finding, Range)]) -> Vec<Diagnostic> {
    let is_one = |diagnostic: &&Diagnostic| {
        findings.iter().any(|(finding, range)| {
            let code =
                matches!(&diagnostic.code, Some(gen_lsp_types::Code::String(code)) if code == finding.rule.code());
            code && diagnostic.range == *range
        })
    };
    known.iter().filter(is_one).cloned().collect()
}
