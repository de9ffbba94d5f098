//! The pipeline from files to judged findings: projects, faults, fingerprints, determinism.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use keylint::analysis::{ImportSnapshot, Program};
use keylint::config::{CommandLine, Resolver};
use keylint::engine::{self, Analyse, Input, Job, Outcome, known_rules};
use keylint::finding::{Level, Place};
use keylint::ir::OpKind;
use keylint::judge::Remembered;
use keylint::judge::facts::{Facts, Reference, ReferenceKind};
use keylint::models::Models;
use keylint::source::{MemoryFiles, Problem};

use crate::in_memory::{check_text, check_texts};

/// Texts by path; those of `given` are checked, the others are only imported.
struct Tree<'a> {
    texts: &'a [(&'a str, &'a str)],
    given: &'a [&'a str],
    threads: usize,
    analyse: Analyse<'a>,
}

impl<'a> Tree<'a> {
    fn new(texts: &'a [(&'a str, &'a str)], given: &'a [&'a str], analyse: Analyse<'a>) -> Self {
        Self { texts, given, threads: 2, analyse }
    }

    fn check(&self) -> Outcome {
        self.check_with_progress(&|_, _| {})
    }

    fn check_with_progress(&self, progress: &(dyn Fn(usize, usize) + Sync)) -> Outcome {
        let cwd = Path::new("/project");
        let at = |path: &str| cwd.join(path);
        let files: MemoryFiles = self.texts.iter().map(|(path, text)| (at(path), *text)).collect();
        let isolated = CommandLine { isolated: true, ..CommandLine::default() };
        let resolver = Resolver::new(cwd, known_rules(), isolated).unwrap();
        let inputs: Vec<Input> =
            self.given.iter().map(|path| Input { path: at(path), display: (*path).to_owned() }).collect();
        engine::check(&Job {
            survey: &|_| self.texts.iter().map(|(path, _)| at(path)).collect(),
            progress,
            threads: self.threads,
            analyse: self.analyse,
            ..Job::new(&files, cwd, &inputs, &|path| resolver.for_file(path).unwrap())
        })
    }
}

/// Findings as `path:start code`, in order.
fn listed(outcome: &Outcome) -> Vec<String> {
    let findings = outcome.findings.iter().map(|reported| &reported.finding);
    findings
        .map(|finding| {
            let path = outcome.files.path(finding.primary.file).display();
            format!("{path}:{} {}", finding.primary.span.start, finding.rule.code())
        })
        .collect()
}

/// An interpreter that reports every import of `PRNGKey`, wherever the names lead to.
fn imports(_: &mut ImportSnapshot, program: &Program<'_>, module: usize, _: Option<&mut Remembered>) -> Facts {
    let module = program.module(module);
    let mut facts = Facts::default();
    for op in module.functions.iter().flat_map(|function| &function.ops) {
        let OpKind::ImportFrom { level, module: path, name } = &op.kind else { continue };
        let target = program.resolver.module(module.file, *level, path).and_then(|file| program.of_file(file));
        let path = match target {
            Some(index) => format!("module of {} functions", program.module(index).functions.len()),
            None => format!("{}.{name}", program.resolver.absolute(module.file, *level, path)),
        };
        let place = Place { file: module.file, span: op.span };
        let (written, function) = (name.to_string(), "<module>".to_owned());
        let reported = Models::builtin().reported(&path).cloned();
        facts.references.push(Reference {
            place,
            path,
            written,
            kind: ReferenceKind::Import,
            function,
            reported,
            is_guarded: false,
            is_evaluated: true,
        });
    }
    facts
}

/// What was interpreted: for each module its imports as resolved.
fn interpreted(texts: &[(&str, &str)], given: &[&str]) -> Vec<String> {
    let seen = Mutex::new(Vec::new());
    let spy =
        |world: &mut ImportSnapshot, program: &Program<'_>, module: usize, remembered: Option<&mut Remembered>| {
            let facts = imports(world, program, module, remembered);
            let paths: Vec<&str> = facts.references.iter().map(|reference| reference.path.as_str()).collect();
            seen.lock().unwrap().push((program.module(module).file, paths.join(", ")));
            Facts::default()
        };
    let outcome = Tree::new(texts, given, &spy).check();
    let mut seen = seen.into_inner().unwrap();
    seen.sort();
    seen.into_iter().map(|(file, paths)| format!("{}: {paths}", outcome.files.path(file).display())).collect()
}

