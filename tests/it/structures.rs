//! Every structure of misuse and of correct use, in every placement: what is reported and what is not.
//!
//! The blocks of `docs/limits.md` between `<!-- generated: NAME -->` and `<!-- end -->` are made here; `BLESS=1` rewrites them.
//!
//! **Invariant:** the list of exceptions is exact, and the document is generated from the results.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use walkdir::WalkDir;

use crate::in_memory::{Checked, check_text};
use crate::jax_truth;

/// Programs with an unexpected result, with the reason.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("except-retries/helper", RETRY),
    ("except-retries/method", RETRY),
    (
        "ok-default-binding-per-iteration/inline",
        "keylint assumes that a module-level `def` in a loop binds its default once (KEY106), though each iteration binds a different key",
    ),
];

/// Why a draw in the handler is not reported if the first one is inside a call.
const RETRY: &str =
    "the call that draws may itself fail before it draws, so the draw in the handler is reported with low confidence";

/// The placements, in the order of the table.
const PLACEMENTS: [&str; 5] = ["inline", "helper", "method", "nested", "comprehension"];

/// Ends a generated block.
const END: &str = "<!-- end -->\n";

/// One structure in one placement.
#[derive(Deserialize)]
struct Program {
    id: String,
    structure: String,
    placement: String,
    expect: Expected,
    /// The rows that a finding may stand on.
    lines: Vec<usize>,
    source: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Caught,
    Silent,
}

/// The result of one program.
struct Verdict {
    expect: Expected,
    /// Absent if the result is as expected; otherwise the findings.
    wrong: Option<String>,
}

