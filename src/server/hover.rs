//! `textDocument/hover`: what is known about the key under the pointer, and about the codes in comments.
//!
//! **Invariant:** hovers show the results of the same analysis that gives the findings; nothing is guessed from names.

use std::fmt::Write;
use std::path::Path;

use gen_lsp_types::{Contents, Hover, HoverParams, MarkupContent, MarkupKind};

use super::places::Page;
use super::workers::{Failure, RequestContext};
use crate::engine::{self, Fixes, KeyNote, Keys};
use crate::finding::{Finding, Place};
use crate::rules::{self, Rule};
use crate::text::{LineIndex, Span};

/// The maximum number of uses listed for a key.
const USES: usize = 8;

// Writing to a string cannot fail, so the results of `write!` below are ignored.

pub(super) fn hover(request: &RequestContext<'_>, params: &HoverParams) -> Result<Option<Hover>, Failure> {
    let place = &params.text_document_position_params;
    let uri = &place.text_document.uri;
    let Some((path, opened)) = request.document(uri) else { return Ok(None) };
    let Ok(source) = engine::decode(&path.display().to_string(), opened.bytes.to_vec()) else { return Ok(None) };
    let lines = LineIndex::new(&source.text);
    let page = Page { text: &source.text, lines: &lines, cells: &source.cells, unit: request.snapshot.client.unit };
    let Some(offset) = page.offset(opened, uri, place.position) else { return Ok(None) };
    let answer = |text: String, span: Span| {
        let (kind, value) = if request.snapshot.client.markdown_hover {
            (MarkupKind::Markdown, text)
        } else {
            (MarkupKind::PlainText, text.replace(['*', '`'], ""))
        };
        let contents = Contents::MarkupContent(MarkupContent { kind, value });
        Hover { contents, range: page.location(opened, span).map(|location| location.range) }
    };
    if let Some((rule, span)) = rule_at(page.text, page.lines, offset) {
        return Ok(Some(answer(about_rule(rule), span)));
    }
    let keys = request.snapshot.keys(path, request.is_cancelled)?;
    let mut found = None;
    if let Some(keys) = &keys {
        found = notes_at(keys, offset).map(|(span, notes)| (about_keys(keys, page, &notes), span));
    }
    if let Some((text, _)) = found.as_mut() {
        text.push_str(&about_findings(request, path, offset)?);
    }
    Ok(found.map(|(text, span)| answer(text, span)))
}

/// The notes on the smallest expression at an offset.
pub(super) fn notes_at(keys: &Keys, offset: u32) -> Option<(Span, Vec<&KeyNote>)> {
    let around = |note: &&KeyNote| {
        let Place { file, span } = note.place;
        file == keys.file && span.start <= offset && offset <= span.end
    };
    let span = keys.notes.iter().filter(around).map(|note| note.place.span).min_by_key(|span| span.len())?;
    let mut notes: Vec<&KeyNote> =
        keys.notes.iter().filter(|note| note.place.file == keys.file && note.place.span == span).collect();
    // Keys that particular callers pass are listed only if nothing is known for all callers.
    if notes.iter().any(|note| !note.is_called) {
        notes.retain(|note| !note.is_called);
    }
    Some((span, notes))
}

fn about_keys(keys: &Keys, page: Page<'_>, notes: &[&KeyNote]) -> String {
    let mut text = String::new();
    for (index, note) in notes.iter().enumerate() {
        if index > 0 {
            text.push_str("\n\nor ");
        }
        let _ = writeln!(text, "**{}** `{}`", note.kind, note.derivation);
        if let Some(implementation) = &note.implementation {
            let _ = write!(text, "\n- implementation: `{implementation}`");
        }
        if let Some(data) = &note.key_data {
            let _ = write!(text, "\n- key data: `{data}`");
        }
        if let Some(origin) = &note.origin {
            let _ = write!(text, "\n- {} ({})", origin.message, row(keys, page, origin.place));
        }
        for used in note.uses.iter().take(USES) {
            let again = keys.again.iter().find(|(second, _)| *second == used.place);
            let again = again.map(|(_, first)| format!(", **again** after {}", row(keys, page, *first)));
            let again = again.unwrap_or_default();
            let _ = write!(text, "\n- `{}` {} ({}{again})", used.callee, used.verb, row(keys, page, used.place));
        }
        if note.uses.len() > USES {
            let _ = write!(text, "\n- and {} more uses", note.uses.len() - USES);
        }
        if note.uses.is_empty() {
            text.push_str("\n- no known uses");
        }
    }
    text
}

/// A location in words, relative to the open document.
pub(super) fn row(keys: &Keys, page: Page<'_>, place: Place) -> String {
    if place.file == keys.file { page.row(place.span.start) } else { format!("`{}`", keys.files.locus(place)) }
}

/// The details of the findings at an offset.
fn about_findings(request: &RequestContext<'_>, path: &Path, offset: u32) -> Result<String, Failure> {
    let checked = request.snapshot.checked(path, Fixes::None, request.is_cancelled)?;
    let folder = request.snapshot.folder_of(path).ok_or_else(Failure::gone)?;
    let file = super::diagnostics::file_of(&checked.outcome, &folder.cwd, path);
    let here = |finding: &&Finding| {
        let Span { start, end } = finding.primary.span;
        Some(finding.primary.file) == file && start <= offset && offset <= end
    };
    let mut text = String::new();
    for finding in
        checked.outcome.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding).filter(here)
    {
        let witness =
            finding.witness.as_ref().map(|witness| witness.sentence.as_str()).filter(|sentence| !sentence.is_empty());
        let fate = finding.consequence.as_ref().map(|fate| fate.message.clone());
        let intent = finding.intent.as_ref().map(|intent| format!("probably intended: {}", intent.reason));
        let sentences = witness.map(str::to_owned).into_iter().chain(fate).chain(intent);
        for sentence in sentences.chain(finding.help.clone()) {
            let _ = write!(text, "\n\n{}: {sentence}", finding.rule);
        }
    }
    Ok(text)
}

fn about_rule(rule: &Rule) -> String {
    let Rule { id, summary, level, .. } = rule;
    let name = id.name();
    format!("**{id} {name}** ({level})\n\n{summary}\n\n[{name}]({})", rule.url())
}

/// The rule whose code or name is at an offset in a suppression comment.
pub fn rule_at(text: &str, lines: &LineIndex, offset: u32) -> Option<(&'static Rule, Span)> {
    let line = lines.line(text, lines.row(offset));
    let text = text.get(line.range())?;
    let at = (offset - line.start) as usize;
    let comment = text.find("# keylint:").or_else(|| text.find("# noqa")).or_else(|| text.find("#keylint:"))?;
    if at < comment {
        return None;
    }
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    let start = text.get(..at)?.rfind(|c| !is_part(c)).map_or(0, |before| before + 1);
    // The character before the word may have several bytes.
    let start = (start..=at).find(|start| text.is_char_boundary(*start))?;
    let end = text.get(at..)?.find(|c| !is_part(c)).map_or(text.len(), |length| at + length);
    let word = text.get(start..end)?;
    let rule = rules::all().iter().find(|rule| !word.is_empty() && rule.is_called(word))?;
    let offset = |at: usize| u32::try_from(at).map(|at| line.start + at).ok();
    Some((rule, Span::new(offset(start)?, offset(end)?)))
}
