//! The names of keys in findings, and their advice.
//!
//! **Invariant:** the programs are in `fixtures/words`; findings are compared by message, place and help.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::run;

/// Runs `keylint` in the folder of the programs.
fn keylint(arguments: &[&str]) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/words");
    let arguments = arguments.iter().map(|argument| -> OsString {
        if argument.contains(".py") { folder.join(argument).into() } else { (*argument).into() }
    });
    let ran = run::keylint(&folder, arguments, &[]);
    let printed = String::from_utf8(ran.out).unwrap() + &ran.err;
    printed.replace(&format!("{}/", folder.display()), "")
}

#[test]
fn keys_are_named_as_written_at_the_reported_place() {
    let report = keylint(&["check", "names.py", "--isolated", "--no-cache", "--no-verify", "--unfixable", "ALL"]);
    let is_reported = |line: &&str| {
        let line = line.trim_start();
        ["error[", "warning[", "┌─", "= help"].iter().any(|lead| line.starts_with(lead))
    };
    let reported: Vec<&str> = report.lines().filter(is_reported).map(str::trim_start).collect();
    insta::assert_snapshot!(reported.join("\n"));
}

#[test]
fn why_is_short_lines() {
    insta::assert_snapshot!(keylint(&["why", "names.py:42", "--isolated"]));
}

#[test]
fn what_is_computed_from_a_key_is_not_called_the_key() {
    let why = keylint(&["why", "computed.py:7", "--isolated"]);
    assert!(why.contains("`jax.random.normal` draws from what is computed from `key`"), "{why}");
}

/// The result of `next(stream)` is not called `next`.
#[test]
fn made_up_keys_have_names_of_the_program() {
    let report = keylint(&["check", "computed.py", "--isolated", "--no-cache", "--select", "KEY101"]);
    let lead = "verified by replay with a made-up ";
    let names: Vec<&str> =
        report.lines().filter_map(|line| Some(line.split_once(lead)?.1.split_once(" =")?.0)).collect();
    assert_eq!(names, ["key", "`key`"], "{report}");
}

/// The code that may need words is shown as the file has it, with its line.
#[test]
fn code_that_may_need_words_is_named() {
    let report = keylint(&["check", "tiled.py", "--isolated", "--no-cache", "--select", "KEY301"]);
    let reason = "not verified: `jnp.tile(key, (count, 1))` in line 8 may need the words of a key";
    assert!(report.contains(reason), "{report}");
}

/// A branch is named only if it runs the second draw, or exits before it.
#[test]
fn a_draw_that_decides_another_is_said() {
    let report = keylint(&[
        "check",
        "../cases/branches/decided_by_a_draw.py",
        "--isolated",
        "--no-cache",
        "--output-format",
        "concise",
    ]);
    let says = |line: &str| line.contains("depends on the result of");
    let said: Vec<bool> = report.lines().filter(|line| line.contains("KEY10")).map(says).collect();
    assert_eq!(said, [true, true, true, false, false], "{report}");
}
