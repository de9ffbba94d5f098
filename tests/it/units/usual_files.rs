//! The patterns of usual files.

use std::path::Path;

use keylint::config::usual_files::{UsualFiles, usual};

#[test]
fn every_pattern_is_well_formed() {
    let root = Path::new("/p");
    let files = UsualFiles::builtin();
    for (key, written) in
        [("sources", &files.sources), ("tests", &files.tests), ("benchmarks", &files.benchmarks), ("docs", &files.docs)]
    {
        assert!(!written.is_empty(), "{key}");
        usual(root, key, written).expect(key);
    }
    assert!(files.is_part(Path::new("/p/tests")) && files.is_part(Path::new("/p/benchmark")));
    assert!(!files.is_part(Path::new("/p/docs")));
}
