//! The command line as its users see it: output, files, exit status.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use keylint::cli::{self, Backend, CheckRequest, Listing, Process, Status};
use keylint::config::{ConfigError, Resolver};
use keylint::engine::{Decisions, FixOutcome, Lineage, Migrated, Outcome, Reported};
use keylint::finding::{Confidence, Finding, Level, Place, RuleId};
use keylint::text::Span;
use tempfile::TempDir;

/// A backend that finds a reused key, a note and a finding of low confidence in every file it is given.
struct Canned;

impl Backend for Canned {
    fn check(&self, request: &CheckRequest<'_>) -> Result<Outcome, ConfigError> {
        let mut outcome = Outcome::default();
        let stdin = request.stdin.iter().map(|stdin| (stdin.filename.clone(), stdin.bytes.clone()));
        let given = request.paths.iter().map(|path| (path.clone(), b"f(k)\nf(k)\n".to_vec()));
        for (path, bytes) in given.chain(stdin) {
            let settings = request.resolver.for_file(&path)?;
            outcome.failed |= path == Path::new("broken.py");
            let file = outcome.files.add(path.clone(), String::from_utf8(bytes).unwrap());
            outcome.checked += 1;
            for (rule, level, confidence) in [
                (RuleId::KeyReused, Level::Error, Confidence::High),
                (RuleId::SplitDiscarded, Level::Note, Confidence::High),
                (RuleId::KeyArithmetic, Level::Error, Confidence::Low),
            ] {
                let finding = Finding {
                    label: "here".to_owned(),
                    function: "<module>".to_owned(),
                    ..Finding::new(
                        rule,
                        level,
                        confidence,
                        Place { file, span: Span::new(5, 9) },
                        "something is wrong".to_owned(),
                    )
                };
                let judgement = settings.for_file(&path).judge(&finding);
                outcome.hidden.add(&finding, judgement);
                outcome.findings.push(Reported { shown: judgement.shown == keylint::config::Shown::Yes, finding });
            }
        }
        Ok(outcome)
    }

    fn fix(&self, request: &CheckRequest<'_>, _: &dyn Fn(&Finding) -> bool) -> Result<FixOutcome, ConfigError> {
        Ok(FixOutcome { outcome: self.check(request)?, ..FixOutcome::default() })
    }

    fn migrate(&self, _: &CheckRequest<'_>, _: &Decisions) -> Result<Migrated, ConfigError> {
        Ok(Migrated::default())
    }

    fn files(&self, request: &CheckRequest<'_>) -> Result<Listing, ConfigError> {
        Ok(Listing { files: request.paths.to_vec(), missing: Vec::new() })
    }

    fn why(&self, file: &Path, _: Option<u32>, row: u32, _: &Resolver) -> Result<String, String> {
        Ok(format!("{} {row} \u{1b}[31m\n", file.display()))
    }

    fn lineage(&self, _: &Path, _: &Resolver) -> Result<Lineage, String> {
        Err("no keys".to_owned())
    }

    fn ir(&self, _: &Path) -> Result<String, String> {
        Ok("ir\n".to_owned())
    }

    fn facts(&self, _: &Path) -> Result<String, String> {
        Err("no such file".to_owned())
    }
}

/// What a run printed and how it ended.
struct Run {
    status: Status,
    out: String,
    err: String,
}

