//! The generated parts of the README and of the page of options. The README's picture is drawn in `picture.rs`.
//!
//! A generated block is between `<!-- generated: NAME -->` and `<!-- end -->`. `BLESS=1 cargo test` rewrites it.
//!
//! **Invariant:** every block of the pages is generated here, and every generator has its block.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use clap::CommandFactory;
use keylint::cli::Args;
use keylint::config::{Options, schema};

/// Writes a block.
type Generator = fn() -> String;

const END: &str = "<!-- end -->\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A table of the commands.
fn commands() -> String {
    let mut table = "| command | |\n|---|---|\n".to_owned();
    for command in Args::command().get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(table, "| `keylint {}` | {about} |", command.get_name()).expect("a string can be written to");
    }
    table
}

/// A table of the options of `keylint check`.
fn options() -> String {
    let mut command = Args::command();
    command.build();
    let check = command.find_subcommand("check").expect("`check` is a command");
    let mut table = "| option | |\n|---|---|\n".to_owned();
    for argument in check.get_arguments().filter(|argument| argument.get_id() != "help" && !argument.is_hide_set()) {
        let Some(long) = argument.get_long() else { continue };
        let mut name = format!("--{long}");
        if let (true, Some(values)) = (argument.get_action().takes_values(), argument.get_value_names()) {
            for value in values {
                write!(name, " {value}").expect("a string can be written to");
            }
        }
        if let Some(short) = argument.get_short() {
            name = format!("-{short}`, `{name}");
        }
        let mut help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let values: Vec<String> = argument
            .get_possible_values()
            .iter()
            .filter(|_| argument.get_action().takes_values())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !values.is_empty() {
            help = format!("{}: {}", help.trim_end_matches('.'), values.join(", "));
        }
        writeln!(table, "| `{}` | {} |", name.replace('|', "\\|"), help.replace('|', "\\|"))
            .expect("a string can be written to");
    }
    table
}

/// The pages with generated blocks, and the blocks that each has.
const PAGES: [(&str, &[(&str, Generator)]); 1] =
    [("docs/command-line.md", &[("commands", commands), ("options", options)])];

#[test]
fn generated_blocks_are_up_to_date() {
    for (page, generators) in PAGES {
        let path = root().join(page);
        let old = fs::read_to_string(&path).expect("the page exists");
        let mut new = String::new();
        let mut rest = old.as_str();
        let mut seen = BTreeSet::new();
        while let Some((before, after)) = rest.split_once("<!-- generated: ") {
            let (name, after) = after.split_once(" -->\n").expect("the marker of a block is closed");
            let (_, after) = after.split_once(END).expect("a generated block has an end");
            let (_, generate) = generators.iter().find(|(known, _)| *known == name).expect("a block's name is known");
            assert!(seen.insert(name), "{page}: the block `{name}` stands there twice");
            write!(new, "{before}<!-- generated: {name} -->\n{}{END}", generate()).expect("a string can be written to");
            rest = after;
        }
        new.push_str(rest);
        assert_eq!(seen.len(), generators.len(), "{page}: blocks are missing");
        if env::var_os("BLESS").is_some() {
            fs::write(&path, &new).expect("the page can be written");
        } else {
            assert!(
                new == old,
                "{page} differs from what keylint says; BLESS=1 cargo test rewrites it. It should be:\n{new}"
            );
        }
    }
}

#[test]
fn the_readme_fits_on_a_screen_and_its_links_lead_to_files() {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md exists");
    assert!(text.lines().count() <= 130, "the README has {} lines", text.lines().count());
    // The text is also the description of packages, which have no files next to it.
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    for target in targets {
        let own = target.strip_prefix("https://github.com/keylint/keylint/blob/main/");
        assert!(own.is_some() || target.starts_with("https://"), "README.md: {target} is relative");
        let file = own.unwrap_or_default().split('#').next().unwrap_or_default();
        assert!(root().join(file).exists(), "README.md links to {target}, which does not exist");
    }
}

/// A clone needs only two commands: one builds and checks, one tests.
#[test]
fn the_readme_has_the_two_commands_that_a_clone_needs() {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md exists");
    let ci = fs::read_to_string(root().join(".ci/run")).expect(".ci/run exists");
    for (shown, run) in [
        (
            "$ cargo run --release -- check fixtures/projects/example\n",
            "cargo run --release --locked -- check fixtures/projects/example",
        ),
        ("$ cargo test --release\n", "cargo test --release "),
    ] {
        assert!(text.contains(shown), "the README shows {shown:?}");
        assert!(ci.contains(run), ".ci/run runs {run:?}");
    }
}

#[test]
fn configuration_examples_parse_and_every_option_is_listed() {
    let page = fs::read_to_string(root().join("docs/configuration.md")).expect("docs/configuration.md exists");
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md exists");
    for text in [&page, &readme] {
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("\n```")) {
            let options: Options = toml::from_str(block.0).expect("an example of the configuration parses");
            assert_ne!(options, Options::default(), "an example sets something");
        }
    }
    let schema: serde_json::Value = serde_json::from_str(&schema()).expect("the schema is JSON");
    let known: BTreeSet<&str> =
        schema["properties"].as_object().expect("it has properties").keys().map(String::as_str).collect();
    let listed: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(option, _)| option).collect();
    assert_eq!(listed, known, "docs/configuration.md lists the options");
}

#[test]
fn the_page_for_users_of_ruff_names_everything_that_ruff_has() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (page, names) = (read("docs/ruff.md"), read("fixtures/formats/ruff.txt"));
    let missing: Vec<&str> =
        names.lines().filter(|name| !name.starts_with('#') && !page.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, [""; 0], "docs/ruff.md says nothing about these");
    // The option that a row refers to exists.
    let options = read("docs/command-line.md");
    for row in page.lines().filter(|row| row.starts_with("| `--")) {
        let Some((theirs, ours)) = row[2..].split_once(" | ") else { panic!("{row}") };
        for option in theirs.split('`').skip(1).step_by(2).filter(|_| ours.starts_with("the same")) {
            let is_listed = [format!("`{option}`"), format!("`{option} ")].iter().any(|name| options.contains(name));
            let is_known = is_listed || option == "--help" || option == "-h" || option.starts_with("--no-");
            assert!(is_known, "{option} is said to be the same");
        }
    }
}
