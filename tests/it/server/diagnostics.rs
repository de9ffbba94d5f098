//! Diagnostics of documents, pushed and pulled, compared with the command line.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Folder, edited};
use super::{REUSED, pulling, pushed_to, range};

/// Diagnostics as code, message and range, in UTF-32 units.
fn as_reported(diagnostics: &[Value]) -> Vec<Value> {
    let mut all: Vec<Value> = diagnostics
        .iter()
        .map(|reported| {
            json!([
                reported["range"]["start"],
                reported["range"]["end"],
                reported["code"],
                reported["message"],
                reported["severity"]
            ])
        })
        .collect();
    all.sort_by_key(ToString::to_string);
    all
}

/// Findings of the command line in the same form.
fn as_checked(findings: &[Value]) -> Vec<Value> {
    let place = |place: &Value| {
        let number = |name: &str| place[name].as_u64().unwrap() - 1;
        json!({"line": number("row"), "character": number("column")})
    };
    let mut all: Vec<Value> = findings
        .iter()
        .map(|found| {
            let severity = match found["level"].as_str().unwrap() {
                "error" => 1,
                "warning" => 2,
                _ => 3,
            };
            json!([place(&found["location"]), place(&found["end_location"]), found["code"], found["message"], severity])
        })
        .collect();
    all.sort_by_key(ToString::to_string);
    all
}

/// Files in which columns, line ends, settings and comments matter.
const AWKWARD: [(&str, &str); 7] = [
    (
        "keylint.toml",
        "exclude = [\"left_out.py\"]\nmin-level = \"note\"\n[per-file-ignores]\n\"quiet.py\" = [\"KEY101\"]\n[levels]\nKEY301 = \"note\"\n",
    ),
    ("emoji.py", "import jax\nk = jax.random.key(0); s = '😀é', jax.random.normal(k), '😀', jax.random.normal(k)\n"),
    (
        "crlf.py",
        "import jax\r\n\r\ndef f(key):\r\n\tx = jax.random.normal(key)\r\n\treturn x + jax.random.uniform(\r\n\t\tkey)\r\n",
    ),
    ("quiet.py", "import jax\nk = jax.random.PRNGKey(0)\na = jax.random.normal(k)\nb = jax.random.normal(k)\n"),
    ("left_out.py", "import jax\nk = jax.random.key(0)\na = jax.random.normal(k) + jax.random.normal(k)\n"),
    ("tests/test_a.py", "import jax\nk = jax.random.key(0)\na = jax.random.normal(k) + jax.random.normal(k)\n"),
    (
        "comments.py",
        "import jax\nk = jax.random.key(0)\na = jax.random.normal(k)\nb = jax.random.normal(k)  # keylint: ignore[KEY101] twice\nc = 1  # keylint: ignore[KEY102, KEY999] no\nd = (\n",
    ),
];

/// Counts a position in characters that was counted in other units.
fn recount(text: &str, position: &mut Value, encoding: &str) {
    let number = |name: &str| usize::try_from(position[name].as_u64().unwrap()).unwrap();
    let line = text.split('\n').nth(number("line")).unwrap();
    let mut left = number("character");
    let mut count = 0;
    for character in line.chars() {
        if left == 0 {
            break;
        }
        left -= match encoding {
            "utf-8" => character.len_utf8(),
            "utf-16" => character.len_utf16(),
            _ => 1,
        };
        count += 1;
    }
    position["character"] = count.into();
}

/// A notebook whose second cell of code draws again from the key of the first.
const NOTEBOOK: &str = r##"{"cells": [
 {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "source": ["import jax\n", "key = jax.random.key(0)\n", "a = jax.random.normal(key)"]},
 {"cell_type": "markdown", "metadata": {}, "source": ["# text"]},
 {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "source": ["s = '😀'\n", "b = jax.random.normal(key)"]}
], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 0}"##;

