//! Findings in the formats for people, and as JSON.

use std::path::PathBuf;

use keylint::config::HiddenCounts;
use keylint::engine::FileTable;
use keylint::finding::{
    Confidence, Consequence, ConsequenceKind, Finding, Intent, IntentKind, Label, Level, Place, RuleId,
};
use keylint::report::{Format, Report, statistics, summary, table};
use keylint::text::{FileId, Span};
use proptest::prelude::*;

/// The place of the `nth` occurrence of `needle` in a file.
fn place(files: &FileTable, file: FileId, needle: &str, nth: usize) -> Place {
    let (start, _) = files.text(file).match_indices(needle).nth(nth).unwrap();
    let offset = |at: usize| u32::try_from(at).unwrap();
    Place { file, span: Span::new(offset(start), offset(start + needle.len())) }
}

fn finding(primary: Place) -> Finding {
    Finding {
        rule: RuleId::KeyReused,
        level: Level::Error,
        confidence: Confidence::High,
        doubt: None,
        message: "key `k` is sampled from twice".to_owned(),
        label: "sampled from again here".to_owned(),
        primary,
        related: Vec::new(),
        flow: Vec::new(),
        help: Some("split it: `k, sub = jax.random.split(k)`".to_owned()),
        function: "f".to_owned(),
        evidence: None,
        buffer_access: None,
        created_anew: None,
        fix_hints: None,
        intent: None,
        consequence: None,
        witness: None,
        fix: None,
        fingerprint: "0123456789abcdef".to_owned(),
    }
}

fn label(place: Place, message: &str) -> Label {
    Label { place, message: message.to_owned() }
}

