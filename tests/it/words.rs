//! How findings call keys, and what they advise: programs in, messages and helps out.
//!
//! **Invariant:** the programs are in `fixtures/words`; a finding is its message, its place and its help.

use std::path::PathBuf;

use keylint::cli::{self, EngineBackend, World};

/// Runs `keylint` in the folder of the programs.
fn keylint(arguments: &[&str]) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/words");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["keylint"].iter().chain(arguments).map(|argument| {
        if argument.starts_with("names.py") { folder.join(argument).into() } else { (*argument).into() }
    });
    let mut world = World {
        cwd: folder.clone(),
        env: &|_| None,
        stdout_is_terminal: false,
        stderr_is_terminal: false,
        stdin: &mut std::io::empty(),
        stdout: &mut out,
        stderr: &mut err,
    };
    cli::run(arguments, &EngineBackend, &mut world);
    let printed = String::from_utf8(out).unwrap() + &String::from_utf8(err).unwrap();
    printed.replace(&format!("{}/", folder.display()), "")
}

#[test]
fn keys_are_named_as_written_at_the_reported_place() {
    let report = keylint(&["check", "names.py", "--isolated", "--no-cache", "--no-verify"]);
    let is_told = |line: &&str| {
        let line = line.trim_start();
        ["error[", "warning[", "┌─", "= help"].iter().any(|lead| line.starts_with(lead))
    };
    let told: Vec<&str> = report.lines().filter(is_told).map(str::trim_start).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn why_is_short_lines() {
    insta::assert_snapshot!(keylint(&["why", "names.py:42", "--isolated"]));
}
