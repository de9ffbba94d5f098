//! The capabilities of the client, and those that the server offers in return.
//!
//! **Invariant:** the server sends only what the client declares to support. If it declares nothing, the server uses the oldest form of the
//! protocol.

use gen_lsp_types::{PositionEncodingKind, ServerCapabilities};
use serde_json::{Value, json};

use crate::text::Unit;

/// The kind of the action that applies all fixes.
pub const FIX_ALL: &str = "source.fixAll.keylint";

/// The same for a whole notebook.
pub(super) const FIX_ALL_OF_NOTEBOOK: &str = "notebook.source.fixAll.keylint";

/// The command that returns the lineage of the keys of a function.
pub(super) const SHOW_LINEAGE: &str = "keylint.showLineage";

/// The capabilities of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub struct Client {
    /// The unit in which it counts within a line.
    pub unit: Unit,
    /// It pulls diagnostics.
    pub pulls: bool,
    /// It supports requests to refresh diagnostics.
    pub(super) refreshes: bool,
    /// It supports requests to refresh inlay hints.
    pub(super) refreshes_hints: bool,
    /// It shows the other places of a finding.
    pub related_information: bool,
    pub(super) code_description: bool,
    /// It keeps the data of diagnostics and returns it.
    pub(super) diagnostic_data: bool,
    /// It supports the tag for unnecessary code.
    pub(super) unnecessary_tag: bool,
    /// It accepts edits with the version of the document.
    pub document_changes: bool,
    /// It can resolve the edit of an action later.
    pub(super) resolves_edits: bool,
    pub(super) markdown_hover: bool,
    /// It supports `workspace/configuration`.
    pub(super) configuration: bool,
    /// It supports registering for changes of its settings.
    pub(super) registers_configuration: bool,
    /// It supports registering for changes of files.
    pub watches_files: bool,
    /// It shows progress that the server initiates.
    pub progress: bool,
}

impl Client {
    /// Reads the capabilities of `initialize`.
    pub fn new(capabilities: &Value) -> Self {
        let has = |path: &str| {
            capabilities.pointer(path).is_some_and(|value| value.as_bool() != Some(false) && !value.is_null())
        };
        let lists = |path: &str, item: &Value| {
            capabilities.pointer(path).and_then(Value::as_array).is_some_and(|items| items.contains(item))
        };
        // Pushed and pulled diagnostics have the same details; a client that pulls may declare them with either.
        let detail = |name: &str| {
            has(&format!("/textDocument/publishDiagnostics/{name}")) || has(&format!("/textDocument/diagnostic/{name}"))
        };
        let unnecessary = |way: &str| lists(&format!("/textDocument/{way}/tagSupport/valueSet"), &json!(1));
        let encoding = |name: &str| lists("/general/positionEncodings", &json!(name));
        let unit = if encoding("utf-8") {
            Unit::Utf8
        } else if encoding("utf-32") {
            Unit::Utf32
        } else {
            Unit::Utf16
        };
        Self {
            unit,
            pulls: has("/textDocument/diagnostic"),
            refreshes: has("/workspace/diagnostics/refreshSupport") || has("/workspace/diagnostic/refreshSupport"),
            refreshes_hints: has("/workspace/inlayHint/refreshSupport"),
            related_information: detail("relatedInformation"),
            code_description: detail("codeDescriptionSupport"),
            diagnostic_data: detail("dataSupport"),
            unnecessary_tag: unnecessary("publishDiagnostics") || unnecessary("diagnostic"),
            document_changes: has("/workspace/workspaceEdit/documentChanges"),
            resolves_edits: lists("/textDocument/codeAction/resolveSupport/properties", &json!("edit"))
                && has("/textDocument/codeAction/dataSupport"),
            markdown_hover: lists("/textDocument/hover/contentFormat", &json!("markdown")),
            configuration: has("/workspace/configuration"),
            registers_configuration: has("/workspace/didChangeConfiguration/dynamicRegistration"),
            watches_files: has("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            progress: has("/window/workDoneProgress"),
        }
    }

    /// The capabilities of the server.
    pub fn offer(&self) -> Value {
        let encoding = match self.unit {
            Unit::Utf8 => PositionEncodingKind::UTF8,
            Unit::Utf16 => PositionEncodingKind::UTF16,
            Unit::Utf32 => PositionEncodingKind::UTF32,
        };
        let offer = ServerCapabilities { position_encoding: Some(encoding), ..ServerCapabilities::default() };
        // Structures without custom data cannot fail to serialise.
        let mut offer = serde_json::to_value(offer).unwrap_or_default();
        let further = json!({
            "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": true}},
            "notebookDocumentSync": {
                "notebookSelector": [{"notebook": "*", "cells": [{"language": "python"}]}],
                "save": true,
            },
            "codeActionProvider": {
                "codeActionKinds": ["quickfix", FIX_ALL, FIX_ALL_OF_NOTEBOOK],
                "resolveProvider": true,
            },
            "diagnosticProvider": {
                "identifier": "keylint",
                "interFileDependencies": true,
                "workspaceDiagnostics": true,
                "workDoneProgress": true,
            },
            "hoverProvider": true,
            "inlayHintProvider": {"resolveProvider": false},
            "executeCommandProvider": {"commands": [SHOW_LINEAGE]},
            "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": true}},
        });
        if let (Value::Object(offer), Value::Object(further)) = (&mut offer, further) {
            offer.extend(further);
        }
        offer
    }
}
