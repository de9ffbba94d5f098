//! The `json` and `json-lines` formats.
//!
//! **Invariant:** the fields, their order and their meaning are a contract with scripts. Every field is always present, with two exceptions:
//! `help` is absent if there is none, and a secondary location names its cell only in a notebook.

use std::io::{self, Write};

use serde::Serialize;

use super::Report;
use super::neutral::escape_json;
use crate::finding::{
    Applicability, Confidence, Finding, Fix, Inconclusive, Label, Level, Place, Verdict, Witness, WitnessStatus,
};
use crate::text::{FileId, LineColumn};

#[derive(Serialize)]
struct Entry<'a> {
    code: &'a str,
    name: &'a str,
    level: Level,
    confidence: Confidence,
    message: &'a str,
    filename: String,
    cell: Option<u32>,
    location: Spot,
    end_location: Spot,
    related: Vec<Related<'a>>,
    flow: Vec<Step<'a>>,
    witness: Option<Shown<'a>>,
    fix: Option<WrittenFix<'a>>,
    consequence: Option<ConsequenceEntry<'a>>,
    intent: Option<Intended<'a>>,
    /// A sentence that fits the location, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    url: String,
    fingerprint: &'a str,
}

/// Why the finding is probably intended.
#[derive(Serialize)]
struct Intended<'a> {
    kind: &'static str,
    reason: &'a str,
    #[serde(flatten)]
    at: Evidence,
}

/// What happens to the two draws.
#[derive(Serialize)]
struct ConsequenceEntry<'a> {
    kind: &'static str,
    message: &'a str,
    #[serde(flatten)]
    at: Evidence,
}

/// The location of the evidence, if it is a single one.
#[derive(Serialize)]
struct Evidence {
    filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<u32>,
    location: Option<Spot>,
}

/// A witness.
#[derive(Serialize)]
struct Shown<'a> {
    status: WitnessStatus,
    draws: Vec<Drawn<'a>>,
    /// Why it is inconclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Inconclusive>,
}

#[derive(Serialize)]
struct Drawn<'a> {
    filename: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<u32>,
    row: u32,
    column: u32,
    key_data: &'a [u32],
}

/// A fix.
#[derive(Serialize)]
struct WrittenFix<'a> {
    message: &'a str,
    applicability: Applicability,
    verdict: Verdict,
    /// Why it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    edits: Vec<Change<'a>>,
}

#[derive(Serialize)]
struct Change<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<u32>,
    location: Spot,
    end_location: Spot,
    content: &'a str,
}

#[derive(Serialize)]
struct Spot {
    row: u32,
    column: u32,
}

#[derive(Serialize)]
struct Related<'a> {
    message: &'a str,
    filename: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<u32>,
    location: Spot,
    end_location: Spot,
}

#[derive(Serialize)]
struct Step<'a> {
    message: &'a str,
    filename: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<u32>,
    location: Spot,
}

pub(super) fn write_array(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let entries: Vec<Entry<'_>> = report.findings().iter().map(|finding| entry(report, finding)).collect();
    let json = serde_json::to_string_pretty(&entries).map_err(io::Error::other)?;
    writeln!(out, "{}", escape_json(&json))
}

pub(super) fn write_lines(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for finding in report.findings() {
        let json = serde_json::to_string(&entry(report, finding)).map_err(io::Error::other)?;
        writeln!(out, "{}", escape_json(&json))?;
    }
    Ok(())
}

fn entry<'a>(report: &Report<'_>, finding: &'a Finding) -> Entry<'a> {
    let related = |label: &'a Label| Related {
        message: &label.message,
        filename: report.filename(label.place.file),
        cell: report.cell_number(label.place),
        location: report.start(label.place).into(),
        end_location: report.end(label.place).into(),
    };
    let step = |label: &'a Label| Step {
        message: &label.message,
        filename: report.filename(label.place.file),
        cell: report.cell_number(label.place),
        location: report.start(label.place).into(),
    };
    Entry {
        code: finding.rule.code(),
        name: finding.rule.name(),
        level: finding.level,
        confidence: finding.confidence,
        message: &finding.message,
        filename: report.filename(finding.primary.file),
        cell: report.cell_number(finding.primary),
        location: report.start(finding.primary).into(),
        end_location: report.end(finding.primary).into(),
        related: finding.related.iter().map(related).collect(),
        flow: finding.flow.iter().map(step).collect(),
        witness: finding.witness.as_ref().map(|witness| shown(report, witness)),
        fix: finding.fix.as_ref().map(|fix| written_fix(report, finding.primary.file, fix)),
        consequence: finding.consequence.as_ref().map(|fate| ConsequenceEntry {
            kind: fate.kind.name(),
            message: &fate.message,
            at: evidence(report, fate.place),
        }),
        intent: finding.intent.as_ref().map(|intent| Intended {
            kind: intent.kind.name(),
            reason: &intent.reason,
            at: evidence(report, intent.place),
        }),
        help: finding.help.as_deref(),
        url: super::page_url(finding),
        fingerprint: &finding.fingerprint,
    }
}

fn evidence(report: &Report<'_>, place: Option<Place>) -> Evidence {
    Evidence {
        filename: place.map(|place| report.filename(place.file)),
        cell: place.and_then(|place| report.cell_number(place)),
        location: place.map(|place| report.start(place).into()),
    }
}

fn shown<'a>(report: &Report<'_>, witness: &'a Witness) -> Shown<'a> {
    let draws = witness.draws.iter().map(|draw| {
        let LineColumn { row, column } = report.start(draw.place);
        let (filename, cell) = (report.filename(draw.place.file), report.cell_number(draw.place));
        Drawn { filename, cell, row, column, key_data: &draw.key_data }
    });
    Shown { status: witness.status, draws: draws.collect(), reason: witness.gap }
}

fn written_fix<'a>(report: &Report<'_>, file: FileId, fix: &'a Fix) -> WrittenFix<'a> {
    let edits = fix.edits.iter().map(|edit| {
        let place = Place { file, span: edit.span };
        let (location, end_location) = (report.start(place).into(), report.end(place).into());
        Change { cell: report.cell_number(place), location, end_location, content: &edit.content }
    });
    WrittenFix {
        message: &fix.message,
        applicability: fix.applicability,
        verdict: fix.verdict,
        reason: fix.reason.as_deref(),
        edits: edits.collect(),
    }
}

impl From<LineColumn> for Spot {
    fn from(LineColumn { row, column }: LineColumn) -> Self {
        Self { row, column }
    }
}
