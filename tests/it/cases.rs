//! Python programs with marks for the findings that keylint must report: `fixtures/cases`, `fixtures/clean`, and the
//! examples of the rules' pages.
//!
//! A mark is a comment on the line where the finding starts:
//!
//! | mark | meaning |
//! |---|---|
//! | `# error`, `# error: [KEY101, KEY110]` | these findings are shown (whatever their level) |
//! | `# note: [KEY110]` | a finding that is hidden because it is a note |
//! | `# low: [KEY101]` | a finding that is hidden because its confidence is low |
//! | `# bug: missing [KEY101]` | should be shown and is not: fails once it is |
//! | `# bug: false [KEY101]` | is shown and should not be: fails once it is not |
//!
//! Without codes a mark means the page's rule, or the rule that the folder under `fixtures/cases` or `fixtures/clean` is
//! named after, or else any rule. Where that rule is opt-in, it is selected.
//!
//! `fixtures/pairs` holds pairs: of a program whose lines begin with `+|` or `-|`, the former stand in the right version only,
//! which must be silent, and the latter in the wrong one, where the marks count. A title may end with the code of an opt-in rule.
//!
//! **Invariant:** a shown finding without a mark fails, except KEY301, which every file with raw keys has once.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use keylint::finding::{Confidence, Level};
use keylint::rules;

use crate::in_memory::{Checked, check_text_with};
use crate::rule_docs;

/// The code that fixtures need not mark.
const UNMARKED: &str = "KEY301";

/// A program with its marks.
struct Case {
    /// The file that holds it.
    file: String,
    /// The path under which it is checked.
    path: String,
    /// Row of its first line within the file.
    first_row: usize,
    text: String,
    /// The code that marks without codes mean.
    rule: Option<&'static str>,
    /// Whether the case's own rule must not report at any level.
    is_silent: bool,
}

/// What a mark requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    Shown,
    Note,
    Low,
    BugMissing,
    BugFalse,
}

/// One mark for one code; `None` means any code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    row: usize,
    demand: Demand,
    code: Option<String>,
}

impl Mark {
    fn admits(&self, checked: &Checked) -> bool {
        self.row == checked.row && self.code.as_deref().is_none_or(|code| code == checked.finding.rule.code())
    }

    fn is_met_by(&self, checked: &Checked) -> bool {
        self.admits(checked)
            && match self.demand {
                Demand::Shown | Demand::BugFalse | Demand::BugMissing => checked.shown,
                Demand::Note => !checked.shown && checked.finding.level == Level::Note,
                Demand::Low => !checked.shown && checked.finding.confidence == Confidence::Low,
            }
    }
}

/// The marks of a program. A mark's word must be followed by the line's end, a colon or another comment.
fn marks(text: &str, rule: Option<&str>) -> Result<Vec<Mark>, String> {
    let mut marks = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for comment in line.split('#').skip(1) {
            let comment = comment.trim();
            let word = comment.split([':', ' ']).next().unwrap_or_default();
            let rest = comment[word.len()..].trim_start_matches(':').trim();
            let has_colon = comment[word.len()..].starts_with(':');
            let (demand, rest) = match (word, has_colon || rest.is_empty()) {
                ("error", true) => (Demand::Shown, rest),
                ("note", true) => (Demand::Note, rest),
                ("low", true) => (Demand::Low, rest),
                ("bug", true) => {
                    if let Some(rest) = rest.strip_prefix("missing") {
                        (Demand::BugMissing, rest.trim())
                    } else if let Some(rest) = rest.strip_prefix("false") {
                        (Demand::BugFalse, rest.trim())
                    } else {
                        return Err(format!("{}: a bug is `missing` or `false`: {comment}", index + 1));
                    }
                }
                _ => continue,
            };
            for code in codes(rest, rule).ok_or_else(|| format!("{}: unknown codes: {comment}", index + 1))? {
                marks.push(Mark { row: index + 1, demand, code });
            }
        }
    }
    Ok(marks)
}

/// The codes in `[KEY101, KEY110]`; the default where there are no brackets.
fn codes(text: &str, rule: Option<&str>) -> Option<Vec<Option<String>>> {
    if text.is_empty() {
        return Some(vec![rule.map(str::to_owned)]);
    }
    let (inner, _reason) = text.strip_prefix('[')?.split_once(']')?;
    inner
        .split(',')
        .map(|selector| rules::find(selector.trim()).map(|rule| Some(rule.code().to_owned())))
        .collect::<Option<Vec<_>>>()
}

/// One finding as a phrase of a failure message.
fn phrase(checked: &Checked) -> String {
    let finding = &checked.finding;
    let hidden = if checked.shown { "" } else { ", hidden" };
    format!(
        "{} {}:{} ({}, {}{hidden}) {}",
        finding.rule.code(),
        checked.row,
        checked.column,
        finding.level,
        finding.confidence,
        finding.message
    )
}

