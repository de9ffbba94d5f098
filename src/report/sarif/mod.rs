//! The `sarif` format: SARIF 2.1.0, made for GitHub code scanning and valid for any reader.
//!
//! **Invariant:** the output never exceeds GitHub's limits, and a notification reports what was omitted: 25,000 results, per result 1,000
//! related locations and 10,000 steps of a flow, and texts of 1,024 characters.

pub mod line_hash;
mod model;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Map, json};

use self::line_hash::line_hashes;
use self::model::{
    Artifact, Automation, Cell, Certainty, Change, CodeFlow, Configuration, Descriptor, Driver, Fingerprints, FlowStep,
    Help, Invocation, Location, Log, Logical, Notification, Outcome, Physical, Properties, Reason, Region, Replacement,
    Run, SarifFix, Text, ThreadFlow, Tool,
};
use super::Report;
use super::neutral::{escape_json, neutral};
use crate::finding::{Confidence, Finding, Fix, Label, Level, Place, RuleId, Verdict, WitnessStatus};
use crate::rules::{self, Rule};
use crate::text::{FileId, LineColumn};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The folder to which relative URIs are relative.
const BASE: &str = "%SRCROOT%";
const MOST_RESULTS: usize = 25_000;
const MOST_RELATED: usize = 1_000;
const MOST_STEPS: usize = 10_000;
/// Most characters of a text that GitHub accepts.
pub const LONGEST_TEXT: usize = 1_024;

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let rules: Vec<&Rule> = rules::in_force().collect();
    let indices: BTreeMap<RuleId, usize> = rules.iter().enumerate().map(|(index, rule)| (rule.id, index)).collect();
    let (kept, left_out) = within_limit(report);
    let mut hashes: BTreeMap<FileId, Vec<String>> = BTreeMap::new();
    let results = kept.into_iter().map(|finding| {
        let file = finding.primary.file;
        let lines = hashes.entry(file).or_insert_with(|| line_hashes(report.text(file)));
        let row = report.row_of_text(finding.primary) as usize;
        let line = lines.get(row.saturating_sub(1)).cloned();
        result(report, finding, indices.get(&finding.rule).copied().unwrap_or_default(), line)
    });
    let results: Vec<Outcome<'_>> = results.collect();
    let mut base_ids = Map::new();
    if let Some(uri) = report.root().folder_uri() {
        base_ids.insert(BASE.to_owned(), json!({ "uri": uri }));
    }
    let run = Run {
        tool: Tool { driver: driver(&rules) },
        automation_details: Automation { id: "keylint/" },
        invocations: [Invocation {
            execution_successful: !report.failed(),
            working_directory: report.root().folder_uri().map(|uri| Artifact { uri, uri_base_id: None }),
            tool_execution_notifications: left_out.into_iter().collect(),
        }],
        original_uri_base_ids: base_ids,
        column_kind: "unicodeCodePoints",
        results,
    };
    let log = Log { schema: SCHEMA, version: "2.1.0", runs: [run] };
    let json = serde_json::to_string_pretty(&log).map_err(io::Error::other)?;
    writeln!(out, "{}", escape_json(&json))
}

/// The most severe findings that fit, in the order of the report, and a notification of what is omitted.
fn within_limit<'a>(report: &Report<'a>) -> (Vec<&'a Finding>, Option<Notification>) {
    let all = report.findings();
    if all.len() <= MOST_RESULTS {
        return (all.to_vec(), None);
    }
    let mut worst: Vec<(usize, &Finding)> = all.iter().copied().enumerate().collect();
    worst.sort_by_key(|(_, finding)| std::cmp::Reverse((finding.level, finding.confidence)));
    worst.truncate(MOST_RESULTS);
    worst.sort_by_key(|(position, _)| *position);
    let text = format!(
        "{} of {} findings are omitted: GitHub accepts at most {MOST_RESULTS} per upload",
        all.len() - MOST_RESULTS,
        all.len()
    );
    (
        worst.into_iter().map(|(_, finding)| finding).collect(),
        Some(Notification { level: "warning", message: Text { text } }),
    )
}

fn driver(rules: &[&Rule]) -> Driver {
    Driver {
        name: "keylint",
        full_name: format!("keylint {}", env!("CARGO_PKG_VERSION")),
        version: env!("CARGO_PKG_VERSION"),
        semantic_version: env!("CARGO_PKG_VERSION"),
        information_uri: env!("CARGO_PKG_REPOSITORY"),
        rules: rules.iter().map(|rule| descriptor(rule)).collect(),
    }
}

fn descriptor(rule: &Rule) -> Descriptor {
    let level = level(rule.level);
    Descriptor {
        id: rule.code(),
        name: pascal_case(rule.name()),
        short_description: Text { text: cut(&sentence(&rule.summary)) },
        full_description: Text { text: cut(&first_paragraph(rule.page)) },
        help: Help { text: plain(rule.page), markdown: rule.linked_page() },
        help_uri: rule.url(),
        default_configuration: Configuration { enabled: !rule.opt_in, level },
        properties: Properties {
            tags: ["correctness", "jax", "prng"],
            precision: match rule.confidence {
                Confidence::High => "high",
                Confidence::Medium => "medium",
                Confidence::Low => "low",
            },
            severity: match rule.level {
                Level::Error => "error",
                Level::Warning => "warning",
                Level::Note => "recommendation",
            },
        },
    }
}