#[test]
fn diagnostics_are_pushed_as_the_document_changes() {
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 1, REUSED);
    let found = client.diagnostics(&address, 1);
    assert_eq!(found.len(), 1, "{found:?}");
    let reported = &found[0];
    assert_eq!(
        (&reported["code"], &reported["source"], &reported["severity"]),
        (&json!("KEY101"), &json!("keylint"), &json!(1))
    );
    assert_eq!(reported["range"], range((6, 8), (6, 30)));
    assert_eq!(
        reported["codeDescription"]["href"],
        "https://github.com/keylint/keylint/blob/main/docs/rules/key-reused.md"
    );
    let related = reported["relatedInformation"].as_array().expect("related places");
    assert!(related.iter().any(|place| place["location"]["range"]["start"]["line"] == 5), "{related:?}");
    assert!(reported["data"]["fingerprint"].is_string());
    client.change(&address, 2, json!([{"range": range((6, 0), (7, 0)), "text": ""}]));
    assert_eq!(client.diagnostics(&address, 2), [Value::Null; 0]);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": address}}));
    assert_eq!(client.leave().code(), Some(0));
}

#[test]
fn server_and_command_line_agree() {
    let folder = Folder::new(&AWKWARD);
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let mut capabilities = pushed_to();
        capabilities["general"] = json!({"positionEncodings": ["utf-16", encoding]});
        let mut client = Client::introduced(&folder.path(), capabilities, Value::Null);
        let mut reported = 0;
        for (name, text) in AWKWARD.iter().filter(|(name, _)| *name != "keylint.toml") {
            let address = folder.uri(name);
            client.open(&address, 1, text);
            let mut diagnostics = client.diagnostics(&address, 1);
            reported += diagnostics.len();
            for diagnostic in &mut diagnostics {
                for end in ["start", "end"] {
                    recount(text, &mut diagnostic["range"][end], encoding);
                }
            }
            let reported = folder.check(&["--force-exclude", name]);
            assert_eq!(as_reported(&diagnostics), as_checked(&reported), "{name} in {encoding}");
        }
        assert!(reported > 5, "{reported}");
        client.leave();
    }
}