/// The problems of one case: row within the case, and a sentence.
fn mismatches(case: &Case, findings: &[Checked]) -> Vec<(usize, String)> {
    let marks = match marks(&case.text, case.rule) {
        Ok(marks) => marks,
        Err(problem) => return vec![(1, problem)],
    };
    let mut wrong = Vec::new();
    for mark in &marks {
        let code = mark.code.as_deref().unwrap_or("any code");
        let is_met = findings.iter().any(|checked| mark.is_met_by(checked));
        let sentence = match (mark.demand, is_met) {
            (Demand::Shown, false) => format!("expected {code}"),
            (Demand::Note, false) => format!("expected {code} as a note"),
            (Demand::Low, false) => format!("expected {code} with low confidence"),
            (Demand::BugMissing, true) => format!("{code} is reported now: write `error` for `bug: missing`"),
            (Demand::BugFalse, false) => format!("{code} is not reported any more: remove `bug: false`"),
            (Demand::Shown | Demand::Note | Demand::Low | Demand::BugFalse, true) | (Demand::BugMissing, false) => {
                continue;
            }
        };
        let got: Vec<String> = findings.iter().filter(|checked| checked.row == mark.row).map(phrase).collect();
        let got = if got.is_empty() { "nothing".to_owned() } else { got.join("; ") };
        wrong.push((mark.row, format!("{sentence}\n        got {got}")));
    }
    let mut seen = BTreeSet::new();
    for checked in findings {
        let code = checked.finding.rule.code();
        let is_own = case.rule == Some(code);
        let is_marked = marks.iter().any(|mark| mark.admits(checked) && mark.demand != Demand::BugMissing);
        if checked.shown && !is_marked && (code != UNMARKED || is_own) {
            wrong.push((checked.row, format!("unexpected {}", phrase(checked))));
        }
        if !checked.shown && case.is_silent && is_own && checked.finding.confidence > Confidence::Low {
            wrong.push((checked.row, format!("the page's own rule is not silent: {}", phrase(checked))));
        }
        if !seen.insert((checked.row, checked.column, code)) {
            wrong.push((checked.row, format!("reported twice: {}", phrase(checked))));
        }
    }
    wrong.sort();
    wrong
}

/// Runs all cases, and fails with the problems of all of them.
fn run(cases: &[Case]) {
    let mut report = String::new();
    let (mut count, mut files) = (0, BTreeSet::new());
    for case in cases {
        // Where a case belongs to an opt-in rule, that rule is selected.
        let own = case.rule.and_then(rules::find).filter(|rule| rule.opt_in);
        let findings = check_text_with(&case.path, &case.text, own.map(keylint::rules::Rule::code).as_slice());
        for (row, sentence) in mismatches(case, &findings) {
            let line = case.text.lines().nth(row.saturating_sub(1)).unwrap_or_default().trim();
            let row = case.first_row + row - 1;
            writeln!(report, "\n{}:{row}: {line}\n    {sentence}", case.file).expect("writing to a string succeeds");
            count += 1;
            files.insert(&case.file);
        }
    }
    assert!(report.is_empty(), "{count} mismatches in {} of {} programs\n{report}", files.len(), cases.len());
}

/// The Python files below `fixtures/<folder>`, in order.
fn fixtures(folder: &str) -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = root.join("fixtures").join(folder);
    walkdir::WalkDir::new(&top)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "py"))
        .filter(|entry| !entry.file_name().to_string_lossy().ends_with(".fixed.py"))
        .map(|entry| {
            let path = entry.path().strip_prefix(root).expect("fixtures lie in the repository").display().to_string();
            let topic = entry.path().strip_prefix(&top).ok().and_then(|below| below.iter().next());
            let rule = topic.and_then(|topic| rules::find(&topic.to_string_lossy())).map(keylint::rules::Rule::code);
            let text = fs::read_to_string(entry.path()).expect("fixtures are UTF-8");
            Case { file: path.clone(), path, first_row: 1, text, rule, is_silent: false }
        })
        .collect()
}

/// The Python examples of all pages.
fn examples() -> Vec<Case> {
    let mut cases = Vec::new();
    for rule in rules::all() {
        for fence in rule_docs::fences(rule.name()).into_iter().filter(|fence| fence.language == "py") {
            cases.push(Case {
                file: format!("rules/{}.md", rule.name()),
                path: format!("{}.py", rule.name().replace('-', "_")),
                first_row: fence.first_row,
                is_silent: fence.section == "Correct",
                text: fence.text,
                rule: Some(rule.code()),
            });
        }
    }
    cases
}

