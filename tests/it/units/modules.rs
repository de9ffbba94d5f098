//! Tests of `python::ModuleGraph`.

use keylint::python::{ModuleGraph, Resolution};
use keylint::text::FileId;

const PATHS: &[&str] = &[
    "src/pkg/__init__.py",
    "src/pkg/core.py",
    "src/pkg/core.pyi",
    "src/pkg/random.py",
    "src/pkg/sub/__init__.py",
    "src/pkg/sub/deep.py",
    "src/pkg/space/loose.py",
    "tests/test_core.py",
    "tests/helpers.py",
    "scripts/train.py",
    "scripts/utils.py",
    "namespace/part/mod.py",
    "src/pkg/space/inner/__init__.py",
    "src/pkg/space/inner/low.py",
    "./top.py",
];

/// Resolves an import in a file; the result is written as path and rest, then a bar and the submodule.
fn resolve(from: &str, level: u32, module: &str, name: &str) -> String {
    let graph = ModuleGraph::new(PATHS);
    let index = PATHS.iter().position(|path| *path == from).unwrap();
    let some = |text: &'static str| Some(text).filter(|text| !text.is_empty());
    let (module, name) = (some(module.to_owned().leak()), some(name.to_owned().leak()));
    match graph.resolve(FileId(u32::try_from(index).unwrap()), level, module, name) {
        Resolution::External => "external".to_owned(),
        Resolution::Module { file, rest, submodule } => {
            let words = [PATHS[file.0 as usize].to_owned()].into_iter().chain(rest);
            let bar = submodule.into_iter().flat_map(|file| ["|".to_owned(), PATHS[file.0 as usize].to_owned()]);
            words.chain(bar).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn relative_imports_count_from_the_folder() {
    let from = "src/pkg/sub/deep.py";
    assert_eq!(resolve(from, 1, "", "deep"), "src/pkg/sub/__init__.py deep | src/pkg/sub/deep.py");
    assert_eq!(resolve(from, 2, "core", "f"), "src/pkg/core.py f");
    assert_eq!(resolve(from, 2, "", "core"), "src/pkg/__init__.py core | src/pkg/core.py");
    assert_eq!(resolve(from, 2, "missing", "f"), "external");
    assert_eq!(resolve(from, 9, "", "f"), "external");
    assert_eq!(resolve("src/pkg/__init__.py", 1, "core", "f"), "src/pkg/core.py f");
    assert_eq!(resolve("scripts/train.py", 1, "", "utils"), "scripts/utils.py");
}

#[test]
fn absolute_imports_search_the_roots() {
    for from in [
        "src/pkg/sub/deep.py",
        "src/pkg/space/loose.py",
        "src/pkg/space/inner/low.py",
        "tests/test_core.py",
        "scripts/train.py",
        "./top.py",
    ] {
        assert_eq!(resolve(from, 0, "pkg.core", ""), "src/pkg/core.py");
        assert_eq!(resolve(from, 0, "pkg.core", "f"), "src/pkg/core.py f");
        assert_eq!(resolve(from, 0, "pkg", "core"), "src/pkg/__init__.py core | src/pkg/core.py");
        assert_eq!(resolve(from, 0, "pkg", "f"), "src/pkg/__init__.py f");
        assert_eq!(resolve(from, 0, "pkg.core.Class.method", ""), "src/pkg/core.py Class method");
        assert_eq!(resolve(from, 0, "jax.random", ""), "external");
        assert_eq!(resolve(from, 0, "top", "f"), "./top.py f");
    }
}

#[test]
fn project_files_do_not_shadow_libraries() {
    assert_eq!(resolve("src/pkg/core.py", 0, "random", ""), "external");
    for from in ["src/pkg/space/loose.py", "src/pkg/space/inner/low.py"] {
        assert_eq!(resolve(from, 0, "random", ""), "external");
    }
    assert_eq!(resolve("src/pkg/core.py", 0, "utils", ""), "external");
    assert_eq!(resolve("tests/test_core.py", 0, "utils", ""), "external");
}

#[test]
fn scripts_see_their_siblings() {
    assert_eq!(resolve("scripts/train.py", 0, "utils", "f"), "scripts/utils.py f");
    assert_eq!(resolve("tests/test_core.py", 0, "helpers", ""), "tests/helpers.py");
}

#[test]
fn scripts_in_packages_see_their_folder() {
    let paths = [
        "app/__init__.py",
        "app/train.py",
        "app/helpers.py",
        "app/layers/__init__.py",
        "app/layers/dense.py",
        "other.py",
    ];
    let graph = ModuleGraph::new(&paths);
    let file = |from, module| match graph.resolve_from_script(FileId(from), module, None) {
        Resolution::Module { file, rest, .. } if rest.is_empty() => file.0,
        _ => 99,
    };
    assert_eq!([file(1, "helpers"), file(1, "layers.dense"), file(4, "helpers")], [2, 4, 2]);
    assert_eq!([file(1, "other"), file(5, "helpers"), file(1, "absent")], [99; 3]);
    assert_eq!(graph.resolve(FileId(1), 0, Some("helpers"), None), Resolution::External);
}

#[test]
fn folders_without_init_are_namespaces() {
    assert_eq!(resolve("scripts/train.py", 0, "namespace.part.mod", "f"), "namespace/part/mod.py f");
    assert_eq!(resolve("scripts/train.py", 0, "namespace.part", "mod"), "namespace/part/mod.py");
    assert_eq!(resolve("scripts/train.py", 0, "pkg.space", "loose"), "src/pkg/space/loose.py");
    assert_eq!(resolve("scripts/train.py", 0, "namespace", ""), "external");
}

#[test]
fn names_are_the_longest_first() {
    let graph = ModuleGraph::new(PATHS);
    let names: Vec<_> = (0..15).map(|id| graph.names(FileId(id)).join(" ")).collect();
    assert_eq!(
        names,
        [
            "pkg",
            "pkg.core core",
            "pkg.core core",
            "pkg.random random",
            "pkg.sub",
            "pkg.sub.deep deep",
            "pkg.space.loose loose",
            "test_core",
            "helpers",
            "train",
            "utils",
            "mod",
            "pkg.space.inner inner",
            "pkg.space.inner.low inner.low low",
            "top",
        ]
    );
    assert!(graph.is_package(FileId(0)) && !graph.is_package(FileId(1)));
}

#[test]
fn nearest_definition_of_a_name_wins() {
    let paths = ["a/lib/__init__.py", "b/lib/__init__.py", "b/tests/t.py", "a/tests/t.py", "c/t.py"];
    let graph = ModuleGraph::new(&paths);
    let file = |from| match graph.resolve(FileId(from), 0, Some("lib"), None) {
        Resolution::Module { file, .. } => file.0,
        Resolution::External => 99,
    };
    assert_eq!([file(2), file(3), file(4)], [1, 0, 0]);
}

#[test]
fn absolute_paths_and_many_files() {
    let mut paths: Vec<String> = Vec::new();
    for package in 0..110 {
        paths.push(format!("/repo/p{package}/__init__.py"));
        paths.extend((0..100).map(|module| format!("/repo/p{package}/m{module}.py")));
    }
    let graph = ModuleGraph::new(&paths);
    let start = std::time::Instant::now();
    for id in 0..u32::try_from(paths.len()).unwrap() {
        let found = graph.resolve(FileId(id), 0, Some("p7.m9"), Some("f"));
        assert_eq!(
            found,
            Resolution::Module { file: FileId(7 * 101 + 10), rest: vec!["f".to_owned()], submodule: None }
        );
        graph.resolve(FileId(id), 0, Some("numpy.random"), None);
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(10));
    assert_eq!(graph.name(FileId(1)), "p0.m0");
}
