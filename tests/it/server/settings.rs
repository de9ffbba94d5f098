//! Settings, configuration files and folders, as they change.

use serde_json::{Value, json};

use super::client::{Client, Folder};
use super::{REUSED, pushed_to, range};

fn until_count(client: &mut Client, address: &str, count: usize) {
    client.wait(|client| {
        client.pushed.get(address).filter(|params| params["diagnostics"].as_array().unwrap().len() == count).map(|_| ())
    });
}

#[test]
fn changed_settings_and_files_are_reloaded() {
    let helper = "import jax\n\ndef draw(key):\n    return jax.random.normal(key)\n";
    let user = "import jax\nfrom helper import draw\nk = jax.random.key(0)\na = draw(k)\nb = jax.random.normal(k)\n";
    let folder =
        Folder::new(&[("pyproject.toml", "[project]\nname = \"p\"\n"), ("helper.py", helper), ("user.py", user)]);
    let mut capabilities = pushed_to();
    capabilities["workspace"]["didChangeWatchedFiles"] = json!({"dynamicRegistration": true});
    capabilities["workspace"]["configuration"] = true.into();
    let mut client = Client::introduced(&folder.path(), capabilities, Value::Null);
    client.wait(|client| (client.asked.len() == 2).then_some(()));
    assert_eq!(client.asked[0]["params"]["registrations"][0]["method"], "workspace/didChangeWatchedFiles");
    let (helping, using) = (folder.uri("helper.py"), folder.uri("user.py"));
    client.open(&using, 1, user);
    client.open(&helping, 1, helper);
    assert_eq!(client.diagnostics(&using, 1).len(), 1);
    // An edit of a module affects the module that imports it.
    client.change(&helping, 2, json!([{"range": range((3, 11), (3, 33)), "text": "1"}]));
    until_count(&mut client, &using, 0);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": helping}}));
    until_count(&mut client, &using, 1);
    let changed = |name: &str| json!({"changes": [{"uri": folder.uri(name), "type": 2}]});
    folder.write("helper.py", "def draw(key):\n    return 1\n");
    client.notify("workspace/didChangeWatchedFiles", changed("helper.py"));
    until_count(&mut client, &using, 0);
    folder.write("helper.py", helper);
    client.notify("workspace/didChangeWatchedFiles", changed("helper.py"));
    until_count(&mut client, &using, 1);
    folder.write("keylint.toml", "ignore = [\"KEY101\"]\n");
    client.notify("workspace/didChangeWatchedFiles", changed("keylint.toml"));
    until_count(&mut client, &using, 0);
    // An error in the configuration is reported to the user, and earlier diagnostics are cleared.
    folder.write("keylint.toml", "ignore = [\"KEY10\"]\nselekt = []\n");
    client.notify("workspace/didChangeWatchedFiles", changed("keylint.toml"));
    client.wait(|client| {
        client
            .heard
            .iter()
            .find(|heard| heard["params"]["message"].as_str().is_some_and(|reported| reported.contains("selekt")))
            .cloned()
    });
    folder.write("keylint.toml", "");
    client.notify("workspace/didChangeWatchedFiles", changed("keylint.toml"));
    until_count(&mut client, &using, 1);
    client.configuration = json!({"ignore": ["KEY1"], "nonsense": 1});
    client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
    until_count(&mut client, &using, 0);
    client.wait(|client| {
        client
            .heard
            .iter()
            .find(|heard| heard["params"]["message"].as_str().is_some_and(|reported| reported.contains("nonsense")))
            .cloned()
    });
    client.leave();
}

#[test]
fn folders_have_settings_of_their_own() {
    let folder = Folder::new(&[
        ("one/sub/a.py", REUSED),
        ("two/a.py", REUSED),
        ("two/keylint.toml", "[levels]\nKEY101 = \"warning\"\n"),
    ]);
    let mut client = Client::start(&folder.path());
    let (one, two) = (folder.uri("one"), folder.uri("two"));
    let params = json!({
        "processId": null, "rootUri": null, "capabilities": pushed_to(),
        "workspaceFolders": [{"uri": one, "name": "one"}, {"uri": two, "name": "two"}],
        "initializationOptions": {
            "globalSettings": {"select": ["KEY"]},
            "settings": [{"workspace": one, "ignore": ["key-reused"]}],
        },
    });
    client.result("initialize", params);
    client.notify("initialized", json!({}));
    let (first, second) = (folder.uri("one/sub/a.py"), folder.uri("two/a.py"));
    client.open(&first, 1, REUSED);
    client.open(&second, 1, REUSED);
    assert_eq!(client.diagnostics(&first, 1), [Value::Null; 0]);
    assert_eq!(client.diagnostics(&second, 1)[0]["severity"], 2);
    let event = json!({"event": {"added": [], "removed": [{"uri": one, "name": "one"}]}});
    client.notify("workspace/didChangeWorkspaceFolders", event);
    until_count(&mut client, &first, 1);
    client.leave();
}

