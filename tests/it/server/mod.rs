//! The language server as its clients see it.

mod client;

use serde_json::{Value, json};

use client::{Client, Folder, edited};

/// A key that is drawn from twice.
const REUSED: &str = "import jax\n\n\ndef f():\n    key = jax.random.key(0)\n    a = jax.random.normal(key)\n    b = jax.random.normal(key)\n    return a + b\n";

/// A client that is told diagnostics and takes all that there is to tell.
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

#[test]
fn diagnostics_are_pushed_as_the_document_changes() {
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 1, REUSED);
    let found = client.diagnostics(&address, 1);
    assert_eq!(found.len(), 1, "{found:?}");
    let told = &found[0];
    assert_eq!((&told["code"], &told["source"], &told["severity"]), (&json!("KEY101"), &json!("keylint"), &json!(1)));
    assert_eq!(told["range"], range((6, 8), (6, 30)));
    assert_eq!(told["codeDescription"]["href"], "https://github.com/keylint/keylint/blob/main/rules/key-reused.md");
    let related = told["relatedInformation"].as_array().expect("related places");
    assert!(related.iter().any(|place| place["location"]["range"]["start"]["line"] == 5), "{related:?}");
    assert!(told["data"]["fingerprint"].is_string());
    client.change(&address, 2, json!([{"range": range((6, 0), (7, 0)), "text": ""}]));
    assert_eq!(client.diagnostics(&address, 2), [Value::Null; 0]);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": address}}));
    assert_eq!(client.leave().code(), Some(0));
}

#[test]
fn actions_repair_and_silence() {
    let folder = Folder::new(&[("a.py", REUSED)]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), json!({"settings": {"unsafeFixes": true}}));
    let address = folder.uri("a.py");
    client.open(&address, 7, REUSED);
    let found = client.diagnostics(&address, 7);
    let params = json!({
        "textDocument": {"uri": address}, "range": range((6, 10), (6, 10)),
        "context": {"diagnostics": found},
    });
    let actions = client.result("textDocument/codeAction", params);
    let titled = |part: &str| {
        let found =
            actions.as_array().expect("actions").iter().find(|action| action["title"].as_str().unwrap().contains(part));
        found.cloned().unwrap_or_else(|| panic!("no action says {part:?}: {actions}"))
    };
    let fix = titled("(unsafe, verified)");
    assert_eq!(fix["diagnostics"], json!(found));
    let changes = |action: &Value| {
        let change = &action["edit"]["documentChanges"][0];
        assert_eq!(change["textDocument"], json!({"uri": address, "version": 7}));
        edited(REUSED, &change["edits"])
    };
    let ignore = client.result("codeAction/resolve", titled("Ignore"));
    let all = client.result("codeAction/resolve", titled("Fix all"));
    assert!(changes(&fix).contains("split(key"), "{}", changes(&fix));
    folder.keylint(&["check", "--add-ignores", "intended"]);
    assert_eq!(changes(&ignore), folder.read("a.py"));
    folder.write("a.py", REUSED);
    folder.keylint(&["check", "--fix", "--unsafe-fixes"]);
    assert_eq!(changes(&all), folder.read("a.py"));
    assert_eq!(client.leave().code(), Some(0));
}
