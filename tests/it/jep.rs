//! The examples of JAX's design documents: what a document calls incorrect shows exactly its mistake, what it calls
//! correct is silent, whatever the name of the library's root.
//!
//! **Invariant:** nothing but the marks decides: every finding of `KEY1xx` and `KEY2xx` that is shown has one, and only programs
//! with raw keys show KEY301.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::in_memory::check_text;

/// One example.
struct Example {
    name: String,
    text: String,
}

impl Example {
    /// Row and code of each mark.
    fn marks(&self) -> Vec<(usize, String)> {
        let marked = |(index, line): (usize, &str)| {
            let (_, codes) = line.split_once("# error: [")?;
            Some((index + 1, codes.split_once(']')?.0.to_owned()))
        };
        self.text.lines().enumerate().filter_map(marked).collect()
    }

    fn is(&self, word: &str) -> bool {
        self.name.trim_end_matches(".py").split('_').any(|part| part == word)
    }
}

fn examples() -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/jep");
    let mut examples: Vec<Example> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .map(|path| Example {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            text: fs::read_to_string(&path).unwrap(),
        })
        .collect();
    examples.sort_by(|a, b| a.name.cmp(&b.name));
    examples
}

/// What is wrong with the findings of an example under a root.
fn mismatches(example: &Example, root: &str) -> String {
    let text = example.text.replace("jax", root);
    let shown: Vec<_> = check_text("example.py", &text).into_iter().filter(|checked| checked.shown).collect();
    let found: Vec<(usize, String)> = shown
        .iter()
        .filter(|checked| {
            checked.finding.rule.code().starts_with("KEY1") || checked.finding.rule.code().starts_with("KEY2")
        })
        .map(|checked| (checked.row, checked.finding.rule.code().to_owned()))
        .collect();
    let mut wrong = String::new();
    let marks = example.marks();
    if found != marks {
        writeln!(wrong, "{} under {root}: {found:?} instead of {marks:?}", example.name).unwrap();
    }
    let is_raw = shown.iter().any(|checked| checked.finding.rule.code() == "KEY301");
    if is_raw != example.is("raw") {
        writeln!(wrong, "{} under {root}: KEY301 is {}", example.name, if is_raw { "shown" } else { "missing" })
            .unwrap();
    }
    wrong
}

#[test]
fn examples_report_exactly_their_mistake_under_any_root() {
    let wrong: String = ["jax", "olympus"]
        .into_iter()
        .flat_map(|root| examples().into_iter().map(move |example| mismatches(&example, root)))
        .collect();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn names_say_what_the_examples_are() {
    let examples = examples();
    assert!(examples.len() > 30, "examples are missing: there are {}", examples.len());
    for example in &examples {
        assert!(example.is("correct") != example.is("incorrect"), "{}", example.name);
        assert!(example.is("raw") != example.is("typed"), "{}", example.name);
        assert_eq!(example.is("raw"), example.text.contains("random.PRNGKey("), "{}", example.name);
        assert_eq!(example.is("incorrect"), !example.marks().is_empty(), "{}", example.name);
    }
}
