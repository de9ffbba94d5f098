//! What lowering costs beside parsing, over a folder of Python code.
//!
//! `KEYLINT_CORPUS=folder cargo bench --bench lower` reads every `.py` below the folder and prints the best of a few rounds.
//!
//! **Invariant:** both stages see the same texts; reading files is not measured.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use keylint::ir;
use keylint::python::{Parsed, SourceKind, WORKER_STACK_BYTES, parse};
use keylint::text::FileId;

/// Rounds, of which the best counts.
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
    let parsed: Vec<Parsed> = texts.iter().map(|text| parse(text, SourceKind::Py)).collect();
    let modules: Vec<ir::Module> = parsed.iter().map(lowered).collect();
    let functions: usize = modules.iter().map(|module| module.functions.len()).sum();
    let ops: usize = modules.iter().flat_map(|module| &module.functions).map(|function| function.ops.len()).sum();
    println!("{} files, {} kB, {functions} functions, {ops} operations", texts.len(), bytes / 1000);
    drop(modules);

    let parsing = best(|| texts.iter().for_each(|text| drop(parse(text, SourceKind::Py))));
    let all = best(|| parsed.iter().for_each(|parsed| drop(lowered(parsed))));
    let none = best(|| {
        for parsed in &parsed {
            drop(ir::lower_if(FileId(0), &parsed.module, &|_| Vec::new(), &|_| false));
        }
    });
    for (stage, time) in [("parse", parsing), ("lower", all), ("lower elided", none)] {
        let share = 100.0 * time.as_secs_f64() / parsing.as_secs_f64();
        println!("{stage:<12} {:>7.1} ms  {share:>5.1} % of parsing", time.as_secs_f64() * 1e3);
    }
}

fn lowered(parsed: &Parsed) -> ir::Module {
    ir::lower(FileId(0), &parsed.module, &|_| Vec::new())
}

fn best(mut work: impl FnMut()) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}