#[test]
fn imports_resolve_across_files() {
    let texts = [
        ("pkg/__init__.py", "from .core import draw\n"),
        ("pkg/core.py", "import jax\nfrom . import low\ndef draw(key): return jax.random.normal(key)\n"),
        ("pkg/low.py", "def help(): pass\ndef more(): pass\n"),
        ("pkg/plain.py", "def idle(): pass\n"),
        ("main.py", "from pkg import draw\nfrom pkg.low import help\nfrom elsewhere import key\n"),
        ("other.py", "from pkg.plain import idle\nkey = 1\n"),
    ];
    // Only the given files are interpreted; everything that they need is present.
    let main = "main.py: module of 1 functions, module of 3 functions, elsewhere.key";
    assert_eq!(interpreted(&texts, &["main.py"]), [main]);
    let all: Vec<&str> = texts.iter().map(|(path, _)| *path).collect();
    // `other.py` reaches nothing that handles keys. `pkg/__init__.py` has no word for them, but it exports what does.
    let package = "pkg/__init__.py: module of 2 functions";
    assert_eq!(interpreted(&texts, &all), [package, "pkg/core.py: module of 1 functions", main]);
    assert_eq!(interpreted(&texts, &["other.py"]), [""; 0]);
}

#[test]
fn relative_imports_have_absolute_names() {
    let seen = Mutex::new(Vec::new());
    let spy = |_: &mut ImportSnapshot, program: &Program<'_>, module: usize, _: Option<&mut Remembered>| {
        let file = program.module(module).file;
        let name = |level, path| program.resolver.absolute(file, level, path);
        seen.lock().unwrap().push([name(1, "x"), name(2, ""), name(0, "jax.random")].join(" "));
        Facts::default()
    };
    let texts = [("a/__init__.py", ""), ("a/b/__init__.py", "import jax"), ("a/b/c.py", "import jax")];
    Tree::new(&texts, &["a/b/__init__.py"], &spy).check();
    Tree::new(&texts, &["a/b/c.py"], &spy).check();
    assert_eq!(seen.into_inner().unwrap(), ["a.b.x a jax.random", "a.b.x a jax.random"]);
}

#[test]
fn broken_files_do_not_stop_the_run() {
    let texts = [("bad.py", "def f(:\n"), ("good.py", "import jax\nfrom x import y\n"), ("gone.py", "")];
    let mut seen = 0;
    let tree = Tree::new(&texts, &["bad.py", "good.py", "missing.py"], &|_, _, _, _| Facts::default());
    let outcome = tree.check();
    for line in listed(&outcome) {
        seen += usize::from(line.starts_with("bad.py") && line.ends_with("KEY001"));
    }
    assert!(seen > 0, "{:?}", listed(&outcome));
    assert!(listed(&outcome).contains(&"missing.py:0 KEY004".to_owned()));
    assert!(outcome.failed, "an unreadable file fails the run");
    assert_eq!(outcome.checked, 3);
    assert!(outcome.findings.iter().all(|reported| reported.shown && !reported.finding.fingerprint.is_empty()));
    let only_syntax = Tree { given: &["bad.py", "good.py"], ..tree }.check();
    assert!(!only_syntax.failed, "a syntax error is a finding and no failure");
}

#[test]
fn undecodable_files_are_unreadable() {
    let cwd = Path::new("/project");
    let files: MemoryFiles = [(cwd.join("a.py"), b"x = '\xff'\n".to_vec())].into_iter().collect();
    let resolver = Resolver::new(cwd, known_rules(), CommandLine { isolated: true, ..CommandLine::default() }).unwrap();
    let problems = [Problem { path: "folder".to_owned(), message: "permission to read denied".to_owned() }];
    let inputs = [Input { path: cwd.join("a.py"), display: "a.py".to_owned() }];
    let outcome = engine::check(&Job {
        problems: &problems,
        ..Job::new(&files, cwd, &inputs, &|path| resolver.for_file(path).unwrap())
    });
    assert_eq!(listed(&outcome), ["a.py:0 KEY004", "folder:0 KEY004"]);
    assert!(outcome.failed);
}

#[test]
fn internal_errors_are_contained() {
    let analyse =
        |world: &mut ImportSnapshot, program: &Program<'_>, module: usize, remembered: Option<&mut Remembered>| {
            assert!(program.module(module).functions.len() < 2, "a function too many");
            imports(world, program, module, remembered)
        };
    let texts =
        [("a.py", "import jax\ndef f(): pass\n"), ("b.py", "import jax\nfrom jax.random import PRNGKeyArray\n")];
    let tree = Tree::new(&texts, &["a.py", "b.py"], &analyse);
    let outcome = tree.check();
    assert!(outcome.failed);
    let error = &outcome.findings[0].finding;
    assert_eq!(error.rule.code(), "KEY005");
    assert!(error.message.contains("a function too many (tests/it/engine.rs:"), "{}", error.message);
    assert_eq!(listed(&outcome)[1..], ["b.py:34 KEY302"]);
}

