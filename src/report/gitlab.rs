//! The `gitlab` format: a code quality report.
//!
//! **Invariant:** fingerprints are unique, because GitLab shows only the first finding with a fingerprint.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::Report;
use super::neutral::escape_json;
use crate::finding::Level;
use crate::text::LineColumn;

#[derive(Serialize)]
struct Entry<'a> {
    check_name: &'a str,
    description: String,
    severity: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Content<'a>>,
    fingerprint: String,
    location: Location,
}

/// Additional text.
#[derive(Serialize)]
struct Content<'a> {
    body: &'a str,
}

#[derive(Serialize)]
struct Location {
    path: String,
    positions: Positions,
}

#[derive(Serialize)]
struct Positions {
    begin: Position,
    end: Position,
}

#[derive(Serialize)]
struct Position {
    line: u32,
    column: u32,
}

impl From<LineColumn> for Position {
    fn from(LineColumn { row, column }: LineColumn) -> Self {
        Self { line: row, column }
    }
}

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let entries = report.findings().iter().map(|finding| {
        let times = seen.entry(&finding.fingerprint).or_default();
        *times += 1;
        // Files with the same path in two projects share fingerprints.
        let fingerprint = match *times {
            1 => finding.fingerprint.clone(),
            times => format!("{}-{times}", finding.fingerprint),
        };
        let severity = match finding.level {
            Level::Note => "info",
            Level::Warning => "minor",
            Level::Error => "major",
        };
        Entry {
            check_name: finding.rule.code(),
            description: report.in_cell(finding, &format!("{}: {}", finding.rule, finding.message)),
            severity,
            content: finding.help.as_deref().map(|body| Content { body }),
            fingerprint,
            location: Location {
                path: report.relative(finding.primary.file),
                positions: Positions {
                    begin: report.start(finding.primary).into(),
                    end: report.end(finding.primary).into(),
                },
            },
        }
    });
    let entries: Vec<Entry<'_>> = entries.collect();
    let json = serde_json::to_string_pretty(&entries).map_err(io::Error::other)?;
    writeln!(out, "{}", escape_json(&json))
}
