//! The cache: a run that uses cached results reports the same as one without the cache, whatever happened in between.
//!
//! **Invariant:** runs are compared by their status and by everything that they print, in formats that show everything.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use keylint::cli::Status;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::run::keylint;

/// The number of random histories.
const CASES: u32 = if cfg!(debug_assertions) { 4 } else { 100 };

/// The parts of modules in generated projects: functions that pass keys to each other, helpers, classes and registries.
const PARTS: &[&str] = &[
    "import jax\n\ndef noise(key):\n    return jax.random.normal(key, (3,))\n",
    "import jax\n\ndef noise(key):\n    a, b = jax.random.split(key)\n    return jax.random.normal(a), b\n",
    "import jax\n\nKEY = jax.random.key(0)\n\ndef root():\n    return jax.random.key(1)\n",
    "import jax\nfrom a import noise\n\ndef twice(key):\n    return noise(key), noise(key)\n",
    "import jax\nfrom b import noise\n\ndef twice(key):\n    return noise(key), jax.random.uniform(key)\n",
    "import jax\nimport c\n\ndef loop(key):\n    for _ in range(3):\n        c.noise(key)\n",
    "import jax\nfrom c import KEY, root\n\ndef both():\n    return jax.random.normal(KEY), jax.random.normal(KEY), root()\n",
    "import jax\nfrom pkg.base import Layer\n\nclass Dense(Layer):\n    def init(self, key):\n        return jax.random.normal(key)\n",
    "import jax\n\nclass Layer:\n    def init(self, key):\n        raise NotImplementedError\n\n    def both(self, key):\n        \
     return self.init(key), self.init(key)\n",
    "import jax\nfrom pkg import base\n\ndef use(layer: base.Layer, key):\n    layer.init(key)\n    return layer.init(key)\n",
    "import a\nimport jax\n\na.noise = lambda key: jax.random.normal(key)\na.KEY = jax.random.PRNGKey(3)\n",
    "import jax\n\nFIRST = jax.random.normal(jax.random.PRNGKey(0))\nSECOND = jax.random.normal(jax.random.PRNGKey(0))\n",
    "import jax\n\ndef f(key):\n    # keylint: ignore[KEY101]\n    return jax.random.normal(key) + jax.random.normal(key)\n",
    "import jax\n\ndef f(key):\n    return jax.random.normal(key) + jax.random.normal(key)\n",
    "import jax\n\ndef f(key:\n    return jax.random.normal(key)\n",
    "x = 1\n",
    "",
];

/// The paths of modules.
const PATHS: &[&str] =
    &["a.py", "b.py", "c.py", "pkg/__init__.py", "pkg/base.py", "pkg/dense.py", "tests/test_a.py", "main.py"];

/// The possible configurations.
const SETTINGS: &[&str] = &[
    "",
    "min-level = \"note\"\n",
    "ignore = [\"KEY101\"]\n",
    "[levels]\nkey-reused = \"warning\"\n",
    "[per-file-ignores]\n\"a.py\" = [\"KEY1\"]\n",
    "tests = [\"main.py\"]\n",
    "models = [\"models.toml\"]\n",
];

