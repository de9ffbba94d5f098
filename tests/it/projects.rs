//! Import resolution through the executable: a name resolves to the file that Python would find.

use std::path::Path;
use std::process::Command;

use crate::run::folder;

/// The places of findings, as `file:row code`, with files named from `folder`.
fn places(cwd: &Path, folder: &Path, given: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_keylint"))
        .args(["check", "--isolated", "--quiet", "--output-format", "json"])
        .arg(given)
        .current_dir(cwd)
        .output()
        .unwrap();
    let findings: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let place = |finding: &serde_json::Value| {
        let file = folder.join(cwd.join(finding["filename"].as_str().unwrap())).canonicalize().unwrap();
        let file = file.strip_prefix(folder.canonicalize().unwrap()).unwrap().display().to_string();
        format!("{file}:{} {}", finding["location"]["row"], finding["code"].as_str().unwrap())
    };
    findings.iter().map(place).collect()
}

const NOISE: &str = "import jax\n\ndef noise(key):\n    return jax.random.normal(key)\n";
const TWICE: &str = "from top.lib.noise import noise\n\ndef twice(key):\n    return noise(key) + noise(key)\n";

#[test]
fn given_folders_are_projects_from_any_directory() {
    // Neither folder is a package, as in much research code, and nothing marks the root.
    let project = folder(&[("src/top/lib/noise.py", NOISE), ("src/top/app/main.py", TWICE)]);
    let elsewhere = tempfile::tempdir().unwrap();
    let at = project.path();
    for given in [at.join("src"), at.to_owned()] {
        assert_eq!(places(elsewhere.path(), at, &given), ["src/top/app/main.py:4 KEY101"]);
    }
    assert_eq!(places(at, at, Path::new(".")), ["src/top/app/main.py:4 KEY101"]);
}

#[test]
fn one_tree_is_the_same_from_everywhere() {
    let tests = "from top.lib.noise import noise\n\ndef test_twice(key):\n    return noise(key) + noise(key)\n";
    let files = [("src/top/lib/noise.py", NOISE), ("src/top/app/main.py", TWICE), ("src/tests/test_main.py", tests)];
    let marked: Vec<(&str, &str)> =
        files.iter().copied().chain([("pyproject.toml", "[project]\nname = 'x'\n")]).collect();
    for files in [&files[..], &marked] {
        // Files next to the tree, or around the current folder, have no effect.
        let around = folder(&[("other/noise.py", NOISE), ("top/lib/noise.py", "noise = None\n"), ("setup.py", "")]);
        let project = folder(files);
        let at = project.path();
        let expected = ["src/top/app/main.py:4 KEY101"];
        let relative = |from: &Path| {
            let up: std::path::PathBuf = from.components().skip(1).map(|_| "..").collect();
            up.join(at.strip_prefix("/").unwrap())
        };
        for cwd in [at.to_owned(), at.join("src"), at.join("src/top"), around.path().to_owned(), "/".into()] {
            let cwd = cwd.canonicalize().unwrap();
            assert_eq!(places(&cwd, at, at), expected, "absolute from {}", cwd.display());
            assert_eq!(places(&cwd, at, &relative(&cwd)), expected, "relative from {}", cwd.display());
        }
    }
}

#[test]
fn single_files_belong_to_their_packages() {
    let project = folder(&[
        ("src/top/__init__.py", ""),
        ("src/top/lib/__init__.py", ""),
        ("src/top/lib/noise.py", NOISE),
        ("src/top/app/__init__.py", ""),
        ("src/top/app/main.py", TWICE),
    ]);
    let elsewhere = tempfile::tempdir().unwrap();
    let at = project.path();
    assert_eq!(places(elsewhere.path(), at, &at.join("src/top/app/main.py")), ["src/top/app/main.py:4 KEY101"]);
}

#[test]
fn scripts_in_packages_import_from_their_folder() {
    let noise = "from helpers import noise\n\ndef twice(key):\n    return noise(key) + noise(key)\n";
    let clock = "import time\nimport numpy\n\ndef f(key):\n    return time.noise(key), time.noise(key), numpy.noise(key), numpy.noise(key)\n";
    let project = folder(&[
        ("app/__init__.py", ""),
        ("app/helpers.py", NOISE),
        ("app/train.py", noise),
        ("app/layers/__init__.py", ""),
        ("app/layers/dense.py", noise),
        // A file with the name of a library does not replace it.
        ("app/time.py", NOISE),
        ("app/numpy.py", NOISE),
        ("app/clock.py", clock),
        // A file of another package does not replace anything either.
        ("other/__init__.py", ""),
        ("other/train.py", noise),
    ]);
    let at = project.path();
    assert_eq!(places(at, at, Path::new(".")), ["app/layers/dense.py:4 KEY101", "app/train.py:4 KEY101"]);
}

