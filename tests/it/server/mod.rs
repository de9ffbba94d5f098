//! The language server as its clients see it.

mod client;
mod edits;

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

/// A client that asks for diagnostics.
fn pulling() -> Value {
    let mut capabilities = pushed_to();
    capabilities["textDocument"]["diagnostic"] = json!({"relatedDocumentSupport": false});
    capabilities["workspace"]["diagnostics"] = json!({"refreshSupport": true});
    capabilities
}

/// What the command line would say of diagnostics: code, message and range, as editors count in UTF-32.
fn as_reported(diagnostics: &[Value]) -> Vec<Value> {
    let mut all: Vec<Value> = diagnostics
        .iter()
        .map(|told| {
            json!([told["range"]["start"], told["range"]["end"], told["code"], told["message"], told["severity"]])
        })
        .collect();
    all.sort_by_key(ToString::to_string);
    all
}

/// The same of findings of the command line.
fn as_told(findings: &[Value]) -> Vec<Value> {
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

#[test]
fn what_is_told_is_what_the_command_line_says() {
    let folder = Folder::new(&AWKWARD);
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let mut capabilities = pushed_to();
        capabilities["general"] = json!({"positionEncodings": ["utf-16", encoding]});
        let mut client = Client::introduced(&folder.path(), capabilities, Value::Null);
        let mut told = 0;
        for (name, text) in AWKWARD.iter().filter(|(name, _)| *name != "keylint.toml") {
            let address = folder.uri(name);
            client.open(&address, 1, text);
            let mut diagnostics = client.diagnostics(&address, 1);
            told += diagnostics.len();
            for diagnostic in &mut diagnostics {
                for end in ["start", "end"] {
                    recount(text, &mut diagnostic["range"][end], encoding);
                }
            }
            let reported = folder.check(&["--force-exclude", name]);
            assert_eq!(as_reported(&diagnostics), as_told(&reported), "{name} in {encoding}");
        }
        assert!(told > 5, "{told}");
        client.leave();
    }
}

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

#[test]
fn clients_that_ask_are_answered_and_not_pushed_to() {
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
    let mut told: Vec<(String, usize)> = whole["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["uri"].as_str().unwrap().to_owned(), item["items"].as_array().unwrap().len()))
        .collect();
    told.sort();
    assert_eq!(told, [("a.py", 1), ("c.ipynb", 1), ("sub/b.py", 1)].map(|(name, count)| (folder.uri(name), count)));
    let reported = folder.check(&["."]);
    assert_eq!(reported.len(), 3);
    let kinds: Vec<&Value> = client.heard.iter().map(|heard| &heard["params"]["value"]["kind"]).collect();
    assert_eq!(
        (kinds.first().copied(), kinds.last().copied()),
        (Some(&json!("begin")), Some(&json!("end"))),
        "{kinds:?}"
    );
    // With nothing new to tell, the next answer waits until something is saved.
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
    assert!(client.pushed.is_empty(), "{:?}", client.pushed);
    client.leave();
}

/// A notebook whose second cell of code draws again from the key of the first.
const NOTEBOOK: &str = r##"{"cells": [
 {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "source": ["import jax\n", "key = jax.random.key(0)\n", "a = jax.random.normal(key)"]},
 {"cell_type": "markdown", "metadata": {}, "source": ["# text"]},
 {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "source": ["s = '😀'\n", "b = jax.random.normal(key)"]}
], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 0}"##;

