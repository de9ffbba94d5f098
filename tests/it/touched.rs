//! What an edit within a function can change: which functions have to be analysed again, and that this is as good as all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use keylint::analysis::facts::reconcile;
use keylint::analysis::{Program, Resolver, World, analyse, touched};
use keylint::finding::Finding;
use keylint::ir::{self, FunctionId, Module};
use keylint::models::Models;
use keylint::python::{SourceKind, parse};
use keylint::rules;
use keylint::text::{FileId, Span};
use walkdir::WalkDir;

/// Nothing but the one file.
struct Alone;

impl Resolver for Alone {
    fn module(&self, _: FileId, _: u32, _: &str) -> Option<FileId> {
        None
    }

    fn absolute(&self, _: FileId, _: u32, path: &str) -> String {
        path.to_owned()
    }
}

fn lowered(text: &str) -> Module {
    ir::lower(FileId(0), &parse(text, SourceKind::Py).module, &|_| Vec::new())
}

/// The qualified names of what an edit of the first text like this touches.
fn names(text: &str, part: &str) -> Option<Vec<String>> {
    let module = lowered(text);
    let start = u32::try_from(text.find(part).unwrap()).unwrap();
    let found = touched(&module, &[Span::new(start, start + u32::try_from(part.len()).unwrap())])?;
    Some(found.into_iter().map(|id| module.function(id).qualified.to_string()).collect())
}

const PROGRAM: &str = "
def draw(key, shape=(three,)):
    return sample(key)
def outer(key):
    def inner():
        return draw(key)
    return inner()
def alone(key):
    return key
class Model:
    def __init__(self, key):
        self.key = stored(key)
    def setup(self):
        self.rng = made(self)
    def step(self):
        return stepped(self)
    def run(self):
        return [self.step() for _ in range(3)]
    def other(self):
        return nothing(self)
";

#[test]
fn who_mentions_a_function_is_touched_with_it() {
    let is = |part: &str, expected: &[&str]| {
        assert_eq!(
            names(PROGRAM, part).as_deref(),
            Some(&expected.iter().map(ToString::to_string).collect::<Vec<_>>()[..])
        );
    };
    is("sample(key)", &["draw", "outer"]);
    is("return inner()", &["outer"]);
    is("return key", &["alone"]);
    // With methods come those that store attributes.
    let stores = ["Model.__init__", "Model.setup"];
    is("stepped(self)", &[&stores[..], &["Model.step", "Model.run"]].concat());
    is("nothing(self)", &[&stores[..], &["Model.other"]].concat());
}

#[test]
fn what_runs_without_being_named_touches_everything() {
    for part in ["three", "key, shape", "stored(key)", "made(self)", "class Model"] {
        assert_eq!(names(PROGRAM, part), None, "{part}");
    }
    for user in ["value = draw(key)\n", "class User:\n    drawn = draw(key)\n", "@draw\ndef user(): pass\n"] {
        assert_eq!(names(&format!("{PROGRAM}{user}"), "sample(key)"), None, "{user}");
    }
    assert_eq!(names("class A:\n    def f(self):\n        return 1\n    g = jit(f)\n", "return 1"), None);
}

/// The findings of a module that are told of functions, where only some or all are analysed.
fn findings(program: &Program<'_>, only: Option<&[FunctionId]>) -> Vec<Finding> {
    let mut facts = vec![analyse(&mut World::of(program), program, 0, only)];
    reconcile(&mut facts);
    facts.iter().flat_map(rules::check).collect()
}

/// What is said of keys in these functions. Old and private names are told once for a whole file, wherever they come first.
fn told(findings: &[Finding], functions: &BTreeSet<String>) -> BTreeSet<(String, u32, String)> {
    let of_these = findings.iter().filter(|finding| !finding.code.starts_with("KEY3"));
    let of_these = of_these.filter(|finding| functions.contains(&finding.function));
    of_these.map(|finding| (finding.code.to_owned(), finding.primary.span.start, finding.message.clone())).collect()
}

#[test]
fn what_is_touched_says_alone_what_it_says_among_all() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    let files = WalkDir::new(folder).sort_by_file_name().into_iter().flatten();
    let (mut compared, mut said) = (0, 0);
    for file in files.filter(|file| file.path().extension().is_some_and(|extension| extension == "py")) {
        let text = fs::read_to_string(file.path()).unwrap();
        let module = lowered(&text);
        let program = Program::new(vec![&module], &Alone, Models::builtin(), &[]);
        let all = findings(&program, None);
        for function in &module.functions {
            let last = Span::new(function.full.end.saturating_sub(1), function.full.end);
            let Some(only) = touched(&module, &[last]) else { continue };
            let functions = only.iter().map(|id| module.function(*id).qualified.to_string()).collect();
            let alone = told(&findings(&program, Some(&only)), &functions);
            // Where a callee is left out, its callers tell what it would have told.
            let missing: Vec<_> = told(&all, &functions).difference(&alone).cloned().collect();
            assert!(missing.is_empty(), "{}: {functions:?} {missing:?}", file.path().display());
            compared += 1;
            said += usize::from(!alone.is_empty());
        }
    }
    assert!(compared > 100 && said > 50, "{compared} functions, {said} with findings");
}