/// One thing that happens between two runs.
#[derive(Clone, Debug)]
enum Step {
    Write(&'static str, &'static str),
    Append(&'static str, &'static str),
    Remove(&'static str),
    Rename(&'static str, &'static str),
    Configure(&'static str),
    /// A random byte of a cache file is changed, or the file is truncated there.
    Damage(usize, usize, bool),
    Nothing,
}

fn steps() -> impl Strategy<Value = Step> {
    let path = || select(PATHS);
    prop_oneof![
        4 => (path(), select(PARTS)).prop_map(|(path, part)| Step::Write(path, part)),
        2 => (path(), select(&["\n# more\n", "\nZ = 1\n", "\n\ndef g(key):\n    return key\n"][..]))
            .prop_map(|(path, more)| Step::Append(path, more)),
        1 => path().prop_map(Step::Remove),
        1 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => select(SETTINGS).prop_map(Step::Configure),
        1 => (any::<usize>(), any::<usize>(), any::<bool>()).prop_map(|(file, at, cut)| Step::Damage(file, at, cut)),
        1 => Just(Step::Nothing),
    ]
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The entries of a cache.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.retain(|path| path.extension().is_some_and(|ending| ending == "entry"));
    entries.sort();
    entries
}

impl Step {
    fn take(&self, root: &Path) {
        match *self {
            Self::Write(path, text) => write(&root.join(path), text),
            Self::Append(path, more) => {
                let before = fs::read_to_string(root.join(path)).unwrap_or_default();
                write(&root.join(path), &(before + more));
            }
            Self::Remove(path) => drop(fs::remove_file(root.join(path))),
            Self::Rename(from, to) => {
                if let Ok(text) = fs::read_to_string(root.join(from)) {
                    fs::remove_file(root.join(from)).unwrap();
                    write(&root.join(to), &text);
                }
            }
            Self::Configure(text) => write(&root.join("keylint.toml"), text),
            Self::Damage(file, at, cut) => {
                let entries = entries(&root.join(".keylint_cache"));
                let Some(path) = entries.get(file % entries.len().max(1)) else { return };
                let mut bytes = fs::read(path).unwrap();
                let at = at % bytes.len().max(1);
                if cut {
                    bytes.truncate(at);
                } else if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 0x20;
                }
                fs::write(path, bytes).unwrap();
            }
            Self::Nothing => {}
        }
    }
}

/// Status and report of a run on the whole project, or on those of its files that are given as the last arguments.
fn ran(root: &Path, arguments: &[&str]) -> (Status, String, String) {
    let is_path = |name: &&&str| PATHS.contains(*name);
    let given = arguments.iter().rev().take_while(is_path).count();
    let (options, names) = arguments.split_at(arguments.len() - given);
    // Relative paths would be those of this process.
    let options = options.iter().map(PathBuf::from);
    let ran = if names.is_empty() {
        keylint(root, options.chain([root.to_owned()]), b"")
    } else {
        keylint(root, options.chain(names.iter().map(|name| root.join(name))), b"")
    };
    (ran.status, String::from_utf8(ran.out).unwrap(), ran.err)
}

/// Compares a run with one without a cache, and with the next run, which finds what this one stored.
fn compare(root: &Path, arguments: &[&str]) {
    let with = |more: &[&'static str]| ran(root, &[&arguments[..1], more, &arguments[1..]].concat());
    let fresh = with(&["--no-cache"]);
    assert_eq!(with(&[]), fresh);
    assert_eq!(with(&[]), fresh);
}

/// Models of a library with one function.
fn model(function: &str) -> String {
    format!(
        "[library]\nname = \"other\"\nversions = \">=1\"\n\n[[callable]]\npath = \"other.{function}\"\nparams = [\"key\"]\neffect = \"consume\"\n"
    )
}

fn project() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("keylint.toml"), "");
    write(&root.path().join("models.toml"), &model("draw"));
    for (path, part) in PATHS.iter().zip([0, 4, 2, 16, 8, 7, 3, 6]) {
        write(&root.path().join(path), PARTS[part]);
    }
    root
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cached_runs_equal_fresh_ones(steps in vec(steps(), 1..6)) {
        let root = project();
        let root = root.path();
        compare(root, &["check", "--output-format", "json", "--min-level", "note", "--min-confidence", "low"]);
        for step in &steps {
            step.take(root);
            compare(root, &["check", "--output-format", "json", "--min-level", "note", "--min-confidence", "low"]);
        }
        compare(root, &["check"]);
        compare(root, &["check", "--output-format", "sarif"]);
        compare(root, &["check", "--no-verify", "--output-format", "concise", "a.py", "main.py"]);
        compare(root, &["check", "--diff", "--unsafe-fixes"]);
    }
}

/// What a verbose run reports about the cache.
fn reported(root: &Path, arguments: &[&str]) -> Vec<String> {
    let (_, _, err) = ran(root, &[&["check", "--verbose"], arguments].concat());
    err.lines().filter(|line| line.starts_with("Cache:")).map(str::to_owned).collect()
}

const TAKEN: &str = "Cache: 1 of 1 project unchanged.";
const ANALYSED: &str = "Cache: 0 of 1 project unchanged.";

#[test]
fn results_are_taken_from_the_cache_only_where_nothing_changed() {
    let root = project();
    let root = root.path();
    assert_eq!(reported(root, &[]), [ANALYSED]);
    assert_eq!(reported(root, &[]), [TAKEN]);
    assert_eq!(reported(root, &["--no-cache"]), [""; 0]);
    // The same settings, from elsewhere.
    assert_eq!(reported(root, &["--isolated"]), [TAKEN]);
    assert_eq!(reported(root, &["--min-level", "note"]), [ANALYSED]);
    assert_eq!(reported(root, &["--no-verify"]), [ANALYSED]);
    assert_eq!(reported(root, &["--statistics"]), [ANALYSED]);
    assert_eq!(reported(root, &["a.py"]), [ANALYSED]);
    assert_eq!(reported(root, &[]), [TAKEN]);
    write(&root.join("new.py"), "");
    assert_eq!(reported(root, &[]), [ANALYSED]);
    fs::remove_file(root.join("new.py")).unwrap();
    // A file that nothing in the project imports.
    write(&root.join("notes.txt"), "");
    assert_eq!(reported(root, &[]), [TAKEN]);
    write(&root.join("keylint.toml"), "models = [\"models.toml\"]");
    assert_eq!(reported(root, &[]), [ANALYSED]);
    assert_eq!(reported(root, &[]), [TAKEN]);
    write(&root.join("models.toml"), &model("drawn"));
    assert_eq!(reported(root, &[]), [ANALYSED]);
}