#[test]
fn pull_clients_get_no_pushed_diagnostics() {
    let folder = Folder::new(&[("a.py", REUSED), ("sub/b.py", REUSED), ("clean.py", "x = 1\n"), ("c.ipynb", NOTEBOOK)]);
    let mut client = Client::introduced(&folder.path(), pulling(), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 1, REUSED);
    let ask = |client: &mut Client, previous: Value| {
        let params = json!({"textDocument": {"uri": address}, "previousResultId": previous});
        client.result("textDocument/diagnostic", params)
    };
    let report = ask(&mut client, Value::Null);
    assert_eq!((&report["kind"], report["items"].as_array().map(Vec::len)), (&json!("full"), Some(1)), "{report}");
    assert_eq!(ask(&mut client, report["resultId"].clone())["kind"], "unchanged");
    let whole = client.result("workspace/diagnostic", json!({"previousResultIds": [], "workDoneToken": "scan"}));
    let mut reported: Vec<(String, usize)> = whole["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["uri"].as_str().unwrap().to_owned(), item["items"].as_array().unwrap().len()))
        .collect();
    reported.sort();
    assert_eq!(reported, [("a.py", 1), ("c.ipynb", 1), ("sub/b.py", 1)].map(|(name, count)| (folder.uri(name), count)));
    let reported = folder.check(&["."]);
    assert_eq!(reported.len(), 3);
    let kinds: Vec<&Value> = client.heard.iter().map(|heard| &heard["params"]["value"]["kind"]).collect();
    assert_eq!(
        (kinds.first().copied(), kinds.last().copied()),
        (Some(&json!("begin")), Some(&json!("end"))),
        "{kinds:?}"
    );
    // Without a change, the next response is delayed until something is saved.
    let known: Vec<Value> = whole["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| json!({"uri": item["uri"], "value": item["resultId"]}))
        .collect();
    let waiting = client.ask("workspace/diagnostic", json!({"previousResultIds": known}));
    folder.write("sub/b.py", "x = 1\n");
    client.change(&address, 2, json!([{"text": "x = 1\n"}]));
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": address}}));
    let again = client.answer(waiting)["result"].take();
    let of = |name: &str| {
        again["items"].as_array().unwrap().iter().find(|item| item["uri"] == folder.uri(name)).cloned().unwrap()
    };
    assert_eq!((&of("a.py")["items"], &of("a.py")["version"]), (&json!([]), &json!(2)));
    assert_eq!((&of("sub/b.py")["items"], &of("c.ipynb")["kind"]), (&json!([]), &json!("unchanged")));
    // If settings change, the server requests the client to pull again.
    client.notify("workspace/didChangeConfiguration", json!({"settings": {"keylint": {"select": ["KEY2"]}}}));
    client.wait(|client| client.asked.iter().find(|asked| asked["method"] == "workspace/diagnostic/refresh").cloned());
    client.change(&address, 3, json!([{"text": REUSED}]));
    assert_eq!(ask(&mut client, Value::Null)["items"], json!([]));
    assert!(client.pushed.is_empty(), "{:?}", client.pushed);
    client.leave();
}

#[test]
fn notebooks_are_reported_cell_by_cell() {
    let folder = Folder::new(&[("n.ipynb", NOTEBOOK)]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), json!({"unsafeFixes": true}));
    let cell = |number: u32| format!("vscode-notebook-cell:{}#W{number}", folder.path().join("n.ipynb").display());
    let text =
        |number: u32, text: &str| json!({"uri": cell(number), "languageId": "python", "version": 1, "text": text});
    client.notify(
        "notebookDocument/didOpen",
        json!({
            "notebookDocument": {"uri": folder.uri("n.ipynb"), "notebookType": "jupyter-notebook", "version": 1, "cells": [
                {"kind": 2, "document": cell(0)}, {"kind": 1, "document": cell(1)}, {"kind": 2, "document": cell(2)},
            ]},
            "cellTextDocuments": [
                text(0, "import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)"),
                text(2, "s = '😀'\nb = jax.random.normal(key)"),
            ],
        }),
    );
    let found = client.diagnostics(&cell(2), 1);
    assert_eq!((found.len(), &found[0]["range"]), (1, &range((1, 4), (1, 26))), "{found:?}");
    let reported = folder.check(&["n.ipynb"]);
    assert_eq!(as_reported(&found), as_checked(&reported));
    let related = found[0]["relatedInformation"].as_array().unwrap();
    assert!(
        related.iter().any(|place| place["location"] == json!({"uri": cell(0), "range": range((2, 4), (2, 26))})),
        "{related:?}"
    );
    assert_eq!(client.diagnostics(&cell(0), 1), [Value::Null; 0]);
    let params = |at: u32| json!({"textDocument": {"uri": cell(at)}, "position": {"line": 1, "character": 24}});
    let hover = client.result("textDocument/hover", params(2));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("`key(0)`"), "{hover}");
    let asked = json!({
        "textDocument": {"uri": cell(2)}, "range": range((1, 5), (1, 5)),
        "context": {"diagnostics": found, "only": ["source.fixAll"]},
    });
    let actions = client.result("textDocument/codeAction", asked);
    let all = client.result("codeAction/resolve", actions[0].clone());
    folder.keylint(&["check", "--fix", "--unsafe-fixes"]);
    let saved: Value = serde_json::from_str(&folder.read("n.ipynb")).unwrap();
    let mut texts = [
        (0, "import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)".to_owned()),
        (2, "s = '😀'\nb = jax.random.normal(key)".to_owned()),
    ];
    for change in all["edit"]["documentChanges"].as_array().unwrap() {
        let text = texts.iter_mut().find(|(number, _)| change["textDocument"]["uri"] == cell(*number)).unwrap();
        text.1 = edited(&text.1, &change["edits"]);
    }
    for (number, text) in texts {
        let lines = saved["cells"][number as usize]["source"].as_array().unwrap();
        assert_eq!(text, lines.iter().map(|line| line.as_str().unwrap()).collect::<String>());
    }
    // The cell with the first use is deleted, and the finding with it.
    client.notify(
        "notebookDocument/didChange",
        json!({
            "notebookDocument": {"uri": folder.uri("n.ipynb"), "version": 2},
            "change": {"cells": {"structure": {
                "array": {"start": 0, "deleteCount": 1, "cells": [{"kind": 2, "document": cell(3)}]},
                "didOpen": [text(3, "import jax\nkey = jax.random.key(0)")],
                "didClose": [{"uri": cell(0)}],
            }, "textContent": [{
                "document": {"uri": cell(2), "version": 2},
                "changes": [{"range": range((0, 0), (0, 0)), "text": "# é\n"}],
            }]}},
        }),
    );
    assert_eq!(client.diagnostics(&cell(2), 2), [Value::Null; 0]);
    client.notify(
        "notebookDocument/didClose",
        json!({"notebookDocument": {"uri": folder.uri("n.ipynb")}, "cellTextDocuments": []}),
    );
    assert_eq!(client.leave().code(), Some(0));
}

