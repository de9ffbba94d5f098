//! What a release needs besides the builds: versions that agree, checksums, and a GitHub action that installs what it
//! is pinned to.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn release(folder: &Path, arguments: [&str; 2]) -> Output {
    Command::new(root().join(".ci/release")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A copy of the files that name a version, as they are on the day of the release.
fn copy() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let docs = docs.map(|name| format!("docs/{}", name.to_str().unwrap()));
    let files = [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "CHANGELOG.md",
        "editors/vscode/package.json",
        "editors/vscode/CHANGELOG.md",
    ];
    for file in docs.chain(files.map(str::to_owned)).filter(|file| root().join(file).is_file()) {
        let to = dir.path().join(&file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, read(&file).replace(" (unreleased)", "")).unwrap();
    }
    dir
}

#[test]
fn releases_need_one_version_in_every_file() {
    let tag = concat!("v", env!("CARGO_PKG_VERSION"));
    let dir = copy();
    let ran = release(dir.path(), ["check", tag]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));

    let ran = release(dir.path(), ["check", "v99.0.0"]);
    assert!(!ran.status.success());
    let complaints = text(&ran.stderr);
    for complaint in [
        "Cargo.toml has version",
        "Cargo.lock",
        "package.json",
        "README.md:rev: v",
        "keylint==",
        "keylint@v",
        "no section 99.0.0",
    ] {
        assert!(complaints.contains(complaint), "{complaint}: {complaints}");
    }

    let changelog = dir.path().join("CHANGELOG.md");
    let heading = format!("## {}", env!("CARGO_PKG_VERSION"));
    let written = fs::read_to_string(&changelog).unwrap();
    fs::write(&changelog, written.replace(&heading, &format!("{heading} (unreleased)"))).unwrap();
    let ran = release(dir.path(), ["check", tag]);
    assert!(!ran.status.success() && text(&ran.stderr).contains("is unreleased"), "{}", text(&ran.stderr));
}

#[test]
fn notes_are_the_section_of_the_changelog_and_checksums_can_be_checked() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("CHANGELOG.md"), "# Changelog\n\n## 0.2.0\n\nNew.\n\n- More\n\n## 0.1.0\n\nOld.\n")
        .unwrap();
    assert_eq!(text(&release(dir.path(), ["notes", "v0.2.0"]).stdout).trim(), "New.\n\n- More");
    assert_eq!(text(&release(dir.path(), ["notes", "v0.1.0"]).stdout).trim(), "Old.");
    assert!(!release(dir.path(), ["notes", "v0.3.0"]).status.success());

    let dist = dir.path().join("dist");
    fs::create_dir(&dist).unwrap();
    fs::write(dist.join("a.whl"), "wheel").unwrap();
    fs::write(dist.join("-b c.vsix"), "extension").unwrap();
    for _ in 0..2 {
        assert!(release(dir.path(), ["checksums", "dist"]).status.success());
    }
    let sums = fs::read_to_string(dist.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 2, "{sums}");
    let checked = Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&dist).output().unwrap();
    assert!(checked.status.success());
}

/// The script of a step of the action.
fn step(name: &str) -> String {
    let action = read("action.yml");
    let rest = action.split_once(&format!("- name: {name}\n")).expect("the action has the step").1;
    let rest = rest.split_once("run: |\n").expect("the step has a script").1;
    let lines = rest.lines().map_while(|line| if line.is_empty() { Some("") } else { line.strip_prefix("        ") });
    lines.fold(String::new(), |script, line| script + line + "\n")
}

fn executable(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a step as GitHub does, with executables of ours in front of the others.
fn run_step(name: &str, folder: &Path, variables: &[(&str, &str)]) -> String {
    let path = format!("{}:{}", folder.join("path").display(), env::var("PATH").unwrap());
    let ran = Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step(name)])
        .current_dir(folder)
        .env("PATH", path)
        .env("RUNNER_TEMP", folder.join("temp"))
        .env("GITHUB_PATH", folder.join("github-path"))
        .env("GITHUB_OUTPUT", folder.join("github-output"))
        .env("GITHUB_ACTION_PATH", root())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    text(&ran.stdout)
}

#[test]
fn the_action_installs_the_version_it_belongs_to() {
    let dir = tempfile::tempdir().unwrap();
    // In place of `python3 -m venv FOLDER`, an environment whose Python prints the requested versions.
    executable(
        &dir.path().join("path/python3"),
        "#!/bin/sh\nmkdir -p \"$3/bin\"\nprintf '#!/bin/sh\\necho \"$@\"\\n' >\"$3/bin/python\"\nchmod +x \"$3/bin/python\"\n",
    );
    let own = run_step("Install keylint", dir.path(), &[("VERSION", "")]);
    assert!(own.trim_end().ends_with(concat!("keylint==", env!("CARGO_PKG_VERSION"))), "{own}");
    let other = run_step("Install keylint", dir.path(), &[("VERSION", "9.8.7")]);
    assert!(other.trim_end().ends_with("keylint==9.8.7"), "{other}");
}

#[test]
fn the_action_keeps_arguments_with_spaces() {
    let dir = tempfile::tempdir().unwrap();
    executable(&dir.path().join("path/keylint"), "#!/bin/sh\nfor word; do echo \"<$word>\"; done\n");
    let inputs = [("ARGS", r#"--select KEY1 --config 'min-level = "note"'"#), ("PATHS", "src 'my tests' * $(id)")];
    let words = run_step("Run keylint", dir.path(), &inputs);
    let given: Vec<&str> = words.lines().skip_while(|word| !word.starts_with("<sarif=")).skip(1).collect();
    assert_eq!(
        given,
        [
            "<--select>",
            "<KEY1>",
            "<--config>",
            "<min-level = \"note\">",
            "<-->",
            "<src>",
            "<my tests>",
            "<*>",
            "<$(id)>"
        ]
    );
    assert!(fs::read_to_string(dir.path().join("github-output")).unwrap().contains("status=0"));
}
