//! Tests of `source::Files`.

use std::path::Path;

use keylint::source::{Files, MemoryFiles, OsFiles, read};

#[test]
fn files_in_memory_need_no_disk() {
    let files: MemoryFiles = [("a/b/c.py", "c"), ("a/d.py", "d")].into_iter().collect();
    assert_eq!(files.read(Path::new("a/d.py")).unwrap(), b"d");
    assert_eq!(read(&files, Path::new("x"), "x").unwrap_err().message, "no such file or directory; check the path");
}

#[test]
fn files_in_memory_hide_those_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("a.py");
    std::fs::write(&saved, "saved").unwrap();
    let mut files = MemoryFiles::over(OsFiles);
    files.insert(&saved, "unsaved");
    assert_eq!(files.read(&saved).unwrap(), b"unsaved");
}
