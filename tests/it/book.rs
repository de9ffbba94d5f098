//! The documentation as a book: its list of chapters, the pages of the rules, and that every link leads somewhere.
//!
//! The pages of the rules are copies of those in `rules/`, since a code host does not follow include directives; `BLESS=1` rewrites them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};
use std::{env, fs};

use keylint::rules::{self, FixAvailability, Rule, Status};
use walkdir::WalkDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn live() -> impl Iterator<Item = &'static Rule> {
    rules::all().iter().filter(|rule| rule.status != Status::Removed)
}

/// The Markdown files below a folder, from the root.
fn pages(folder: &str) -> BTreeSet<String> {
    let files = WalkDir::new(root().join(folder)).into_iter().filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    files
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "md"))
        .map(|path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// The links of a page outside of code, without images.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        // Text between backticks is code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        links.extend(targets.map(str::to_owned));
    }
    links
}

/// The anchor that GitHub and mdBook give a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            _ => plain.push(part),
        }
    }
    plain
}

/// The page of a rule as the book and the code host show it: its metadata is a table, and links start in the folder of the copy.
fn page_of(rule: &Rule) -> String {
    let (title, rest) = rule.page.trim_start().split_once('\n').unwrap();
    let level = if rule.opt_in { format!("{}, opt-in", rule.level) } else { rule.level.to_string() };
    let fixes = match rule.fix {
        FixAvailability::None => "none",
        FixAvailability::Sometimes => "for some findings",
        FixAvailability::Always => "for all findings",
    };
    format!(
        "<!-- Written from rules/{}.md by `BLESS=1 cargo test --test it book`. -->\n\n{title}\n\n\
         | level | confidence | fixes | since |\n|---|---|---|---|\n| {level} | at most {} | {fixes} | {} |\n{}\n",
        rule.name(),
        rule.confidence,
        rule.since,
        rest.replace("](../docs/", "](../").trim_end()
    )
}

#[test]
fn the_pages_of_the_rules_are_up_to_date() {
    let mut wanted: Vec<(String, String)> = Vec::new();
    let mut table = "# Rules\n\nOne page per rule: what it reports, why that is bad, examples, and known misses.\n\n\
        | code | name | level | reports |\n|---|---|---|---|\n"
        .to_owned();
    for rule in live() {
        wanted.push((format!("docs/rules/{}.md", rule.name()), page_of(rule)));
        let level = if rule.opt_in { "opt-in".to_owned() } else { rule.level.to_string() };
        let (code, name, summary) = (rule.code(), rule.name(), &rule.summary);
        writeln!(table, "| {code} | [{name}](rules/{name}.md) | {level} | {summary} |").unwrap();
    }
    wanted.push(("docs/rules.md".to_owned(), table));
    let summary = read("docs/SUMMARY.md");
    let is_rule = |line: &&str| line.starts_with("  - [KEY");
    let mut entries = String::new();
    for rule in live() {
        writeln!(entries, "  - [{} {1}](rules/{1}.md)", rule.code(), rule.name()).unwrap();
    }
    let rest: Vec<&str> = summary.lines().filter(|line| !is_rule(line)).collect();
    let at = rest.iter().position(|line| line.ends_with("(rules.md)")).expect("SUMMARY.md lists rules.md");
    let (before, after) = rest.split_at(at + 1);
    wanted.push(("docs/SUMMARY.md".to_owned(), format!("{}\n{entries}{}\n", before.join("\n"), after.join("\n"))));
    if env::var_os("BLESS").is_some() {
        fs::create_dir_all(root().join("docs/rules")).unwrap();
        for (path, text) in &wanted {
            fs::write(root().join(path), text).unwrap();
        }
    }
    for (path, text) in &wanted {
        assert_eq!(&read(path), text, "{path} is out of date: BLESS=1 cargo test --test it book");
    }
    let names: BTreeSet<String> = wanted.into_iter().map(|(path, _)| path).collect();
    let stray: Vec<String> = pages("docs/rules").into_iter().filter(|page| !names.contains(page)).collect();
    assert_eq!(stray, [""; 0], "pages of rules that are gone");
}

/// How many sentences a text has. Text between backticks is code.
fn sentences(text: &str) -> usize {
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("x");
    let ends = |pair: &(char, char)| matches!(pair.0, '.' | '?' | '!') && pair.1.is_whitespace();
    prose.chars().zip(prose.chars().skip(1).chain([' '])).filter(ends).count()
}

#[test]
fn every_rule_has_an_answer_in_three_sentences() {
    let page = read("docs/answers.md");
    let mut answers = page.split("\n## ").skip(1);
    for rule in live() {
        let answer = answers.next().unwrap_or_else(|| panic!("docs/answers.md has no answer for {}", rule.code()));
        let (heading, text) = answer.split_once('\n').unwrap();
        assert_eq!(heading, format!("{}: {}", rule.code(), rule.summary), "the heading on docs/answers.md");
        let link = format!("[{0}](rules/{0}.md)", rule.name());
        let text = text.trim().strip_suffix(&link).unwrap_or_else(|| panic!("{}: no {link} at the end", rule.code()));
        assert_eq!(sentences(text.trim()), 3, "{}: {text}", rule.code());
    }
    assert_eq!(answers.next(), None);
}

#[test]
fn the_summary_lists_every_page_once() {
    let mut listed: Vec<String> = links(&read("docs/SUMMARY.md")).iter().map(|link| format!("docs/{link}")).collect();
    listed.sort();
    let mut expected = pages("docs");
    expected.remove("docs/SUMMARY.md");
    assert_eq!(listed, expected.into_iter().collect::<Vec<_>>());
    assert!(read("docs/book.toml").contains("src = \".\""));
}

#[test]
fn every_relative_link_resolves() {
    let mut broken = Vec::new();
    let mut sources = pages("docs");
    sources.extend(pages("rules"));
    sources.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned));
    for page in &sources {
        let folder = Path::new(page).parent().unwrap();
        let text = read(page);
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, wanted) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { PathBuf::from(page) } else { plain(&folder.join(path)) };
            if page.starts_with("docs/") && !target.starts_with("docs") {
                broken.push(format!("{page}: {link} leaves the book"));
            } else if !root().join(&target).exists() {
                broken.push(format!("{page}: {link}"));
            } else if !wanted.is_empty() && target.extension().is_some_and(|suffix| suffix == "md") {
                let text = read(target.to_str().unwrap());
                let headings =
                    text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
                if !headings.map(anchor).any(|anchor| anchor == wanted) {
                    broken.push(format!("{page}: {link}: no such heading"));
                }
            }
        }
    }
    assert_eq!(broken, [""; 0]);
}

/// A merge of two versions of a page leaves marks, or a line twice.
#[test]
fn pages_hold_one_version() {
    let mut problems = String::new();
    let at_the_top = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned);
    for page in ["docs", "rules", "editors"].into_iter().flat_map(pages).chain(at_the_top) {
        if page.contains("node_modules") {
            continue;
        }
        let text = read(&page);
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let is_mark = ["<<<<<<< ", ">>>>>>> ", "======="].iter().any(|mark| line.starts_with(mark));
            let is_doubled = line.len() > 40 && index.checked_sub(1).is_some_and(|above| lines[above] == *line);
            if is_mark || is_doubled {
                writeln!(problems, "{page}:{}: {line}", index + 1).unwrap();
            }
        }
    }
    assert_eq!(problems, "");
}