#[test]
fn baselines_apply_in_editors() {
    let folder = Folder::new(&[("a.py", REUSED), ("keylint.toml", "baseline = \"accepted.json\"\n")]);
    folder.keylint(&["baseline", "create"]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 1, REUSED);
    assert_eq!(client.diagnostics(&address, 1), [Value::Null; 0]);
    let more = REUSED.replace("    return", "    c = jax.random.uniform(key)\n    print(c)\n    return");
    client.change(&address, 2, json!([{"text": more}]));
    assert_eq!(client.diagnostics(&address, 2).len(), 1);
    client.leave();
}

#[test]
fn configurations_are_reread_on_save_without_watching() {
    let folder = Folder::new(&[("keylint.toml", "selekt = []\n")]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 1, REUSED);
    assert_eq!(client.diagnostics(&address, 1), [Value::Null; 0]);
    let shown = |client: &Client| client.heard.iter().filter(|heard| heard["method"] == "window/showMessage").count();
    assert_eq!(shown(&client), 1, "{:?}", client.heard);
    let hover = json!({"textDocument": {"uri": address}, "position": {"line": 4, "character": 5}});
    assert_eq!(client.result("textDocument/hover", hover.clone()), Value::Null);
    assert_eq!(client.result("textDocument/diagnostic", json!({"textDocument": {"uri": address}}))["items"], json!([]));
    assert_eq!(shown(&client), 1, "{:?}", client.heard);
    folder.write("keylint.toml", "");
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": address}}));
    until_count(&mut client, &address, 1);
    assert!(client.result("textDocument/hover", hover)["contents"]["value"].is_string());
    client.leave();
}

#[test]
fn retracted_settings_no_longer_apply() {
    let ignoring = json!({"ignore": ["KEY101"]});
    let mut capabilities = pushed_to();
    capabilities["workspace"]["configuration"] = true.into();
    for is_in_a_folder in [true, false] {
        let folder = Folder::new(&[("a.py", REUSED)]);
        let mut client = Client::start(&folder.path());
        client.configuration = ignoring.clone();
        let folders = if is_in_a_folder { json!([{"uri": folder.uri("."), "name": "a"}]) } else { Value::Null };
        let params = json!({
            "processId": null, "rootUri": null, "capabilities": capabilities, "workspaceFolders": folders,
            "initializationOptions": ignoring,
        });
        client.result("initialize", params);
        client.notify("initialized", json!({}));
        let address = folder.uri("a.py");
        client.open(&address, 1, REUSED);
        assert_eq!(client.diagnostics(&address, 1), [Value::Null; 0]);
        client.configuration = json!({"ignore": null});
        client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
        until_count(&mut client, &address, 1);
        client.leave();
    }
}

#[test]
fn simultaneous_requests_are_answered() {
    let folder = Folder::new(&[("a.py", REUSED)]);
    let mut capabilities = pushed_to();
    capabilities["workspace"]["configuration"] = true.into();
    for _ in 0..5 {
        let mut client = Client::introduced(&folder.path(), capabilities.clone(), json!({"minLevel": "note"}));
        let address = folder.uri("a.py");
        client.open(&address, 1, REUSED);
        let hover = json!({"textDocument": {"uri": address}, "position": {"line": 4, "character": 5}});
        let asked = client.ask("textDocument/hover", hover);
        let pulled = client.ask("textDocument/diagnostic", json!({"textDocument": {"uri": address}}));
        // An event about an unrelated file changes nothing.
        let event = json!({"changes": [{"uri": "file:///elsewhere/uv.lock", "type": 2}]});
        client.notify("workspace/didChangeWatchedFiles", event);
        for id in [asked, pulled] {
            let answer = client.answer(id);
            assert!(answer.get("error").is_none(), "{answer}");
        }
        client.leave();
    }
}
