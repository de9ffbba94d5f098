//! Code actions.

use serde_json::{Value, json};

use super::client::{Client, Folder, edited};
use super::{REUSED, pushed_to, range};

#[test]
fn code_actions_fix_and_suppress() {
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

#[test]
fn actions_of_another_version_are_refused() {
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), json!({"unsafeFixes": true}));
    let address = folder.uri("a.py");
    client.open(&address, 1, REUSED);
    let asked = |only: &str| {
        let context = json!({"diagnostics": [], "only": [only]});
        json!({"textDocument": {"uri": address}, "range": range((6, 10), (6, 10)), "context": context})
    };
    let kinds = |actions: &Value| -> Vec<String> {
        let actions = actions.as_array().into_iter().flatten();
        actions.map(|action| action["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&client.result("textDocument/codeAction", asked("refactor"))), [""; 0]);
    assert_eq!(kinds(&client.result("textDocument/codeAction", asked("quickfix"))), ["quickfix", "quickfix"]);
    let whole = client.result("textDocument/codeAction", asked("notebook.source.fixAll"));
    assert_eq!(kinds(&whole), ["notebook.source.fixAll.keylint"]);
    let all = client.result("textDocument/codeAction", asked("source"));
    assert_eq!(kinds(&all), ["source.fixAll.keylint"]);
    client.change(&address, 2, json!([{"range": range((0, 0), (0, 0)), "text": "# new\n"}]));
    assert_eq!(client.request("codeAction/resolve", all[0].clone())["error"]["code"], -32801);
    // Actions of others are returned unchanged.
    let other = json!({"title": "another's"});
    assert_eq!(client.result("codeAction/resolve", other.clone()), other);
    client.leave();
}

#[test]
fn clients_with_few_capabilities_get_whole_edits_and_plain_text() {
    let folder = Folder::new(&[("a.py", REUSED)]);
    let mut client = Client::introduced(&folder.path(), json!({}), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 1, REUSED);
    let found = client.diagnostics(&address, 1);
    for detail in ["codeDescription", "relatedInformation", "tags", "data"] {
        assert!(found[0].get(detail).is_none(), "{detail}: {found:?}");
    }
    let context = json!({"diagnostics": found});
    let asked = json!({"textDocument": {"uri": address}, "range": range((6, 10), (6, 10)), "context": context});
    let actions = client.result("textDocument/codeAction", asked);
    for action in actions.as_array().unwrap() {
        let text = edited(REUSED, &action["edit"]["changes"][&address]);
        assert!(text.contains("split(key") || text.contains("ignore[KEY101] intended"), "{action}");
    }
    let hover = json!({"textDocument": {"uri": address}, "position": {"line": 4, "character": 5}});
    let hover = client.result("textDocument/hover", hover);
    assert_eq!(hover["contents"]["kind"], "plaintext");
    assert!(hover["contents"]["value"].as_str().unwrap().starts_with("typed key key(0)\n"), "{hover}");
    client.leave();
}
