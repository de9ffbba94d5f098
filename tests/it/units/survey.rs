//! Tests of `source::survey`.

use std::fs;
use std::path::PathBuf;

use keylint::source::survey;

#[test]
fn lists_only_python_sources() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["b.py", "a/c.pyi", "a/d.txt", ".venv/e.py", ".hidden/f.py", "ignored.py", ".gitignore"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "ignored.py\n").unwrap();
    }
    let found: Vec<_> =
        survey(folder.path()).iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_owned()).collect();
    assert_eq!(found, ["a/c.pyi", "b.py"].map(PathBuf::from));
    assert_eq!(survey(&folder.path().join("nowhere")), [""; 0].map(PathBuf::from));
}
