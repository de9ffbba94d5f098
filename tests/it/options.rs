//! Options, settings and environment variables that users of ruff know, each in a project of its own.
//!
//! **Invariant:** the command line overrides the environment, which overrides the configuration.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use keylint::cli::Status;
use keylint::config::OutputFormat;
use keylint::report::Format;
use tempfile::TempDir;

use crate::run;

const REUSE: &str =
    "import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)\nb = jax.random.normal(key)\nprint(a, b)\n";
/// A finding with a safe fix.
const UNUSED: &str = "x = 1  # keylint: ignore[KEY101]\n";

struct Project(TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(run::folder(files));
        fs::create_dir(project.0.path().join(".git")).unwrap();
        project
    }

    fn write(&self, path: &str, content: &str) {
        run::write(self.0.path(), &[(path, content)]);
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    /// Status, standard output and standard error of a check of the whole project.
    fn check(&self, arguments: &[&str], env: &[(&str, &str)]) -> (Status, String, String) {
        let folder = self.0.path().display().to_string();
        let arguments = ["check"].iter().chain(arguments).copied().chain([folder.as_str()]);
        let ran = run::keylint_with(env, self.0.path(), arguments, b"");
        let plain = |text: &str| text.replace(&format!("{folder}/"), "");
        (ran.status, plain(std::str::from_utf8(&ran.out).unwrap()), plain(&ran.err))
    }

    /// The files that are checked.
    fn files(&self, arguments: &[&str]) -> String {
        let (_, out, err) = self.check(&[&["--show-files"], arguments].concat(), &[]);
        format!("{}{err}", out.lines().collect::<Vec<_>>().join(" "))
    }
}

#[test]
fn files_are_chosen_by_options_and_settings() {
    let files =
        [("a.py", ""), ("w.pyw", ""), ("gen/b.py", ""), ("old.py", ""), ("tool", ""), (".gitignore", "old.py\n")];
    let project = Project::new(&files);
    assert_eq!(project.files(&[]), "a.py gen/b.py w.pyw");
    assert_eq!(project.files(&["--exclude", "gen,w.pyw"]), "a.py");
    assert_eq!(project.files(&["--extend-exclude", "gen"]), "a.py w.pyw");
    assert_eq!(project.files(&["--no-respect-gitignore"]), "a.py gen/b.py old.py w.pyw");
    project.write("keylint.toml", "extend-exclude = ['gen']\nrespect-gitignore = false\n");
    assert_eq!(project.files(&[]), "a.py old.py w.pyw");
    assert_eq!(project.files(&["--respect-gitignore"]), "a.py w.pyw");
    project.write("keylint.toml", "include = ['*.pyw', 'tool']\n");
    assert_eq!(project.files(&[]), "tool w.pyw");
    project.write("keylint.toml", "extend-include = ['tool']\n");
    assert_eq!(project.files(&[]), "a.py gen/b.py tool w.pyw");
}

#[test]
fn settings_of_a_run_are_those_of_the_current_directory() {
    let project = Project::new(&[("a.py", UNUSED), ("keylint.toml", "output-format = 'concise'\nfix = true\n")]);
    let (status, out, _) = project.check(&["--no-fix"], &[]);
    assert_eq!(status, Status::Findings);
    assert!(out.starts_with("a.py:1:8: KEY002 [warning] [*] "), "{out}");
    assert!(project.check(&["--no-fix", "--output-format", "pylint"], &[]).1.starts_with("a.py:1: [KEY002] "));
    let (status, out, _) = project.check(&[], &[]);
    assert_eq!((status, project.read("a.py").as_str()), (Status::Clean, "x = 1\n"), "{out}");
    project.write("keylint.toml", "output-format = 'concse'\n");
    let (status, _, err) = project.check(&[], &[]);
    assert!(status == Status::Failed && err.contains("did you mean `concise`?"), "{err}");
}

