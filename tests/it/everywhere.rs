//! One tree, checked from several places: what is found depends on the tree and on the paths given, never on the current directory.
//!
//! **Invariant:** the findings of a run, with their levels, are the same wherever it starts and whatever surrounds it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::write;

/// The files of a tree that no configuration marks: a script that imports its neighbours, a package, tests and benchmarks.
const TREE: [(&str, &str); 6] = [
    (
        "train.py",
        "from jax import random\nfrom lib.keys import draw\n\n\ndef both(key):\n    return draw(key) + draw(key)\n",
    ),
    ("lib/__init__.py", ""),
    ("lib/keys.py", "from jax import random\n\n\ndef draw(key):\n    return random.normal(key)\n"),
    ("lib/deeper/more.py", "from lib.keys import draw\n\n\ndef more(key):\n    return draw(key) * draw(key)\n"),
    (
        "tests/test_draw.py",
        "from lib.keys import draw\n\n\ndef test_draw():\n    from jax import random\n    key = random.PRNGKey(0)\n    assert \
         (draw(key) == draw(key)).all()\n",
    ),
    (
        "benchmarks/speed.py",
        "from jax import random\n\n\ndef speed(key):\n    random.normal(key)\n    random.normal(key)\n    return \
         random.uniform(key)\n",
    ),
];

/// What a run finds in the tree: file, row, column, code, level, confidence and message.
fn found(cwd: &Path, path: &Path, options: &[&str]) -> BTreeSet<[String; 7]> {
    let output = Command::new(env!("CARGO_BIN_EXE_keylint"))
        .args(["check", "--no-cache", "--output-format", "json", "--min-level", "note", "--min-confidence", "low"])
        .args(options)
        .arg(path)
        .current_dir(cwd)
        .output()
        .unwrap();
    let findings: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    findings
        .iter()
        .map(|finding| {
            let file = cwd.join(text(&finding["filename"])).canonicalize().unwrap().display().to_string();
            let at = &finding["location"];
            let [row, column] = [&at["row"], &at["column"]].map(text);
            let [code, level, confidence, message] =
                ["code", "level", "confidence", "message"].map(|name| text(&finding[name]));
            [file, row, column, code, level, confidence, message]
        })
        .collect()
}

#[test]
fn results_do_not_depend_on_the_working_directory() {
    let around = tempfile::tempdir().unwrap();
    let around = around.path().canonicalize().unwrap();
    let tree = around.join("tree");
    write(&tree, &TREE);
    // The folder next to the tree has modules of the same names, its own marker of a project, and its own
    // configuration.
    let beside = around.join("beside");
    write(&beside, &TREE);
    write(
        &beside,
        &[("lib/keys.py", "def draw(key):\n    return 0\n"), ("pyproject.toml", "[project]\nname = 'beside'\n")],
    );
    let places: [(PathBuf, PathBuf); 6] = [
        (tree.clone(), PathBuf::from(".")),
        (around.clone(), PathBuf::from("tree")),
        (tree.join("lib/deeper"), PathBuf::from("../..")),
        (beside.clone(), PathBuf::from("../tree")),
        (beside, tree.clone()),
        (PathBuf::from("/"), tree.clone()),
    ];
    let mut first: Option<BTreeSet<[String; 7]>> = None;
    for options in [&[][..], &["--isolated"], &["--config", "min-confidence = 'low'"]] {
        for (cwd, path) in &places {
            let found = found(cwd, path, options);
            let of = |name: &str| found.iter().any(|row| row[0].ends_with(name) && row[3] == "KEY101");
            assert!(of("train.py") && of("more.py"), "{options:?} {}: {found:#?}", cwd.display());
            let first = first.get_or_insert_with(|| found.clone());
            assert_eq!(&found, first, "{options:?} {}", cwd.display());
        }
    }
    // The findings of a file are the same when it is checked alone, as far as the others do not matter to it.
    let train = tree.join("train.py");
    let alone: Vec<_> = places.iter().map(|(cwd, _)| found(cwd, &train, &["--isolated"])).collect();
    assert!(!alone[0].is_empty() && alone.iter().all(|found| *found == alone[0]), "{alone:#?}");
}

/// A package whose modules import each other by its name, within a folder that nothing marks.
const PACKAGE: [(&str, &str); 6] = [
    ("pkg/__init__.py", ""),
    ("pkg/inner/__init__.py", ""),
    ("pkg/inner/draws.py", "import jax\n\n\ndef draw(key):\n    return jax.random.normal(key)\n"),
    ("pkg/use.py", "from pkg.inner.draws import draw\n\n\ndef twice(key):\n    return draw(key) + draw(key)\n"),
    ("pkg/beside.py", "from other.draws import noise\n\n\ndef twice(key):\n    return noise(key) + noise(key)\n"),
    ("other/draws.py", "import jax\n\n\ndef noise(key):\n    return jax.random.uniform(key)\n"),
];

#[test]
fn a_package_is_imported_by_its_name_however_it_is_given() {
    let around = tempfile::tempdir().unwrap();
    let around = around.path().canonicalize().unwrap();
    for (name, mark) in [("unmarked", None), ("project", Some("pyproject.toml")), ("setup", Some("setup.py"))] {
        let tree = around.join(name);
        write(&tree, &PACKAGE);
        if let Some(mark) = mark {
            write(&tree, &[(mark, "")]);
        }
        let whole = found(&tree, Path::new("."), &[]);
        let expected = ["pkg/beside.py", "pkg/use.py"];
        let named = |name: &str| whole.iter().any(|row| row[0].ends_with(name) && row[3] == "KEY101");
        assert!(expected.into_iter().all(named), "{mark:?}: {whole:#?}");
        let ways = [
            (tree.clone(), "pkg"),
            (tree.clone(), "pkg/"),
            (tree.clone(), "./pkg/inner/.."),
            (tree.join("pkg"), "."),
            (tree.join("pkg/inner"), ".."),
            (around.clone(), &*format!("{}/pkg", tree.display())),
        ];
        for (cwd, path) in ways {
            assert_eq!(found(&cwd, Path::new(path), &[]), whole, "{mark:?} {path} in {}", cwd.display());
        }
        for file in expected {
            let alone = found(&tree, Path::new(file), &[]);
            assert!(!alone.is_empty() && alone.is_subset(&whole), "{mark:?} {file}: {alone:#?}");
        }
    }
}

#[test]
fn installed_packages_are_not_read_for_each_other() {
    let around = tempfile::tempdir().unwrap();
    let tree = around.path().canonicalize().unwrap().join("site-packages");
    write(&tree, &PACKAGE);
    for (cwd, path) in [(tree.clone(), "pkg"), (tree.join("pkg"), "."), (tree.join("pkg/inner"), "../../pkg")] {
        let found = found(&cwd, Path::new(path), &[]);
        let files: Vec<&str> = found.iter().filter_map(|row| row[0].rsplit('/').next()).collect();
        assert_eq!(files, ["use.py"], "{path}: {found:#?}");
    }
}
