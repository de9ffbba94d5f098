//! From paths to syntax: what a run does with a folder before any analysis.

use std::fs;

use keylint::python::{ModuleGraph, Resolution, SourceKind, ast, mentions, parse, statement_spans};
use keylint::source::{OsFiles, Selection, discover, read};
use keylint::text::{FileId, LineColumn, LineIndex};

use crate::run;

#[test]
fn folders_become_modules() {
    let folder = run::folder::<&[u8]>(&[
        ("src/pkg/__init__.py", b"from .core import sample\n"),
        (
            "src/pkg/core.py",
            b"\xEF\xBB\xBFimport jax\r\n\r\ndef sample(key):\r\n    return jax.random.normal(key)  # 1\r\n",
        ),
        ("tests/test_core.py", b"# coding: latin-1\nfrom pkg import sample\nx = '\xE9'  # two\n"),
        ("tests/broken.py", b"def f(:\n    pass\nimport jax\n"),
        ("tests/undecodable.py", b"x = '\xE9'\n"),
        (".venv/lib/jax/__init__.py", b""),
    ]);
    let found = discover(&[folder.path().to_owned(), folder.path().join("absent")], &Selection::default());
    let names: Vec<&str> =
        found.files.iter().map(|file| file.path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        ["src/pkg/__init__.py", "src/pkg/core.py", "tests/broken.py", "tests/test_core.py", "tests/undecodable.py"]
    );
    assert_eq!(found.problems, []);
    assert!(found.missing.len() == 1 && found.missing[0].path.ends_with("absent"));

    let graph = ModuleGraph::new(&names);
    let sample = graph.resolve(FileId(3), 0, Some("pkg"), Some("sample"));
    assert_eq!(sample, Resolution::Module { file: FileId(0), rest: vec!["sample".to_owned()], submodule: None });
    let core = graph.resolve(FileId(0), 1, Some("core"), Some("sample"));
    assert_eq!(core, Resolution::Module { file: FileId(1), rest: vec!["sample".to_owned()], submodule: None });
    assert_eq!(graph.resolve(FileId(1), 0, Some("jax"), None), Resolution::External);

    let read = |index: usize| read(&OsFiles, &found.files[index].path, names[index]);
    let core = read(1).unwrap();
    assert!(core.had_bom && mentions(core.text.as_bytes(), &["olympus", "jax"]));
    let parsed = parse(&core.text, SourceKind::of_path(&core.path));
    assert!(parsed.problems.is_empty());
    let spans = statement_spans(&parsed.module, &core.text);
    let lines = LineIndex::new(&core.text);
    let place = |offset| lines.line_column(&core.text, offset);
    assert_eq!(place(spans[2].full.start), LineColumn { row: 4, column: 5 });
    assert_eq!(place(parsed.comments[0].span.start), LineColumn { row: 4, column: 36 });

    let test = read(3).unwrap();
    let parsed = parse(&test.text, SourceKind::Py);
    let lines = LineIndex::new(&test.text);
    assert_eq!(lines.line_column(&test.text, parsed.comments[1].span.start), LineColumn { row: 3, column: 10 });
    assert_eq!(test.encode(&test.text).unwrap(), fs::read(&found.files[3].path).unwrap());

    let broken = parse(&read(2).unwrap().text, SourceKind::Py);
    assert!(!broken.problems.is_empty());
    assert!(matches!(broken.module.body.last(), Some(ast::Stmt::Import(_))));

    let message = read(4).unwrap_err().message;
    assert!(message.starts_with("byte 0xE9 on line 1, byte 6 is not UTF-8"), "{message}");
}
