//! `keylint migrate`: from raw to typed keys, project by project.
//!
//! **Invariant:** each project of `fixtures/migrate` has a folder `before`, the folder `after` that its migration
//! writes, and the messages in `left.txt`; `BLESS=1` writes both. `fixtures/migrate/against_jax.py` runs them.

use std::fs;
use std::path::{Path, PathBuf};

use keylint::cli::Status;
use keylint::python::{SourceKind, parse};
use tempfile::TempDir;

use crate::run;

fn projects() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/migrate");
    let mut projects: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    projects.retain(|path| path.join("before").is_dir());
    projects.sort();
    assert!(projects.len() >= 7);
    projects
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

/// A copy of a project that may be written to.
fn copy(project: &Path) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in files(&project.join("before")) {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// Migrates a folder, which is always named: the current one is the repository. What is printed names files below the folder.
fn migrate(folder: &Path, arguments: &[&str], answers: &str) -> run::Ran {
    let named = folder.to_str().unwrap();
    assert!(folder.is_absolute() && folder.starts_with(std::env::temp_dir()));
    let arguments = ["migrate", "--isolated", named].into_iter().chain(arguments.iter().copied());
    let run::Ran { status, out, err } = run::keylint(folder, arguments, answers.as_bytes());
    let below = format!("{named}/");
    let out = String::from_utf8(out).unwrap().replace(&below, "").into_bytes();
    run::Ran { status, out, err: err.replace(&below, "") }
}

#[test]
fn projects_are_migrated_as_recorded() {
    for project in projects() {
        let folder = copy(&project);
        let ran = migrate(folder.path(), &["--write"], "");
        assert_eq!((ran.status, ran.out.len()), (Status::Clean, 0), "{}: {}", project.display(), ran.err);
        let written = files(folder.path());
        for (name, bytes) in &written {
            let text = std::str::from_utf8(bytes).unwrap();
            let is_python = Path::new(name).extension().is_some_and(|extension| extension == "py");
            assert!(!is_python || parse(text, SourceKind::Py).problems.is_empty(), "{name}:\n{text}");
        }
        if std::env::var_os("BLESS").is_some() {
            let _ = fs::remove_dir_all(project.join("after"));
            fs::create_dir(project.join("after")).unwrap();
            for (name, bytes) in &written {
                fs::write(project.join("after").join(name), bytes).unwrap();
            }
            fs::write(project.join("left.txt"), &ran.err).unwrap();
        }
        let text = |files: Vec<(String, Vec<u8>)>| -> Vec<(String, String)> {
            files.into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect()
        };
        assert_eq!(text(written), text(files(&project.join("after"))), "{}", project.display());
        assert_eq!(ran.err, fs::read_to_string(project.join("left.txt")).unwrap(), "{}", project.display());
    }
}

#[test]
fn second_runs_change_nothing() {
    for project in projects() {
        let folder = copy(&project);
        migrate(folder.path(), &["--write"], "");
        let again = migrate(folder.path(), &[], "");
        assert_eq!((again.status, again.text().as_str()), (Status::Clean, ""), "{}", project.display());
    }
}

#[test]
fn dry_runs_show_a_diff_and_write_nothing() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/migrate/checkpoint");
    let folder = copy(&project);
    let ran = migrate(folder.path(), &[], "");
    assert_eq!(ran.status, Status::Findings);
    assert!(ran.err.contains("Nothing was written; `--write` applies the diff."), "{}", ran.err);
    assert!(ran.err.ends_with("(or JAX_LEGACY_PRNG_KEY=error in their environment).\n"), "{}", ran.err);
    let diff = ran.text();
    assert!(diff.contains("--- main.py\n+++ main.py\n") && diff.contains("+    key = jax.random.key(11)\n"), "{diff}");
    assert_eq!(files(folder.path()), files(&project.join("before")));
}

#[test]
fn unwritable_files_are_reported_and_the_others_written() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/migrate/checkpoint");
    let folder = copy(&project);
    // Replacing a file with two hard links would separate them.
    fs::hard_link(folder.path().join("store.py"), folder.path().join("store.txt")).unwrap();
    let before = fs::read(folder.path().join("store.py")).unwrap();
    let ran = migrate(folder.path(), &["--write"], "");
    assert_eq!(ran.status, Status::Failed);
    assert!(ran.err.contains("cannot write `store.py`"), "{}", ran.err);
    assert_eq!(fs::read(folder.path().join("store.py")).unwrap(), before);
    assert_eq!(fs::read(folder.path().join("main.py")).unwrap(), fs::read(project.join("after/main.py")).unwrap());
}

#[test]
fn undecided_places_are_queried() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/migrate/left");
    let folder = copy(&project);
    // The axis in `lanes.py` and the seed made of a word in `main.py`; then whether to write.
    let ran = migrate(folder.path(), &["--interactive"], "y\ny\ny\n");
    assert_eq!(ran.status, Status::Clean, "{}", ran.err);
    for said in
        ["Fix this first (map over the axis of the keys", "Fix this first (derive a key from `key`", "Migrated 2 files"]
    {
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    let lanes = fs::read_to_string(folder.path().join("lanes.py")).unwrap();
    assert!(lanes.contains("jax.random.key(seed)") && lanes.contains("in_axes=0"), "{lanes}");
}

#[test]
fn unanswered_questions_write_nothing() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/migrate/left");
    let folder = copy(&project);
    let ran = migrate(folder.path(), &["--interactive"], "");
    assert_eq!(ran.status, Status::Findings, "{}", ran.err);
    assert_eq!(files(folder.path()), files(&project.join("before")));
}