fn run_in(dir: &Path, arguments: &[&str], input: &str, backend: &dyn Backend, env: &[(&str, &str)]) -> Run {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut process = Process {
        cwd: dir.to_owned(),
        env: &|name| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        stdout_is_terminal: false,
        stdout_has_links: false,
        stderr_is_terminal: false,
        stdin: &mut input.as_bytes(),
        stdout: &mut out,
        stderr: &mut err,
    };
    let arguments = std::iter::once("keylint").chain(arguments.iter().copied()).map(OsString::from);
    let status = cli::run(arguments, backend, &mut process);
    Run { status, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

fn run(arguments: &[&str]) -> Run {
    run_in(Path::new("/nonexistent"), arguments, "f(k)\nf(k)\n", &Canned, &[])
}

#[test]
fn findings_exit_with_one_and_end_in_a_summary() {
    let run = run(&["check", "--output-format", "concise", "a.py"]);
    assert_eq!(run.status, Status::Findings);
    assert_eq!(
        run.out,
        "a.py:2:1: KEY101 [error] something is wrong\n\
         Found 1 error (1 note and 1 low-confidence finding hidden; use --min-level note --min-confidence low to show them).\n"
    );
    assert_eq!(run.err, "");
}

#[test]
fn hidden_findings_do_not_set_the_exit_status() {
    let run = run(&["check", "--ignore", "KEY101", "a.py"]);
    assert_eq!(run.status, Status::Clean);
    assert!(run.out.starts_with("All checks passed (1 note and 1 low-confidence finding hidden;"), "{}", run.out);
}

#[test]
fn exit_zero_hides_findings_from_the_status_but_not_failures() {
    assert_eq!(run(&["check", "--exit-zero", "a.py"]).status, Status::Clean);
    assert_eq!(run(&["check", "--exit-zero", "broken.py"]).status, Status::Failed);
    let broken = run(&["check", "-q", "--output-format", "concise", "broken.py"]);
    assert_eq!((broken.status, broken.out.lines().count()), (Status::Failed, 1));
}

#[test]
fn options_widen_what_is_shown() {
    let codes = |arguments: &[&str]| {
        let arguments: Vec<&str> = [&["check", "-q", "--output-format", "concise"], arguments, &["a.py"]].concat();
        let out = run(&arguments).out;
        out.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&[]), ["KEY101"]);
    assert_eq!(codes(&["--min-level", "note"]), ["KEY101", "KEY110"]);
    assert_eq!(codes(&["--min-confidence", "low"]), ["KEY101", "KEY202"]);
    assert_eq!(codes(&["--select", "KEY110,KEY2"]), ["KEY110"]);
    assert_eq!(codes(&["--select", "KEY2", "--extend-select", "KEY1"]), ["KEY101"]);
    assert_eq!(codes(&["--per-file-ignores", "*.py:KEY1,b.py:KEY202"]), [""; 0]);
    assert_eq!(codes(&["--config", "min-level = 'note'", "--isolated"]), ["KEY101", "KEY110"]);
}

#[test]
fn machine_formats_contain_exactly_the_shown_findings() {
    let json: serde_json::Value =
        serde_json::from_str(&run(&["check", "--output-format", "json", "a.py"]).out).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 1);
    let lines = run(&["check", "--output-format", "json-lines", "a.py", "b.py"]).out;
    assert_eq!(lines.lines().filter(|line| line.starts_with('{')).count(), 2);
    assert_eq!(lines.lines().count(), 2);
    let counts = run(&["check", "--statistics", "--output-format", "json", "a.py"]).out;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&counts).unwrap()[0]["count"], 1);
    let refused = run(&["check", "--statistics", "--output-format", "sarif", "a.py"]);
    assert_eq!((refused.status, refused.out.as_str()), (Status::Failed, ""));
    assert!(refused.err.contains("use `--output-file sarif=PATH`"), "{}", refused.err);
}

#[test]
fn command_line_values_need_no_quotes() {
    let wrong = run(&["check", "--config", "min-lvel=note", "a.py"]);
    assert_eq!(wrong.status, Status::Failed);
    assert!(wrong.err.contains("unknown key `min-lvel`") && wrong.err.contains("`min-level`"), "{}", wrong.err);
    let wrong = run(&["check", "--config", "min-level=nte", "a.py"]).err;
    assert!(wrong.contains("unknown value `nte`") && wrong.contains("did you mean `note`?"), "{wrong}");
    assert!(run(&["check", "--config", "min-level=note", "a.py"]).out.contains("note"));
}

