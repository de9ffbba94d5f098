//! The cost of lowering compared with parsing, over a folder of Python code.
//!
//! `KEYLINT_CORPUS=folder cargo bench --bench lower` reads every `.py` below the folder and prints the best of a few rounds.
//!
//! **Invariant:** a file is lowered right after it was parsed, as in a run. Dropping counts towards the stage that
//! allocated, and reading files is not measured.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use keylint::ir;
use keylint::python::{Parsed, SourceKind, WORKER_STACK_BYTES, parse};
use keylint::text::FileId;

/// The number of rounds; the best one counts.
const ROUNDS: usize = 3;

fn main() -> ExitCode {
    let Some(folder) = std::env::var_os("KEYLINT_CORPUS") else {
        println!("nothing to measure: set KEYLINT_CORPUS to a folder of Python code");
        return ExitCode::SUCCESS;
    };
    let worker = std::thread::Builder::new().stack_size(WORKER_STACK_BYTES).spawn(move || measure(Path::new(&folder)));
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn measure(folder: &Path) {
    let texts: Vec<String> = walkdir::WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "py"))
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let mut best = [Duration::MAX; 2];
    let (mut functions, mut ops) = (0, 0);
    for _ in 0..ROUNDS {
        let mut round = [Duration::ZERO; 2];
        (functions, ops) = (0, 0);
        for text in &texts {
            let start = Instant::now();
            let parsed = parse(text, SourceKind::Py);
            round[0] += start.elapsed();
            round[1] += lowering(&parsed, |module| {
                functions += module.functions.len();
                ops += module.functions.iter().map(|function| function.ops.len()).sum::<usize>();
            });
            let start = Instant::now();
            drop(parsed);
            round[0] += start.elapsed();
        }
        for (best, round) in best.iter_mut().zip(round) {
            *best = round.min(*best);
        }
    }
    println!("{} files, {} kB, {functions} functions, {ops} operations", texts.len(), bytes / 1000);
    for (stage, time) in ["parse", "lower"].iter().zip(best) {
        let share = 100.0 * time.as_secs_f64() / best[0].as_secs_f64();
        println!("{stage:<5} {:>7.1} ms  {share:>5.1} % of parsing", time.as_secs_f64() * 1e3);
    }
}

/// The time to lower a module and to drop the result.
fn lowering(parsed: &Parsed, count: impl FnOnce(&ir::Module)) -> Duration {
    let start = Instant::now();
    let module = ir::lower(FileId(0), &parsed.module, &|_| Vec::new());
    let made = start.elapsed();
    count(&module);
    let start = Instant::now();
    drop(module);
    made + start.elapsed()
}
