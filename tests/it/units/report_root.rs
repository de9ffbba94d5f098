//! Paths relative to the repository.

use std::path::{Path, PathBuf};

use keylint::report::Root;

#[test]
fn paths_are_relative_to_the_root_and_encoded() {
    let root = Root::new(PathBuf::from("/repo"), PathBuf::from("/repo/src"));
    assert_eq!(root.uri(Path::new("./ä b/#1.py")), ("src/%C3%A4%20b/%231.py".to_owned(), true));
    assert_eq!(root.uri(Path::new("../a.py")), ("a.py".to_owned(), true));
    assert_eq!(root.uri(Path::new("/else/a b.py")), ("file:///else/a%20b.py".to_owned(), false));
    assert_eq!(root.relative(Path::new("../a b.py")), "a b.py");
    assert_eq!(root.folder_uri().as_deref(), Some("file:///repo/"));
    assert_eq!(Root::default().uri(Path::new("a.py")), ("a.py".to_owned(), true));
    assert_eq!(Root::default().folder_uri(), None);
}