#[test]
fn libraries_may_be_imported_indirectly() {
    let project = folder(&[
        ("pyproject.toml", ""),
        ("common.py", "import jax\nfrom jax import random as jr\n"),
        ("again.py", "from common import *\n"),
        ("star.py", "from common import *\n\ndef f(key):\n    return jax.random.normal(key) + jr.normal(key)\n"),
        ("far.py", "from again import *\n\ndef f(key):\n    return jax.random.normal(key) + jr.normal(key)\n"),
        ("named.py", "from common import jr as r\n\ndef f(key):\n    return r.normal(key) + r.normal(key)\n"),
        (
            "own.py",
            "from common import *\n\nclass jax:\n    random = None\n\ndef f(key):\n    return jax.random.f(key)\n",
        ),
    ]);
    let at = project.path();
    assert_eq!(places(at, at, Path::new(".")), ["far.py:4 KEY101", "named.py:4 KEY101", "star.py:4 KEY101"]);
}

#[test]
fn replays_find_what_modules_import_from_each_other() {
    let project = folder(&[
        ("lib/__init__.py", "from .draws import noise\nfrom .names import *\n"),
        (
            "lib/draws.py",
            "import jax\nfrom .names import SIZE\n\ndef noise(key):\n    return jax.random.normal(key, (SIZE,))\n",
        ),
        // Neither of the two binds `gone`; each says that the other does.
        ("lib/names.py", "from .other import gone, SIZE\n"),
        ("lib/other.py", "from .names import gone\n\nSIZE = 4\n"),
        (
            "main.py",
            "import jax\nfrom lib import noise\nfrom lib.names import gone\n\n\
             def f():\n    key = jax.random.key(0)\n    if not gone:\n        return noise(key) + noise(key)\n",
        ),
    ]);
    let output = Command::new(env!("CARGO_BIN_EXE_keylint"))
        .args(["check", "--isolated", "--quiet", "--output-format", "json", "."])
        .current_dir(project.path())
        .output()
        .unwrap();
    let findings: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let [finding] = &findings[..] else { panic!("one finding, not {findings:?}") };
    assert_eq!((&finding["code"], &finding["witness"]["status"]), (&"KEY101".into(), &"confirmed".into()));
    assert_eq!(finding["witness"]["draws"][1]["key_data"], serde_json::json!([0, 0]));
}

#[test]
fn scripts_may_use_libraries_through_packages() {
    let folder = folder(&[
        ("nets/__init__.py", "from .net import Net\n"),
        (
            "nets/net.py",
            "import flax.linen as nn\n\nclass Net(nn.Module):\n    @nn.compact\n    def __call__(self, x):\n        return nn.Dense(3)(x)\n",
        ),
        (
            "train.py",
            "import jax\nimport nets\n\ndef train(key):\n    x = jax.random.normal(key, (3,))\n    params = nets.Net().init(key, x)\n    return params, x\n",
        ),
        ("draw.py", "import jax\n\ndef draw(key):\n    return jax.random.normal(key), jax.random.uniform(key)\n"),
    ]);
    let found = places(folder.path(), folder.path(), Path::new("."));
    assert_eq!(found, ["draw.py:4 KEY101"]);
}

#[test]
fn draws_in_other_modules_are_found_where_traced() {
    let draws = "import random\n\ndef shift(x):\n    return x + random.random()\n\nclass Deck:\n    def __init__(self, seed):\n        self.dice = random.Random(seed)\n\n    def top(self):\n        return self.dice.randrange(52)\n";
    let uses = "import jax\nfrom draws import Deck, shift\n\ndeck = Deck(0)\n\n@jax.jit\ndef moved(x):\n    return shift(x)\n\n@jax.jit\ndef dealt(x):\n    return x[deck.top()]\n\ndef free(x):\n    return shift(x)\n";
    let project = folder(&[("draws.py", draws), ("uses.py", uses)]);
    let at = project.path();
    assert_eq!(places(at, at, Path::new(".")), ["uses.py:8 KEY403", "uses.py:12 KEY403"]);
}

