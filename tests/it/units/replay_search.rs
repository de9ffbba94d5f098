//! The search of paths in a replay.

use std::fs;
use std::path::{Path, PathBuf};

use keylint::ir::{self, Module, Resolver};
use keylint::models::Models;
use keylint::python::{SourceKind, parse};
use keylint::text::FileId;
use keylint::verify::replay::{Project, explored_twice};

/// `import helper` is the second file.
struct Two;

impl Resolver for Two {
    fn module(&self, from: FileId, _: u32, path: &str) -> Option<FileId> {
        (from == FileId(0) && path == "helper").then_some(FileId(1))
    }

    fn absolute(&self, _: FileId, _: u32, path: &str) -> String {
        path.to_owned()
    }
}

/// Explores all functions of the first file; returns the number of draws on each path.
fn explored(texts: &[&str], budget: u32) -> Vec<usize> {
    let lower =
        |(file, text): (u32, &&str)| ir::lower(FileId(file), &parse(text, SourceKind::Py).module, &|_| Vec::new());
    let modules: Vec<Module> = (0u32..).zip(texts).map(lower).collect();
    let project = Project::new(modules.iter().collect(), &Two, Models::builtin(), &[]);
    let paths = explored_twice(&project, 0, budget);
    for path in &paths {
        assert_eq!(path.observed, path.alone, "{} in\n{}", path.function, texts[0]);
    }
    paths.into_iter().map(|path| path.draws).collect()
}

fn files(folder: PathBuf, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(path, found);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            found.push(path);
        }
    }
}

#[test]
fn a_path_from_a_kept_state_equals_a_path_from_the_beginning() {
    let mut found = Vec::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    files(fixtures.join("cases"), &mut found);
    files(fixtures.join("clean"), &mut found);
    assert!(found.len() > 100);
    let texts = found.iter().map(|path| fs::read_to_string(path).unwrap());
    assert!(texts.map(|text| explored(&[&text], 10_000).len()).sum::<usize>() > 1_000);
}

#[test]
fn paths_do_not_see_what_others_wrote() {
    let helper = "\
seen = []
class Count:
    total = 0
    def __init__(self):
        self.own = 0
    def step(self):
        self.own += 1
        Count.total += 1
def note(value, all=seen):
    all.append(value)
";
    let text = "\
import jax
from helper import Count, note, seen
one = Count()
both = (one, {'seen': seen})
if is_unknown:
    other = one
else:
    other = both[0]
steps = [0]
step = lambda: (steps.append(0), len(steps))[1]
def f(key, flag, other_flag):
    one.step()
    note(flag)
    if flag:
        print()
    if other_flag:
        print()
    for i in range(other.own + Count.total + len(both[1]['seen']) + step()):
        jax.random.normal(jax.random.fold_in(key, i))
";
    let draws = explored(&[text, helper], 100_000);
    assert!(draws.len() >= 4 && draws.iter().all(|count| *count == draws[0] && *count > 0), "{draws:?}");
}
