//! The `json` and `json-lines` formats.
//!
//! **Invariant:** the fields, their order and their meaning are a contract with scripts; every field is always there.

use std::io::{self, Write};

use serde::Serialize;

use super::Report;
use super::neutral::escape_json;
use crate::finding::{Confidence, Finding, Label, Level};
use crate::text::LineColumn;

/// Where the page of a rule is published.
const PAGES: &str = "https://keylint.dev/rules";

#[derive(Serialize)]
struct Entry<'a> {
    code: &'a str,
    name: &'a str,
    level: Level,
    confidence: Confidence,
    message: &'a str,
    filename: String,
    cell: Option<usize>,
    location: Spot,
    end_location: Spot,
    related: Vec<Related<'a>>,
    flow: Vec<Step<'a>>,
    witness: Option<()>,
    fix: Option<()>,
    url: String,
    fingerprint: &'a str,
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
    location: Spot,
    end_location: Spot,
}

#[derive(Serialize)]
struct Step<'a> {
    message: &'a str,
    filename: String,
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
        location: report.start(label.place).into(),
        end_location: report.end(label.place).into(),
    };
    let step = |label: &'a Label| Step {
        message: &label.message,
        filename: report.filename(label.place.file),
        location: report.start(label.place).into(),
    };
    Entry {
        code: finding.code,
        name: finding.name,
        level: finding.level,
        confidence: finding.confidence,
        message: &finding.message,
        filename: report.filename(finding.primary.file),
        cell: None,
        location: report.start(finding.primary).into(),
        end_location: report.end(finding.primary).into(),
        related: finding.related.iter().map(related).collect(),
        flow: finding.flow.iter().map(step).collect(),
        witness: None,
        fix: None,
        url: format!("{PAGES}/{}", finding.name),
        fingerprint: &finding.fingerprint,
    }
}

impl From<LineColumn> for Spot {
    fn from(LineColumn { row, column }: LineColumn) -> Self {
        Self { row, column }
    }
}