#[test]
fn project_aliases_of_removed_names_are_reported_once() {
    let types = "import jax\n\nKey = jax.random.KeyArray\n\ndef own(key: Key):\n    return key\n";
    let uses = "from top.types import Key\n\ndef draw(key: Key) -> Key:\n    return key\n\ndef is_key(x):\n    return isinstance(x, Key)\n";
    let imports = "from jax.random import KeyArray as Key\n\ndef draw(key: Key):\n    return key\n";
    let project = folder(&[("top/types.py", types), ("top/uses.py", uses), ("top/imports.py", imports)]);
    let at = project.path();
    assert_eq!(places(at, at, Path::new(".")), ["top/imports.py:1 KEY302", "top/types.py:3 KEY302"]);
}

#[test]
fn private_names_belong_to_the_library_itself() {
    let test = "from jax._src import prng\n\ndef is_typed(x):\n    return isinstance(x, prng.PRNGKeyArray)\n";
    let script = folder(&[("jax/train.py", test), ("tests/random_test.py", test)]);
    let found = places(script.path(), script.path(), Path::new("."));
    assert_eq!(found, ["jax/train.py:1 KEY303", "tests/random_test.py:1 KEY303"]);
    let private = "class PRNGKeyArray:\n    pass\n";
    let package = ["jax/__init__.py", "jax/_src/__init__.py"].map(|path| (path, ""));
    let library = folder(&[package[0], package[1], ("jax/_src/prng.py", private), ("tests/random_test.py", test)]);
    assert!(places(library.path(), library.path(), Path::new(".")).is_empty());
}

#[test]
fn pinned_versions_are_read_without_configuration() {
    let old = "import jax\n\ndef draw(key: jax.random.KeyArray):\n    return key\n";
    let project = folder(&[("top/old.py", old), ("requirements.txt", "jax==0.4.7\n")]);
    assert!(places(project.path(), project.path(), Path::new(".")).is_empty());
    let project = folder(&[("top/old.py", old), ("requirements.txt", "jax==0.4.35\n")]);
    assert_eq!(places(project.path(), project.path(), Path::new(".")), ["top/old.py:3 KEY302"]);
}

#[test]
fn a_fold_equals_no_child_of_a_split_in_older_versions() {
    let folds = "import jax\n\ndef draw(key):\n    one = jax.random.normal(jax.random.fold_in(key, 1))\n    \
                 return one + jax.random.normal(jax.random.split(key)[1])\n";
    let counts = "import jax\n\ndef draw(key):\n    one = jax.random.normal(jax.random.split(key, 3)[0])\n    \
                  return one + jax.random.normal(jax.random.split(key)[0])\n";
    let twice = "import jax\n\ndef draw(key):\n    return jax.random.normal(key) + jax.random.normal(key)\n";
    let found = |pin: &str| {
        let files = [("folds.py", folds), ("counts.py", counts), ("twice.py", twice), ("requirements.txt", pin)];
        let project = folder(&files);
        places(project.path(), project.path(), Path::new("."))
    };
    assert_eq!(found("jax==0.4.35\n"), ["twice.py:4 KEY101"]);
    assert_eq!(found("jax==0.5.0\n"), ["counts.py:5 KEY104", "folds.py:5 KEY104", "twice.py:4 KEY101"]);
}

#[test]
fn a_script_that_only_imports_what_handles_keys_is_analysed() {
    let lib = "import jax\n\ndef make():\n    return {'key': jax.random.key(0), 'x': 0.0}\n\n\
               def step(state):\n    return {**state, 'x': jax.random.normal(state['key'])}\n";
    let script =
        "from part import make, step\n\nstate = make()\nfor _ in range(3):\n    state = step(state)\nprint(state)\n";
    let exports = "from .lib import make, step\n";
    let project = folder(&[("part/__init__.py", exports), ("part/lib.py", lib), ("main.py", script)]);
    assert_eq!(places(project.path(), project.path(), Path::new(".")), ["main.py:5 KEY102"]);
}

/// A base class with methods that other modules implement, and a method that passes one key to two of them.
const PUZZLE: &str = "from abc import abstractmethod\n\nimport jax\n\nclass Puzzle:\n    @abstractmethod\n    def board(self, key):\n        \
                      pass\n\n    @abstractmethod\n    def start(self, board, key):\n        pass\n\n    def begin(self, key):\n        \
                      board = self.board(key)\n        return board, self.start(board, key)\n\n    def restart(self, key):\n        key, \
                      subkey = jax.random.split(key)\n        return self.start(self.board(key), subkey)\n";

