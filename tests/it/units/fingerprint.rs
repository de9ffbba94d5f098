//! Fingerprints of findings.

use keylint::engine::fingerprint::{Subject, name_all};
use keylint::finding::{Confidence, Finding, Level, Place, RuleId};
use keylint::python::{SourceKind, parse, statement_spans};
use keylint::text::{FileId, Span};

/// Fingerprints of a finding at each `f(`.
fn fingerprints(path: &str, text: &str) -> Vec<String> {
    let parsed = parse(text, SourceKind::Py);
    let statements = statement_spans(&parsed.module, text);
    let at = |at: usize| u32::try_from(at).unwrap();
    let mut findings: Vec<Finding> = text
        .match_indices("f(")
        .map(|(start, _)| Finding {
            function: "g".to_owned(),
            ..Finding::new(
                RuleId::KeyReused,
                Level::Error,
                Confidence::High,
                Place { file: FileId(0), span: Span::new(at(start), at(start + 1)) },
                String::new(),
            )
        })
        .collect();
    name_all(Subject { path, text, statements: &statements }, &mut findings);
    findings.into_iter().map(|finding| finding.fingerprint).collect()
}

#[test]
fn fingerprints_are_stable() {
    // A stored baseline depends on this very number.
    assert_eq!(fingerprints("a/b.py", "x = f(key)\n"), ["fae02bf34372b617"]);
}

#[test]
fn layout_and_comments_do_not_matter() {
    let plain = fingerprints("a.py", "x = f(key, n)\n");
    assert_eq!(plain, fingerprints("a.py", "\n# more\n\nx=f( key,  # the key\n  n)  # end\n"));
    assert_eq!(plain, fingerprints("a.py", "if p:\n    x = f(key, \\\n n)\n"));
    assert_eq!(plain, fingerprints("a.py", "drawn = f(key, shape,)\n"));
    assert_eq!(fingerprints("a.py", "x = f('a')\n"), fingerprints("a.py", "x = (f(\"a\"))\n"));
    assert_ne!(plain, fingerprints("a.py", "x = f(key, n, 3)\n"));
    assert_ne!(plain, fingerprints("b.py", "x = f(key, n)\n"));
}

#[test]
fn equal_findings_are_numbered() {
    let twice = fingerprints("a.py", "x = f(k)\ny = 1\nx = f(k)\n");
    assert_ne!(twice[0], twice[1]);
    assert_eq!(twice[..1], fingerprints("a.py", "x = f(k)\n"));
}
