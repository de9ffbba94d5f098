//! The baseline, through the executable: accepted findings are hidden, new ones are reported, and no entry is lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::run;

const REUSE: &str = "import jax\n\n\ndef draw(key):\n    a = jax.random.normal(key)\n    b = jax.random.normal(key)\n    return a + b\n";

/// Status, standard output and standard error of `keylint ARGUMENTS` in a folder.
fn keylint(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_keylint")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = run::folder(&[("keylint.toml", "baseline = 'accepted.json'\n")]);
    run::write(folder.path(), files);
    folder
}

#[test]
fn old_findings_are_accepted_and_new_ones_reported() {
    let folder = project(&[("pkg/a.py", REUSE)]);
    let at = folder.path();
    assert_eq!(keylint(at, &["baseline", "create"]).1, "accepted.json: 1 accepted (1 added, 0 removed).\n");
    let (status, out, err) = keylint(at, &["check"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(out, "All checks passed (1 accepted by the baseline).\n");

    // Lines above, other names, another place in the file, another style: the finding is the same.
    let moved = format!("\"\"\"A module.\"\"\"\n\nunrelated = 1\n{REUSE}");
    fs::write(at.join("pkg/a.py"), &moved).unwrap();
    assert_eq!(keylint(at, &["check"]).0, 0);
    let renamed =
        moved.replace("b = jax.random.normal(key)", "other = (jax.random.normal(\n        key,  # again\n    ))");
    fs::write(at.join("pkg/a.py"), renamed.replace("a + b", "a + other")).unwrap();
    assert_eq!(keylint(at, &["check"]).0, 0);
    let (head, function) = REUSE.split_once("\n\n\n").unwrap();
    let below = format!("{head}\n\n\ndef other(key):\n    return jax.random.bits(key)\n\n\n{function}");
    fs::write(at.join("pkg/a.py"), below).unwrap();
    assert_eq!(keylint(at, &["check"]).0, 0);
    let second = moved.replace("    return", "    c = jax.random.uniform(key)\n    print(c)\n    return");
    fs::write(at.join("pkg/a.py"), second).unwrap();
    let (status, out, _) = keylint(at, &["check", "--output-format", "concise"]);
    assert_eq!(status, 1);
    assert_eq!(out.lines().filter(|line| line.contains("KEY101")).count(), 1, "{out}");
    assert!(out.contains("pkg/a.py:10:9"), "{out}");

    // The option wins over the configuration.
    assert_eq!(keylint(at, &["baseline", "create", "--baseline", "other.json"]).0, 0);
    assert_eq!(keylint(at, &["check", "--baseline", "other.json"]).0, 0);
}

/// Of two files with raw keys, one is accepted: the other is listed, with its fix.
#[test]
fn what_a_baseline_leaves_keeps_its_fix() {
    let raw = "import jax\n\nkey = jax.random.PRNGKey(1)\nprint(jax.random.normal(key))\n";
    let folder = project(&[("pkg/a.py", raw)]);
    let at = folder.path();
    assert_eq!(keylint(at, &["baseline", "create"]).0, 0);
    fs::write(at.join("pkg/b.py"), raw).unwrap();
    let configured = keylint(at, &["check", "--no-cache"]).1;
    fs::write(at.join("keylint.toml"), "").unwrap();
    let given = keylint(at, &["check", "--no-cache", "--baseline", "accepted.json"]).1;
    for out in [configured, given] {
        assert!(out.contains("create typed keys") && out.contains("pkg/b.py") && !out.contains("pkg/a.py"), "{out}");
        assert!(out.ends_with("\n1 fix would be applied with --fix --unsafe-fixes.\n"), "{out}");
    }
}

#[test]
fn stale_entries_are_reported_and_pruned() {
    let folder = project(&[("a.py", REUSE), ("b.py", REUSE), ("c.py", REUSE)]);
    let at = folder.path();
    keylint(at, &["baseline", "create"]);
    fs::write(at.join("a.py"), "import jax\n").unwrap();
    fs::remove_file(at.join("b.py")).unwrap();
    let (status, _, err) = keylint(at, &["check"]);
    assert_eq!(status, 0);
    assert_eq!(
        err,
        "warning: 2 entries of `accepted.json` matched no finding; `keylint baseline prune` removes them\n"
    );
    // A run that covers one file says nothing about the others, but entries of deleted files are removed.
    assert!(keylint(at, &["check", "c.py"]).2.starts_with("warning: 1 entry of "));
    assert_eq!(keylint(at, &["baseline", "prune", "c.py"]).1, "accepted.json: 2 accepted (0 added, 1 removed).\n");
    assert_eq!(keylint(at, &["baseline", "prune"]).1, "accepted.json: 1 accepted (0 added, 1 removed).\n");
    // Pruning accepts nothing new; updating does.
    fs::write(at.join("d.py"), REUSE).unwrap();
    assert_eq!(keylint(at, &["baseline", "prune"]).1, "accepted.json: 1 accepted (0 added, 0 removed).\n");
    assert_eq!(keylint(at, &["check"]).0, 1);
    assert_eq!(keylint(at, &["baseline", "update"]).1, "accepted.json: 2 accepted (1 added, 0 removed).\n");
    assert_eq!(keylint(at, &["check"]).0, 0);
}

#[test]
fn unreadable_baselines_are_errors() {
    let folder = project(&[("a.py", REUSE)]);
    let at = folder.path();
    let (status, _, err) = keylint(at, &["check"]);
    assert_eq!(status, 2);
    assert!(err.contains("cannot read the baseline `accepted.json`") && err.contains("baseline create"), "{err}");
    fs::write(at.join("accepted.json"), "{\"version\": 2,\n \"findings\": [{\"path\": 3}]}").unwrap();
    let (status, _, err) = keylint(at, &["check"]);
    assert_eq!(status, 2);
    assert!(err.contains("at row 2, column ") && err.contains("expected a string"), "{err}");
    fs::write(at.join("accepted.json"), "{\"version\": 9, \"findings\": []}").unwrap();
    assert!(keylint(at, &["check"]).2.contains("unknown version 9"));
    fs::write(at.join("accepted.json"), "{\"version\": 1, \"findings\": []}").unwrap();
    let err = keylint(at, &["check"]).2;
    assert!(
        err.contains("computed differently") && err.contains("delete it and run `keylint baseline create`"),
        "{err}"
    );
    let (status, _, err) = keylint(at, &["baseline", "create"]);
    assert_eq!(status, 2);
    assert!(err.contains("already exists"), "{err}");
}

#[test]
fn incomplete_runs_write_nothing() {
    let folder = project(&[("a.py", REUSE)]);
    let at = folder.path();
    fs::write(at.join("bad.py"), b"x = '\xff'\n").unwrap();
    let (status, _, err) = keylint(at, &["baseline", "create"]);
    assert_eq!(status, 2, "{err}");
    assert!(err.contains("is unchanged"), "{err}");
    assert!(!at.join("accepted.json").exists());
}

#[test]
fn hidden_findings_are_not_accepted_unless_shown() {
    let folder = project(&[("tests/test_a.py", REUSE)]);
    let at = folder.path();
    assert_eq!(keylint(at, &["baseline", "create"]).1, "accepted.json: 0 accepted (0 added, 0 removed).\n");
    assert_eq!(
        keylint(at, &["baseline", "update", "--min-level", "note"]).1,
        "accepted.json: 1 accepted (1 added, 0 removed).\n"
    );
    assert_eq!(keylint(at, &["check", "--min-level", "note"]).0, 0);
}

#[test]
fn unchecked_rules_keep_their_baseline_entries() {
    let legacy = REUSE.replace("(key):\n", "(key):\n    jax.random.PRNGKey(0)\n");
    let folder = project(&[("a.py", &legacy)]);
    let at = folder.path();
    assert_eq!(keylint(at, &["baseline", "create"]).1, "accepted.json: 2 accepted (2 added, 0 removed).\n");
    assert_eq!(keylint(at, &["check", "--select", "KEY101"]).2, "");
    for command in ["update", "prune"] {
        let out = keylint(at, &["baseline", command, "--select", "KEY101"]).1;
        assert_eq!(out, "accepted.json: 2 accepted (0 added, 0 removed).\n");
    }
    // Findings in a file that does not parse may still exist.
    fs::write(at.join("a.py"), format!("{legacy}\nx = \"\"\"\n")).unwrap();
    assert_eq!(keylint(at, &["baseline", "prune"]).1, "accepted.json: 2 accepted (0 added, 0 removed).\n");
}

#[test]
fn syntax_errors_are_never_accepted() {
    let folder = project(&[("a.py", "z = = 1\n")]);
    let at = folder.path();
    assert_eq!(keylint(at, &["baseline", "create"]).1, "accepted.json: 0 accepted (0 added, 0 removed).\n");
    assert_eq!(keylint(at, &["check"]).0, 1);
}

#[test]
fn entries_are_named_from_the_folder_of_the_baseline() {
    let folder = project(&[("s/a.py", REUSE), ("m.py", "")]);
    let at = folder.path();
    let inner = at.join("s");
    assert_eq!(keylint(&inner, &["baseline", "create", "--baseline", "../b.json"]).0, 0);
    assert!(fs::read_to_string(at.join("b.json")).unwrap().contains("\"path\": \"s/a.py\""));
    let out = keylint(at, &["baseline", "prune", "--baseline", "b.json", "m.py"]).1;
    assert_eq!(out, "b.json: 1 accepted (0 added, 0 removed).\n");
}

#[test]
fn files_use_the_baseline_of_their_own_configuration() {
    let folder = project(&[
        ("a.py", REUSE),
        ("sub/keylint.toml", "baseline = '../sub.json'\n"),
        ("sub/b.py", REUSE),
        ("other/c.py", REUSE),
    ]);
    let at = folder.path();
    let out = keylint(at, &["baseline", "create"]).1;
    assert_eq!(out, "accepted.json: 2 accepted (2 added, 0 removed).\nsub.json: 1 accepted (1 added, 0 removed).\n");
    let clean = |from: &Path, arguments: &[&str]| {
        let (status, out, err) = keylint(from, arguments);
        assert_eq!((status, err.as_str()), (0, ""), "{out}");
    };
    clean(at, &["check"]);
    clean(&at.join("sub"), &["check"]);
    clean(&at.join("other"), &["check"]);
    // Also from another folder, in which nothing is configured.
    let elsewhere = tempfile::tempdir().unwrap();
    clean(elsewhere.path(), &["check", at.to_str().unwrap()]);
    clean(elsewhere.path(), &["check", "--diff", "--unsafe-fixes", at.to_str().unwrap()]);
    fs::write(at.join("sub/b.py"), "").unwrap();
    assert!(keylint(at, &["check"]).2.contains("1 entry of `sub.json`"));
    fs::remove_file(at.join("sub.json")).unwrap();
    assert!(keylint(at, &["check"]).2.contains("cannot read the baseline `sub.json`"));
    clean(at, &["check", "a.py"]);
}

#[test]
fn misspelt_formats_are_not_file_names() {
    let folder = project(&[("a.py", "")]);
    let at = folder.path();
    fs::remove_file(at.join("keylint.toml")).unwrap();
    let (status, _, err) = keylint(at, &["check", "-o", "sarfi=o.sarif"]);
    assert_eq!(status, 2);
    assert!(err.contains("`sarfi` is not a format (did you mean `sarif`?)"), "{err}");
    assert_eq!(keylint(at, &["check", "-o", "./sarfi=o.sarif"]).0, 0);
    assert!(at.join("sarfi=o.sarif").exists());
}
