//! Programs with verdicts from JAX itself: which of them draw equal numbers, and on which lines.
//!
//! `fixtures/jax/reuse_programs.json` holds for each program whether it misuses a key and, as pairs of rows, the
//! consumptions that meet; JAX ran every one of them. A misuse counts as reported if a finding of `KEY1xx` or `KEY2xx` that is
//! shown by default stands on the second row of a pair.
//!
//! **Invariant:** the list of misses is exact. A new miss fails, and so does a listed one that is fixed.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::in_memory::{Checked, check_text};

/// Misuses that are not reported, and why.
pub const MISSED: [(&str, &str); 2] = [
    (
        "fold_in_then_parent",
        "whole code bases draw from a key and from a `fold_in` of it; keylint reports this with low confidence",
    ),
    ("fwd_then_grad", "a loss and its gradient have to see the same draw; keylint reports this as a note"),
];

/// The least number of misuses to report.
const REQUIRED: usize = 92;

/// One program, as far as it is read here.
#[derive(Deserialize)]
pub struct Program {
    id: String,
    source: String,
    /// Whether it misuses a key.
    pub misuse: bool,
    /// Rows of the first and the second consumption.
    lines: Vec<[usize; 2]>,
    /// Other pairs that show the same mistake.
    alt_lines: Vec<[usize; 2]>,
}

impl Program {
    /// The rows on which a finding may be.
    fn rows(&self) -> BTreeSet<usize> {
        self.lines.iter().chain(&self.alt_lines).map(|[_, second]| *second).collect()
    }
}

/// All programs.
pub fn programs() -> Vec<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/jax/reuse_programs.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The findings of misuse that are shown by default.
fn misuses(program: &Program) -> Vec<Checked> {
    let mut findings = check_text("program.py", &program.source);
    findings.retain(|checked| {
        checked.shown
            && (checked.finding.rule.code().starts_with("KEY1") || checked.finding.rule.code().starts_with("KEY2"))
    });
    findings
}

/// A program with what was found in it, for people.
fn reported(report: &mut String, program: &Program, findings: &[Checked]) {
    let rows = program.rows();
    writeln!(report, "\n{}: a finding is due on one of {rows:?}", program.id).unwrap();
    for (index, line) in program.source.lines().enumerate() {
        writeln!(report, "    {:>3} {line}", index + 1).unwrap();
    }
    for checked in findings {
        writeln!(report, "    got {} on {}: {}", checked.finding.rule.code(), checked.row, checked.finding.message)
            .unwrap();
    }
}

#[test]
fn misuses_are_reported_where_jax_draws_the_same_numbers() {
    let programs = programs();
    let misused: Vec<&Program> = programs.iter().filter(|program| program.misuse).collect();
    let known: BTreeSet<&str> = MISSED.iter().map(|(id, _)| *id).collect();
    let mut missed = BTreeSet::new();
    let mut report = String::new();
    for program in &misused {
        let findings = misuses(program);
        let rows = program.rows();
        if !findings.iter().any(|checked| rows.contains(&checked.row)) {
            missed.insert(program.id.as_str());
            if !known.contains(program.id.as_str()) {
                reported(&mut report, program, &findings);
            }
        }
    }
    let caught = misused.len() - missed.len();
    assert!(caught >= REQUIRED, "{caught} of {} misuses are reported\n{report}", misused.len());
    assert_eq!(missed, known, "{caught} of {} misuses are reported\n{report}", misused.len());
}

#[test]
fn programs_that_jax_accepts_are_silent() {
    let mut report = String::new();
    for program in programs().iter().filter(|program| !program.misuse) {
        let findings = misuses(program);
        if !findings.is_empty() {
            reported(&mut report, program, &findings);
        }
    }
    assert!(report.is_empty(), "programs without a misuse are reported\n{report}");
}

#[test]
fn all_programs_of_the_collection_are_there() {
    let programs = programs();
    let misused = programs.iter().filter(|program| program.misuse).count();
    assert_eq!((misused, programs.len() - misused), (98, 43));
    assert!(programs.iter().filter(|program| program.misuse).all(|program| !program.rows().is_empty()));
}
