//! Tests of suppression. In these programs, every call of `draw` is a finding of KEY101, and every `1 + key` is one of KEY202.

use keylint::finding::{Confidence, Finding, Level, Place, RuleId};
use keylint::python::{self, SourceKind};
use keylint::suppress::{Applied, Directive, Source, apply, parse};
use keylint::text::{Cells, FileId, LineIndex, Span};
use proptest::prelude::*;

fn finding(rule: RuleId, start: usize, len: usize) -> Finding {
    let offset = |at: usize| u32::try_from(at).unwrap();
    Finding::new(
        rule,
        Level::Error,
        Confidence::High,
        Place { file: FileId(0), span: Span::new(offset(start), offset(start + len)) },
        String::new(),
    )
}

fn run(text: &str, is_selected: &dyn Fn(RuleId) -> bool) -> Applied {
    let parsed = python::parse(text, SourceKind::Py);
    let mut findings = Vec::new();
    for (rule, mark) in
        [(RuleId::KeyReused, "draw(key)"), (RuleId::KeyArithmetic, "1 + key"), (RuleId::SyntaxError, "$syntax")]
    {
        findings.extend(text.match_indices(mark).map(|(at, _)| finding(rule, at, mark.len())));
    }
    let lines = LineIndex::new(text);
    let statements = python::statement_spans(&parsed.module, text);
    let source = Source {
        file: FileId(0),
        text,
        lines: &lines,
        cells: Cells::none(),
        comments: &parsed.comments,
        statements: &statements,
    };
    apply(source, is_selected, findings)
}

/// The remaining findings as `row: code`; those about comments also with their span and message.
fn left(text: &str) -> Vec<String> {
    let lines = LineIndex::new(text);
    let show = |finding: &Finding| {
        let row = lines.row(finding.primary.span.start);
        let span = finding.primary.span;
        let at = &text[span.start as usize..span.end as usize];
        if finding.message.is_empty() {
            format!("{row}: {}", finding.rule)
        } else {
            format!("{row}: {} at `{at}`: {}; {}", finding.rule, finding.message, finding.help.as_deref().unwrap())
        }
    };
    run(text, &|_| true).findings.iter().map(show).collect()
}

fn clean(text: &str) {
    assert_eq!(left(text), [""; 0], "{text}");
}

#[test]
fn comments_on_any_line_apply_to_the_whole_statement() {
    clean("a = draw(key)  # keylint: ignore[KEY101] the same on purpose\n");
    clean("a = f(  # keylint: ignore[KEY101]\n    draw(key),\n)\n");
    clean("a = f(\n    draw(key),\n)  # keylint: ignore[KEY101]\n");
    clean("a = f(\n    # keylint: ignore[KEY101]\n    draw(key),\n)\n");
    clean("a = '''\n'''; b = draw(key)  # keylint: ignore[key-reused]\n");
}

#[test]
fn comments_on_their_own_line_apply_to_the_statement_below() {
    clean("# keylint: ignore[KEY101]\na = draw(key)\n");
    clean("# keylint: ignore[KEY101]\n# keylint: ignore[KEY202]\n# why\na = draw(key), 1 + key\n");
    clean("if x:\n    # keylint: ignore[KEY101]\n    a = draw(key)\n");
    assert_eq!(left("# keylint: ignore[KEY101]\n\na = draw(key)\n").len(), 2);
    assert_eq!(left("a = draw(key)\n# keylint: ignore[KEY101]\n").len(), 2);
}

#[test]
fn comments_on_compound_statements_cover_header_and_decorators() {
    clean("@f(draw(key))  # keylint: ignore[KEY101]\ndef g():\n    pass\n");
    clean("@f(draw(key))\ndef g():  # keylint: ignore[KEY101]\n    pass\n");
    clean("while draw(key):  # keylint: ignore[KEY101]\n    pass\n");
    clean("if x:\n    pass\nelif draw(key):  # keylint: ignore[KEY101]\n    pass\n");
    let body = left("def g():  # keylint: ignore[KEY101]\n    return draw(key)\n");
    assert_eq!(body[0], "2: KEY101");
    assert!(body[1].starts_with("1: KEY002"), "{body:?}");
}

#[test]
fn one_comment_may_hold_several_directives_and_codes() {
    clean("a = draw(key), 1 + key  # keylint: ignore[KEY101, key-arithmetic] see #12\n");
    clean("a = draw(key)  # type: ignore # keylint: ignore[KEY101] reason\n");
    clean("a = draw(key)  # keylint:ignore[ KEY101 ]\n");
    clean("a = draw(key)  #keylint: ignore[KEY101]\n");
}

#[test]
fn file_level_ignores_apply_everywhere() {
    clean("# keylint: file-ignore[KEY101, KEY202] generated\na = draw(key)\nb = draw(key)\nc = 1 + key\n");
    clean("a = draw(key)\nb = 2  # keylint: file-ignore[KEY101]\n");
}

#[test]
fn reasons_of_suppressions_are_kept() {
    let applied = run("a = draw(key)  # keylint: ignore[KEY101]  compares runs \n", &|_| true);
    assert_eq!(applied.suppressed[0].reason, "compares runs");
    assert_eq!(applied.suppressed[0].finding.rule, RuleId::KeyReused);
}

