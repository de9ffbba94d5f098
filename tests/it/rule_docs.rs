//! The pages of the rules: complete, with sections in a fixed order, and one for each rule of the registry.
//!
//! **Invariant:** `rules/*.md`, `src/rules/*.rs` and the registry name the same rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use keylint::finding::{Confidence, Family, Level, RuleId};
use keylint::rules::{self, Rule};

/// The sections of every page, in order.
const SECTIONS: [&str; 7] =
    ["What it does", "Why is this bad?", "Incorrect", "Correct", "Fix safety", "Limits", "References"];

/// Files of `src/rules` that hold no rule.
const SHARED: [&str; 7] = ["buffer", "mod", "references", "reuse", "rule", "run", "wording"];

/// A code block of a page.
#[derive(Debug)]
pub struct Fence {
    /// The heading above it.
    pub section: String,
    /// The text after the opening backticks: `py`, `text`.
    pub language: String,
    /// 1-based row, within the page's file, of the block's first line.
    pub first_row: usize,
    /// The block's lines.
    pub text: String,
}

/// Path of the page of the rule `name`.
pub fn page_path(name: &str) -> PathBuf {
    root().join("rules").join(format!("{name}.md"))
}

/// The code blocks of the page of the rule `name`.
pub fn fences(name: &str) -> Vec<Fence> {
    let page = fs::read_to_string(page_path(name)).expect("every registered rule has a page");
    let mut fences = Vec::new();
    let mut section = String::new();
    let mut open: Option<Fence> = None;
    for (index, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(fence)) => fences.push(fence),
            (Some(language), None) => {
                open = Some(Fence {
                    section: section.clone(),
                    language: language.trim().to_owned(),
                    first_row: index + 2,
                    text: String::new(),
                });
            }
            (None, Some(mut fence)) => {
                fence.text.push_str(line);
                fence.text.push('\n');
                open = Some(fence);
            }
            (None, None) => {
                if let Some(heading) = line.strip_prefix("## ") {
                    heading.clone_into(&mut section);
                }
            }
        }
    }
    assert!(open.is_none(), "{name}: a code block is not closed");
    fences
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Stems of the files in `folder` that end in `extension`.
fn stems(folder: &str, extension: &str) -> BTreeSet<String> {
    fs::read_dir(root().join(folder))
        .expect("the folder is part of the repository")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect()
}

/// Headings of the second level, without those in code blocks.
fn headings(rule: &Rule) -> Vec<&str> {
    let mut in_block = false;
    let mut headings = Vec::new();
    for line in rule.page.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if let (false, Some(heading)) = (in_block, line.strip_prefix("## ")) {
            headings.push(heading);
        }
    }
    headings
}

#[test]
fn rule_pages_match_the_registry() {
    let mut pages = stems("rules", "md");
    assert!(pages.remove("README"), "rules/README.md is missing");
    let registered: BTreeSet<String> = rules::all().iter().map(|rule| rule.name().to_owned()).collect();
    assert_eq!(pages, registered);
}

#[test]
fn every_analysed_rule_has_its_own_file() {
    let mut files = stems("src/rules", "rs");
    for shared in SHARED {
        assert!(files.remove(shared), "src/rules/{shared}.rs is missing");
    }
    let registered: BTreeSet<String> = rules::all()
        .iter()
        .filter(|rule| rule.id > RuleId::InternalError)
        .map(|rule| rule.name().replace('-', "_"))
        .collect();
    assert_eq!(files, registered);
}

#[test]
fn codes_ascend_and_selectors_are_unique() {
    assert!(rules::all().is_sorted_by(|a, b| a.id < b.id));
    let mut seen = BTreeSet::new();
    for rule in rules::all() {
        let aliases = rule.aliases.iter().map(String::as_str);
        for selector in [rule.code(), rule.name()].into_iter().chain(aliases) {
            assert!(seen.insert(selector), "{selector} names two rules");
        }
    }
}

#[test]
fn codes_and_names_have_their_form() {
    for rule in rules::all() {
        let digits = rule.code().strip_prefix("KEY").expect("codes start with KEY");
        assert!(digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()), "{}", rule.code());
        let is_kebab = rule.name().split('-').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        });
        assert!(is_kebab, "{}", rule.name());
    }
}

#[test]
fn front_matter_is_well_formed() {
    for rule in rules::all() {
        assert!(!rule.summary.is_empty() && !rule.summary.ends_with('.'), "{}: summary", rule.name());
        assert!(rule.summary.len() <= 100, "{}: the summary is too long for a listing", rule.name());
        assert!(rule.since.split('.').count() == 3, "{}: since", rule.name());
        // Findings about the run itself need no action in the code.
        let may_be_a_note = rule.id.family() == Family::Run;
        assert!(
            may_be_a_note || rule.level >= Level::Warning,
            "{}: a rule that is a note by default is opt-in instead",
            rule.name()
        );
        assert!(rule.confidence >= Confidence::Medium, "{}: a rule of low confidence never shows", rule.name());
    }
}

#[test]
fn pages_have_all_sections_in_order() {
    for rule in rules::all() {
        assert!(
            rule.page.starts_with(&format!("# {} ({})\n", rule.name(), rule.code())),
            "{}: the page starts with its title",
            rule.name()
        );
        assert_eq!(headings(rule), SECTIONS, "{}", rule.name());
        for (section, next) in SECTIONS.iter().zip(SECTIONS[1..].iter().map(Some).chain([None])) {
            let from = rule.page.split_once(&format!("## {section}\n")).map_or("", |(_, rest)| rest);
            let body = next.and_then(|next| from.split_once(&format!("## {next}\n"))).map_or(from, |(body, _)| body);
            assert!(!body.trim().is_empty(), "{}: {section} is empty", rule.name());
        }
    }
}

#[test]
fn examples_are_under_their_headings() {
    for rule in rules::all() {
        let fences = fences(rule.name());
        for section in ["Incorrect", "Correct"] {
            assert!(fences.iter().any(|fence| fence.section == section), "{}: no example under {section}", rule.name());
        }
        for fence in &fences {
            let at = format!("rules/{}.md:{}", rule.name(), fence.first_row);
            assert!(matches!(fence.section.as_str(), "Incorrect" | "Correct"), "{at}: an example elsewhere");
            assert!(
                matches!(fence.language.as_str(), "py" | "py fixed" | "text"),
                "{at}: language {:?}",
                fence.language
            );
            let is_marked = fence.text.lines().any(|line| line.contains("# error") || line.contains("# note"));
            let is_wrong = fence.section == "Incorrect" && fence.language == "py";
            assert_eq!(is_marked, is_wrong, "{at}: marks stand in incorrect Python examples, and in each of them");
        }
    }
}

#[test]
fn pages_say_what_keylint_fixes() {
    for rule in rules::all() {
        let says_none = rule.page.contains("\nThere is no fix.");
        assert_eq!(says_none, rule.fix == rules::FixAvailability::None, "{}", rule.name());
    }
}
