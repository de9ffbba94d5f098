//! Compares keylint's findings in random programs with the draws that `CPython` records.
//!
//! Every program runs under `CPython` with a stub of JAX (`fixtures/programs`) that records which keys are consumed
//! where. What keylint shows of KEY101–KEY105 and KEY108 must agree: no finding where nothing meets, and a finding
//! where something does. `KEYLINT_PROGRAMS` sets how many programs there are, `KEYLINT_PROGRAMS_FROM` the number of the
//! first. Where `KEYLINT_PROGRAMS_TO` names a folder, the programs are written there, for
//! `fixtures/programs/against_jax.py`.
//!
//! Reuse without consequence is marked in the templates, and keylint must not show it.
//!
//! **Invariant:** a difference is a bug in keylint, in the stub or in the generator; none is tolerated.

mod dice;
mod generate;
mod guards;
mod objects;
mod paths;
mod repeats;
mod scope;
mod statements;
mod style;
mod templates;
mod traces;
mod transforms;
mod writer;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use keylint::finding::IntentKind;
use serde::Deserialize;
use serde_json::json;

use crate::fix::fixed;
use crate::in_memory::{Checked, check_text};
use generate::{Program, program};
use traces::{Agreement, Draw, agreement};

/// The number of programs of an ordinary run.
const COUNT: u64 = 1_500;
/// The maximum share of programs that may fail to run, in percent.
const BROKEN: usize = 2;

/// The end of a line with a draw from a key whose other draw changes nothing that the program returns.
const UNSEEN: &str = "# dead";

/// The result of one program under `CPython`.
#[derive(Deserialize)]
struct Truth {
    error: Option<String>,
    collisions: Vec<Collision>,
    draws: Vec<Vec<Draw>>,
}

/// Two draws from one key: where a finding may stand, what was drawn first and second, the row of the first, whether the
/// key was once made by `fold_in` and once by `split`, or served in place of the children of its split, and the row of the second in the
/// lowest frame that sees both.
#[derive(Clone, Deserialize, PartialEq)]
struct Collision(Vec<(usize, usize)>, String, String, usize, bool, usize);

impl Collision {
    fn admits(&self, row: usize) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&row))
    }

    /// The row in the lowest frame that sees both draws.
    fn frame(&self) -> usize {
        self.5
    }

    /// Whether keylint may say nothing of it by default: inputs and labels are shuffled alike on purpose, and of two splits of
    /// one key different children may be used; if the same are, they collide themselves. That `fold_in(k, i)` meets `split(k, n)[j]` is
    /// seen where `i` and `j` are one number, not where both only run over the same ones.
    fn is_excused(&self) -> bool {
        self.4 || self.1 == self.2 && matches!(self.1.as_str(), "permutation" | "split")
    }
}

/// The arguments of `main`, each behind the seed of the values that the run sees.
fn few_runs() -> Vec<serde_json::Value> {
    vec![
        json!([1, true, true, "train", 3]),
        json!([2, false, false, "eval", 3]),
        json!([3, true, false, "train", 2]),
        json!([4, false, true, "test", 3]),
        json!([5, true, true, "eval", 0]),
        json!([6, false, false, "train", 3]),
    ]
}

fn many_runs() -> Vec<serde_json::Value> {
    let mut runs = Vec::new();
    for seed in 0..10 {
        for flags in 0..4 {
            for mode in ["train", "eval", "test", "valid"] {
                for n in [0, 1, 2, 3] {
                    runs.push(json!([seed * 1000 + runs.len(), flags % 2 == 0, flags / 2 == 0, mode, n]));
                }
            }
        }
    }
    runs
}

/// Runs programs under `CPython`, in one process.
fn truths(sources: &[&str], runs: &[serde_json::Value], draws: bool) -> Vec<Truth> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/programs/run.py");
    let mut child = Command::new("python3")
        .arg("-S")
        .arg(script)
        .env("PYTHONHASHSEED", "0")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: Vec<String> =
        sources.iter().map(|source| json!({ "source": source, "runs": runs, "draws": draws }).to_string()).collect();
    let feeder = thread::spawn(move || {
        for line in lines {
            writeln!(input, "{line}").unwrap();
        }
    });
    let output = BufReader::new(child.stdout.take().unwrap());
    let truths = output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    feeder.join().unwrap();
    assert!(child.wait().unwrap().success());
    truths
}

