//! The part of SARIF 2.1.0 that is written, as plain data. Names are those of the standard (OASIS, section 3).
//!
//! **Invariant:** empty fields are omitted, except where the standard gives emptiness a meaning.

#![expect(clippy::struct_field_names, reason = "the names are those of the standard")]

use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Log<'a> {
    #[serde(rename = "$schema")]
    pub(super) schema: &'static str,
    pub(super) version: &'static str,
    pub(super) runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run<'a> {
    pub(super) tool: Tool,
    pub(super) automation_details: Automation,
    pub(super) invocations: [Invocation; 1],
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) original_uri_base_ids: Map<String, Value>,
    pub(super) column_kind: &'static str,
    pub(super) results: Vec<Outcome<'a>>,
}

#[derive(Serialize)]
pub(super) struct Tool {
    pub(super) driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    pub(super) name: &'static str,
    pub(super) full_name: String,
    pub(super) version: &'static str,
    pub(super) semantic_version: &'static str,
    pub(super) information_uri: &'static str,
    pub(super) rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) id: &'static str,
    pub(super) name: String,
    pub(super) short_description: Text,
    pub(super) full_description: Text,
    pub(super) help: Help,
    pub(super) help_uri: String,
    pub(super) default_configuration: Configuration,
    pub(super) properties: Properties,
}

#[derive(Serialize)]
pub(super) struct Text {
    pub(super) text: String,
}

#[derive(Serialize)]
pub(super) struct Help {
    pub(super) text: String,
    pub(super) markdown: String,
}

#[derive(Serialize)]
pub(super) struct Configuration {
    pub(super) enabled: bool,
    pub(super) level: &'static str,
}

#[derive(Serialize)]
pub(super) struct Properties {
    pub(super) tags: [&'static str; 3],
    pub(super) precision: &'static str,
    #[serde(rename = "problem.severity")]
    pub(super) severity: &'static str,
}

#[derive(Serialize)]
pub(super) struct Automation {
    pub(super) id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) execution_successful: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) working_directory: Option<Artifact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Notification {
    pub(super) level: &'static str,
    pub(super) message: Text,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact {
    pub(super) uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome<'a> {
    pub(super) rule_id: &'a str,
    pub(super) rule_index: usize,
    pub(super) level: &'static str,
    pub(super) message: Text,
    pub(super) locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) code_flows: Vec<CodeFlow>,
    pub(super) partial_fingerprints: Fingerprints<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) fixes: Vec<SarifFix>,
    /// An empty list means that the result is known not to be suppressed.
    pub(super) suppressions: [Value; 0],
    pub(super) properties: Certainty,
}

#[derive(Serialize)]
pub(super) struct Certainty {
    pub(super) confidence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) witness: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) consequence: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) intent: Option<Reason>,
}

/// A kind of intent or consequence, with a sentence about it.
#[derive(Serialize)]
pub(super) struct Reason {
    pub(super) kind: &'static str,
    pub(super) reason: String,
}

#[derive(Serialize)]
pub(super) struct Fingerprints<'a> {
    #[serde(rename = "primaryLocationLineHash", skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<String>,
    #[serde(rename = "keylint/v1")]
    pub(super) own: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<usize>,
    pub(super) physical_location: Physical,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) logical_locations: Vec<Logical>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) properties: Option<Cell>,
}

/// The cell that contains a region of a notebook.
#[derive(Serialize)]
pub(super) struct Cell {
    pub(super) cell: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Logical {
    pub(super) fully_qualified_name: String,
    pub(super) kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Physical {
    pub(super) artifact_location: Artifact,
    pub(super) region: Region,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: u32,
    pub(super) start_column: u32,
    pub(super) end_line: u32,
    pub(super) end_column: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) snippet: Option<Text>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeFlow {
    pub(super) thread_flows: [ThreadFlow; 1],
}

#[derive(Serialize)]
pub(super) struct ThreadFlow {
    pub(super) locations: Vec<FlowStep>,
}

#[derive(Serialize)]
pub(super) struct FlowStep {
    pub(super) location: Location,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifFix {
    pub(super) description: Text,
    pub(super) artifact_changes: [Change; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Change {
    pub(super) artifact_location: Artifact,
    pub(super) replacements: Vec<Replacement>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Replacement {
    pub(super) deleted_region: Region,
    pub(super) inserted_content: Text,
}
