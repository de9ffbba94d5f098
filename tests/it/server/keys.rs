//! Hovers, inlay hints and lineages of keys.

use serde_json::{Value, json};

use super::client::{Client, Folder};
use super::{pushed_to, range};

#[test]
fn hovers_describe_keys() {
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
    assert_eq!(shown, [(4, "last use of the key"), (5, "last use of the key"), (6, "uses the key from line 7 again")]);
    let at = json!({"uri": address, "position": {"line": 5, "character": 3}});
    let lineage =
        client.result("workspace/executeCommand", json!({"command": "keylint.showLineage", "arguments": [at]}));
    assert_eq!(
        lineage.as_str().unwrap(),
        "Keys of f (line 4)\n  key (key, line 4)\n    jax.random.split splits it (line 5)\n    split(key)[0] (key, line 5)\n      jax.random.normal draws from it (line 6)\n    split(key)[1] (key, line 5)\n      jax.random.normal draws from it (line 7)\n      jax.random.uniform draws from it (line 7, again)\n"
    );
    client.leave();
    let mut client = Client::introduced(&folder.path(), pushed_to(), Value::Null);
    client.open(&address, 1, text);
    assert_eq!(hints(&mut client, &address), Value::Null);
    client.leave();
}
