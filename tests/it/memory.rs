//! Checks with a memory, as in an editor, equal fresh ones after every edit.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use keylint::config::{CommandLine, Resolver, Settings};
use keylint::engine::{self, Input, Job, Memory, known_rules};
use keylint::source::MemoryFiles;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// How many sequences of edits are tried.
const CASES: u32 = 24;

/// What is typed or pasted.
const TYPED: [&str; 18] = [
    "\n    extra = jax.random.normal(key, (3,))",
    "\n    key, other = jax.random.split(key)",
    "\n    f = lambda k: jax.random.normal(k)",
    "\n    self.key = key\n    global rng\n    rng = key",
    "\n    for i in range(3):\n        jax.random.normal(key)",
    "\n    return helper(key)",
    "\ndef helper(key):\n    return jax.random.normal(key)\n",
    "\nrng = jax.random.key(0)\nkey = rng\n",
    "\nclass Model:\n    def __init__(self, key):\n        self.key = key\n        self.draw = jax.jit(helper)\n",
    "# keylint: ignore[key-reused] intended\n",
    "  # keylint: consumes(key)",
    "import jax\nfrom jax import random\n",
    "é = '''😀'''\n",
    "(",
    ")",
    "\"\"\"",
    "\\\n",
    "@jax.jit\n",
];

/// Parts of a file: most files are made of several.
const PARTS: [&str; 7] = [
    "import jax\nimport jax.numpy as jnp\nimport functools\n",
    "\n\ndef draw(key, shape=(3,)):\n    first = jax.random.normal(key, shape)\n    second = jax.random.uniform(key, shape)\n    return first + second\n",
    "\n\ndef train(key, batches):\n    total = 0.0\n    for batch in batches:\n        key, subkey = jax.random.split(key)\n        total += draw(subkey) + jax.random.normal(key)\n    return total\n",
    "\n\nclass Sampler:\n    \"\"\"Draws.\"\"\"\n\n    def __init__(self, seed):\n        self.key = jax.random.key(seed)\n        self.step = jax.jit(self._step)\n        self.log = None\n\n    def next_key(self):\n        self.key, subkey = jax.random.split(self.key)\n        return subkey\n\n    def _step(self, x):\n        return x + jax.random.normal(self.next_key())\n\n    def stale(self):\n        return jax.random.normal(self.key)\n\n    def both(self):\n        return self.step(1.0) + jax.random.normal(self.next_key())\n",
    "\n\nclass Child(Sampler):\n    def stale(self):\n        k = self.next_key()\n        return jax.random.normal(k) + jax.random.normal(k)\n",
    "\n\n@functools.partial(jax.jit, static_argnums=(1,))\ndef walk(key, steps):\n    def body(carry, i):\n        k = jax.random.fold_in(carry, i)\n        return carry, jax.random.normal(k) + draw(carry)\n\n    _, rows = jax.lax.scan(body, key, jnp.arange(steps))\n    return rows, jax.vmap(lambda k: jax.random.normal(key))(jax.random.split(key, 4))\n",
    "\n\nstate = {}\nROOT = jax.random.key(0)\nA, B = jax.random.split(ROOT)\n\n\ndef use_globals():\n    state['key'] = A\n    return jax.random.normal(A) + jax.random.normal(ROOT)\n\n\nif __name__ == '__main__':\n    print(draw(B), draw(B), use_globals())\n",
];

/// One edit.
#[derive(Clone, Debug)]
enum Step {
    /// Types a text, a few characters at a time.
    Type(Index, &'static str, usize),
    /// Deletes some characters, one at a time.
    Delete(Index, usize),
    /// Deletes a line.
    Cut(Index),
    /// Repeats a line at another place.
    Copy(Index, Index),
    /// Undoes the last edits.
    Undo,
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<Index>(), select(TYPED.to_vec()), 1_usize..20).prop_map(|(at, text, pace)| Step::Type(at, text, pace)),
        2 => (any::<Index>(), 1_usize..5).prop_map(|(at, count)| Step::Delete(at, count)),
        1 => any::<Index>().prop_map(Step::Cut),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Step::Copy(from, to)),
        2 => Just(Step::Undo),
    ]
}

/// The texts after each keystroke.
fn keystrokes(text: &str, step: &Step, before: &[String]) -> Vec<String> {
    let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    // Most people type at the end of a line.
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).chain([text.len()]).collect();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    match step {
        Step::Type(at, typed, pace) => {
            let (head, tail) = text.split_at(*at.get(&ends));
            let characters: Vec<char> = typed.chars().collect();
            let parts = (1..=characters.len()).filter(|count| count % pace == 0 || *count == characters.len());
            parts.map(|count| format!("{head}{}{tail}", characters[..count].iter().collect::<String>())).collect()
        }
        Step::Delete(at, count) => {
            let start = at.index(boundaries.len());
            let last = boundaries.len() - 1;
            (1..=*count)
                .map(|count| {
                    let (from, to) = (boundaries[start], boundaries[(start + count).min(last)]);
                    format!("{}{}", &text[..from], &text[to..])
                })
                .collect()
        }
        Step::Cut(_) | Step::Copy(..) if lines.is_empty() => Vec::new(),
        Step::Cut(at) => {
            let cut = at.index(lines.len());
            vec![lines.iter().enumerate().filter(|(row, _)| *row != cut).map(|(_, line)| *line).collect()]
        }
        Step::Copy(from, to) => {
            let mut copied = lines.clone();
            copied.insert(to.index(lines.len() + 1), lines[from.index(lines.len())]);
            vec![copied.concat()]
        }
        Step::Undo => before.iter().rev().take(3).cloned().collect(),
    }
}