#[test]
fn notebooks_are_told_cell_by_cell() {
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
    assert_eq!(as_reported(&found), as_told(&reported));
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
    // The cell with the first use goes, and with it the finding.
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
fn hovers_tell_what_is_believed_of_a_key() {
    let text = "import jax\n\n\ndef f():\n    key = jax.random.key(0)\n    a, b = jax.random.split(key)\n    x = jax.random.normal(b)\n    return x + jax.random.normal(b)  # keylint: ignore[KEY101] é\n";
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 1, text);
    let mut at = |line: u32, character: u32| {
        let params = json!({"textDocument": {"uri": address}, "position": {"line": line, "character": character}});
        client.result("textDocument/hover", params)["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let bound = at(5, 7);
    assert!(bound.starts_with("**typed key** `split(key(0))[1]`"), "{bound}");
    let data = folder.keylint(&["eval", "key_data(split(key(0))[1])"]);
    let words: Vec<&str> = data.split(|c: char| !c.is_ascii_digit()).filter(|word| word.len() > 5).collect();
    assert!(words.len() == 2 && words.iter().all(|word| bound.contains(word)), "{data} {bound}");
    assert!(bound.contains("threefry2x32") && bound.contains("draws from it (line 7)"), "{bound}");
    assert!(bound.contains("(line 8, **again** after line 7)"), "{bound}");
    assert_eq!(at(6, 26), bound);
    assert!(at(4, 5).contains("key data: `[0, 0]`"), "{}", at(4, 5));
    assert!(at(7, 59).starts_with("**KEY101 key-reused**"), "{}", at(7, 59));
    assert_eq!((at(0, 0), at(2, 0), at(99, 0)), (String::new(), String::new(), String::new()));
    client.leave();
}

#[test]
fn settings_and_files_are_taken_up_as_they_change() {
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
    // What the edited module does matters to the one that imports it.
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
    // A mistake in the configuration is told to the person, and what was known is taken back.
    folder.write("keylint.toml", "ignore = [\"KEY10\"]\nselekt = []\n");
    client.notify("workspace/didChangeWatchedFiles", changed("keylint.toml"));
    client.wait(|client| {
        client
            .heard
            .iter()
            .find(|heard| heard["params"]["message"].as_str().is_some_and(|told| told.contains("selekt")))
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
            .find(|heard| heard["params"]["message"].as_str().is_some_and(|told| told.contains("nonsense")))
            .cloned()
    });
    client.leave();
}

fn until_count(client: &mut Client, address: &str, count: usize) {
    client.wait(|client| {
        client.pushed.get(address).filter(|params| params["diagnostics"].as_array().unwrap().len() == count).map(|_| ())
    });
}

#[test]
fn bad_messages_are_answered_and_survived() {
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
    // A client without capabilities and folders is served all the same.
    client.open("untitled:Untitled-1", 1, REUSED);
    assert_eq!(client.diagnostics("untitled:Untitled-1", 1).len(), 1);
    assert_eq!(client.request("shutdown", Value::Null)["result"], Value::Null);
    assert_eq!(client.request("textDocument/hover", json!({}))["error"]["code"], -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.status().code(), Some(0));
}

#[test]
fn a_client_that_leaves_without_a_word_is_an_error() {
    let folder = Folder::new(&[]);
    let mut client = Client::introduced(&folder.path(), json!({}), Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.status().code(), Some(1));
    let mut client = Client::introduced(&folder.path(), json!({}), Value::Null);
    client.hang_up();
    assert_eq!(client.status().code(), Some(1));
}

#[test]
fn requests_are_cancelled() {
    let folder = Folder::new(&[]);
    for number in 0..40 {
        folder.write(&format!("m{number}.py"), &REUSED.repeat(20));
    }
    let mut client = Client::introduced(&folder.path(), pulling(), Value::Null);
    let scan = client.ask("workspace/diagnostic", json!({"previousResultIds": []}));
    client.notify("$/cancelRequest", json!({"id": scan}));
    assert_eq!(client.answer(scan)["error"]["code"], -32800);
    // What is waiting for a change can be cancelled as well.
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
fn hints_and_lineage_show_where_keys_go() {
    let text = "import jax\n\n\ndef f(key):\n    a, b = jax.random.split(key)\n    x = jax.random.normal(a)\n    return x + jax.random.normal(b) + jax.random.uniform(b)\n";
    let folder = Folder::new(&[]);
    let hints = |client: &mut Client, address: &str| {
        let params = json!({"textDocument": {"uri": address}, "range": range((0, 0), (99, 0))});
        client.result("textDocument/inlayHint", params)
    };
    let mut client = Client::introduced(&folder.path(), pushed_to(), json!({"settings": {"inlayHints": true}}));
    let address = folder.uri("a.py");
    client.open(&address, 1, text);
    let shown = hints(&mut client, &address);
    let shown: Vec<(u64, &str)> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|hint| (hint["position"]["line"].as_u64().unwrap(), hint["label"].as_str().unwrap()))
        .collect();
    assert_eq!(shown, [(4, "last use of the key"), (5, "last use of the key"), (6, "uses the key of line 7 again")]);
    let at = json!({"uri": address, "position": {"line": 5, "character": 3}});
    let lineage =
        client.result("workspace/executeCommand", json!({"command": "keylint.showLineage", "arguments": [at]}));
    assert_eq!(
        lineage.as_str().unwrap(),
        "Keys of f (line 4)\n  key (key, line 4)\n    jax.random.split splits it (line 5)\n    split(key) (array of keys, line 5)\n      split(key)[0] (key, line 5)\n        jax.random.normal draws from it (line 6)\n      split(key)[1] (key, line 5)\n        jax.random.normal draws from it (line 7)\n        jax.random.uniform draws from it (line 7, again)\n"
    );
    client.leave();
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    client.open(&address, 1, text);
    assert_eq!(hints(&mut client, &address), Value::Null);
    client.leave();
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
    client.listen(std::time::Duration::from_millis(300));
    assert!(client.pushes < 60, "{} checks of 240 edits", client.pushes);
    assert_eq!(client.pushed[&address]["version"], 240);
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
fn a_baseline_holds_for_editors_too() {
    let folder = Folder::new(&[("a.py", REUSED), ("keylint.toml", "baseline = \"accepted.json\"\n")]);
    folder.keylint(&["baseline", "create"]);
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    let address = folder.uri("a.py");
    client.open(&address, 1, REUSED);
    assert_eq!(client.diagnostics(&address, 1), [Value::Null; 0]);
    let more = REUSED.replace("    return", "    c = jax.random.uniform(key)\n    return");
    client.change(&address, 2, json!([{"text": more}]));
    assert_eq!(client.diagnostics(&address, 2).len(), 1);
    client.leave();
}
