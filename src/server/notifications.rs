//! Notifications from the client about documents, settings and files.
//!
//! **Invariant:** after each notification, the session matches the client's state. A malformed notification changes nothing.

use gen_lsp_types::{
    DidChangeNotebookDocumentParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidChangeWorkspaceFoldersParams, DidCloseNotebookDocumentParams, DidCloseTextDocumentParams,
    DidOpenNotebookDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams, FileChangeType,
};
use lsp_server::{Notification, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::documents::Document;
use super::main_loop::{Expected, MainLoop};
use super::notebook::Notebook;
use super::session::{Session, file_path};

/// The files to watch besides Python files: configuration files, and files that pin the version of JAX.
const CONFIGURATION: [&str; 6] = [
    "**/keylint.toml",
    "**/.keylint.toml",
    "**/pyproject.toml",
    "**/*.lock",
    "**/requirements*.txt",
    "**/setup.{py,cfg}",
];

/// Handles a notification.
pub(super) fn react(main: &mut MainLoop<'_>, notification: Notification) -> Result<(), String> {
    let Notification { method, params } = notification;
    if main.session.is_none() {
        // The protocol requires these to be dropped.
        return Ok(());
    }
    match method.as_str() {
        "initialized" => introduced(main),
        "textDocument/didOpen" => {
            let params: DidOpenTextDocumentParams = read(params)?;
            with(main, |session| session.open_text(&params.text_document.uri, Document::opened(&params.text_document)));
            main.changed(false);
        }
        "textDocument/didChange" => {
            let params: DidChangeTextDocumentParams = read(params)?;
            let document = &params.text_document;
            let uri = &document.text_document_identifier.uri;
            let is_in_step = with(main, |session| session.change_text(uri, document.version, &params.content_changes));
            warn_of_loss(main, uri, is_in_step);
            main.changed(true);
        }
        "textDocument/didClose" => {
            let params: DidCloseTextDocumentParams = read(params)?;
            close(main, &params.text_document.uri);
        }
        "notebookDocument/didOpen" => {
            let params: DidOpenNotebookDocumentParams = read(params)?;
            let texts = params.cell_text_documents.iter().map(|item| (item.uri.clone(), Document::opened(item)));
            let document = &params.notebook_document;
            let notebook = Notebook::new(document.version, &document.cells, texts.collect());
            with(main, |session| Some(session.open_notebook(&document.uri, notebook)));
            main.changed(false);
        }
        "notebookDocument/didChange" => {
            let params: DidChangeNotebookDocumentParams = read(params)?;
            let (document, cells) = (&params.notebook_document, params.change.cells.as_ref());
            let is_in_step = with(main, |session| session.change_notebook(&document.uri, document.version, cells));
            warn_of_loss(main, &document.uri, is_in_step);
            main.changed(true);
        }
        "notebookDocument/didClose" => {
            let params: DidCloseNotebookDocumentParams = read(params)?;
            close(main, &params.notebook_document.uri);
        }
        "textDocument/didSave" => {
            let params: DidSaveTextDocumentParams = read(params)?;
            if let Some(text) = &params.text
                && with(main, |session| session.resynchronise(&params.text_document.uri, text)).is_some()
            {
                main.changed(true);
            }
            saved(main);
        }
        "notebookDocument/didSave" => saved(main),
        "workspace/didChangeConfiguration" => settings_changed(main, &params),
        "workspace/didChangeWatchedFiles" => files_changed(main, &read(params)?),
        "workspace/didChangeWorkspaceFolders" => {
            let params: DidChangeWorkspaceFoldersParams = read(params)?;
            let uris =
                |folders: &[gen_lsp_types::WorkspaceFolder]| folders.iter().map(|folder| folder.uri.clone()).collect();
            let (added, removed): (Vec<_>, Vec<_>) = (uris(&params.event.added), uris(&params.event.removed));
            with(main, |session| {
                session.change_roots(&added, &removed);
                None::<()>
            });
            ask_for_settings(main);
            recheck(main);
        }
        "$/cancelRequest" => {
            let id: Option<RequestId> = params.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            main.cancel(&id.ok_or_else(|| "which request?".to_owned())?);
        }
        _ if method.starts_with("$/") => {}
        _ => return Err("unknown notification".to_owned()),
    }
    Ok(())
}

/// Applies the requested settings of the client.
pub(super) fn configured(main: &mut MainLoop<'_>, settings: Vec<(String, Value)>) {
    let Some(session) = &mut main.session else { return };
    // Most responses repeat what `initialize` said, and must not outdate running tasks.
    if session.take_configured(settings) {
        session.reset();
        recheck(main);
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}

fn with<T>(main: &mut MainLoop<'_>, change: impl FnOnce(&mut Session) -> Option<T>) -> Option<T> {
    main.session.as_mut().and_then(change)
}

fn close(main: &mut MainLoop<'_>, uri: &gen_lsp_types::Uri) {
    if let Some((path, _)) = with(main, |session| session.close(uri)) {
        main.forget(&path);
    }
    main.changed(false);
    main.wake();
}

/// Reports that a text is out of sync with the editor from now on and cannot be checked.
fn warn_of_loss(main: &mut MainLoop<'_>, uri: &gen_lsp_types::Uri, is_in_step: Option<bool>) {
    if is_in_step == Some(false) {
        let uri = uri.as_str();
        main.warn(&format!(
            "keylint: an edit of `{uri}` lies outside the text that keylint has; save the file, or close and reopen it"
        ));
    }
}

/// A document was saved. If the client does not watch files, it may be a configuration file.
fn saved(main: &mut MainLoop<'_>) {
    match &mut main.session {
        Some(session) if !session.client().watches_files => {
            session.reset();
            recheck(main);
        }
        _ => main.wake(),
    }
}

/// The client accepts requests from now on.
fn introduced(main: &mut MainLoop<'_>) {
    let Some(session) = &main.session else { return };
    let mut registrations = Vec::new();
    if session.client().watches_files {
        let globs = CONFIGURATION.into_iter().chain(["**/*.{py,pyi,ipynb}"]);
        let watchers: Vec<Value> = globs.map(|glob| json!({"globPattern": glob})).collect();
        registrations.push(json!({
            "id": "keylint-files",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": watchers},
        }));
    }
    if session.client().registers_configuration {
        registrations.push(json!({
            "id": "keylint-settings",
            "method": "workspace/didChangeConfiguration",
            "registerOptions": {"section": "keylint"},
        }));
    }
    if !registrations.is_empty() {
        main.ask("client/registerCapability", &json!({"registrations": registrations}), Expected::Nothing);
    }
    ask_for_settings(main);
}

/// Requests the settings of all folders and of files outside folders, if the client supports it.
fn ask_for_settings(main: &mut MainLoop<'_>) {
    let Some(session) = main.session.as_ref().filter(|session| session.client().configuration) else { return };
    let roots = session.roots().map(|uri| uri.as_str().to_owned());
    let folders: Vec<String> = std::iter::once(String::new()).chain(roots).collect();
    let item = |uri: &String| match uri.as_str() {
        "" => json!({"section": "keylint"}),
        uri => json!({"scopeUri": uri, "section": "keylint"}),
    };
    let items: Vec<Value> = folders.iter().map(item).collect();
    main.ask("workspace/configuration", &json!({"items": items}), Expected::Configuration(folders));
}

fn settings_changed(main: &mut MainLoop<'_>, params: &Value) {
    let Some(session) = &mut main.session else { return };
    if session.written.replace_global(&params["settings"]) {
        session.reset();
        recheck(main);
    }
    ask_for_settings(main);
}

fn files_changed(main: &mut MainLoop<'_>, params: &DidChangeWatchedFilesParams) {
    let Some(session) = &mut main.session else { return };
    let mut is_reset = false;
    for change in &params.changes {
        let Some(path) = file_path(&change.uri) else { continue };
        if !crate::engine::is_source(&path) || change.kind != FileChangeType::Changed {
            is_reset |= session.concerns(&path);
        } else if !session.is_open(&path) {
            session.mark_changed(&path);
        }
    }
    if is_reset {
        session.reset();
    }
    recheck(main);
}

/// Checks everything again that a change of files or settings may affect.
fn recheck(main: &mut MainLoop<'_>) {
    main.changed(false);
    main.wake();
    let Some(session) = &main.session else { return };
    let (pulls, hints) = (session.client().pulls && session.client().refreshes, session.client().refreshes_hints);
    if pulls {
        main.ask("workspace/diagnostic/refresh", &Value::Null, Expected::Nothing);
    }
    if hints {
        main.ask("workspace/inlayHint/refresh", &Value::Null, Expected::Nothing);
    }
}
