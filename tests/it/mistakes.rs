//! Users' mistakes in paths, arguments, rules and configuration files, and the error messages.
//!
//! **Invariant:** nothing that the user requested is silently ignored.

use std::fs;
use std::path::Path;

use keylint::cli::Status;
use tempfile::TempDir;

use crate::run;

const REUSE: &str = "import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)\nb = jax.random.normal(key)\n";

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    run::folder(files)
}

/// Status, standard output and standard error, without the folder's name.
fn keylint(folder: &Path, arguments: &[&str]) -> (Status, String, String) {
    let ran = run::keylint(folder, arguments.iter().copied(), b"");
    let plain = |text: &str| text.replace(&format!("{}/", folder.display()), "");
    (ran.status, plain(&String::from_utf8(ran.out).unwrap()), plain(&ran.err))
}

#[test]
fn missing_paths_are_errors_beside_the_findings() {
    let folder = folder(&[("a.py", REUSE.as_bytes())]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (status, out, err) = keylint(folder.path(), &["check", &at("nope.py")]);
    assert_eq!(
        (status, out.as_str(), err.as_str()),
        (Status::Failed, "", "error: `nope.py`: no such file or directory\n")
    );
    let (status, out, err) = keylint(folder.path(), &["check", "--output-format", "concise", &at("a.py"), &at("nope")]);
    assert_eq!((status, err.lines().count()), (Status::Failed, 1));
    assert!(out.contains("KEY101") && !out.contains("KEY004"), "{out}");
    assert_eq!(keylint(folder.path(), &["check", "--show-files", &at("nope")]).0, Status::Failed);
    assert_eq!(keylint(folder.path(), &["baseline", "create", &at("nope")]).0, Status::Failed);
    let (status, out, err) = keylint(folder.path(), &["migrate", &at("nope")]);
    assert_eq!(
        (status, out.as_str(), err.as_str()),
        (Status::Failed, "", "error: `nope`: no such file or directory\n")
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", folder.path().join("link.py")).unwrap();
        let err = keylint(folder.path(), &["check", &at("link.py")]).2;
        assert_eq!(err, "error: `link.py`: the link is broken\n");
    }
}

#[test]
fn tips_name_existing_commands() {
    let folder = folder(&[("a.py", b""), ("src/b.py", b"")]);
    let err = |arguments: &[&str]| keylint(folder.path(), arguments).2;
    assert!(err(&["check", "--add-noqa"]).contains("tip: `keylint check --add-ignores REASON`"));
    assert!(err(&["a.py"]).contains("tip: to check a file or folder, write `keylint check a.py`"));
    assert!(err(&["src"]).contains("`keylint check src`"));
    assert!(err(&["lib/x.py"]).contains("`keylint check lib/x.py`"));
    assert!(err(&["baseline", "src"]).contains("`keylint baseline create src`"));
    assert!(err(&["chek"]).contains("'check'"));
    assert!(err(&["check", "--slect", "KEY1"]).contains("'--select'"));
    for arguments in [&["check", "-x"][..], &["check", "--frobnicate"], &["rule", "--frob"]] {
        assert!(!err(arguments).contains("tip:"), "{}", err(arguments));
    }
}

#[test]
fn tips_are_close_and_harmless() {
    let folder = folder(&[]);
    let err = |arguments: &[&str]| keylint(folder.path(), arguments).2;
    for (written, meant) in [
        ("--min-levl", "--min-level"),
        ("--extend-selct", "--extend-select"),
        ("--nocache", "--no-cache"),
        ("--output-format=jsn", "json"),
    ] {
        let err = err(&["check", written]);
        assert!(err.contains("  tip: ") && err.contains(&format!("'{meant}'")), "{err}");
    }
    // What differs in more letters, is the opposite, or writes files.
    for written in [
        "--no-ignore",
        "--no-ignore-noqa",
        "--verify",
        "--cache",
        "--progress",
        "--max-level",
        "--max-confidence",
        "--safe-fixes",
        "--fux",
        "--fix-onyl",
        "--ad-ignores",
        "--output-format=xml",
    ] {
        let err = err(&["check", written]);
        assert!(err.starts_with("error: ") && !err.contains("tip:"), "{err}");
    }
    assert!(!err(&["migrate", "--writ"]).contains("tip:"));
}

#[test]
fn ignored_configuration_is_reported_even_if_quiet() {
    let folder = folder(&[("a.py", &b"x = 1\n"[..]), ("keylint.toml", b""), (".keylint.toml", b"")]);
    let warning = "warning: `keylint.toml` is ignored, because `.keylint.toml` is used\n";
    let a = folder.path().join("a.py").display().to_string();
    for arguments in
        [&["check", "-q", &a][..], &["check", "-q", "--show-files", &a], &["migrate", "-q", &a], &["clean", "-q", &a]]
    {
        assert_eq!(keylint(folder.path(), arguments).2, warning, "{arguments:?}");
    }
    assert!(keylint(folder.path(), &["why", "-q", &format!("{a}:1")]).2.starts_with("warning: `"));
}

#[test]
fn watch_of_nothing_ends() {
    let folder = folder(&[]);
    let (status, _, err) = keylint(folder.path(), &["check", "-w", "nope.py"]);
    assert_eq!((status, err.as_str()), (Status::Failed, "error: `nope.py`: no such file or directory\n"));
}

#[test]
fn cleaning_a_missing_folder_is_an_error() {
    let folder = folder(&[("a.py", b""), ("keylint.toml", b"")]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    keylint(folder.path(), &["check", &at("a.py")]);
    let (status, out, err) = keylint(folder.path(), &["clean", &at("nope")]);
    assert_eq!(
        (status, out.as_str(), err.as_str()),
        (Status::Failed, "", "error: `nope`: no such file or directory\n")
    );
    assert!(folder.path().join(".keylint_cache").exists());
}

#[test]
fn reports_never_overwrite_sources_and_dash_is_stdout() {
    let folder = folder(&[("a.py", REUSE.as_bytes())]);
    let a = folder.path().join("a.py").display().to_string();
    for arguments in [&["check", "-o", "a.py"][..], &["check", "-o", "json=b.ipynb"], &["graph", "-o", "b.pyi"]] {
        let (status, _, err) = keylint(folder.path(), &[arguments, &[&a]].concat());
        assert!(status == Status::Failed && err.contains("it has the name of a source file"), "{err}");
    }
    assert_eq!(fs::read(folder.path().join("a.py")).unwrap(), REUSE.as_bytes());
    let (_, out, _) = keylint(folder.path(), &["check", "-o", "-", &a]);
    assert!(out.contains("KEY101"));
    let (_, out, _) = keylint(folder.path(), &["check", "-o", "report.txt", "-o", "pylint=-", &a]);
    assert!(out.starts_with("a.py:4: [KEY101] ") && folder.path().join("report.txt").exists(), "{out}");
    let (status, _, err) = keylint(folder.path(), &["check", "-o", "json=-", &a]);
    assert!(status == Status::Failed && err.contains("two reports would be written to standard output"), "{err}");
    assert!(!folder.path().join("-").exists());
}

#[test]
fn selectors_forgive_case_and_blanks() {
    let folder = folder(&[("a.py", REUSE.as_bytes()), ("keylint.toml", b"ignore = [' Key-Reused']\n")]);
    let a = folder.path().join("a.py").display().to_string();
    let shown = |arguments: &[&str]| {
        let (status, out, err) = keylint(folder.path(), &[&["check", &a], arguments].concat());
        assert_ne!(status, Status::Failed, "{err}");
        out.contains("KEY101")
    };
    assert!(!shown(&[]));
    assert!(shown(&["--select", "key101, KEY102"]));
    assert!(shown(&["--select", "key1,"]));
    assert!(shown(&["--isolated", "--select", "all"]));
    assert!(!shown(&["--isolated", "--per-file-ignores", "*.py: key-reused"]));
}

#[test]
fn selecting_nothing_is_a_warning() {
    let folder = folder(&[("a.py", REUSE.as_bytes())]);
    let a = folder.path().join("a.py").display().to_string();
    for arguments in [&["--select", "KEY101", "--ignore", "KEY101"][..], &["--select", ""], &["--ignore", "ALL"]] {
        let (status, _, err) = keylint(folder.path(), &[&["check", &a], arguments].concat());
        assert_eq!(status, Status::Clean, "{err}");
        assert!(err.starts_with("warning: no rules selected"), "{err}");
    }
    assert_eq!(keylint(folder.path(), &["check", "-q", "--ignore", "ALL", &a]).2, "");
}

#[test]
fn binary_files_are_one_finding() {
    let folder = folder(&[("a.py", b"x = 1\n\x01\x00\x02 ) \x00 ( ] \x00\n")]);
    let a = folder.path().join("a.py").display().to_string();
    let (status, out, _) = keylint(folder.path(), &["check", "--output-format", "concise", "-q", &a]);
    assert_eq!(status, Status::Findings);
    assert_eq!(out, "a.py:2:2: KEY001 [error] syntax error: a null byte; the file is binary\n");
}

#[test]
fn files_with_configuration_names_are_configurations() {
    let run = |files: &[(&str, &[u8])]| {
        let folder = folder(files);
        let a = folder.path().join("a.py").display().to_string();
        let (status, _, err) = keylint(folder.path(), &["check", &a]);
        (status == Status::Failed, err)
    };
    let a = ("a.py", &b""[..]);
    let (failed, err) = run(&[a, ("keylint.toml/x", b"")]);
    assert!(failed && err.contains("keylint.toml: cannot be read: not a regular file"), "{err}");
    let (failed, err) = run(&[a, ("pyproject.toml", b"[tool.keylint]\nselect = ['\xE9']\n")]);
    assert!(failed && err.contains("pyproject.toml: is not valid UTF-8"), "{err}");
    let utf16: Vec<u8> = "\u{feff}[tool.keylint]\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (failed, err) = run(&[a, ("pyproject.toml", &utf16)]);
    assert!(failed && err.contains("is not valid UTF-8"), "{err}");
    let (failed, err) = run(&[a, ("pyproject.toml", b"[project]\nname = '\xE9'\n")]);
    assert!(!failed);
    assert_eq!(err, "warning: `pyproject.toml` is not valid UTF-8 and is ignored\n");
    let (failed, err) = run(&[a, ("pyproject.toml", b"[tool.ruff")]);
    assert!(!failed);
    assert_eq!(err, "warning: `pyproject.toml` is not valid TOML and is ignored\n");
    let (failed, err) =
        run(&[a, ("keylint.toml", b""), (".keylint.toml", b""), ("pyproject.toml", b"[tool.keylint]\n")]);
    assert!(!failed);
    assert_eq!(
        err,
        "warning: `keylint.toml` is ignored, because `.keylint.toml` is used\n\
         warning: `pyproject.toml` is ignored, because `.keylint.toml` is used\n"
    );
    let (_, err) = run(&[a, ("keylint.toml", b""), ("pyproject.toml", b"[project]\nname = 'keylint'\n")]);
    assert_eq!(err, "");
    #[cfg(unix)]
    {
        let folder = folder(&[a]);
        std::os::unix::fs::symlink("nowhere", folder.path().join("keylint.toml")).unwrap();
        let a = folder.path().join("a.py").display().to_string();
        let (status, _, err) = keylint(folder.path(), &["check", &a]);
        assert!(status == Status::Failed && err.contains("keylint.toml: cannot be read"), "{err}");
    }
}

#[test]
fn questions_about_missing_places_are_errors() {
    let folder = folder(&[("a.py", REUSE.as_bytes())]);
    let a = folder.path().join("a.py").display().to_string();
    let (status, _, err) = keylint(folder.path(), &["why", &format!("{a}:99")]);
    assert_eq!((status, err.as_str()), (Status::Failed, "error: there is no line 99 of `a.py`, which has 4 lines\n"));
    assert_eq!(keylint(folder.path(), &["why", &format!("{a}:4")]).0, Status::Clean);
    let (status, out, err) = keylint(folder.path(), &["config", "nope.py"]);
    assert_eq!(
        (status, out.as_str(), err.as_str()),
        (Status::Failed, "", "error: `nope.py`: no such file or directory\n")
    );
}
