//! The hashes of lines in SARIF.

use keylint::report::sarif::line_hash::line_hashes;

#[test]
fn the_empty_file_has_the_published_hash() {
    assert_eq!(line_hashes(""), ["c129715d7a2bc9a3:1"]);
}

#[test]
fn spacing_and_line_ends_do_not_matter() {
    let text = "x = f(key)\ny = g(key)\nx = f(key)\n";
    assert_eq!(line_hashes(text), line_hashes("x=f(key)\r\n\ty = g( key )\rx = f(key)\n"));
    assert_eq!(line_hashes(text).len(), 4);
}

#[test]
fn equal_windows_are_numbered() {
    let line = format!("{}\n", "a".repeat(120));
    let hashes = line_hashes(&line.repeat(2));
    let (first, second) = (hashes[0].split_once(':').unwrap(), hashes[1].split_once(':').unwrap());
    assert_eq!((first.0, first.1, second.1), (second.0, "1", "2"));
}