#[test]
fn fixes_are_listed_counted_and_limited() {
    let both = [("a.py", UNUSED), ("b.py", REUSE)];
    let project = Project::new(&both);
    let (status, out, _) = project.check(&["--fix", "--show-fixes", "--output-format", "concise"], &[]);
    assert_eq!(status, Status::Findings);
    assert!(out.contains("Fixed 1 finding in 1 file:\n- a.py:\n    1 × KEY002 (unused-suppression)\n"), "{out}");
    let project = Project::new(&both);
    let (status, out, err) = project.check(&["--fix-only"], &[]);
    assert_eq!((status, out.as_str(), err.as_str()), (Status::Clean, "", "Fixed 1 finding in 1 file.\n"));
    let project = Project::new(&both[..1]);
    assert_eq!(project.check(&["--fix", "--exit-non-zero-on-fix"], &[]).0, Status::Findings);
    assert_eq!(project.check(&["--fix", "--exit-non-zero-on-fix"], &[]).0, Status::Clean);
    for (text, arguments) in [
        ("", &["--unfixable", "KEY002"][..]),
        ("unfixable = ['KEY0']\n", &[]),
        ("fixable = ['KEY1']\n", &[]),
        ("fixable = ['ALL']\nunfixable = ['ALL']\n", &[]),
        ("unfixable = ['KEY1']\nextend-unfixable = ['KEY002']\n", &[]),
        ("unfixable = ['KEY002']\n", &["--extend-unfixable", "KEY1"]),
        ("unfixable = ['KEY1']\n", &["--extend-unfixable", "KEY002"]),
    ] {
        let project = Project::new(&[("a.py", UNUSED), ("keylint.toml", text)]);
        let (_, out, _) = project.check(&[&["--fix"], arguments].concat(), &[]);
        assert!(project.read("a.py") == UNUSED && !out.contains("fix:"), "{text}: {out}");
    }
    let project =
        Project::new(&[("a.py", UNUSED), ("keylint.toml", "fixable = ['KEY1']\nextend-fixable = ['KEY002']\n")]);
    project.check(&["--fix"], &[]);
    assert_ne!(project.read("a.py"), UNUSED);
}

#[test]
fn comments_can_be_ignored() {
    let text =
        REUSE.replace("b = jax.random.normal(key)", "b = jax.random.normal(key)  # keylint: ignore[KEY101] on purpose");
    let project = Project::new(&[("a.py", &text)]);
    assert_eq!(project.check(&[], &[]).0, Status::Clean);
    assert!(project.check(&["--ignore-noqa"], &[]).1.contains("KEY101"));
}

#[test]
fn settings_that_extend_are_the_same_as_those_they_extend() {
    let project = Project::new(&[("a.py", REUSE)]);
    for text in ["extend-ignore = ['KEY101']\n", "[extend-per-file-ignores]\n'*.py' = ['KEY101']\n"] {
        project.write("keylint.toml", text);
        assert_eq!(project.check(&[], &[]).0, Status::Clean, "{text}");
    }
    project.write("keylint.toml", "");
    assert_eq!(project.check(&["--extend-per-file-ignores", "a.py:KEY101"], &[]).0, Status::Clean);
    assert_eq!(project.check(&["--extend-ignore", "KEY101"], &[]).0, Status::Clean);
    assert_eq!(project.check(&[], &[("KEYLINT_EXTEND_IGNORE", "KEY101")]).0, Status::Clean);
    let (_, _, err) = project.check(&["--extend-ignore", "KEY99"], &[]);
    assert!(err.contains("unknown rule `KEY99`") && err.contains("--extend-ignore KEY99"), "{err}");
}

#[test]
fn projects_can_require_a_version() {
    let project = Project::new(&[("a.py", ""), ("keylint.toml", "required-version = '>=0.1'\n")]);
    assert_eq!(project.check(&[], &[]).0, Status::Clean);
    project.write("keylint.toml", "required-version = '<0.1'\n");
    let (status, _, err) = project.check(&[], &[]);
    assert!(status == Status::Failed && err.contains("`<0.1` is required"), "{err}");
    project.write("keylint.toml", "required-version = 'newest'\n");
    assert!(project.check(&[], &[]).2.contains("`newest` is not a version"));
}

