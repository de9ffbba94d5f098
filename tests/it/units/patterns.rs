//! Tests of `config::Patterns`.

use std::path::Path;

use keylint::config::{Patterns, absolute};

fn matches(pattern: &str, path: &str) -> bool {
    Patterns::new(Path::new("/p"), &[pattern.to_owned()]).unwrap().matches(Path::new(path))
}

#[test]
fn bare_patterns_match_any_component() {
    assert!(matches("test_*.py", "/p/a/test_x.py"));
    assert!(matches("gen", "/p/a/gen/b.py"));
    assert!(!matches("gen", "/p/a/generated/b.py"));
    assert!(matches("gen", "/elsewhere/gen/b.py"));
}

#[test]
fn trailing_slashes_match_directories_only() {
    assert!(matches("tests/", "/p/a/tests/b.py"));
    assert!(!matches("tests/", "/p/a/tests"));
}

#[test]
fn an_inner_slash_anchors_at_the_base() {
    assert!(matches("a/*.py", "/p/a/b.py"));
    assert!(!matches("a/*.py", "/p/c/a/b.py"));
    assert!(!matches("a/*.py", "/p/a/c/b.py"));
    assert!(matches("/a", "/p/a/b.py"));
    assert!(!matches("/a", "/p/c/a/b.py"));
    assert!(matches("**/a/b.py", "/p/c/a/b.py"));
}

#[test]
fn malformed_patterns_are_named_by_index() {
    let error = Patterns::new(Path::new("/p"), &["ok".to_owned(), "a[".to_owned()]).unwrap_err();
    assert_eq!(error.0, 1);
}

#[test]
fn paths_are_made_absolute_on_paper() {
    assert_eq!(absolute(Path::new("/p/q"), Path::new("../a/./b.py")), Path::new("/p/a/b.py"));
    assert_eq!(absolute(Path::new("/p"), Path::new("/x.py")), Path::new("/x.py"));
}