/// The methods of a class that draws in both.
const DRAWS: &str = "    def board(self, key):\n        return jax.random.bernoulli(key, 0.3, (8, 8))\n\n    def start(self, board, key):\n        \
                     return jax.random.randint(key, (2,), 0, 8)\n";

#[test]
fn methods_are_inherited_from_other_modules() {
    const BASE: &str = "import jax\n\nclass Base:\n    def __init__(self, key):\n        self.bias = jax.random.normal(key)\n\n    \
                        def draw(self, key):\n        return self.bias + jax.random.normal(key)\n";
    const MODELS: &str = "from base import Base\n\nclass Model(Base):\n    pass\n";
    const MAIN: &str = "from models import Model\n\ndef built(key):\n    return Model(key).bias * Model(key).bias\n\n\
                        def drawn(model: Model, key):\n    return model.draw(key) * model.draw(key)\n";
    let project = folder(&[("base.py", BASE), ("models.py", MODELS), ("main.py", MAIN)]);
    let at = project.path();
    assert_eq!(places(at, at, Path::new(".")), ["main.py:4 KEY101", "main.py:7 KEY101"]);
}

#[test]
fn generators_of_other_modules_are_reported_where_they_run() {
    const BATCHES: &str =
        "import jax\n\ndef batches(key):\n    for k in jax.random.split(key, 3):\n        yield jax.random.normal(k)\n";
    const MAIN: &str = "from batches import batches\n\ndef train(key, total):\n    for _ in range(3):\n        for batch in batches(key):\n\
                        \x20           total = 2 * total + batch\n    return total\n";
    let project = folder(&[("batches.py", BATCHES), ("main.py", MAIN)]);
    let at = project.path();
    assert_eq!(places(at, at, Path::new(".")), ["main.py:5 KEY102"]);
}

#[test]
fn functions_of_other_modules_that_map_runs_are_reported_there() {
    const DRAW: &str = "import jax\n\n\ndef draw(key):\n    return jax.random.normal(key)\n";
    const MAIN: &str = "from draw import draw\n\ndef twice(key):\n    print(list(map(draw, [key, key])))\n";
    let project = folder(&[("draw.py", DRAW), ("main.py", MAIN)]);
    let at = project.path();
    assert_eq!(places(at, at, Path::new(".")), ["main.py:4 KEY101"]);
}

#[test]
fn classes_of_other_modules_implement_methods() {
    let ways = [
        ("maze.py", "from puzzle import Puzzle", "Puzzle"),
        ("maze.py", "import puzzle", "puzzle.Puzzle"),
        ("maze.py", "from puzzle import Puzzle as Base", "Base[int]"),
        ("maze.py", "from parts import Puzzle\n\nclass Game(Puzzle):\n    pass\n", "Game"),
    ];
    for (file, import, base) in ways {
        let maze = format!("import jax\n{import}\n\nclass Maze({base}):\n{DRAWS}");
        let files = [("puzzle.py", PUZZLE), ("parts.py", "from puzzle import Puzzle\n"), (file, &*maze)];
        let project = folder(&files);
        let at = project.path();
        assert_eq!(places(at, at, Path::new(".")), ["puzzle.py:16 KEY101"], "{import}, {base}");
        // Nothing imports the class, so a check of the base alone does not know it.
        assert!(places(at, at, Path::new("puzzle.py")).is_empty(), "{import}, {base}");
    }
}

#[test]
fn classes_without_draws_or_in_notebooks_implement_nothing() {
    let one = "import jax\nfrom puzzle import Puzzle\n\nclass Maze(Puzzle):\n    def board(self, key):\n        return 3\n\n    def start(self, \
               board, key):\n        return jax.random.normal(key)\n";
    let maze = format!("import jax\nfrom puzzle import Puzzle\n\nclass Maze(Puzzle):\n{DRAWS}");
    let cell = serde_json::json!({"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "source": maze});
    let notebook = serde_json::json!({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string();
    for (file, text) in [("maze.py", one), ("maze.ipynb", &*notebook)] {
        let project = folder(&[("puzzle.py", PUZZLE), (file, text)]);
        assert!(places(project.path(), project.path(), Path::new(".")).is_empty(), "{file}");
    }
}