impl Verdict {
    /// The cell of the table.
    fn mark(&self) -> &'static str {
        match (self.expect, &self.wrong) {
            (Expected::Caught, None) => "caught",
            (Expected::Caught, Some(_)) => "**missed**",
            (Expected::Silent, None) => "silent",
            (Expected::Silent, Some(_)) => "**false**",
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn programs() -> Vec<Program> {
    serde_json::from_str(&fs::read_to_string(root().join("fixtures/hard/structures.json")).unwrap()).unwrap()
}

fn result(program: &Program) -> Verdict {
    let mut findings = check_text("program.py", &program.source);
    findings.retain(|checked| {
        checked.shown
            && (checked.finding.rule.code().starts_with("KEY1") || checked.finding.rule.code().starts_with("KEY2"))
    });
    let is_right = match program.expect {
        Expected::Caught => findings.iter().any(|checked| program.lines.contains(&checked.row)),
        Expected::Silent => findings.is_empty(),
    };
    let phrase = |checked: &Checked| format!("{} on {}", checked.finding.rule.code(), checked.row);
    let got = || {
        if findings.is_empty() {
            "nothing".to_owned()
        } else {
            findings.iter().map(phrase).collect::<Vec<_>>().join(", ")
        }
    };
    Verdict { expect: program.expect, wrong: (!is_right).then(got) }
}

/// The table of structures and placements, those of misuse first.
fn table(programs: &[Program], results: &[Verdict]) -> String {
    let mut order = Vec::new();
    let mut cells: BTreeMap<(&str, &str), &'static str> = BTreeMap::new();
    for (program, result) in programs.iter().zip(results) {
        if !order.contains(&program.structure.as_str()) {
            order.push(&program.structure);
        }
        cells.insert((&program.structure, &program.placement), result.mark());
    }
    let mut text = format!("| structure | {} |\n|---|{}\n", PLACEMENTS.join(" | "), "---|".repeat(PLACEMENTS.len()));
    for structure in order {
        let row: Vec<&str> =
            PLACEMENTS.iter().map(|placement| cells.get(&(structure, *placement)).copied().unwrap_or("–")).collect();
        writeln!(text, "| {structure} | {} |", row.join(" | ")).unwrap();
    }
    let count = |expect, wrong| {
        results.iter().filter(|result| result.expect == expect && result.wrong.is_some() == wrong).count()
    };
    let (caught, missed) = (count(Expected::Caught, false), count(Expected::Caught, true));
    let (silent, alarms) = (count(Expected::Silent, false), count(Expected::Silent, true));
    writeln!(
        text,
        "\n{caught} of {} programs with a mistake have a finding on an acceptable line; {silent} of {} programs without one are silent.",
        caught + missed,
        silent + alarms
    )
    .unwrap();
    for (id, reason) in EXCEPTIONS {
        writeln!(text, "\n- `{id}`: {reason}.").unwrap();
    }
    text
}

/// The `# bug:` marks of the fixtures, as a list.
fn marks() -> String {
    let mut text = String::new();
    for folder in ["fixtures/cases", "fixtures/clean", "fixtures/jep"] {
        let mut paths: Vec<PathBuf> = WalkDir::new(root().join(folder))
            .into_iter()
            .filter_map(|entry| Some(entry.ok()?.into_path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
            .collect();
        paths.sort();
        for path in paths {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            for (index, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
                let Some((code, mark)) = line.split_once("# bug:") else { continue };
                // The fixtures are outside of the book.
                let (row, address) = (index + 1, concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/"));
                writeln!(text, "- [{name}]({address}{name}#L{row}), line {row}, {}: `{}`", mark.trim(), code.trim())
                    .unwrap();
            }
        }
    }
    text
}

#[test]
fn only_listed_structures_are_exceptions() {
    let programs = programs();
    let mut report = String::new();
    for program in &programs {
        let result = result(program);
        let is_known = EXCEPTIONS.iter().any(|(id, _)| *id == program.id);
        match (result.wrong, is_known) {
            (Some(got), false) => {
                writeln!(report, "\n{}: due on {:?}, got {got}", program.id, program.lines).unwrap();
                for (index, line) in program.source.lines().enumerate() {
                    writeln!(report, "    {:>3} {line}", index + 1).unwrap();
                }
            }
            (None, true) => writeln!(report, "\n{} is right now: it is no exception any more", program.id).unwrap(),
            _ => {}
        }
    }
    assert!(report.is_empty(), "{report}");
    let known = |id: &str| programs.iter().any(|program| program.id == id);
    assert!(EXCEPTIONS.iter().all(|(id, _)| known(id)), "an exception names no program");
}

/// A text with the block `name` replaced.
fn with_block(text: &str, name: &str, content: &str) -> String {
    let start = format!("<!-- generated: {name} -->\n");
    let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("docs/limits.md has no block {name}"));
    let (_, after) = rest.split_once(END).unwrap();
    format!("{before}{start}\n{content}\n{END}{after}")
}

/// The programs of `fixtures/jax` in numbers, with those that are missed.
fn programs_of_jax() -> String {
    let programs = jax_truth::programs();
    let misused = programs.iter().filter(|program| program.misuse).count();
    let caught = misused - jax_truth::MISSED.len();
    let mut text = format!(
        "{caught} of {misused} misuses of `fixtures/jax/reuse_programs.json` are reported on a line where JAX draws the same \
         numbers again; none of its {} other programs is.\n",
        programs.len() - misused
    );
    for (id, reason) in jax_truth::MISSED {
        writeln!(text, "\n- `{id}`: {reason}.").unwrap();
    }
    text
}

#[test]
fn the_document_says_what_the_program_does() {
    let programs = programs();
    let results: Vec<Verdict> = programs.iter().map(result).collect();
    let path = root().join("docs/limits.md");
    let old = fs::read_to_string(&path).unwrap();
    let mut new = with_block(&old, "marks", &marks());
    new = with_block(&new, "programs", &programs_of_jax());
    new = with_block(&new, "structures", &table(&programs, &results));
    if std::env::var_os("BLESS").is_some() {
        return fs::write(&path, &new).unwrap();
    }
    assert!(new == old, "docs/limits.md is not what keylint does; BLESS=1 cargo test rewrites it");
}
