//! The language server from the client's side.

mod actions;
mod client;
mod diagnostics;
mod edits;
mod keys;
mod session;
mod settings;

use serde_json::{Value, json};

/// A key that is consumed twice, so the draws are not independent.
const REUSED: &str = "import jax\n\n\ndef f():\n    key = jax.random.key(0)\n    a = jax.random.normal(key)\n    b = jax.random.normal(key)\n    return a + b\n";

/// A client that receives pushed diagnostics.
fn pushed_to() -> Value {
    json!({
        "textDocument": {
            "publishDiagnostics": {
                "relatedInformation": true, "codeDescriptionSupport": true, "dataSupport": true,
                "tagSupport": {"valueSet": [1, 2]},
            },
            "codeAction": {"dataSupport": true, "resolveSupport": {"properties": ["edit"]}},
            "hover": {"contentFormat": ["markdown"]},
        },
        "workspace": {"workspaceEdit": {"documentChanges": true}},
    })
}

fn range(start: (u64, u64), end: (u64, u64)) -> Value {
    json!({"start": {"line": start.0, "character": start.1}, "end": {"line": end.0, "character": end.1}})
}

/// A client that pulls diagnostics.
fn pulling() -> Value {
    let mut capabilities = pushed_to();
    capabilities["textDocument"]["diagnostic"] = json!({"relatedDocumentSupport": false});
    capabilities["workspace"]["diagnostics"] = json!({"refreshSupport": true});
    capabilities
}