#[test]
fn findings_of_files_not_given_are_left_out() {
    let texts = [("a.py", "import jax\nfrom b import x\n"), ("b.py", "from jax.random import PRNGKeyArray\n")];
    assert_eq!(listed(&Tree::new(&texts, &["a.py"], &imports).check()), [""; 0]);
    assert_eq!(listed(&Tree::new(&texts, &["b.py"], &imports).check()), ["b.py:23 KEY302"]);
    // A fact about another file is that file's finding, once.
    let both =
        |world: &mut ImportSnapshot, program: &Program<'_>, module: usize, remembered: Option<&mut Remembered>| {
            let other = (0..program.len()).find(|index| *index != module).unwrap();
            let mut facts = imports(world, program, module, remembered);
            facts.references.extend(imports(world, program, other, None).references);
            facts
        };
    assert_eq!(listed(&Tree::new(&texts, &["a.py", "b.py"], &both).check()), ["b.py:23 KEY302"]);
}

#[test]
fn comments_suppress_findings() {
    let line = "from jax.random import PRNGKeyArray";
    let text = format!("{line}  # keylint: ignore[KEY302] old\n{line}\nx = 1  # keylint: ignore[KEY101]\n");
    let outcome = Tree::new(&[("a.py", &text)], &["a.py"], &imports).check();
    let codes: Vec<&str> = outcome.findings.iter().map(|reported| reported.finding.rule.code()).collect();
    assert_eq!(codes, ["KEY302", "KEY002"]);
    // The comments of an irrelevant file are still checked.
    let codes: Vec<&str> = check_text("a.py", "x = 1  # keylint: ignore[KEY999]\n")
        .iter()
        .map(|checked| checked.finding.rule.code())
        .collect();
    assert_eq!(codes, ["KEY003"]);
}

#[test]
fn fingerprints_survive_moved_lines() {
    let line = "from jax.random import PRNGKeyArray\n";
    let fingerprints = |text: &str| -> Vec<String> {
        let outcome = Tree::new(&[("a.py", text)], &["a.py"], &imports).check();
        outcome.findings.into_iter().map(|reported| reported.finding.fingerprint).collect()
    };
    let once = fingerprints(line);
    assert_eq!(once.len(), 1);
    assert_eq!(once, fingerprints(&format!("\n\n# more\nimport os\n{line}")));
    let twice = fingerprints(&format!("{line}x = 1\n{line}"));
    assert_eq!(twice.len(), 2);
    assert_eq!(twice[0], once[0]);
    assert_ne!(twice[1], once[0]);
    // A suppression does not rename its neighbours.
    let suppressed = format!("{}  # keylint: ignore[KEY302] why\nx = 1\n{line}", line.trim_end());
    assert_eq!(fingerprints(&suppressed), twice[1..]);
}

#[test]
fn results_do_not_depend_on_threads() {
    let mut texts: Vec<(String, String)> = Vec::new();
    for index in 0..60 {
        let mut text = format!("import jax\nfrom mod_{} import key\n", (index * 7 + 1) % 60);
        for line in 0..index % 5 {
            writeln!(text, "from jax.random import PRNGKeyArray as k{line}").unwrap();
        }
        texts.push((format!("mod_{index}.py"), text));
    }
    let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let given: Vec<&str> = texts.iter().map(|(path, _)| *path).collect();
    let run = |threads| {
        let outcome = Tree { threads, ..Tree::new(&texts, &given, &imports) }.check();
        let findings: Vec<String> =
            outcome.findings.iter().map(|reported| format!("{:?} {}", reported.finding, reported.shown)).collect();
        (findings, outcome.hidden)
    };
    let one = run(1);
    assert!(one.0.len() > 50);
    assert_eq!(one, run(4));
}

#[test]
fn progress_never_falls_and_ends_at_all() {
    let texts = [("a.py", "import jax"), ("b.py", ""), ("c.py", "import jax"), ("d.py", "(")];
    let reported = Mutex::new(Vec::new());
    let analyse = |_: &mut ImportSnapshot, _: &Program<'_>, _: usize, _: Option<&mut Remembered>| Facts::default();
    let tree = Tree::new(&texts, &["a.py", "b.py", "c.py", "d.py"], &analyse);
    tree.check_with_progress(&|done, total| reported.lock().unwrap().push((done, total)));
    let reported = reported.into_inner().unwrap();
    assert!(reported.is_sorted(), "{reported:?}");
    assert_eq!(reported.last(), Some(&(4, 4)));
}

