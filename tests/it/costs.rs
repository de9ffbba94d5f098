//! The cost of analyses in operations, which does not depend on the machine, so that a regression shows up as a diff of a reviewed file.
//!
//! `fixtures/costs.txt` has a line for each script of `fixtures/clean/scripts` and for generated programs of the kinds that explode;
//! `BLESS=1 cargo test --test it costs` writes it again.
//!
//! **Invariant:** no kind of program costs more than the budget of a module, and below that budget, twice as many lines cost at most about
//! twice as much.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use keylint::config::{CommandLine, Resolver};
use keylint::engine::{self, Input, Job, known_rules};
use keylint::judge;
use keylint::judge::facts::Facts;
use keylint::source::MemoryFiles;

/// A kind of program: its name, its text by size, two sizes, and the maximum ratio of their costs.
type Kind = (&'static str, fn(usize) -> String, [usize; 2], u64);

/// The budget of a module: the operations that its functions may run together, plus those of the last function that started within it.
const OPERATIONS: u64 = 1_000_000 + 30_000;

/// The maximum average number of keys recorded per place: eight from callers, and the function's own.
const KEYS: usize = 10;

const HEAD: &str = "import jax\nimport jax.numpy as jnp\nfrom jax import random\n\n\n";

/// What the analysis of a text concludes.
fn facts(text: &str, observes: bool) -> Facts {
    let folder = Path::new("/");
    let path = PathBuf::from("/program.py");
    let files: MemoryFiles = [(path.clone(), text)].into_iter().collect();
    let isolated = CommandLine { isolated: true, ..CommandLine::default() };
    let settings = Resolver::new(folder, known_rules(), isolated).unwrap().for_directory(folder).unwrap();
    let found = Mutex::new(Facts::default());
    let inputs = [Input { path, display: "program.py".to_owned() }];
    engine::check(&Job {
        verify: false,
        analyse: &|world, program, module, remembered| {
            let facts = if observes {
                judge::analyse(world, &program.observing(), module, remembered)
            } else {
                judge::analyse(world, program, module, remembered)
            };
            *found.lock().unwrap() = facts.clone();
            facts
        },
        ..Job::new(&files, folder, &inputs, &|_| settings.clone())
    });
    found.into_inner().unwrap()
}

/// A function made of these lines.
fn function(lines: &[String]) -> String {
    format!("def f(key, xs):\n    {}\n    return random.normal(key)\n", lines.join("\n    "))
}

/// Functions that each call the next two.
fn that_call_two(count: usize) -> String {
    let one = |i: usize| {
        let (one, two) = (i + 1, i + 2);
        format!("def g{i}(key, x):\n    a, b = random.split(key)\n    return g{one}(a, x) + g{two}(b, x)\n\n\n")
    };
    (0..count).map(one).collect()
}

/// Helpers that do not use keys, each of which calls the next one twice, and a function that draws and calls them.
fn helpers(count: usize) -> String {
    let one = |i: usize| format!("def h{i}(x):\n    return h{next}(x) + h{next}(x + 1)\n\n\n", next = i + 1);
    let text: String = (0..count).map(one).collect();
    format!("{text}def h{count}(x):\n    return x\n\n\ndef f(key):\n    return h0(random.normal(key)) + h0(3)\n")
}

/// Draws on the two sides of as many branches.
fn branches(count: usize) -> String {
    let lines = (0..count).flat_map(|i| {
        [format!("if xs[{i}]:"), "    key, k = random.split(key)".to_owned(), "    random.normal(k)".to_owned()]
    });
    function(&lines.collect::<Vec<_>>())
}

/// Loops within each other.
fn loops(count: usize) -> String {
    let mut lines: Vec<String> =
        (0..count).map(|i| format!("{}for i{i} in range(xs[{i}]):", "    ".repeat(i))).collect();
    lines.push(format!("{}key, k = random.split(key)", "    ".repeat(count)));
    function(&lines)
}

/// Draws from one key, one after the other.
fn draws(count: usize) -> String {
    function(&vec!["x = random.normal(key)".to_owned(); count])
}

/// Methods that call each other on an object that holds the key.
fn methods(count: usize) -> String {
    let mut text =
        "class A:\n    def __init__(self, seed):\n        self.key = random.key(seed)\n\n    def next(self):\n        \
         self.key, k = random.split(self.key)\n        return k\n"
            .to_owned();
    for i in 0..count {
        let next = if i + 1 == count { "next".to_owned() } else { format!("m{}", i + 1) };
        writeln!(text, "\n    def m{i}(self):\n        self.{next}()\n        key = self.{next}()\n        return key")
            .unwrap();
    }
    text
}

#[test]
fn operations_are_those_that_were_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let scripts: BTreeSet<PathBuf> =
        fs::read_dir(folder.join("clean/scripts")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut counted =
        "# Operations that the analysis of a program runs. `BLESS=1 cargo test --test it costs` writes them anew.\n\n"
            .to_owned();
    for script in &scripts {
        let text = fs::read_to_string(script).unwrap();
        let name = script.file_name().unwrap().to_str().unwrap();
        writeln!(counted, "{name}: {}", facts(&text, false).operations).unwrap();
    }
    counted.push('\n');
    // Each with two sizes, and the maximum ratio of their costs.
    let kinds: [Kind; 6] = [
        ("functions that call two", that_call_two, [12, 24], u64::MAX),
        ("helpers that call one twice", helpers, [8, 16], u64::MAX),
        ("branches", branches, [100, 200], 3),
        ("loops within each other", loops, [4, 8], u64::MAX),
        ("draws from one key", draws, [100, 200], 3),
        ("methods that call one twice", methods, [8, 16], u64::MAX),
    ];
    for (name, make, sizes, growth) in kinds {
        let smaller = Cell::new(u64::MAX);
        for size in sizes {
            let operations = facts(&format!("{HEAD}{}", make(size)), false).operations;
            assert!(operations > 0 && operations <= OPERATIONS, "{name}, {size}: {operations} operations");
            let most = smaller.get().saturating_mul(growth);
            assert!(operations <= most, "{name}, {size}: {operations} operations after {}", smaller.get());
            smaller.set(operations);
            writeln!(counted, "{name}, {size}: {operations}").unwrap();
        }
    }
    let file = folder.join("costs.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, &counted).unwrap();
    }
    let reviewed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        reviewed == counted,
        "the costs are others than fixtures/costs.txt says; if they should be, BLESS=1 cargo test --test it costs\n{counted}"
    );
}

#[test]
fn places_are_recorded_a_few_times_for_any_number_of_callers() {
    let facts = facts(&format!("{HEAD}{}", that_call_two(24)), true);
    let places: BTreeSet<_> = facts.values.iter().map(|value| value.place).collect();
    assert!(
        !places.is_empty() && facts.values.len() <= KEYS * places.len(),
        "{} of {}",
        facts.values.len(),
        places.len()
    );
}