#[test]
fn environment_variables_set_options() {
    let project = Project::new(&[("a.py", REUSE), ("keylint.toml", "output-format = 'json'\n")]);
    let env = [("KEYLINT_OUTPUT_FORMAT", "concise"), ("KEYLINT_QUIET", "yes")];
    let (status, out, _) = project.check(&[], &env);
    assert_eq!((status, out.lines().count()), (Status::Findings, 1), "{out}");
    assert!(out.starts_with("a.py:4:5: KEY101 [error] "), "{out}");
    assert!(project.check(&["--output-format", "pylint"], &env).1.starts_with("a.py:4: [KEY101] "));
    assert_eq!(project.check(&[], &[("KEYLINT_IGNORE", "KEY101, KEY2")]).0, Status::Clean);
    assert_eq!(project.check(&[], &[("KEYLINT_IGNORE", "")]).0, Status::Findings);
    assert_eq!(project.check(&[], &[("KEYLINT_EXIT_ZERO", "1")]).0, Status::Clean);
    assert_eq!(project.check(&[], &[("KEYLINT_EXIT_ZERO", "0")]).0, Status::Findings);
    let (status, _, err) = project.check(&[], &[("KEYLINT_OUTPUT_FORMAT", "jsn")]);
    assert!(status == Status::Failed && err.contains("'jsn' for 'KEYLINT_OUTPUT_FORMAT'"), "{err}");
    let (status, _, err) = project.check(&[], &[("KEYLINT_FIX", "maybe")]);
    assert!(status == Status::Failed && err.contains("'maybe' for 'KEYLINT_FIX'"), "{err}");
    assert!(err.contains("[possible values: 1, true, yes, on, 0, false, no, off]"), "{err}");
    let (status, _, err) = project.check(&[], &[("KEYLINT_EXTEND_SELECT", "KEY1,KEY99")]);
    assert!(status == Status::Failed && err.contains(" KEYLINT_EXTEND_SELECT:1:1\n"), "{err}");
    assert!(err.contains("unknown rule `KEY99`") && !err.contains("command line"), "{err}");
    let fixing = Project::new(&[("a.py", UNUSED)]);
    fixing.check(&["--no-fix"], &[("KEYLINT_FIX", "1")]);
    assert_eq!(fixing.read("a.py"), UNUSED);
    fixing.write("keylint.toml", "fix = true\n");
    fixing.check(&[], &[("KEYLINT_FIX", "0")]);
    assert_eq!(fixing.read("a.py"), UNUSED, "a variable is stronger than the configuration");
    fixing.check(&["--fix"], &[("KEYLINT_FIX", "off")]);
    assert_ne!(fixing.read("a.py"), UNUSED, "the command line is stronger than a variable");
    fixing.write("a.py", UNUSED);
    fixing.write("keylint.toml", "");
    fixing.check(&[], &[("KEYLINT_FIX", "1")]);
    assert_ne!(fixing.read("a.py"), UNUSED);
}