#[test]
fn edits_that_come_together_are_checked_together() {
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 0, "");
    client.diagnostics(&address, 0);
    for (version, line) in (1..).zip(REUSED.repeat(30).split_inclusive('\n').rev()) {
        client.change(&address, version, json!([{"range": range((0, 0), (0, 0)), "text": line}]));
    }
    assert_eq!(client.diagnostics(&address, 240).len(), 30);
    client.listen(Duration::from_millis(300));
    assert!(client.pushes < 60, "{} checks of 240 edits", client.pushes);
    assert_eq!(client.pushed[&address]["version"], 240);
    client.leave();
}

#[test]
fn continuous_typing_gets_diagnostics() {
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let address = folder.uri("a.py");
    // A check of this takes longer than the time between two edits.
    client.open(&address, 1, &REUSED.repeat(200));
    assert_eq!(client.diagnostics(&address, 1).len(), 200);
    let start = Instant::now();
    let mut version = 1;
    let mut reported = vec![1];
    while reported.len() < 3 {
        assert!(start.elapsed() < Duration::from_secs(30), "{version} edits, of which were reported {reported:?}");
        version += 1;
        client.change(&address, version, json!([{"range": range((0, 0), (0, 0)), "text": "#\n"}]));
        client.listen(Duration::from_millis(10));
        let last = client.pushed[&address]["version"].as_i64().unwrap();
        if reported.last() != Some(&last) {
            // The lines before a finding are those of the version that is reported.
            let line = client.pushed[&address]["diagnostics"][0]["range"]["start"]["line"].as_i64().unwrap();
            assert_eq!(line, 6 + last - 1);
            reported.push(last);
        }
    }
    assert!(reported.is_sorted(), "{reported:?}");
    assert_eq!(client.diagnostics(&address, version).len(), 200);
    client.leave();
}

#[test]
fn reopened_documents_get_no_stale_diagnostics() {
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 1, &REUSED.repeat(200));
    // The check is running when the document is closed.
    client.listen(Duration::from_millis(10));
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": address}}));
    // Reports before the end are discarded.
    client.request("nothing", Value::Null);
    client.pushed.clear();
    client.open(&address, 1, "x = 1\n");
    assert_eq!(client.diagnostics(&address, 1), [Value::Null; 0]);
    client.leave();
}

#[test]
fn discarded_splits_are_unnecessary_and_scans_show_progress() {
    let text = "import jax\n\n\ndef f(key):\n    jax.random.split(key)\n    return jax.random.normal(key)\n";
    let folder = Folder::new(&[("a.py", text)]);
    let mut capabilities = pulling();
    capabilities["window"] = json!({"workDoneProgress": true});
    let mut client = Client::introduced(&folder.path(), capabilities, Value::Null);
    let whole = client.result("workspace/diagnostic", json!({"previousResultIds": []}));
    let reported = whole["items"][0]["items"].as_array().unwrap();
    let discarded = reported.iter().find(|reported| reported["code"] == "KEY110").expect("the split is discarded");
    assert_eq!(discarded["tags"], json!([1]));
    assert!(client.asked.iter().any(|asked| asked["method"] == "window/workDoneProgress/create"));
    let progress = client.heard.iter().filter(|heard| heard["method"] == "$/progress").count();
    assert!(progress >= 2, "{:?}", client.heard);
    client.leave();
}
