//! The formats that other programs read: their structure, and that no text in a finding can break it.

use std::path::PathBuf;

use keylint::config::HiddenCounts;
use keylint::engine::FileTable;
use keylint::finding::{
    Applicability, Confidence, Draw, Finding, Fix, IntentKind, Label, Level, Place, RuleId, Verdict, Witness,
    WitnessStatus,
};
use keylint::report::{Format, Report, Root};
use keylint::text::{Edit, FileId, Span};

const TEXT: &str = "key = jax.random.key(0)\r\nx = '漢😀', f(key)\r\ny = f(key)\r\n";

fn place(text: &str, file: FileId, needle: &str, nth: usize) -> Place {
    let start = text.match_indices(needle).nth(nth).unwrap().0;
    let offset = |at: usize| u32::try_from(at).unwrap();
    Place { file, span: Span::new(offset(start), offset(start + needle.len())) }
}

fn finding(file: FileId) -> Finding {
    let label = |needle, message: &str| Label { place: place(TEXT, file, needle, 0), message: message.to_owned() };
    Finding {
        rule: RuleId::KeyReused,
        level: Level::Error,
        confidence: Confidence::High,
        doubt: None,
        message: "`split(key)[0]` is consumed twice, 100% sure: a, b".to_owned(),
        label: "consumed again here".to_owned(),
        primary: place(TEXT, file, "f(key)", 1),
        related: vec![label("f(key)", "first consumed here by `f`")],
        flow: vec![label("jax.random.key(0)", "created here"), label("f(key)", "first consumed here")],
        help: None,
        function: "<module>".to_owned(),
        evidence: None,
        buffer_access: None,
        created_anew: None,
        fix_hints: None,
        intent: None,
        consequence: None,
        witness: Some(Witness {
            status: WitnessStatus::Confirmed,
            draws: vec![Draw { place: place(TEXT, file, "f(key)", 0), key_data: vec![0, 0] }],
            sentence: "both draws are given the key [0, 0]".to_owned(),
            gap: None,
        }),
        fix: Some(Fix {
            message: "split the key".to_owned(),
            applicability: Applicability::Unsafe,
            verdict: Verdict::Verified,
            reason: None,
            edits: vec![Edit { span: place(TEXT, file, "key)", 1).span, content: "subkey)".to_owned() }],
        }),
        fingerprint: "0123456789abcdef".to_owned(),
    }
}

