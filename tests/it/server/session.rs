//! Sessions from `initialize` to `exit`, with everything that can go wrong in between.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Folder};
use super::{REUSED, pulling, pushed_to};

#[test]
fn malformed_messages_are_answered() {
    let folder = Folder::new(&[]);
    let mut client = Client::start(&folder.path());
    let early = client.request("textDocument/hover", json!({}));
    assert_eq!(early["error"]["code"], -32002);
    client.notify("textDocument/didOpen", json!({}));
    let answer = client.request("initialize", json!({"capabilities": {}, "processId": null, "rootUri": null}));
    assert_eq!(answer["result"]["serverInfo"]["name"], "keylint");
    assert_eq!(client.request("initialize", json!({"capabilities": {}}))["error"]["code"], -32600);
    client.raw(b"Content-Length: 4\r\n\r\n{oh}");
    client.raw(b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n[]");
    for (method, params, code) in [
        ("textDocument/completion", json!({}), -32601),
        ("textDocument/hover", json!({"textDocument": 3}), -32602),
        ("textDocument/codeAction", Value::Null, -32602),
        ("workspace/executeCommand", json!({"command": "rm"}), -32602),
        ("workspace/executeCommand", json!({"command": "keylint.showLineage"}), -32602),
    ] {
        assert_eq!(client.request(method, params)["error"]["code"], code, "{method}");
    }
    for (method, params) in [
        (
            "textDocument/didChange",
            json!({"textDocument": {"uri": "file:///nowhere.py", "version": 1}, "contentChanges": [{"text": ""}]}),
        ),
        ("textDocument/didChange", json!({"textDocument": 1})),
        ("textDocument/didClose", json!({"textDocument": {"uri": "file:///nowhere.py"}})),
        ("notebookDocument/didChange", json!([])),
        ("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": "untitled:x", "type": 9}]})),
        ("$/cancelRequest", json!({"id": 99})),
        ("$/cancelRequest", json!({})),
        ("$/unheard", Value::Null),
        ("unheard", Value::Null),
    ] {
        client.notify(method, params);
    }
    // A client without capabilities and folders is served too.
    client.open("untitled:Untitled-1", 1, REUSED);
    assert_eq!(client.diagnostics("untitled:Untitled-1", 1).len(), 1);
    assert_eq!(client.request("shutdown", Value::Null)["result"], Value::Null);
    assert_eq!(client.request("textDocument/hover", json!({}))["error"]["code"], -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.status().code(), Some(0));
}

#[test]
fn clients_that_disconnect_without_shutdown_are_an_error() {
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), json!({}), Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.status().code(), Some(1));
    let mut client = Client::introduced(&folder.path(), json!({}), Value::Null);
    client.hang_up();
    assert_eq!(client.status().code(), Some(1));
}

#[test]
fn requests_can_be_cancelled() {
    let folder = Folder::new(&[]);
    for number in 0..40 {
        folder.write(&format!("m{number}.py"), &REUSED.repeat(20));
    }
    let mut client = Client::introduced(&folder.path(), pulling(), Value::Null);
    let scan = client.ask("workspace/diagnostic", json!({"previousResultIds": []}));
    client.notify("$/cancelRequest", json!({"id": scan}));
    assert_eq!(client.answer(scan)["error"]["code"], -32800);
    // A request that waits for a change can be cancelled too.
    let scanned = client.result("workspace/diagnostic", json!({"previousResultIds": []}));
    let known = json!([{"uri": scanned["items"][0]["uri"], "value": scanned["items"][0]["resultId"]}]);
    let waiting = client.ask("workspace/diagnostic", json!({"previousResultIds": known}));
    client.notify("$/cancelRequest", json!({"id": waiting}));
    assert_eq!(client.answer(waiting)["error"]["code"], -32800);
    let parked = client.ask("workspace/diagnostic", json!({"previousResultIds": known}));
    let done = client.ask("shutdown", Value::Null);
    assert_eq!(client.answer(parked)["error"]["code"], -32800);
    assert_eq!(client.answer(done)["result"], Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.status().code(), Some(0));
}

#[test]
fn directories_are_not_configuration_files() {
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let saved = folder.uri("new.py");
    let path = saved.trim_start_matches("file://");
    let others = [format!("untitled:{path}"), "untitled:new.py".to_owned(), format!("git:{path}?HEAD")];
    for other in &others {
        client.open(other, 1, REUSED);
        assert_eq!(client.diagnostics(other, 1).len(), 1, "{other}");
    }
    client.open(&saved, 1, REUSED);
    assert_eq!(client.diagnostics(&saved, 1).len(), 1);
    for other in &others {
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": other}}));
    }
    client.change(&saved, 2, json!([{"text": format!("{REUSED}\n")}]));
    assert_eq!(client.diagnostics(&saved, 2).len(), 1);
    client.leave();
}

#[test]
fn clean_workspaces_are_checked_again_only_after_a_change() {
    let folder = Folder::new(&[("a.py", "import jax\n")]);
    let mut client = Client::introduced(&folder.path(), pulling(), Value::Null);
    assert_eq!(client.result("workspace/diagnostic", json!({"previousResultIds": []}))["items"], json!([]));
    // A client that received nothing has no result identifiers.
    let waiting = client.ask("workspace/diagnostic", json!({"previousResultIds": []}));
    client.listen(Duration::from_millis(300));
    folder.write("b.py", REUSED);
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": folder.uri("b.py"), "type": 1}]}));
    assert_eq!(client.answer(waiting)["result"]["items"][0]["uri"], folder.uri("b.py"));
    client.leave();
}

#[test]
fn cancelled_scans_are_completed_by_the_next_one() {
    let folder = Folder::new(&[]);
    for number in 0..40 {
        folder.write(&format!("m{number}.py"), &REUSED.repeat(20));
    }
    let mut client = Client::introduced(&folder.path(), pulling(), Value::Null);
    let scanned = client.result("workspace/diagnostic", json!({"previousResultIds": []}));
    let known: Vec<Value> = scanned["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| json!({"uri": item["uri"], "value": item["resultId"]}))
        .collect();
    assert_eq!(known.len(), 40);
    // A client that lost the reports receives them again.
    let anew = client.result("workspace/diagnostic", json!({"previousResultIds": []}));
    assert_eq!(anew["items"].as_array().map(Vec::len), Some(40));
    folder.write("m0.py", "");
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": folder.uri("m0.py"), "type": 2}]}));
    let scan = client.ask("workspace/diagnostic", json!({"previousResultIds": known}));
    client.notify("$/cancelRequest", json!({"id": scan}));
    assert_eq!(client.answer(scan)["error"]["code"], -32800);
    let again = client.result("workspace/diagnostic", json!({"previousResultIds": known}));
    let items = again["items"].as_array().unwrap();
    let fresh: Vec<&Value> = items.iter().filter(|item| item["kind"] == "full").map(|item| &item["uri"]).collect();
    assert_eq!(fresh, [&json!(folder.uri("m0.py"))]);
    client.leave();
}