#[test]
fn caches_survive_moving_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    write(&old.join("keylint.toml"), "");
    write(&old.join("a.py"), PARTS[3]);
    write(&old.join("pkg.py"), PARTS[13]);
    assert_eq!(reported(&old, &[]), [ANALYSED]);
    fs::rename(&old, &new).unwrap();
    assert_eq!(reported(&new, &[]), [TAKEN]);
    compare(&new, &["check"]);
}

#[test]
fn the_folder_is_where_options_variable_and_settings_say() {
    let root = project();
    let root = root.path();
    ran(root, &["check", "--cache-dir", "by-option"]);
    assert_eq!(entries(&root.join("by-option")).len(), 1);
    assert!(!root.join(".keylint_cache").exists());
    write(&root.join("keylint.toml"), "cache-dir = \"by-setting\"\n");
    ran(root, &["check"]);
    assert_eq!(entries(&root.join("by-setting")).len(), 1);
    ran(root, &["check", "--cache-dir", "by-option", "a.py"]);
    assert_eq!(entries(&root.join("by-option")).len(), 2);
    let (_, out, _) = ran(root, &["clean"]);
    assert_eq!(out, format!("Removed `{}`.\n", root.join("by-setting").display()));
    assert!(!root.join("by-setting").exists() && root.join("by-option").exists());
    let (status, out, _) = ran(root, &["clean"]);
    assert_eq!((status, out.as_str()), (Status::Clean, "There is no cache.\n"));
}

#[test]
fn unwritable_caches_are_not_errors() {
    let root = project();
    let root = root.path();
    let fresh = ran(root, &["check", "--no-cache"]);
    write(&root.join("file"), "");
    assert_eq!(ran(root, &["check", "--cache-dir", "file"]), fresh);
    let said = reported(root, &["--cache-dir", "file"]);
    assert!(said[1].starts_with("Cache: nothing was stored in `"), "{said:?}");
    // A folder that keylint did not create.
    assert_eq!(ran(root, &["check", "--cache-dir=pkg"]), fresh);
    assert!(entries(&root.join("pkg")).is_empty());
    let (status, _, err) = ran(root, &["clean", "--cache-dir=pkg"]);
    assert_eq!(status, Status::Failed);
    assert!(err.contains("holds other files"), "{err}");
    assert!(root.join("pkg/base.py").exists());
}

#[test]
fn standard_input_stores_nothing() {
    let root = project();
    let root = root.path();
    let name = root.join("a.py").into_os_string();
    let arguments = ["check", "-", "--stdin-filename"].map(OsString::from).into_iter().chain([name]);
    keylint(root, arguments, b"x = 1\n");
    assert!(!root.join(".keylint_cache").exists());
}

#[test]
fn unreadable_files_are_tried_again() {
    let root = project();
    let root = root.path();
    write(&root.join("b.py"), "# coding: nonsense\nx = 1\n");
    compare(root, &["check"]);
    write(&root.join("b.py"), "x = 1\n");
    compare(root, &["check"]);
}

#[test]
fn concurrent_processes_do_not_interfere() {
    let root = project();
    let root = root.path();
    let fresh = ran(root, &["check", "--no-cache"]);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|index| {
                scope.spawn(move || {
                    // One of them cleans while others read and write.
                    if index == 3 {
                        ran(root, &["clean", "--quiet"]);
                    }
                    (0..2).map(|_| ran(root, &["check"])).collect::<Vec<_>>()
                })
            })
            .collect();
        for run in runs {
            assert!(run.join().unwrap().iter().all(|ran| *ran == fresh));
        }
    });
    assert_eq!(ran(root, &["check"]), fresh);
    let mut left = fs::read_dir(root.join(".keylint_cache")).unwrap();
    assert!(!left.any(|entry| entry.unwrap().path().extension().is_some_and(|ending| ending == "part")));
}