#[test]
fn standard_input_uses_the_given_name() {
    let named = run(&["check", "-q", "--output-format", "concise", "--stdin-filename", "p/x.py", "-"]);
    assert!(named.out.starts_with("p/x.py:2:1"), "{}", named.out);
    assert!(run(&["check", "-q", "--output-format", "concise", "-"]).out.starts_with("-:2:1"));
    let mixed = run(&["check", "-", "a.py"]);
    assert_eq!((mixed.status, mixed.out.as_str()), (Status::Failed, ""));
    // The name decides about test files, as a path would.
    let test = run(&["check", "-q", "--stdin-filename", "tests/x.py", "-"]);
    assert_eq!((test.status, test.out.as_str()), (Status::Clean, ""));
}

#[test]
fn wrong_arguments_and_configuration_exit_with_two() {
    for arguments in [
        &["check", "--frob"][..],
        &["check", "--select", "KEY999"],
        &["check", "--min-level", "fatal"],
        &["check", "--config", "absent.toml"],
        &["check", "--per-file-ignores", "KEY101"],
        &["rule", "KEY999"],
        &["why", "a.py"],
        &["why", "a.py:0"],
        &["dev", "facts", "a.py"],
        &["frob"],
        &[],
    ] {
        let run = run(arguments);
        assert_eq!((run.status, run.out.as_str()), (Status::Failed, ""), "{arguments:?}");
        assert!(!run.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_and_version_are_answers() {
    for arguments in [&["--help"][..], &["--version"], &["check", "--help"], &["completions", "bash"]] {
        let run = run(arguments);
        assert_eq!((run.status, run.err.as_str()), (Status::Clean, ""), "{arguments:?}");
        assert!(run.out.contains("keylint"), "{arguments:?}");
    }
}

#[test]
fn colours_follow_the_option_then_the_environment() {
    let is_coloured = |arguments: &[&str], env: &[(&str, &str)]| {
        let arguments: Vec<&str> = [&["check", "a.py"], arguments].concat();
        run_in(Path::new("/nonexistent"), &arguments, "", &Canned, env).out.contains('\u{1b}')
    };
    assert!(!is_coloured(&[], &[]));
    assert!(is_coloured(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(is_coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!is_coloured(&[], &[("CLICOLOR_FORCE", "0")]));
    assert!(!is_coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(is_coloured(&["--output-format", "concise", "--color", "always"], &[]));
    assert!(!is_coloured(&["--output-format", "json", "--color", "always"], &[]));
}

#[test]
fn report_files_are_replaced_atomically() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("report.json");
    fs::write(&path, "old").unwrap();
    let arguments = ["check", "--output-format", "json", "--output-file", path.to_str().unwrap(), "a.py"];
    let run = run(&arguments);
    assert_eq!((run.status, run.out.as_str()), (Status::Findings, ""));
    assert!(fs::read_to_string(&path).unwrap().starts_with('['));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    // The folder is created; if that fails, the other reports are still written.
    let absent = dir.path().join("absent/report.json");
    let made = self::run(&["check", "--output-file", absent.to_str().unwrap(), "a.py"]);
    assert_eq!(made.status, Status::Findings);
    let below_file = format!("junit={}", path.join("x.xml").display());
    let other = dir.path().join("other.sarif");
    let sarif = format!("sarif={}", other.display());
    let failed = self::run(&["check", "--output-file", &below_file, "--output-file", &sarif, "a.py"]);
    assert_eq!(failed.status, Status::Failed);
    assert!(failed.err.contains("cannot write `") && failed.err.contains("x.xml`"), "{}", failed.err);
    assert!(failed.out.contains("KEY101") && other.exists());
}

#[test]
fn rules_are_explained_from_the_registry() {
    let page = run(&["rule", "key-reused"]).out;
    assert_eq!(page, run(&["rule", "KEY101"]).out);
    assert!(page.contains("## What it does"));
    assert!(run(&["rule"]).out.contains("KEY101  key-reused"));
    assert!(run(&["rule", "--all"]).out.len() > page.len());
    let one: serde_json::Value =
        serde_json::from_str(&run(&["rule", "KEY101", "--output-format", "json"]).out).unwrap();
    assert_eq!(one["name"], "key-reused");
    let all: serde_json::Value = serde_json::from_str(&run(&["rule", "--all", "--output-format", "json"]).out).unwrap();
    assert!(all.as_array().unwrap().contains(&one));
    let family = run(&["rule", "KEY1"]);
    assert_eq!(family.status, Status::Clean);
    assert!(
        family.out.lines().all(|line| line.starts_with("KEY1")) && family.out.lines().count() > 1,
        "{}",
        family.out
    );
    assert!(run(&["rule", "key-resued"]).err.contains("did you mean `key-reused`?"));
    assert!(run(&["rule", "KYE101"]).err.contains("did you mean `KEY101`?"));
    for unlike in ["E501", "KEY9", "KEY999"] {
        assert!(!run(&["rule", unlike]).err.contains("did you mean"), "{unlike}");
    }
}

#[test]
fn settings_are_shown_with_their_sources() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    fs::write(dir.path().join("keylint.toml"), "select = ['KEY101', 'KEY202']\nexclude = ['a\"b']\n").unwrap();
    let run = run_in(dir.path(), &["config", "--min-level", "note"], "", &Canned, &[]);
    insta::assert_snapshot!(run.out.replace(&dir.path().display().to_string(), "[dir]"));
}

#[test]
fn unknown_views_are_inert() {
    let run = run(&["why", "c:a.py:7"]);
    assert_eq!(run.out, "c:a.py 7 ␛[31m\n");
    assert_eq!(self::run(&["dev", "ir", "a.py"]).out, "ir\n");
}

/// A reader that has closed its end.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn closed_pipes_are_not_errors() {
    for (arguments, expected) in [
        (&["check", "a.py"][..], Status::Findings),
        (&["check", "--ignore", "KEY101", "a.py"], Status::Clean),
        (&["rule"], Status::Clean),
        (&["completions", "zsh"], Status::Clean),
    ] {
        let mut err = Vec::new();
        let mut process = Process {
            cwd: PathBuf::from("/nonexistent"),
            env: &|_| None,
            stdout_is_terminal: false,
            stdout_has_links: false,
            stderr_is_terminal: false,
            stdin: &mut io::empty(),
            stdout: &mut Closed,
            stderr: &mut err,
        };
        let arguments = std::iter::once("keylint").chain(arguments.iter().copied()).map(OsString::from);
        assert_eq!(cli::run(arguments, &Canned, &mut process), expected);
        assert!(err.is_empty());
    }
}

#[test]
fn the_executable_checks_a_project() {
    let dir = TempDir::new().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("keylint.toml", "exclude = ['gen/']\n");
    write("a.py", "x = 1  # keylint: ignore[KEY101]\n");
    write("gen/b.py", "x = (\n");
    write("sub/keylint.toml", "ignore = ['KEY002']\n");
    write("sub/c.py", "x = 1  # keylint: ignore[KEY101]\n");
    write(".venv/d.py", "x = (\n");
    let keylint = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_keylint"))
            .current_dir(dir.path())
            .args(arguments)
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(
        keylint(&["check", "--show-files"]),
        (0, "a.py\nsub/c.py\n".replace('/', std::path::MAIN_SEPARATOR_STR))
    );
    let (status, out) = keylint(&["check", "--output-format", "concise"]);
    assert_eq!(
        (status, out.as_str()),
        (
            1,
            "a.py:1:8: KEY002 [warning] [*] `KEY101` suppresses nothing\nFound 1 warning.\n1 finding can be fixed with --fix.\n"
        )
    );
    let (status, out) = keylint(&["check", "-q", "--output-format", "concise", "gen/b.py", "absent.py"]);
    assert_eq!((status, out.lines().count()), (2, 1), "{out}");
    assert_eq!(keylint(&["check", "--force-exclude", "-q", "gen/b.py"]), (0, String::new()));
}

#[test]
fn the_executable_survives_a_closed_pipe() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_keylint"))
        .args(["rule", "--all"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}
