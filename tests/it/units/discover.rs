//! Tests of `source::discover`.

use std::fs;
use std::path::PathBuf;

use keylint::source::{Selection, discover};

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (path, content) in files {
            let path = tree.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        tree
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn found(&self, paths: &[&str], selection: &Selection) -> (Vec<String>, Vec<String>) {
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.at(path)).collect();
        let found = discover(&paths, selection);
        let inner = |path: &str| path.replace(&format!("{}/", self.0.path().display()), "");
        (
            found.files.iter().map(|found| inner(&found.display)).collect(),
            found.problems.iter().map(|problem| inner(&problem.path)).collect(),
        )
    }

    fn selection(&self, exclude: &[&str]) -> Selection {
        Selection {
            exclude: exclude.iter().map(|&glob| glob.to_owned()).collect(),
            root: self.0.path().to_owned(),
            ..Selection::default()
        }
    }
}

fn sample() -> Tree {
    Tree::new(&[
        ("z.py", ""),
        ("a/b.py", ""),
        ("a/c.pyi", ""),
        ("a/d.txt", ""),
        ("a/script", ""),
        ("a/ignored.py", ""),
        ("a/.hidden/h.py", ""),
        ("build/x.py", ""),
        ("venv/lib/y.py", ""),
        ("gen/one_pb2.py", ""),
        ("gen/deep/two.py", ""),
        (".gitignore", "ignored.py\n"),
        ("gen/.ignore", "deep/\n"),
    ])
}

#[test]
fn finds_sources_and_respects_ignore_files() {
    let tree = sample();
    let (files, problems) = tree.found(&["."], &Selection::default());
    let files: Vec<_> = files.iter().map(|file| file.trim_start_matches("./")).collect();
    assert_eq!(files, ["a/.hidden/h.py", "a/b.py", "a/c.pyi", "gen/one_pb2.py", "z.py"]);
    assert_eq!(problems, [""; 0]);
    let all = Selection { ignore_files: false, default_excludes: false, ..Selection::default() };
    assert_eq!(tree.found(&["."], &all).0.len(), 9);
}

#[test]
fn given_files_are_taken_once() {
    let tree = sample();
    let paths = ["z.py", "./z.py", "a", "a/b.py", "build/x.py", "a/script", "a/ignored.py", "build"];
    let (files, _) = tree.found(&paths, &Selection::default());
    assert_eq!(files, ["a/.hidden/h.py", "a/b.py", "a/c.pyi", "a/ignored.py", "a/script", "build/x.py", "z.py"]);
    let forced = Selection { force_exclude: true, ..tree.selection(&["a/s*"]) };
    let (files, _) = tree.found(&["z.py", "build/x.py", "a/script", "venv"], &forced);
    assert_eq!(files, ["z.py"]);
}

#[test]
fn globs_leave_out_names_and_paths() {
    let tree = sample();
    let found = |globs: &[&str]| tree.found(&["gen", "a", "z.py"], &tree.selection(globs)).0.join(" ");
    assert_eq!(found(&["*_pb2.py", ".hidden"]), "a/b.py a/c.pyi z.py");
    assert_eq!(found(&["a/*.py", "gen/deep/", "./gen/*"]), "a/.hidden/h.py a/c.pyi z.py");
    assert_eq!(found(&["a/**"]), "gen/one_pb2.py z.py");
    let broken = discover(&[], &tree.selection(&["[a"]));
    assert_eq!(broken.problems.len(), 1);
    assert!(broken.problems[0].message.starts_with("not a valid glob: "), "{broken:?}");
}

#[test]
fn missing_paths_do_not_affect_other_files() {
    let tree = sample();
    let (files, problems) = tree.found(&["nowhere", "z.py"], &Selection::default());
    assert_eq!((files, problems), (vec!["z.py".to_owned()], Vec::new()));
    let missing = discover(&[tree.0.path().join("nowhere")], &Selection::default()).missing;
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].message, "no such file or directory");
}

#[cfg(unix)]
#[test]
fn link_cycles_terminate() {
    use std::os::unix::fs::symlink;
    let tree = sample();
    symlink(tree.at("a"), tree.at("a/loop")).unwrap();
    symlink(tree.at("a/me.py"), tree.at("a/me.py")).unwrap();
    symlink(tree.at("z.py"), tree.at("a/link.py")).unwrap();
    symlink(tree.at("self"), tree.at("self")).unwrap();
    let (files, problems) = tree.found(&["a", "self"], &Selection::default());
    assert_eq!(files, ["a/.hidden/h.py", "a/b.py", "a/c.pyi", "a/link.py"]);
    assert_eq!(problems, ["a/me.py", "self"]);
    assert_eq!(tree.found(&["a/loop"], &Selection::default()).0.len(), 4);
}

#[cfg(unix)]
#[test]
fn links_to_a_file_count_once() {
    use std::os::unix::fs::symlink;
    let tree = sample();
    symlink(tree.at("z.py"), tree.at("a/link.py")).unwrap();
    symlink(tree.at("a"), tree.at("same")).unwrap();
    let found = |paths: &[&str]| tree.found(paths, &Selection::default()).0.join(" ");
    assert_eq!(found(&["a/link.py", "z.py"]), "z.py");
    assert_eq!(found(&["z.py", "a/link.py"]), "z.py");
    assert_eq!(found(&["."]).matches(".py").count(), 5);
    assert!(found(&["."]).ends_with("z.py") && !found(&["."]).contains("link"));
    assert_eq!(found(&["same/b.py", "a/b.py"]), "a/b.py");
    assert_eq!(found(&["same", "a"]), found(&["a", "same"]));
}
