//! The settings of editors.

use keylint::finding::Level;
use keylint::server::settings::{EditorSettings, Written};
use serde_json::{Value, json};

fn read(settings: &Value) -> (EditorSettings, Vec<String>) {
    EditorSettings::read(settings.as_object().unwrap())
}

#[test]
fn settings_become_options() {
    let (settings, problems) = read(&json!({
        "select": ["KEY1"], "minLevel": "note", "unsafeFixes": true, "inlayHints": null,
        "configuration": {"levels": {"KEY101": "note"}, "tests": ["spec/"]}, "path": ["/usr/bin/keylint"],
    }));
    assert_eq!(problems, [""; 0]);
    assert!(settings.unsafe_fixes && !settings.inlay_hints && settings.enable);
    assert_eq!(settings.command_line.options.min_level, Some(Level::Note));
    assert_eq!(settings.command_line.config, ["levels = { KEY101 = \"note\" }", "tests = [\"spec/\"]"]);
}

#[test]
fn invalid_entries_are_reported_and_skipped() {
    let (settings, problems) = read(&json!({"minlevel": "note", "minLevel": "loud", "ignoreReason": "a # b"}));
    assert_eq!(settings, EditorSettings::default());
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert_eq!(problems[0], "unknown setting `minlevel`; did you mean `minLevel`?");
}

#[test]
fn settings_come_in_several_shapes() {
    let all = |options: Value| Written::from_initialize(&options).of(|address| address == "file:///a");
    assert_eq!(all(json!({"unsafeFixes": true}))["unsafeFixes"], true);
    assert_eq!(all(json!({"settings": {"unsafeFixes": true}}))["unsafeFixes"], true);
    let both = json!({
        "globalSettings": {"unsafeFixes": true, "verify": false},
        "settings": [{"workspace": "file:///a", "verify": true}, {"workspace": "file:///b", "unsafeFixes": false}],
    });
    let merged = all(both);
    assert_eq!((&merged["unsafeFixes"], &merged["verify"]), (&json!(true), &json!(true)));
    let mut written = Written::from_initialize(&json!({"unsafeFixes": true}));
    // Some clients send the settings of all servers to each server.
    assert!(!written.replace_global(&json!({"python": {"path": "x"}})) && !written.replace_global(&json!({})));
    assert_eq!(written.of(|_| true)["unsafeFixes"], true);
    assert!(written.replace_global(&json!({"python": {}, "keylint": {"verify": false}})));
    assert_eq!(Value::Object(written.of(|_| true)), json!({"verify": false}));
    assert!(all(json!(null)).is_empty() && all(json!([1])).is_empty());
}

#[test]
fn configuration_answers_retract_settings_set_to_null() {
    let mut written = Written::from_initialize(&json!({"ignore": ["KEY101"], "verify": false, "unsafeFixes": true}));
    let everywhere = json!({"ignore": null, "inlayHints": true});
    written
        .replace_configured(vec![(String::new(), everywhere), ("file:///a".to_owned(), json!({"unsafeFixes": null}))]);
    let a = Value::Object(written.of(|address| address == "file:///a"));
    assert_eq!(a, json!({"verify": false, "inlayHints": true}));
    let elsewhere = Value::Object(written.of(|_| false));
    assert_eq!(elsewhere, json!({"verify": false, "inlayHints": true, "unsafeFixes": true}));
    // Settings without keylint's section change nothing.
    written.replace_configured(vec![(String::new(), json!(null)), ("file:///a".to_owned(), json!({}))]);
    assert_eq!(written.of(|_| true)["ignore"], json!(["KEY101"]));
}
