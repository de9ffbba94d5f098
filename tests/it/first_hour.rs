//! The first hour of a user: the commands of `docs/getting-started.md` run one after the other in a copy of the example.
//!
//! **Invariant:** the page shows what the commands print; `BLESS=1 cargo test --test it first_hour` writes it again.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::run;

const PAGE: &str = "docs/getting-started.md";

const START: &str = "```console\n";
const END: &str = "```\n";

/// A block with what its commands print in a folder.
fn transcript(block: &str, folder: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_keylint")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), env::var("PATH").unwrap_or_default());
    let mut transcript = String::new();
    for line in block.lines().filter(|line| line.starts_with("$ ")) {
        let command = format!("exec 2>&1; {}", &line[2..]);
        let ran = Command::new("sh")
            .args(["-c", &command])
            .current_dir(folder)
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        if !transcript.is_empty() && !transcript.ends_with("\n\n") && !printed.is_empty() {
            transcript.push('\n');
        }
        write!(transcript, "{line}\n{printed}").unwrap();
    }
    format!("{}\n", transcript.trim_end())
}

#[test]
fn the_commands_print_what_the_page_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = ["train.py", "data.py"]
        .map(|name| (name, fs::read(root.join("fixtures/projects/example").join(name)).unwrap()));
    let folder = run::folder(&example);
    let old = fs::read_to_string(root.join(PAGE)).unwrap();
    let mut new = String::new();
    let mut rest = old.as_str();
    while let Some((before, after)) = rest.split_once(START) {
        let (block, after) = after.split_once(END).expect("a block ends");
        write!(new, "{before}{START}{}{END}", transcript(block, folder.path())).unwrap();
        rest = after;
    }
    new.push_str(rest);
    if env::var_os("BLESS").is_some() {
        fs::write(root.join(PAGE), &new).unwrap();
    } else {
        assert!(new == old, "{PAGE} is out of date: BLESS=1 cargo test --test it first_hour\n{new}");
    }
}
