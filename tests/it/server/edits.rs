//! A thousand random edits, after each of which the server must report the same as a fresh run on the text.

use keylint::text::LineIndex;
use serde_json::{Value, json};

use super::client::{Client, Folder, offset};
use super::pulling;
use crate::in_memory::check_text;

/// How many edits are replayed.
const EDITS: u32 = 1_000;

/// Text to insert: whole lines, parts of lines, and characters whose length depends on the encoding.
const PIECES: [&str; 18] = [
    "import jax\n",
    "key = jax.random.key(0)\n",
    "    a = jax.random.normal(key)\n",
    "a = jax.random.normal(key)\n",
    "b = jax.random.uniform(key)\r\n",
    "key, sub = jax.random.split(key)\n",
    "for i in range(3):\n    x = jax.random.normal(key)\n",
    "def f(key):\n    return jax.random.normal(key), jax.random.normal(key)\n",
    "# keylint: ignore[KEY101] \u{1F600}\n",
    "s = '\u{1F600}\u{e9}'; c = jax.random.normal(key)\n",
    "key",
    "sub",
    "\n",
    "\r\n",
    "\t",
    "(",
    ")",
    "\u{1F600}",
];

/// A generator of pseudo-random numbers: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    /// A boundary of characters that does not lie within a line end.
    fn place(&mut self, text: &str) -> usize {
        let mut at = self.roll(text.len() + 1);
        while !text.is_char_boundary(at) || (text[..at].ends_with('\r') && text[at..].starts_with('\n')) {
            at -= 1;
        }
        at
    }
}

/// A position that is counted in UTF-16.
fn position(text: &str, at: usize) -> Value {
    let start = text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let row = LineIndex::new(text).row(u32::try_from(at).unwrap());
    json!({"line": row - 1, "character": text[start..at].encode_utf16().count()})
}

/// The findings of a fresh run: code, message and place.
fn fresh(text: &str) -> Vec<Value> {
    let mut all: Vec<Value> = check_text("edited.py", text)
        .iter()
        .filter(|reported| reported.shown)
        .map(|reported| &reported.finding)
        .map(|finding| {
            json!([finding.rule.code(), finding.message, finding.primary.span.start, finding.primary.span.end])
        })
        .collect();
    all.sort_by_key(ToString::to_string);
    all
}

/// The server's diagnostics in the same form.
fn reported(text: &str, report: &Value) -> Vec<Value> {
    let at = |position: &Value| offset(text, position);
    let mut all: Vec<Value> = report["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| json!([item["code"], item["message"], at(&item["range"]["start"]), at(&item["range"]["end"])]))
        .collect();
    all.sort_by_key(ToString::to_string);
    all
}

#[test]
fn edits_beyond_the_text_are_reported_and_saving_resynchronises() {
    let folder = Folder::new(&[]);
    let address = folder.uri("edited.py");
    let mut client = Client::introduced(&folder.path(), pulling(), Value::Null);
    let count = |client: &mut Client| {
        let report = client.result("textDocument/diagnostic", json!({"textDocument": {"uri": address}}));
        report["items"].as_array().unwrap().len()
    };
    let warnings = |client: &Client| {
        client.heard.iter().filter(|heard| heard.to_string().contains("lies outside the text")).count()
    };
    client.open(&address, 1, super::REUSED);
    assert_eq!(count(&mut client), 1);
    // What ends beyond the text is a usual way to replace all of it.
    client.change(&address, 2, json!([{"range": super::range((0, 0), (99_999, 0)), "text": super::REUSED}]));
    assert_eq!((count(&mut client), warnings(&client)), (1, 0));
    client.change(&address, 3, json!([{"range": super::range((50, 0), (50, 1)), "text": "x"}]));
    assert_eq!((count(&mut client), warnings(&client)), (0, 1));
    client.change(&address, 4, json!([{"range": super::range((0, 0), (0, 0)), "text": super::REUSED}]));
    assert_eq!((count(&mut client), warnings(&client)), (0, 1));
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": address}, "text": super::REUSED}));
    assert_eq!(count(&mut client), 1);
    // Each loss is reported, once.
    for (version, losses) in [(5, 2), (7, 3)] {
        let outside = json!({"range": super::range((90, 0), (91, 0)), "text": ""});
        client.change(&address, version, json!([outside, outside]));
        assert_eq!((count(&mut client), warnings(&client)), (0, losses));
        client.change(&address, version + 1, json!([{"text": super::REUSED}]));
        assert_eq!((count(&mut client), warnings(&client)), (1, losses));
    }
    client.leave();
}

#[test]
fn a_thousand_edits_equal_a_fresh_run() {
    let folder = Folder::new(&[]);
    let address = folder.uri("edited.py");
    let mut client = Client::introduced(&folder.path(), pulling(), Value::Null);
    let mut dice = Dice(0x5eed_cafe);
    let mut text = "import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)\n".to_owned();
    let mut found = 0;
    client.open(&address, 0, &text);
    for version in 1..=EDITS {
        let mut changes = Vec::new();
        if text.len() > 700 {
            // The whole text may be sent as well, and edits of it after that.
            text.truncate(offset(&text, &json!({"line": 4, "character": 0})));
            changes.push(json!({"text": text}));
        }
        for _ in 0..=dice.roll(3) {
            let start = dice.place(&text);
            let mut end = text.len().min(start + if dice.roll(2) == 0 { 0 } else { dice.roll(12) });
            while !text.is_char_boundary(end) || (text[..end].ends_with('\r') && text[end..].starts_with('\n')) {
                end += 1;
            }
            let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
            // Lines are inserted at the start of lines, so that many of the texts are programs.
            let piece = PIECES[dice.roll(PIECES.len())];
            let (start, end) = if piece.len() > 3 { (line, line) } else { (start, end) };
            changes
                .push(json!({"range": {"start": position(&text, start), "end": position(&text, end)}, "text": piece}));
            text.replace_range(start..end, piece);
        }
        client.change(&address, version.into(), changes.into());
        let report = client.result("textDocument/diagnostic", json!({"textDocument": {"uri": address}}));
        let expected = fresh(&text);
        found += expected.len();
        assert_eq!(reported(&text, &report), expected, "after edit {version}: {text:?}");
    }
    assert!(found > 500, "{found}");
    client.leave();
}