/// Everything that a check reports.
fn checked(text: &str, helper: Option<&str>, settings: &Arc<Settings>, memory: Option<&Memory>) -> String {
    let cwd = Path::new("/project");
    let texts = [("trace.py", Some(text)), ("helper.py", helper)];
    let files: MemoryFiles = texts.iter().filter_map(|(path, text)| Some((cwd.join(path), (*text)?))).collect();
    let inputs = [Input { path: cwd.join("trace.py"), display: "trace.py".to_owned() }];
    let outcome = engine::check(&Job {
        survey: &|_| texts.iter().filter(|(_, text)| text.is_some()).map(|(path, _)| cwd.join(path)).collect(),
        memory,
        ..Job::new(&files, cwd, &inputs, &|_| settings.clone())
    });
    let mut report = String::new();
    for reported in &outcome.findings {
        let _ = writeln!(report, "{reported:?}");
    }
    let _ = write!(report, "{:?} {:?} {:?} {}", outcome.hidden, outcome.refuted, outcome.read, outcome.failed);
    report
}

fn settings() -> Arc<Settings> {
    let isolated = CommandLine { isolated: true, ..CommandLine::default() };
    let cwd = Path::new("/project");
    Resolver::new(cwd, known_rules(), isolated).unwrap().for_directory(cwd).unwrap()
}

/// Checks that the memory changes nothing while a text is edited.
fn compare(text: String, steps: &[Step], helper: Option<&str>) {
    let (settings, memory) = (settings(), Memory::checking());
    let mut texts = vec![text];
    let same = |text: &str, memory: &Memory| {
        let (fresh, again) = (checked(text, helper, &settings, None), checked(text, helper, &settings, Some(memory)));
        assert_eq!(again, fresh, "in\n{text}");
    };
    same(&texts[0], &memory);
    for step in steps {
        let now = texts.last().cloned().unwrap_or_default();
        for text in keystrokes(&now, step, &texts) {
            same(&text, &memory);
            texts.push(text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edited_files_are_checked_as_if_they_were_new(parts in vec(select(PARTS.to_vec()), 1..8), steps in vec(steps(), 1..6)) {
        compare(format!("{}{}", PARTS[0], parts.concat()), &steps, None);
    }

    #[test]
    fn edits_of_a_file_that_imports_another_change_nothing_else(steps in vec(steps(), 1..5)) {
        let text = format!("from helper import draw, Sampler\n{}{}{}", PARTS[0], PARTS[2], PARTS[4]);
        compare(text, &steps, Some(&format!("{}{}{}", PARTS[0], PARTS[1], PARTS[3])));
    }
}

#[test]
fn edits_of_fixtures_are_checked_as_if_they_were_new() {
    let mut texts: Vec<String> = Vec::new();
    for folder in ["fixtures/cases/frameworks", "fixtures/clean"] {
        let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort_unstable();
        let python = paths.into_iter().filter(|path| path.extension().is_some_and(|suffix| suffix == "py"));
        texts.extend(python.step_by(7).take(10).map(|path| std::fs::read_to_string(path).unwrap()));
    }
    let settings = settings();
    for text in texts {
        let memory = Memory::checking();
        // A statement in each function, typed in two steps and deleted again.
        let ends: Vec<usize> = text
            .match_indices("\n    return")
            .map(|(at, _)| at)
            .chain(text.match_indices(":\n").map(|(at, _)| at + 1))
            .collect();
        for at in ends.into_iter().take(12) {
            for typed in ["", "\n    extra = jax.random.", "\n    extra = jax.random.normal(key)", ""] {
                let edited = format!("{}{typed}{}", &text[..at], &text[at..]);
                let fresh = checked(&edited, None, &settings, None);
                assert_eq!(checked(&edited, None, &settings, Some(&memory)), fresh, "in\n{edited}");
            }
        }
    }
}

#[test]
fn only_what_an_edit_affects_is_analysed_again() {
    let settings = settings();
    let text = format!("{}{}{}{}{}", PARTS[0], PARTS[1], PARTS[2], PARTS[3], PARTS[5]);
    let taken = |from: &str, to: &str| {
        let memory = Memory::checking();
        checked(&text, None, &settings, Some(&memory));
        assert_eq!(memory.entries_taken(), 0);
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text);
        checked(&edited, None, &settings, Some(&memory));
        memory.entries_taken()
    };
    // Eight functions are analysed on their own: `draw`, `train`, `walk` and five methods. Who calls `stale` is looked up in all functions.
    assert_eq!(taken("    return total", "    extra = 1\n    return total"), 6, "nothing calls `train`");
    assert_eq!(
        taken("    return total", "    extra = jax.random.\n    return total"),
        6,
        "a syntax error in one function"
    );
    assert_eq!(taken("    return first", "    extra = 1\n    return first"), 4, "`train` and `walk` call `draw`");
    assert_eq!(taken("import functools", "import functools, os"), 0, "the module's body runs first");
}