/// Both versions of the programs of `fixtures/pairs`. What one version lacks is blank there, so that rows are the file's.
fn pairs() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = fs::read_dir(root.join("fixtures/pairs"))
        .expect("the programs are there")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("fixtures are UTF-8");
        let file = file.strip_prefix(root).expect("fixtures lie in the repository").display().to_string();
        let mut rows = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with("### ")).peekable();
        while let Some((row, title)) = rows.next() {
            let title = title.trim_start_matches("### ");
            let (name, rule) = title.split_once(" [").unwrap_or((title, ""));
            let rule = rules::find(rule.trim_end_matches(']')).map(rules::Rule::code);
            let mut body = Vec::new();
            while let Some((_, line)) = rows.next_if(|(_, line)| !line.starts_with("### ")) {
                body.push(line);
            }
            for (wanted, other) in [("+|", "-|"), ("-|", "+|")] {
                let version = body.iter().map(|line| match line.strip_prefix(wanted) {
                    Some(line) => line,
                    None if line.starts_with(other) => "",
                    None => line,
                });
                let version = version.map(|line| if wanted == "+|" { unmarked(line) } else { line });
                let text = version.collect::<Vec<_>>().join("\n") + "\n";
                let path = format!("{name}{}.py", if wanted == "+|" { "" } else { "_wrong" });
                cases.push(Case { file: file.clone(), path, first_row: row + 2, text, rule, is_silent: false });
            }
        }
    }
    cases
}

/// A line without its marks.
fn unmarked(line: &str) -> &str {
    line.split_once("  # error").map_or(line, |(code, _)| code)
}

#[test]
fn corrected_programs_are_silent() {
    let cases = pairs();
    assert!(cases.len() > 200, "only {} programs were read", cases.len());
    run(&cases);
}

#[test]
fn fixtures_report_their_expectations() {
    run(&fixtures("cases"));
}

#[test]
fn clean_code_stays_silent() {
    run(&fixtures("clean"));
}

#[test]
fn rule_pages_report_their_expectations() {
    run(&examples());
}

mod harness {
    use keylint::finding::{Finding, Place, RuleId};
    use keylint::text::{FileId, Span};

    use super::*;

    fn checked(row: usize, code: &'static str, level: Level, confidence: Confidence) -> Checked {
        let finding = Finding::new(
            RuleId::from_code(code).unwrap(),
            level,
            confidence,
            Place { file: FileId(0), span: Span::new(0, 0) },
            "message".to_owned(),
        );
        let shown = level > Level::Note && confidence > Confidence::Low;
        Checked { finding, shown, row, column: 1 }
    }

    fn wrong(text: &str, findings: &[Checked]) -> Vec<usize> {
        let case = Case {
            file: String::new(),
            path: String::new(),
            first_row: 1,
            text: text.to_owned(),
            rule: Some("KEY101"),
            is_silent: false,
        };
        mismatches(&case, findings).into_iter().map(|(row, _)| row).collect()
    }

    #[test]
    fn unmarked_findings_fail() {
        let error = || checked(1, "KEY101", Level::Error, Confidence::High);
        assert!(wrong("x  # error", &[error()]).is_empty());
        assert!(wrong("x  # error: [key-reused] why", &[error()]).is_empty());
        assert_eq!(wrong("x", &[error()]), [1]);
        assert_eq!(wrong("x  # error", &[]), [1]);
        assert_eq!(wrong("x  # error: [KEY102]", &[error()]), [1, 1]);
        assert_eq!(wrong("x  # error", &[error(), error()]), [1]);
        assert!(wrong("x  # error handling", &[]).is_empty());
        assert_eq!(wrong("x  # error: [KEY999]", &[]), [1]);
    }

    #[test]
    fn hidden_findings_may_have_expectations() {
        let note = || checked(1, "KEY101", Level::Note, Confidence::High);
        let low = || checked(1, "KEY101", Level::Error, Confidence::Low);
        assert!(wrong("x", &[note()]).is_empty());
        assert!(wrong("x  # note", &[note()]).is_empty());
        assert!(wrong("x  # low: [KEY101]", &[low()]).is_empty());
        assert_eq!(wrong("x  # low", &[note()]), [1]);
        assert_eq!(wrong("x  # error", &[low()]), [1]);
    }

    #[test]
    fn known_bugs_fail_once_fixed() {
        let error = || checked(1, "KEY101", Level::Error, Confidence::High);
        assert!(wrong("x  # bug: missing [KEY101]", &[]).is_empty());
        assert_eq!(wrong("x  # bug: missing [KEY101]", &[error()]), [1, 1]);
        assert!(wrong("x  # bug: false [KEY101]", &[error()]).is_empty());
        assert_eq!(wrong("x  # bug: false [KEY101]", &[]), [1]);
    }

    #[test]
    fn raw_keys_need_no_mark() {
        let legacy = || checked(1, "KEY301", Level::Warning, Confidence::High);
        assert!(wrong("x", &[legacy()]).is_empty());
        assert!(wrong("x  # error: [KEY301]", &[legacy()]).is_empty());
        assert_eq!(wrong("x  # error: [KEY301]", &[]), [1]);
    }
}