/// A report of a finding in a file of a path that must be encoded, twice, and one below no root.
fn written(format: Format) -> String {
    let mut files = FileTable::default();
    let inside = files.add(PathBuf::from("pkg/ä b,c:%.py"), TEXT.to_owned());
    let outside = files.add(PathBuf::from("/else/where.py"), TEXT.to_owned());
    let mut again = finding(inside);
    again.rule = RuleId::KeyShapeAssumed;
    again.level = Level::Warning;
    let mut other = finding(outside);
    other.level = Level::Note;
    other.fix = None;
    let findings = [finding(inside), again, other];
    let hidden = HiddenCounts::default();
    let root = Root::new(PathBuf::from("/repo"), PathBuf::from("/repo/src"));
    let mut out = Vec::new();
    Report::new(&files, &findings, &hidden).with_root(root).write(format, false, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn empty(format: Format) -> String {
    let hidden = HiddenCounts::default();
    let files = FileTable::default();
    let mut out = Vec::new();
    Report::new(&files, &[], &hidden).write(format, false, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn github_annotations_are_one_line_each_and_escaped() {
    insta::assert_snapshot!(written(Format::Github));
    assert_eq!(empty(Format::Github), "");
}

#[test]
fn azure_and_pylint_have_a_line_per_finding() {
    insta::assert_snapshot!(written(Format::Azure));
    insta::assert_snapshot!(written(Format::Pylint));
    assert_eq!((empty(Format::Azure), empty(Format::Pylint)), (String::new(), String::new()));
}

#[test]
fn html_pages_are_self_contained_and_escaped() {
    let page = written(Format::Html);
    assert_eq!((page.matches("<script>").count(), page.matches("</script>").count()), (1, 1));
    assert!(!page.contains(" src=") && !page.contains("@import") && !page.contains('\u{1b}'));
    assert_eq!(page.matches("<article ").count(), 3);
    assert_eq!(page.matches("data-kind=\"rule\"").count(), 2);
    assert!(page.contains("consumed again here") && page.contains("both draws are given the key [0, 0]"));
    assert!(page.contains("<li>created here <span>"));
    // Advice is long and needs no alignment.
    assert!(page.lines().any(|line| line.starts_with("<span class=\"prose\">") && line.contains("</span> note: ")));
    assert!(empty(Format::Html).contains("<p>All checks passed.</p>"));
    let mut files = FileTable::default();
    let file = files.add(PathBuf::from("<b>.py"), TEXT.replace("f(key)", "f('</script><b>')"));
    let mut one = finding(file);
    one.message = "</script><b title=\"x\">".to_owned();
    let hidden = HiddenCounts::default();
    let mut out = Vec::new();
    Report::new(&files, [&one], &hidden).write(Format::Html, false, &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    assert_eq!((page.matches("</script>").count(), page.matches("<b title").count()), (1, 0));
    assert!(page.contains("data-file=\"&lt;b&gt;.py\""));
}

#[test]
fn grouped_findings_stand_under_their_file() {
    insta::assert_snapshot!(written(Format::Grouped));
}

#[test]
fn github_shows_ten_annotations_of_each_level() {
    let mut files = FileTable::default();
    let file = files.add(PathBuf::from("a.py"), TEXT.to_owned());
    let mut findings = vec![finding(file); 25];
    findings[24].level = Level::Warning;
    findings[3].message = "a\u{202e}b\u{1b}[31m".to_owned();
    let hidden = HiddenCounts::default();
    let mut out = Vec::new();
    Report::new(&files, &findings, &hidden).write(Format::Github, false, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("::error ")).count(), 10);
    assert_eq!(text.lines().filter(|line| line.starts_with("::warning ")).count(), 1);
    assert_eq!(text.lines().filter(|line| line.starts_with("a.py:")).count(), 14);
    assert!(text.contains("::group::14 more") && text.ends_with("::endgroup::\n"));
    assert!(!text.contains(['\u{202e}', '\u{1b}']));
}

#[test]
fn gitlab_fingerprints_are_unique() {
    let report = written(Format::Gitlab);
    let entries: Vec<serde_json::Value> = serde_json::from_str(&report).unwrap();
    let mut fingerprints: Vec<&str> = entries.iter().map(|entry| entry["fingerprint"].as_str().unwrap()).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), entries.len());
    insta::assert_snapshot!(report);
    assert_eq!(empty(Format::Gitlab), "[]\n");
}

#[test]
fn junit_has_a_suite_per_file() {
    insta::assert_snapshot!(written(Format::Junit));
    insta::assert_snapshot!(empty(Format::Junit));
}

#[test]
fn rdjson_counts_bytes_and_suggests_fixes() {
    insta::assert_snapshot!(written(Format::Rdjson));
}

#[test]
fn sarif_has_locations_flows_and_fixes() {
    let report: serde_json::Value = serde_json::from_str(&written(Format::Sarif)).unwrap();
    let run = &report["runs"][0];
    insta::assert_snapshot!(serde_json::to_string_pretty(&run["results"]).unwrap());
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for rule in rules {
        for text in ["shortDescription", "fullDescription"] {
            let length = rule[text]["text"].as_str().unwrap().chars().count();
            assert!((10..=1_024).contains(&length), "{} {text}", rule["id"]);
        }
        assert!(rule["properties"].get("security-severity").is_none());
    }
}

#[test]
fn sarif_keeps_to_the_limit_of_results_and_says_so() {
    let mut files = FileTable::default();
    let file = files.add(PathBuf::from("a.py"), TEXT.to_owned());
    let mut findings = vec![finding(file); 25_010];
    for (at, finding) in findings.iter_mut().enumerate() {
        finding.level = if at < 20 { Level::Note } else { Level::Error };
        finding.flow.clear();
        finding.related.clear();
    }
    let hidden = HiddenCounts::default();
    let mut out = Vec::new();
    Report::new(&files, &findings, &hidden).write(Format::Sarif, false, &mut out).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let run = &report["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 25_000);
    assert_eq!(results.iter().filter(|result| result["level"] == "note").count(), 10);
    let notice = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    insta::assert_snapshot!(notice.as_str().unwrap(), @"10 of 25010 findings are omitted: GitHub accepts at most 25000 per upload");
}

/// The table of `docs/formats.md` that follows a heading, as the words in backticks that open its rows.
fn documented(heading: &str) -> Vec<String> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/formats.md")).unwrap();
    let section = page.split_once(heading).unwrap().1;
    let rows = section.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| {
        let cell = row.split('|').nth(1).unwrap_or_default();
        cell.split(',').map(|word| word.trim().trim_matches('`').to_owned()).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn formats_and_intents_are_documented() {
    let formats: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    assert_eq!(documented("# Report formats"), formats);
    let kinds: Vec<&str> = IntentKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(documented("| kind | reason |"), kinds);
}
