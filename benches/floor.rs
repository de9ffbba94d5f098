//! A lower bound for any linter: find, read, decode, parse and walk the files, on all threads.
//!
//! `.ci/bench` compares keylint with this in one run. Discovery, decoding and parser are keylint's own, so that the ratio
//! shows only the cost of the analysis.
//!
//! **Invariant:** each node of a tree is visited once, nothing else is done with the tree, and no tree outlives its file.

use std::path::PathBuf;
use std::time::Instant;

use keylint::python::ast::AnyNodeRef;
use keylint::python::ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use keylint::python::{self, SourceKind, WORKER_STACK_BYTES};
use keylint::source::{self, OsFiles, Selection, discover};
use rayon::prelude::*;

/// The same allocator as in keylint, so that the ratio does not depend on it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Counts nodes.
#[derive(Default)]
struct Nodes(u64);

impl<'a> SourceOrderVisitor<'a> for Nodes {
    fn enter_node(&mut self, _: AnyNodeRef<'a>) -> TraversalSignal {
        self.0 += 1;
        TraversalSignal::Traverse
    }
}

/// The counts of one file, or of several.
#[derive(Clone, Copy, Default)]
struct Counts {
    files: u64,
    lines: u64,
    bytes: u64,
    nodes: u64,
}

impl Counts {
    fn and(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            lines: self.lines + other.lines,
            bytes: self.bytes + other.bytes,
            nodes: self.nodes + other.nodes,
        }
    }
}

fn main() {
    // `cargo bench` passes an option of its own.
    let mut paths: Vec<PathBuf> = std::env::args_os()
        .skip(1)
        .filter(|word| !word.to_string_lossy().starts_with("--"))
        .map(PathBuf::from)
        .collect();
    if paths.is_empty() {
        paths.push(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures"));
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .stack_size(WORKER_STACK_BYTES)
        .build()
        .expect("the system grants threads with large stacks");
    let start = Instant::now();
    let found = discover(&paths, &Selection::default());
    let counts = pool.install(|| {
        found
            .files
            .par_iter()
            .map(|file| {
                let Ok(file) = source::read(&OsFiles, &file.path, &file.display) else { return Counts::default() };
                let parsed = python::parse(&file.text, SourceKind::of_path(&file.path));
                let mut nodes = Nodes::default();
                nodes.visit_body(&parsed.module.body);
                Counts {
                    files: 1,
                    lines: u64::try_from(file.text.lines().count()).unwrap_or(u64::MAX),
                    bytes: u64::try_from(file.text.len()).unwrap_or(u64::MAX),
                    nodes: nodes.0,
                }
            })
            .reduce(Counts::default, Counts::and)
    });
    let seconds = start.elapsed().as_secs_f64();
    let Counts { files, lines, bytes, nodes } = counts;
    let peak = peak_kib().map_or_else(|| "null".to_owned(), |kib| kib.to_string());
    println!(
        "{{\"seconds\": {seconds:.4}, \"peak_kib\": {peak}, \"threads\": {}, \"files\": {files}, \"lines\": {lines}, \
         \"bytes\": {bytes}, \"nodes\": {nodes}}}",
        pool.current_num_threads()
    );
}

/// The peak resident memory of the process, if the system reports it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