#[test]
fn nested_projects_are_isolated() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for (path, text) in [
        ("pyproject.toml", ""),
        ("main.py", "import jax\nfrom inner.lib import key\n"),
        ("inner/pyproject.toml", "[tool.keylint]\nignore = ['KEY302']\n"),
        ("inner/lib.py", "from jax.random import PRNGKeyArray\n"),
    ] {
        std::fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        std::fs::write(at(path), text).unwrap();
    }
    let resolver = Resolver::new(folder.path(), known_rules(), CommandLine::default()).unwrap();
    let inputs: Vec<Input> =
        ["inner/lib.py", "main.py"].map(|path| Input { path: at(path), display: path.to_owned() }).into();
    let seen: Mutex<BTreeMap<PathBuf, Vec<String>>> = Mutex::default();
    let spy =
        |world: &mut ImportSnapshot, program: &Program<'_>, module: usize, remembered: Option<&mut Remembered>| {
            let facts = imports(world, program, module, remembered);
            let paths = facts.references.iter().map(|reference| reference.path.clone()).collect();
            seen.lock().unwrap().insert(PathBuf::from(program.module(module).file.0.to_string()), paths);
            facts
        };
    let outcome = engine::check(&Job {
        threads: 2,
        analyse: &spy,
        ..Job::new(&keylint::source::OsFiles, folder.path(), &inputs, &|path| resolver.for_file(path).unwrap())
    });
    assert_eq!(listed(&outcome), [""; 0]);
    let seen: Vec<Vec<String>> = seen.into_inner().unwrap().into_values().collect();
    assert_eq!(seen, [["jax.random.PRNGKeyArray"], ["module of 1 functions"]]);
}

/// A main block is a demonstration if other modules import its module, and otherwise the program.
#[test]
fn blocks_for_direct_runs_of_imported_modules_are_demonstrations() {
    let model = "import jax\n\n\ndef init(key):\n    return jax.random.normal(key, (3,))\n\n\n\
                 def twice(key):\n    return jax.random.normal(key) + jax.random.uniform(key)\n\n\n";
    let block = "    key = jax.random.key(0)\n    x = jax.random.normal(key, (3,))\n    print(init(key) @ x)\n";
    let imports = "from model import init\n";
    for (guard, other, levels) in [
        ("if __name__ == \"__main__\":\n", imports, [(9, Level::Error), (15, Level::Note)]),
        ("if __name__=='__main__' :\n", imports, [(9, Level::Error), (15, Level::Note)]),
        ("if (__name__ == '__main__'):\n", imports, [(9, Level::Error), (15, Level::Note)]),
        ("if __name__ == \"__main__\":\n", "import jax\n", [(9, Level::Error), (15, Level::Error)]),
        ("if __name__ != \"__main__\":\n", imports, [(9, Level::Error), (15, Level::Error)]),
        ("if True:\n", imports, [(9, Level::Error), (15, Level::Error)]),
    ] {
        let found = check_texts(&[("model.py", &format!("{model}{guard}{block}")), ("train.py", other)]);
        let found: Vec<(usize, Level)> = found.iter().map(|checked| (checked.row, checked.finding.level)).collect();
        assert_eq!(found, levels, "{guard}");
    }
}

/// In a package, a main block without a loop is a demonstration, whatever files are given, unless the package is run by it.
#[test]
fn blocks_for_direct_runs_in_packages_are_demonstrations() {
    let start =
        "import jax\n\nif __name__ == \"__main__\":\n    key = jax.random.key(0)\n    x = jax.random.normal(key)\n";
    let straight = format!("{start}    print(x + jax.random.normal(key))\n");
    let loops = format!("{start}    for x in range(3):\n        print(x + jax.random.normal(key))\n");
    for (name, initialiser, text, level) in [
        ("layer.py", "__init__.py", &straight, Level::Note),
        ("layer.py", "other.py", &straight, Level::Error),
        ("__main__.py", "__init__.py", &straight, Level::Error),
        ("layer.py", "__init__.py", &loops, Level::Error),
    ] {
        let found = check_texts(&[(&format!("model/{name}"), text), (&format!("model/{initialiser}"), "")]);
        assert!(!found.is_empty(), "{name} {initialiser}");
        for checked in found {
            assert_eq!(checked.finding.level, level, "{name} beside {initialiser}:\n{text}");
        }
    }
}

#[test]
fn files_have_one_syntax_error() {
    let found = check_texts(&[("a.py", "import jax\n!pip install flax optax\nx = 1 2 3\n")]);
    assert_eq!(found.iter().map(|checked| checked.row).collect::<Vec<_>>(), [2]);
}

#[test]
fn texts_of_one_project_are_checked_together() {
    let found = check_texts(&[("b.py", "y = )\n"), ("a.py", "x = (\n")]);
    let places: Vec<String> =
        found.iter().map(|checked| format!("{}:{}", checked.finding.primary.file.0, checked.row)).collect();
    assert!(places.first().is_some_and(|place| place == "0:1"), "{places:?}");
    assert!(places.iter().any(|place| place.starts_with("1:")), "{places:?}");
    assert!(found.iter().all(|checked| checked.shown && checked.finding.rule.code() == "KEY001"));
}