#[test]
fn noqa_is_honoured_and_never_reported() {
    clean("a = draw(key)  # noqa\n");
    clean("a = draw(key)  # NOQA: E501, KEY101\n");
    clean("a = draw(key)  # noqa:KEY101 it is meant\n");
    clean("a = f(\n    draw(key),\n)  # noqa: KEY101\n");
    clean("a = 1  # noqa: KEY101\n");
    clean("a = 1  # noqa\n");
    assert_eq!(left("a = draw(key)  # noqa: E501\n"), ["1: KEY101"]);
    assert_eq!(left("a = draw(key)  # noqa: see below\n"), ["1: KEY101"]);
    assert_eq!(left("a = draw(key)  # ruff: noqa: E501\n"), ["1: KEY101"]);
    assert_eq!(left("# noqa: KEY101\na = draw(key)\n"), ["2: KEY101"]);
}

#[test]
fn comments_for_a_file_behind_code_are_reported() {
    for comment in ["# ruff: noqa", "# ruff: noqa: KEY101", "# flake8: noqa"] {
        let found = left(&format!("a = draw(key)  {comment}\n"));
        assert_eq!(found[0], "1: KEY101");
        assert!(found[1].starts_with(&format!("1: KEY003 at `{comment}`: ")), "{found:?}");
    }
}

#[test]
fn own_comments_take_precedence_over_noqa() {
    clean("a = draw(key)  # noqa  # keylint: ignore[KEY101]\n");
}

#[test]
fn unused_and_invalid_comments_are_findings() {
    let texts = [
        "a = 1  # keylint: ignore[KEY101]\n",
        "a = draw(key)  # keylint: ignore[KEY101, KEY102, KEY202]\n",
        "# keylint: file-ignore[KEY102]\n",
        "a = draw(key)  # keylint: ignore[KEY11]\n",
        "a = draw(key)  # keylint: ignore[key-resued, KEY101]\n",
        "a = draw(key)  # keylint: ignore\n",
        "a = draw(key)  # keylint: ignore because\n",
        "a = draw(key)  # keylint: ignore[]\n",
        "a = draw(key)  # keylint: ignore[KEY101\n",
        "a = draw(key)  # keylint ignore[KEY101]\n",
        "a = draw(key)  # keylint: ignroe[KEY101]\n",
        "a = draw(key)  # keylint: ignore(KEY101)\n",
        "a = draw(key)  # keylint: disable=KEY101,KEY102\n",
        "a = draw(key)  # keylint: noqa\n",
        "a = draw(key)  # keylint: the key is shared\n",
        "a = draw(key)  # keylint: ignore[KEY001]\n",
        "a = draw(key)  # keylint: ignore[KEY002]\n",
        "def f(key):  # keylint: consumes\n    pass\n",
        "a = 1  # type: ignore  # keylint: ignore[KEY101] é\n",
    ];
    let shown: Vec<String> = texts.iter().map(|text| format!("{text}    {}\n", left(text).join("\n    "))).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn prose_and_effect_comments_do_not_suppress() {
    clean("# keylint finds misuse of keys\n");
    clean("# see keylint: it finds misuse\n");
    clean("def f(key):  # keylint: consumes(key)\n    pass\n");
    clean("def f(a, b):  # keylint: derives(a, b) reason\n    pass\n");
    clean("# keylint: observes(key)\ndef f(key):\n    pass\n");
    clean("a = '# keylint: ignore'\n");
}

#[test]
fn only_selected_rules_are_judged() {
    let text = "a = 1  # keylint: ignore[KEY101]\nb = 1  # keylint: ignore[KEY202]\n";
    let applied = run(text, &|code| code != RuleId::KeyReused);
    assert_eq!(applied.findings.len(), 1);
    assert_eq!(applied.findings[0].primary.span.start as usize, text.rfind("# keylint").unwrap());
    assert!(run(text, &|code| code != RuleId::UnusedSuppression).findings.is_empty());
}

#[test]
fn findings_about_the_run_cannot_be_silenced_but_those_about_comments_can_for_a_file() {
    assert_eq!(left("a = $syntax  # noqa\n"), ["1: KEY001"]);
    clean("# keylint: file-ignore[KEY002]\na = 1  # keylint: ignore[KEY101]\n");
    clean("# keylint: file-ignore[invalid-suppression]\na = 1  # keylint: ignore[KEY999]\n");
    clean("# keylint: file-ignore[KEY002] unused itself, which is not asked\n");
}

#[test]
fn other_line_ends_and_characters_shift_nothing() {
    clean("é = '漢'\r\n# keylint: ignore[KEY101]\r\na = draw(key)\r\n");
    clean("a = ('é', draw(key))  # é # keylint: ignore[KEY101] é\r");
}

proptest! {
    #[test]
    fn parsing_is_total_and_its_ranges_lie_within_the_comment(
        body in "( |#|noqa|keylint|:|ignore|file-ignore|\\[|\\]|KEY101|,|é|x|\\(|\\)|consumes){0,16}"
    ) {
        let comment = format!("#{body}");
        let (directives, problems) = parse(&comment);
        for problem in &problems {
            prop_assert!(comment.get(problem.range.0..problem.range.1).is_some());
        }
        for directive in &directives {
            if let Directive::Ignore { items, .. } = directive {
                for item in items {
                    prop_assert_eq!(&comment[item.start..item.start + item.written.len()], item.written.as_str());
                }
            }
        }
    }
}