fn reuses(source: &str) -> Vec<Checked> {
    let mut findings = check_text("program.py", source);
    // CPython sees that keys are equal, and not whether anything depends on what is drawn from them, or that a loss and its gradients
    // have to see one draw: such a reuse is a note. So are two splits of which different children are seen, while others meet unseen.
    let is_unseen = |checked: &Checked| {
        let finding = &checked.finding;
        finding.consequence.as_ref().is_some_and(|fate| fate.kind.is_harmless())
            || finding
                .intent
                .as_ref()
                .is_some_and(|intent| matches!(intent.kind, IntentKind::PairedCalls | IntentKind::DisjointParts))
    };
    findings.retain(|checked| {
        (checked.shown || is_unseen(checked))
            && matches!(checked.finding.rule.code(), "KEY101" | "KEY102" | "KEY103" | "KEY104" | "KEY105" | "KEY108")
    });
    findings
}

/// The differences between the findings and the recorded draws; empty if they agree.
fn differences(program: &Program, truth: &Truth, findings: &[Checked]) -> Vec<String> {
    let mut wrong = Vec::new();
    let is_unseen = |row: usize| program.source.lines().nth(row - 1).is_some_and(|line| line.ends_with(UNSEEN));
    for checked in findings.iter().filter(|checked| checked.shown && is_unseen(checked.row)) {
        wrong.push(format!("SHOWN {} on {}", checked.finding.rule.code(), checked.row));
    }
    for checked in findings.iter().filter(|checked| checked.shown) {
        if !truth.collisions.iter().any(|collision| collision.admits(checked.row)) {
            wrong.push(format!(
                "FALSE {} on {}: {}",
                checked.finding.rule.code(),
                checked.row,
                checked.finding.message
            ));
        }
    }
    let unit = |row: usize| program.units.get(row).copied().unwrap_or(0);
    let due: BTreeSet<usize> = truth
        .collisions
        .iter()
        .filter(|collision| !collision.is_excused())
        .map(|collision| unit(collision.frame()))
        .collect();
    for number in due {
        let here = truth.collisions.iter().filter(|collision| unit(collision.frame()) == number);
        let mut due = here.clone().filter(|collision| !collision.is_excused());
        let is_met = here.into_iter().any(|collision| findings.iter().any(|checked| collision.admits(checked.row)));
        if !is_met {
            let Some(Collision(rows, first, second, earlier, ..)) = due.next() else { continue };
            wrong.push(format!("MISSED {second} on {rows:?} after {first} on {earlier}"));
        }
    }
    wrong
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Writes programs to the folder `KEYLINT_PROGRAMS_TO`: more than run here, because one in four misuses a key.
fn write_programs(from: u64, count: u64) {
    let Some(folder) = std::env::var_os("KEYLINT_PROGRAMS_TO").map(PathBuf::from) else { return };
    fs::create_dir_all(&folder).unwrap();
    for number in from..from + 2 * count {
        fs::write(folder.join(format!("program_{number:05}.py")), program(number).source).unwrap();
    }
}

/// Whether there is no Python to run the programs; if so, prints that the test is skipped.
fn is_without_python() -> bool {
    let version = Command::new("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).status();
    let is_missing = !version.is_ok_and(|status| status.success());
    if is_missing {
        eprintln!("skipped: generated programs need python3, version 3.11 or newer");
    }
    is_missing
}

#[test]
fn findings_agree_with_draws_under_cpython() {
    if is_without_python() {
        return;
    }
    let (from, count) = (setting("KEYLINT_PROGRAMS_FROM", 0), setting("KEYLINT_PROGRAMS", COUNT));
    write_programs(from, count);
    agree(from..from + count, program);
}

#[test]
fn findings_about_keys_in_objects_agree_with_cpython() {
    if is_without_python() {
        return;
    }
    let (from, count) = (setting("KEYLINT_PROGRAMS_FROM", 0), setting("KEYLINT_PROGRAMS", COUNT) / 2);
    agree(from..from + count, objects::program);
}

/// Compares the findings of programs with their runs.
fn agree(numbers: Range<u64>, program: fn(u64) -> Program) {
    let numbers: Vec<u64> = numbers.collect();
    let programs: Vec<Program> = numbers.iter().map(|number| program(*number)).collect();
    let sources: Vec<&str> = programs.iter().map(|program| program.source.as_str()).collect();
    let count = programs.len();
    let (mut few, findings) = thread::scope(|scope| {
        let truths = scope.spawn(|| truths(&sources, &few_runs(), false));
        let parts: Vec<_> = sources
            .chunks(sources.len().div_ceil(2).max(1))
            .map(|part| scope.spawn(|| part.iter().map(|source| reuses(source)).collect::<Vec<_>>()))
            .collect();
        let findings: Vec<_> = parts.into_iter().flat_map(|part| part.join().unwrap()).collect();
        (truths.join().unwrap(), findings)
    });
    // More runs if the first few disagree with keylint: a path may need other flags.
    let doubtful: Vec<usize> =
        (0..programs.len()).filter(|at| !differences(&programs[*at], &few[*at], &findings[*at]).is_empty()).collect();
    let doubted: Vec<&str> = doubtful.iter().map(|at| sources[*at]).collect();
    for (at, truth) in doubtful.iter().zip(truths(&doubted, &many_runs(), false)) {
        few[*at] = truth;
    }
    let (mut report, mut wrong, mut colliding, mut broken) = (String::new(), 0, 0, Vec::new());
    for (at, program) in programs.iter().enumerate() {
        let truth = &few[at];
        if let Some(error) = &truth.error {
            broken.push(format!("{}: {error}", numbers[at]));
            continue;
        }
        colliding += usize::from(!truth.collisions.is_empty());
        let differences = differences(program, truth, &findings[at]);
        if !differences.is_empty() {
            wrong += 1;
            writeln!(report, "\n=== program {}: {}", numbers[at], differences.join("\n    ")).unwrap();
            if wrong <= 60 {
                for (row, line) in program.source.lines().enumerate() {
                    writeln!(report, "{:>4} {line}", row + 1).unwrap();
                }
            }
        }
    }
    eprintln!("{count} programs, {colliding} with a collision, {} that fail to run", broken.len());
    assert_eq!(wrong, 0, "{wrong} of {count} programs differ\n{report}");
    let most = programs.len() * BROKEN / 100;
    assert!(broken.len() <= most, "{} programs fail to run\n{}", broken.len(), broken.join("\n"));
}

/// The name that a fix draws from is bound on every path: the fixed program runs whenever the original does.
#[test]
fn fixed_programs_run_on_every_path() {
    if is_without_python() {
        return;
    }
    let programs = paths::programs();
    let half = programs.len().div_ceil(2);
    let fixed: Vec<String> = thread::scope(|scope| {
        let parts: Vec<_> = programs
            .chunks(half)
            .map(|part| scope.spawn(|| part.iter().map(|text| fixed(text)).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let texts: Vec<&str> = programs.iter().chain(&fixed).map(String::as_str).collect();
    let truths = truths(&texts, &many_runs(), false);
    let (before, after) = truths.split_at(programs.len());
    let mut report = String::new();
    let mut changed = 0;
    for (at, text) in fixed.iter().enumerate() {
        assert_eq!(before[at].error, None, "{}", programs[at]);
        changed += usize::from(*text != programs[at]);
        if let Some(error) = &after[at].error {
            writeln!(report, "\n=== {error}\n{}--- becomes\n{text}", programs[at]).unwrap();
        }
    }
    eprintln!("{changed} of {} programs are fixed", programs.len());
    assert!(report.is_empty(), "{report}");
    assert!(changed * 4 > programs.len() * 3, "only {changed} of {} programs are fixed", programs.len());
}

#[test]
fn replays_draw_what_cpython_draws() {
    if is_without_python() {
        return;
    }
    let (from, count) = (setting("KEYLINT_PROGRAMS_FROM", 0), setting("KEYLINT_PROGRAMS", COUNT) / 5);
    let numbers: Vec<u64> = (from..from + count).collect();
    let calls = ["main(True, False, \"train\", 2)", "main(False, True, \"eval\", 3)", "main(True, True, \"test\", 1)"];
    let sources: Vec<String> = numbers
        .iter()
        .zip(calls.iter().cycle())
        .map(|(number, call)| format!("{}\n{call}\n", program(*number).source))
        .collect();
    // A tree of which the replay does not know the leaves is taken to have two, as is an array of unknown length to have two
    // lanes: the programs map over two.
    let (numbers, sources): (Vec<u64>, Vec<String>) =
        numbers.into_iter().zip(sources).filter(|(_, source)| !source.contains("tree.map(")).unzip();
    let texts: Vec<&str> = sources.iter().map(String::as_str).collect();
    let truths = truths(&texts, &[json!([1]), json!([2])], true);
    let (mut report, mut agreed, mut open, mut wrong) = (String::new(), 0, 0, 0);
    for ((number, source), truth) in numbers.iter().zip(&sources).zip(&truths) {
        for drawn in truth.draws.iter().filter(|_| truth.error.is_none()) {
            match agreement(source, drawn) {
                Agreement::Agrees => agreed += 1,
                Agreement::Open => open += 1,
                Agreement::Differs(nearest) => {
                    wrong += 1;
                    let at = nearest.iter().zip(drawn).take_while(|(a, b)| a == b).count();
                    let (got, due) = (nearest.get(at), drawn.get(at));
                    writeln!(report, "\n=== program {number}: draw {at} is {got:?} and should be {due:?}").unwrap();
                    if wrong <= 12 {
                        for (row, line) in source.lines().enumerate() {
                            writeln!(report, "{:>4} {line}", row + 1).unwrap();
                        }
                    }
                }
            }
        }
    }
    eprintln!("{agreed} runs agree, {open} are open, {wrong} differ");
    assert_eq!(wrong, 0, "{wrong} runs differ from all paths of their replay\n{report}");
}