#[test]
fn terminals_get_colours_links_and_patches() {
    let project = Project::new(&[("a.py", UNUSED)]);
    let coloured = |arguments: &[&str], env: &[(&str, &str)]| project.check(arguments, env).1;
    assert!(coloured(&[], &[("FORCE_COLOR", "1")]).contains('\u{1b}'));
    assert!(!coloured(&[], &[("FORCE_COLOR", "0")]).contains('\u{1b}'));
    assert!(!coloured(&[], &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
    let links = coloured(&["--color", "always", "--output-format", "concise"], &[("LINKS", "1")]);
    assert!(
        links.contains("\u{1b}]8;;https://") && links.contains("unused-suppression.md\u{1b}\\KEY002\u{1b}]8;;"),
        "{links}"
    );
    assert!(!coloured(&["--output-format", "concise"], &[("LINKS", "1")]).contains('\u{1b}'));
    let diff = coloured(&["--diff", "--color", "always"], &[]);
    assert!(
        diff.contains("\u{1b}[31m-x = 1  # keylint: ignore[KEY101]\u{1b}[0m\n\u{1b}[32m+x = 1\u{1b}[0m\n"),
        "{diff}"
    );
    assert!(!coloured(&["--diff"], &[]).contains('\u{1b}'));
    let full = coloured(&[], &[]);
    assert!(full.contains("    - 1 | x = 1  # keylint: ignore[KEY101]\n    + 1 | x = 1\n"), "{full}");
}

#[test]
fn the_version_is_reported() {
    let project = Project::new(&[]);
    let run = |arguments: &[&str]| run::keylint(project.0.path(), arguments.iter().copied(), b"").text();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(run(&["version"]), format!("keylint {version}\n"));
    let json: serde_json::Value = serde_json::from_str(&run(&["version", "--output-format", "json"])).unwrap();
    assert_eq!(json["version"], version);
}

#[test]
fn configured_formats_are_those_of_reports() {
    for format in Format::ALL {
        let configured: OutputFormat = serde_json::from_value(format.name().into()).unwrap();
        assert_eq!(Format::from(configured), *format);
    }
}

#[test]
fn uris_are_relative_to_the_project() {
    let project = Project::new(&[("src/a.py", REUSE)]);
    let elsewhere = TempDir::new().unwrap();
    let path = project.0.path().join("src").display().to_string();
    let ran = run::keylint(elsewhere.path(), ["check", "--output-format", "github", &path], b"");
    assert!(ran.text().contains("file=src/a.py,line=4"));
}

#[test]
fn comments_of_other_tools_are_honoured() {
    let after =
        |comment: &str| REUSE.replace("b = jax.random.normal(key)", &format!("b = jax.random.normal(key)  {comment}"));
    let above = |comment: &str| format!("{comment}\n{REUSE}");
    for (text, is_clean) in [
        (after("# noqa: KEY101"), true),
        (after("# noqa: KEY1"), true),
        (after("# noqa: KEY2"), false),
        (after("# ruff: ignore[KEY101]"), true),
        (after("# ruff: ignore[F401, key-reused]"), true),
        (after("# ruff: ignore[F401]"), false),
        (after("# keylint: ignore[key101, Key-Reused] on purpose"), true),
        (REUSE.replace("b =", "# ruff: ignore[KEY101]\nb ="), true),
        (above("# ruff: file-ignore[KEY101]"), true),
        (above("# ruff: noqa: KEY101"), true),
        (above("# flake8: noqa: KEY101"), true),
        (above("# ruff: noqa: F401"), false),
        (above("# ruff: noqa"), true),
        (above("# flake8: noqa"), true),
        (above("# ruff: isort: skip_file"), false),
        (above("# ruff: NOQA"), true),
        (above("# FLAKE8: noqa"), true),
    ] {
        let project = Project::new(&[("a.py", &text)]);
        let (status, out, _) = project.check(&["--output-format", "concise"], &[]);
        assert_eq!(status == Status::Clean, is_clean, "{text}\n{out}");
    }
    let reported = |text: &str| Project::new(&[("a.py", text)]).check(&["--output-format", "concise"], &[]).1;
    let out = reported(&above("# ruff: disable[KEY101]"));
    assert!(out.contains("KEY003") && out.contains("keylint does not support `# ruff: disable[…]` ranges"), "{out}");
    // What ruff would not honour either.
    for (comment, problem) in [
        ("# ruff: ignore", "`# ruff: ignore` needs rules in square brackets"),
        ("# ruff: ignore it", "`# ruff: ignore` needs rules in square brackets"),
        ("# ruff: ignore[KEY101", "`# ruff: ignore` needs rules in square brackets"),
        ("# ruff: ignore(KEY101)", "`# ruff: ignore` needs rules in square brackets"),
        ("# ruff: file-ignore: key-reused", "`# ruff: file-ignore` needs rules in square brackets"),
        ("# Ruff: IGNORE[KEY101]", "a comment for ruff must be in lower case"),
        ("# ruff: Ignore[KEY101]", "a comment for ruff must be in lower case"),
        ("# RUFF: NOQA", "a comment for ruff must be in lower case"),
    ] {
        let out = reported(&after(comment));
        assert!(
            out.contains("KEY101 [error]") && out.contains(&format!("KEY003 [warning] invalid suppression: {problem}")),
            "{comment}\n{out}"
        );
    }
    for comment in ["# ruff: ignore(F401)", "# RUFF: IGNORE[F401]", "# Ruff: noqa: F401", "# ruff: nothing"] {
        assert!(!reported(&after(comment)).contains("KEY003"), "{comment}");
    }
    let out = reported(&after("# keylint: ignore[KEY1]"));
    assert!(out.contains("KEY003") && out.contains("`KEY1` matches 11 rules"), "{out}");
    assert!(reported(&after("# keylint: ignore[ALL]")).contains("`ALL` matches "));
}

#[cfg(unix)]
#[test]
fn fixes_keep_permissions_links_and_encoding() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let project = Project::new(&[("a.py", UNUSED)]);
    let a = project.0.path().join("a.py");
    fs::hard_link(&a, project.0.path().join("b.txt")).unwrap();
    let (status, _, err) = project.check(&["--fix"], &[]);
    assert!(status == Status::Failed && err.contains("several hard links"), "{err}");
    assert_eq!((project.read("a.py").as_str(), fs::metadata(&a).unwrap().nlink()), (UNUSED, 2));
    fs::remove_file(project.0.path().join("b.txt")).unwrap();
    fs::set_permissions(&a, fs::Permissions::from_mode(0o440)).unwrap();
    let (status, _, err) = project.check(&["--fix"], &[]);
    assert_eq!((status, err.as_str()), (Status::Clean, "warning: overwrote read-only file `a.py`\n"));
    assert_eq!(fs::metadata(&a).unwrap().permissions().mode() & 0o777, 0o440);
    // The file, the marker of the repository and the cache: nothing else remains.
    assert_eq!(fs::read_dir(project.0.path()).unwrap().count(), 3);
}

#[test]
fn names_of_files_imply_formats() {
    let project = Project::new(&[("a.py", REUSE)]);
    for (name, options, start) in [
        ("r.html", &[][..], "<!DOCTYPE html>"),
        ("r.sarif", &[], "{\n  \"$schema\""),
        ("r.jsonl", &[], "{\""),
        ("r.txt", &[], "error[KEY101]"),
        ("c.html", &["--output-format", "json"], "["),
    ] {
        let (status, _, _) = project.check(&[&["-o", name], options].concat(), &[]);
        assert_eq!(status, Status::Findings);
        assert!(fs::read_to_string(project.0.path().join(name)).unwrap().starts_with(start), "{name}");
    }
    let (status, _, err) = project.check(&["-o", "sarif"], &[]);
    assert!(status == Status::Failed && err.contains("`--output-format sarif`"), "{err}");
}

#[test]
fn advice_about_comments_names_the_rules_that_report_there() {
    let text = "import jax\n\nkey = jax.random.key(0)\nfor _ in range(3):\n    print(jax.random.normal(key))  # keylint: ignore\n";
    let project = Project::new(&[("a.py", text)]);
    let (_, out, _) = project.check(&[], &[]);
    assert!(out.contains("= help: write `# keylint: ignore[KEY102] reason`"), "{out}");
}

#[test]
fn watch_checks_again_when_a_file_changes() {
    let project = Project::new(&[("a.py", REUSE)]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_keylint"))
        .args(["check", "--watch", "--output-format", "concise", "--no-progress"])
        .current_dir(project.0.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(err.any(|line| line.starts_with("Watching")));
    project.write("a.py", "import jax\n");
    assert!(out.any(|line| line.starts_with("All checks passed")));
    assert!(err.any(|line| line.starts_with('[') && line.ends_with(" UTC] `a.py` changed.")));
    project.write("keylint.toml", "selct = 1\n");
    assert!(err.any(|line| line.contains("unknown key `selct`")));
    child.kill().unwrap();
    child.wait().unwrap();
    let refused = project.check(&["--watch", "-"], &[]);
    assert_eq!(refused.0, Status::Failed);
}

/// [`docs/ruff.md`] lists exactly the existing options and settings.
///
/// [`docs/ruff.md`]: ../../docs/ruff.md
#[test]
fn the_comparison_with_ruff_is_complete() {
    use clap::CommandFactory as _;
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ruff.md")).unwrap();
    let mut command = keylint::cli::Args::command();
    command.build();
    let check = command.find_subcommand("check").unwrap();
    for option in check
        .get_arguments()
        .filter(|option| !option.is_hide_set() && option.get_id() != "help")
        .filter_map(clap::Arg::get_long)
    {
        assert!(page.contains(&format!("`--{option}`")), "docs/ruff.md lacks `--{option}`");
    }
    let schema: serde_json::Value = serde_json::from_str(&keylint::config::schema()).unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{key}`")), "docs/ruff.md lacks `{key}`");
    }
    for format in Format::ALL {
        assert!(page.contains(&format!("`{}`", format.name())), "docs/ruff.md lacks `{}`", format.name());
    }
}