fn result<'a>(report: &Report<'_>, finding: &'a Finding, rule_index: usize, line: Option<String>) -> Outcome<'a> {
    let related: Vec<&Label> = finding.related.iter().take(MOST_RELATED).collect();
    let mut text = sentence(&escape_links(&neutral(&finding.message)));
    for (id, label) in related.iter().enumerate() {
        // GitHub shows a related location only if the message links to it. Writing to a string cannot fail.
        let lead = if id == 0 { " See: " } else { "; " };
        let _ = write!(text, "{lead}[{}]({id})", escape_links(&neutral(&label.message)));
    }
    if !related.is_empty() {
        text.push('.');
    }
    if let Some(help) = &finding.help {
        let _ = write!(text, " To fix it: {}.", escape_links(&neutral(help)).trim_end_matches('.'));
    }
    let mut primary = location(report, finding.primary);
    let source = finding.primary.span;
    let source = report.text(finding.primary.file).get(source.start as usize..source.end as usize);
    primary.physical_location.region.snippet = source.map(|source| Text { text: cut(source) });
    primary.logical_locations.push(Logical { fully_qualified_name: finding.function.clone(), kind: "function" });
    let steps = |label: &Label| FlowStep { location: labelled(report, label, None) };
    // In a notebook, edits of the code are not edits of the JSON document.
    let is_applied = |fix: &&Fix| fix.verdict == Verdict::Verified && report.cell(finding.primary).is_none();
    let fixes = finding.fix.iter().filter(is_applied);
    let flow: Vec<FlowStep> = finding.flow.iter().take(MOST_STEPS).map(steps).collect();
    Outcome {
        rule_id: finding.rule.code(),
        rule_index,
        level: level(finding.level),
        message: Text { text },
        locations: [primary],
        related_locations: related
            .into_iter()
            .enumerate()
            .map(|(id, label)| labelled(report, label, Some(id)))
            .collect(),
        code_flows: if flow.len() < 2 {
            Vec::new()
        } else {
            vec![CodeFlow { thread_flows: [ThreadFlow { locations: flow }] }]
        },
        partial_fingerprints: Fingerprints { line, own: &finding.fingerprint },
        fixes: fixes.map(|fix| fix_of(report, finding.primary.file, fix)).collect(),
        suppressions: [],
        properties: Certainty {
            confidence: finding.confidence.to_string(),
            witness: finding
                .witness
                .as_ref()
                .filter(|witness| witness.status == WitnessStatus::Confirmed)
                .map(|witness| witness.sentence.clone()),
            consequence: finding
                .consequence
                .as_ref()
                .map(|fate| Reason { kind: fate.kind.name(), reason: fate.message.clone() }),
            intent: finding
                .intent
                .as_ref()
                .map(|intent| Reason { kind: intent.kind.name(), reason: intent.reason.clone() }),
        },
    }
}

fn fix_of(report: &Report<'_>, file: FileId, fix: &Fix) -> SarifFix {
    let replacement = |edit: &crate::text::Edit| Replacement {
        deleted_region: region(report, Place { file, span: edit.span }),
        inserted_content: Text { text: edit.content.clone() },
    };
    let replacements = fix.edits.iter().map(replacement).collect();
    let change = Change { artifact_location: artifact(report, file), replacements };
    SarifFix { description: Text { text: sentence(&fix.message) }, artifact_changes: [change] }
}

fn labelled(report: &Report<'_>, label: &Label, id: Option<usize>) -> Location {
    Location { id, message: Some(Text { text: neutral(&label.message) }), ..location(report, label.place) }
}

fn location(report: &Report<'_>, place: Place) -> Location {
    Location {
        id: None,
        physical_location: Physical { artifact_location: artifact(report, place.file), region: region(report, place) },
        logical_locations: Vec::new(),
        message: None,
        properties: report.cell_number(place).map(|cell| Cell { cell }),
    }
}

fn artifact(report: &Report<'_>, file: FileId) -> Artifact {
    let (uri, is_relative) = report.uri(file);
    // The URI of standard input is not in any folder.
    let has_base = is_relative && report.root().folder_uri().is_some();
    Artifact { uri, uri_base_id: has_base.then_some(BASE) }
}

fn region(report: &Report<'_>, place: Place) -> Region {
    let LineColumn { row: start_line, column: start_column } = report.start(place);
    let LineColumn { row: end_line, column: end_column } = report.end(place);
    Region { start_line, start_column, end_line, end_column, snippet: None }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

/// `key-reused` as `KeyReused`.
pub fn pascal_case(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    name.split('-').map(word).collect()
}

/// Makes a text a sentence, with a capital and a full stop.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let mut out: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    if !out.ends_with(['.', '!', '?']) {
        out.push('.');
    }
    out
}

/// The first paragraph of a page after its headings, on one line.
pub fn first_paragraph(page: &str) -> String {
    let lines = page.lines().skip_while(|line| line.is_empty() || line.starts_with('#'));
    let lines: Vec<&str> = lines.take_while(|line| !line.trim().is_empty()).collect();
    plain(&lines.join(" "))
}

/// Markdown as plain text: without markup, and with indented code instead of fences.
pub fn plain(markdown: &str) -> String {
    let mut plain = String::with_capacity(markdown.len());
    let mut in_code = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            if !line.is_empty() {
                plain.push_str("    ");
            }
            plain.push_str(line);
        } else {
            plain.push_str(&line.trim_start_matches('#').trim_start_matches(' ').replace('`', ""));
        }
        plain.push('\n');
    }
    plain.trim_end().to_owned()
}

/// Cuts a text to the length that GitHub accepts.
pub fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST_TEXT {
        return text.to_owned();
    }
    text.chars().take(LONGEST_TEXT - 1).chain(['…']).collect()
}

/// Escapes square brackets, which would be links (SARIF 2.1.0, section 3.11.6).
pub fn escape_links(text: &str) -> String {
    text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}
