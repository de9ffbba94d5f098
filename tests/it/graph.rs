//! `keylint graph`: pictures of how keys are derived and consumed.
//!
//! **Invariant:** the graphs of fixtures are recorded. Whatever the program contains, a page has one script and no
//! URL.

use std::path::{Path, PathBuf};

use keylint::cli::Status;

use crate::run;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/graph")
}

fn graph(arguments: &[&str]) -> run::Ran {
    let file = folder().join(arguments[0].split("::").next().unwrap());
    let place = arguments[0].replacen(file.file_name().unwrap().to_str().unwrap(), file.to_str().unwrap(), 1);
    let arguments = ["graph", "--isolated", &place].into_iter().chain(arguments[1..].iter().copied());
    run::keylint(&folder(), arguments.map(str::to_owned), &[])
}

/// The picture, with the path of the fixtures left out.
fn picture(arguments: &[&str]) -> String {
    let ran = graph(arguments);
    assert_eq!((ran.status, ran.err.as_str()), (Status::Clean, ""));
    ran.text().replace(folder().to_str().unwrap(), "")
}

#[test]
fn mermaid_shows_splits_folds_uses_and_reuse() {
    insta::assert_snapshot!(picture(&["train.py"]));
}

/// A key of a later iteration is consumed at the place of a finding, and is not reused.
#[test]
fn only_reused_keys_are_red() {
    let red = |function: &str| {
        let shown = picture(&[&format!("loop.py::{function}")]);
        let boxes = shown.lines().filter(|line| line.contains("<b>") && line.contains(":::reused"));
        boxes.map(|line| line.split(['>', '<']).nth(2).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(red("train"), ["rng"]);
    assert_eq!(red("rollout"), ["reset_rng"]);
    assert_eq!(red("reset"), [""; 0]);
    assert_eq!(red("step"), [""; 0]);
    let page = picture(&["loop.py::rollout", "--output-format", "html"]);
    assert!(page.contains("aria-label=\"source\" data-start=\"22\""));
}

#[test]
fn bodies_of_loops_are_drawn_with_the_function_that_runs_them() {
    insta::assert_snapshot!(picture(&["bodies.py"]));
}

#[test]
fn dot_shows_one_function() {
    insta::assert_snapshot!(picture(&["train.py::main", "--output-format", "dot"]));
}

#[test]
fn arguments_of_unresolved_functions_are_not_keys_for_that_alone() {
    let shown = picture(&["unresolved.py"]);
    assert!(shown.contains("<b>key</b>") && shown.contains("mystery may consume it"), "{shown}");
    for other in ["data", "config", "prepared"] {
        assert!(!shown.contains(&format!("<b>{other}</b>")), "{shown}");
    }
}

#[test]
fn functions_are_found_by_suffix() {
    let of_class = picture(&["train.py::Trainer.epoch"]);
    assert_eq!(picture(&["train.py::epoch"]), of_class);
    assert!(of_class.contains("Trainer.epoch") && !of_class.contains("noisy"));
}

#[test]
fn unknown_functions_are_errors_with_a_suggestion() {
    let ran = graph(&["train.py::mian"]);
    assert_eq!((ran.status, ran.out.len()), (Status::Failed, 0));
    assert!(ran.err.contains("did you mean `main`?") && ran.err.contains("`noisy`"), "{}", ran.err);
}

#[test]
fn names_without_a_function_are_errors() {
    let ran = graph(&["train.py::"]);
    assert!(ran.status == Status::Failed && ran.err.contains("lacks a function name"), "{}", ran.err);
}

#[test]
fn file_names_decide_the_format_unless_one_is_given() {
    let dir = tempfile::tempdir().unwrap();
    for (name, options, start) in [
        ("a.html", &[][..], "<!DOCTYPE html>"),
        ("a.gv", &[], "digraph"),
        ("a.md", &[], "flowchart"),
        ("a.txt", &["--output-format", "mermaid"], "flowchart"),
        ("b.html", &["--output-format", "dot"], "digraph"),
    ] {
        let file = dir.path().join(name);
        let ran = graph(&[&["thirty.py", "-o", file.to_str().unwrap()], options].concat());
        assert_eq!(ran.status, Status::Clean, "{}", ran.err);
        assert!(std::fs::read_to_string(file).unwrap().starts_with(start), "{name}");
    }
    assert!(picture(&["thirty.py", "-o", "-"]).starts_with("flowchart"));
    for name in ["keys.svg", "keys"] {
        let file = dir.path().join(name);
        let ran = graph(&["thirty.py", "-o", file.to_str().unwrap()]);
        assert_eq!(ran.status, Status::Failed);
        assert!(
            ran.err.contains("cannot infer the format") && ran.err.contains("`.mmd`, `.mermaid`, `.dot`, `.gv`"),
            "{}",
            ran.err
        );
        assert!(!file.exists());
    }
}

#[test]
fn graphs_report_syntax_errors() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.py");
    std::fs::write(&file, "import jax\nkey = jax.random.key(0)\nx = jax.random.normal(key)\ny = (\n").unwrap();
    let ran = run::keylint(dir.path(), ["graph", "--isolated", file.to_str().unwrap()], &[]);
    assert_eq!(ran.status, Status::Clean);
    assert!(
        ran.err.starts_with("warning: ") && ran.err.contains("a.py:4:5: syntax error: `(` was never closed"),
        "{}",
        ran.err
    );
    assert!(ran.text().contains("jax.random.normal"));
    // `why` does not show everything about such a file.
    let line = format!("{}:4", file.to_str().unwrap());
    let ran = run::keylint(dir.path(), ["why", "--isolated", &line], &[]);
    let said = ran.text();
    assert!(said.contains("a.py:4:5: syntax error: `(` was never closed"), "{said}");
    // A file that imports no library may still receive keys.
    std::fs::write(&file, "def f(:\n").unwrap();
    let ran = run::keylint(dir.path(), ["graph", "--isolated", file.to_str().unwrap()], &[]);
    assert_eq!(ran.status, Status::Failed);
    assert!(ran.err.contains("a.py:1:7: syntax error: "), "{}", ran.err);
}

#[test]
fn html_pages_are_self_contained_and_escaped() {
    let page = picture(&["train.py", "--output-format", "html"]);
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(page.contains("&lt;/script&gt;&lt;b title=&quot;x&quot;&gt;&#39;"));
    assert!(
        !page.contains("http:") && !page.contains("https:") && !page.contains(" src=") && !page.contains("@import")
    );
    // Both consumptions of `noise_key` are highlighted, in the graph and in the source.
    assert!(page.contains("✗ normal, line 9") && page.contains("✗ bernoulli, line 13"));
    assert!(page.contains("<li id=\"row-9\" class=\"bad\">") && page.contains("<li id=\"row-13\" class=\"bad\">"));
    // `fold_in(key, 1)` is `split(key)[1]`.
    assert_eq!(page.matches("class=\"equal\"").count(), 1);
}

#[test]
fn pages_can_be_written_to_files() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("keys.html");
    let ran = graph(&["thirty.py", "--output-format", "html", "-o", file.to_str().unwrap()]);
    assert_eq!((ran.status, ran.out.len()), (Status::Clean, 0));
    let page = std::fs::read_to_string(file).unwrap();
    assert_eq!(page.matches("<g class=\"key").count(), 29);
    assert_eq!(page.matches("<g class=\"key reused\"").count(), 1);
}