fn written(files: &FileTable, findings: &[Finding], format: Format) -> String {
    let hidden = HiddenCounts::default();
    let mut out = Vec::new();
    Report::new(files, findings, &hidden).write(format, false, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The report on one file in which the second of two calls is primary and the first is related.
fn full(path: &str, text: &str, call: &str) -> String {
    let mut files = FileTable::default();
    let file = files.add(PathBuf::from(path), text.to_owned());
    let mut finding = finding(place(&files, file, call, 1));
    finding.related.push(label(place(&files, file, call, 0), "first sampled from here"));
    written(&files, &[finding], Format::Full)
}

#[test]
fn excerpts_show_both_uses() {
    let far = "k = key(0)\na = normal(k)\nb = 1\nc = 2\nd = 3\ne = normal(k)\n";
    let near = "k = key(0)\na = normal(k)\nb = 1\ne = normal(k)\n";
    let beside = "k = key(0)\na = normal(k) + normal(k)\n";
    insta::assert_snapshot!(
        [full("a.py", far, "normal(k)"), full("a.py", near, "normal(k)"), full("a.py", beside, "normal(k)")].concat()
    );
}

#[test]
fn hostile_text_is_inert() {
    let bidi = "k = 1  # \u{202e}evil\u{2066}\na = f(k)  # \u{1b}[31m\u{7}\nb = f(k)  # \u{9b}31m\u{200b}\n";
    let shown = full("\u{1b}[2J\u{202e}a.py", bidi, "f(k)");
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\u{7}', '\u{200b}', '\u{2066}']));
    insta::assert_snapshot!(shown);
}

#[test]
fn long_lines_are_cut_around_the_label_and_columns_stay_true() {
    let filler = "x, ".repeat(3_000);
    let text = format!("v = [{filler}normal(k), {filler}normal(k), {filler}]\n");
    let shown = full("a.py", &text, "normal(k)");
    assert!(shown.lines().all(|line| line.chars().count() < 260));
    insta::assert_snapshot!(shown);
}

#[test]
fn tabs_wide_characters_and_crlf_keep_labels_in_place() {
    let text = "k = '漢字é😀'\r\nif x:\r\n\ta = '漢字é😀', f(k)\r\n\tb = 'e\u{301}', f(k)\r\n";
    insta::assert_snapshot!(full("dir/ä.py", text, "f(k)"));
}

#[test]
fn multi_line_labels_are_shown_on_their_first_line() {
    let text = "a = f(\n    k,\n)\nb = f(\n    k,\n)\n";
    insta::assert_snapshot!(full("a.py", text, "f(\n    k,\n)"));
}

#[test]
fn other_files_and_low_confidence_are_notes() {
    let mut files = FileTable::default();
    let helper = files.add(PathBuf::from("lib/helper.py"), "def draw(k):\n    return normal(k)\n".to_owned());
    let file = files.add(PathBuf::from("a.py"), "draw(k)\ndraw(k)\n".to_owned());
    let mut finding = finding(place(&files, file, "draw(k)", 1));
    finding.level = Level::Warning;
    finding.confidence = Confidence::Medium;
    finding.doubt = Some("keylint cannot see what `normal` does with the key".to_owned());
    finding.related.push(label(place(&files, helper, "draw(k)", 0), "used inside this call"));
    finding.related.push(label(place(&files, helper, "return", 0), "used inside this call"));
    finding.related.push(label(place(&files, helper, "normal(k)", 0), "used here by `normal`"));
    finding.related.push(label(place(&files, file, "draw(k)", 0), "first consumed here"));
    insta::assert_snapshot!(written(&files, &[finding], Format::Full));
}

#[test]
fn lines_copied_into_several_files_are_shown_once() {
    let text = "k = key(0)\na = normal(k)\nb = normal(k)\nb = normal(k)\n";
    let report_on = |paths: &[&str]| {
        let mut files = FileTable::default();
        let mut findings = Vec::new();
        for path in paths {
            let file = files.add(PathBuf::from(path), text.to_owned());
            findings.push(finding(place(&files, file, "normal(k)", 1)));
            findings.push(finding(place(&files, file, "normal(k)", 2)));
        }
        written(&files, &findings, Format::Full)
    };
    let count = |report: &str, needle: &str| report.matches(needle).count();
    // Two lines of one file are two findings, even if they say the same.
    let three = report_on(&["a.py", "b.py", "c.py"]);
    assert_eq!(count(&three, "error[KEY101]"), 2, "{three}");
    assert_eq!(count(&three, "note: the same line is reported in 2 other files:"), 2, "{three}");
    for place in ["a.py:3:5", "b.py:3:5", "c.py:3:5", "a.py:4:5", "b.py:4:5", "c.py:4:5"] {
        assert_eq!(count(&three, place), 1, "{place}\n{three}");
    }
    let two = report_on(&["a.py", "b.py"]);
    assert_eq!(count(&two, "error[KEY101]"), 4, "{two}");
}

#[test]
fn places_outside_the_text_are_tolerated() {
    let mut files = FileTable::default();
    let empty = files.add(PathBuf::from("empty.py"), String::new());
    let short = files.add(PathBuf::from("short.py"), "é".to_owned());
    let at = |file, start, end| finding(Place { file, span: Span::new(start, end) });
    let findings = [at(empty, 0, 0), at(empty, 7, 9), at(short, 1, 2), at(short, 0, 99)];
    insta::assert_snapshot!(written(&files, &findings, Format::Full));
}

#[test]
fn findings_are_sorted_by_file_row_column_and_code() {
    let mut files = FileTable::default();
    let b = files.add(PathBuf::from("b.py"), "f(k)\nf(k)\n".to_owned());
    let a = files.add(PathBuf::from("a.py"), "f(k), f(k)\n".to_owned());
    let mut other = finding(place(&files, a, "f(k)", 1));
    other.rule = RuleId::KeyArithmetic;
    other.message = "bad\u{1b}[31m\nsecond line".to_owned();
    let findings = [
        finding(place(&files, b, "f(k)", 1)),
        other,
        finding(place(&files, b, "f(k)", 0)),
        finding(place(&files, a, "f(k)", 1)),
        finding(place(&files, a, "f(k)", 0)),
    ];
    insta::assert_snapshot!(written(&files, &findings, Format::Concise), @r"
    a.py:1:1: KEY101 [error] key `k` is sampled from twice
    a.py:1:7: KEY101 [error] key `k` is sampled from twice
    a.py:1:7: KEY202 [error] bad␛[31m
    b.py:1:1: KEY101 [error] key `k` is sampled from twice
    b.py:2:1: KEY101 [error] key `k` is sampled from twice
    ");
}

#[test]
fn json_follows_the_contract() {
    let mut files = FileTable::default();
    let file = files.add(PathBuf::from("dir/a.py"), "é = f(k)\n\u{202e}b = g(\n  k)\n".to_owned());
    let mut finding = finding(place(&files, file, "g(\n  k)", 0));
    finding.message = "quotes \" and \u{202e}bidi".to_owned();
    finding.related.push(label(place(&files, file, "f(k)", 0), "first consumed here"));
    finding.flow.push(label(place(&files, file, "k", 0), "created here"));
    let json = written(&files, &[finding.clone()], Format::Json);
    assert!(!json.contains('\u{202e}'));
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parsed[0]["message"], "quotes \" and \u{202e}bidi");
    insta::assert_snapshot!(json);
    let lines = written(&files, &[finding.clone(), finding], Format::JsonLines);
    assert_eq!(lines.lines().count(), 2);
    for line in lines.lines() {
        assert_eq!(serde_json::from_str::<serde_json::Value>(line).unwrap(), parsed[0]);
    }
}

#[test]
fn notes_show_their_reason_and_evidence() {
    let mut files = FileTable::default();
    let file = files.add(PathBuf::from("a.py"), "net = init(k)\ntarget = init(k)\n".to_owned());
    let other = files.add(PathBuf::from("b.py"), "assert same(a, b)\n".to_owned());
    let mut finding = finding(place(&files, file, "init(k)", 1));
    finding.level = Level::Note;
    let evidence = place(&files, file, "target", 0);
    finding.intent = Some(Intent::new(IntentKind::TargetCopy, Some(evidence)));
    finding.consequence = Some(Consequence {
        kind: ConsequenceKind::Compared,
        message: "the draws are compared".to_owned(),
        place: Some(place(&files, other, "same", 0)),
        is_decision: false,
    });
    insta::assert_snapshot!(written(&files, &[finding.clone()], Format::Full));
    let json: serde_json::Value = serde_json::from_str(&written(&files, &[finding], Format::Json)).unwrap();
    insta::assert_snapshot!(format!("{:#}\n{:#}", json[0]["intent"], json[0]["consequence"]));
}

#[test]
fn nothing_found_is_an_empty_array_or_no_line() {
    let files = FileTable::default();
    assert_eq!(written(&files, &[], Format::Json), "[]\n");
    assert_eq!(written(&files, &[], Format::JsonLines), "");
    assert_eq!(written(&files, &[], Format::Full), "");
}

#[test]
fn the_summary_counts_what_is_shown_and_what_is_hidden() {
    let mut files = FileTable::default();
    let file = files.add(PathBuf::from("a.py"), "f(k)\n".to_owned());
    let error = finding(place(&files, file, "f(k)", 0));
    let warning = Finding { level: Level::Warning, rule: RuleId::SeedReused, ..error.clone() };
    let line = |findings: &[Finding], hidden: &HiddenCounts| summary(&Report::new(&files, findings, hidden));
    let mut hidden = HiddenCounts::default();
    assert_eq!(line(&[], &hidden), "All checks passed.");
    let found = [error.clone(), warning.clone(), error.clone(), error];
    assert_eq!(line(&found, &hidden), "Found 3 errors, 1 warning.");
    hidden.by_confidence.insert(Confidence::Low, 1);
    assert_eq!(
        line(&[], &hidden),
        "All checks passed (1 low-confidence finding hidden; use --min-confidence low to show it)."
    );
    hidden.by_confidence.insert(Confidence::Low, 4);
    hidden.by_level.insert(Level::Note, 2);
    assert_eq!(
        line(&found, &hidden),
        "Found 3 errors, 1 warning (2 notes and 4 low-confidence findings hidden; use --min-level note --min-confidence \
         low to show them)."
    );
    hidden.by_level.insert(Level::Warning, 1);
    assert_eq!(
        line(&[], &hidden),
        "All checks passed (1 warning, 2 notes and 4 low-confidence findings hidden; use --min-level note --min-confidence \
         low to show them)."
    );
    let empty = HiddenCounts::default();
    assert_eq!(statistics(&Report::new(&files, &found, &empty)), "3  KEY101  key-reused\n1  KEY105  seed-reused\n");
}

#[test]
fn text_reports_show_errors_first_and_fold_raw_keys() {
    let mut files = FileTable::default();
    let text = "f(k)\nf(k)\nf(k)\n";
    let (file, other) = (files.add(PathBuf::from("a.py"), text.into()), files.add(PathBuf::from("b.py"), text.into()));
    let error = finding(place(&files, file, "f(k)", 2));
    let warning = Finding { level: Level::Warning, primary: place(&files, file, "f(k)", 0), ..error.clone() };
    let raw = Finding { rule: RuleId::LegacyPrngkey, ..warning.clone() };
    let raw_again = Finding { primary: place(&files, other, "f(k)", 1), ..raw.clone() };
    let hidden = HiddenCounts::default();
    let written = |findings: &[Finding], format: Format, lists: bool| {
        let mut out = Vec::new();
        let report = Report::new(&files, findings, &hidden).with_raw_keys_listed(lists);
        report.write(format, false, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let all = [warning, error.clone(), raw.clone(), raw_again];
    let lines = written(&all, Format::Concise, false);
    let rows: Vec<&str> = lines.lines().collect();
    assert!(
        rows[0].starts_with("a.py:1:1: KEY101 [warning]") && rows[1].starts_with("a.py:3:1: KEY101 [error]"),
        "{lines}"
    );
    let grouped = written(&all, Format::Grouped, false);
    assert!(grouped.find("[error]") < grouped.find("[warning]"), "{grouped}");
    assert_eq!(
        rows[2..],
        [
            "2 files create raw keys with `PRNGKey` (KEY301). List them with `--select KEY301`, or migrate them with `keylint migrate`."
        ]
    );
    assert_eq!(written(&all, Format::Concise, true).lines().count(), 4);
    assert_eq!(written(&[raw], Format::Concise, false).lines().count(), 1, "a single file is reported as any other");
    let json = written(&all, Format::JsonLines, false);
    assert_eq!(json.lines().count(), 4, "tools get all of them");
    assert_eq!(table(&Report::new(&files, &all, &hidden)), None, "a short report needs no table");
    let mut many = vec![error; 20];
    many[0].rule = RuleId::SeedReused;
    let long = table(&Report::new(&files, &many, &hidden)).unwrap();
    assert_eq!(long, "19  KEY101  key-reused\n 1  KEY105  seed-reused\n");
}

proptest! {
    #[test]
    fn any_text_and_places_render_safely(
        text in "([a-z(),= é漢😀]|\t|\r|\n|\u{1b}|\u{202e}|x{200}){0,40}",
        spans in proptest::collection::vec((0_u32..400, 0_u32..60), 1..5),
    ) {
        let mut files = FileTable::default();
        let file = files.add(PathBuf::from("a.py"), text);
        let places: Vec<Place> =
            spans.iter().map(|(start, len)| Place { file, span: Span::new(*start, start + len) }).collect();
        let mut one = finding(places[0]);
        one.related = places[1..].iter().map(|place| label(*place, "here")).collect();
        for format in [Format::Full, Format::Concise, Format::Json, Format::JsonLines] {
            let out = written(&files, &[one.clone()], format);
            let is_inert = !out.contains(['\u{1b}', '\u{202e}']);
            prop_assert!(is_inert);
        }
        let json: serde_json::Value = serde_json::from_str(&written(&files, &[one], Format::Json)).unwrap();
        prop_assert!(json[0]["location"]["row"].as_u64().unwrap() >= 1);
    }
}
