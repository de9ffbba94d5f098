//! The folder of the cache.

use std::fs::{self, OpenOptions};
use std::time::{Duration, SystemTime};

use keylint::cache::{BUILD, Cache};
use keylint::text::Digest;

fn name(of: &str) -> Digest {
    Digest::of(of.as_bytes())
}

#[test]
fn damaged_or_foreign_entries_count_as_absent() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("a/b"));
    assert_eq!(cache.read(name("x")), None);
    cache.write(name("x"), b"content\nof two lines").unwrap();
    assert_eq!(cache.read(name("x")).unwrap(), b"content\nof two lines");
    let path = cache.path_of(name("x"));
    let whole = fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        assert_eq!(cache.read(name("x")), None, "cut after {cut} bytes");
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert_eq!(cache.read(name("x")), None, "byte {at} damaged");
    }
    let of_another = String::from_utf8(whole).unwrap().replacen(BUILD, "0123456789abcdef", 1);
    fs::write(&path, of_another).unwrap();
    assert_eq!(cache.read(name("x")), None);
    cache.write(name("x"), b"again").unwrap();
    assert_eq!(cache.read(name("x")).unwrap(), b"again");
}

#[test]
fn foreign_folders_are_not_cleaned() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let cache = Cache::at(folder.path().to_owned());
    assert!(cache.write(name("x"), b"").is_err());
    assert!(cache.clean().is_err());
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["notes.txt"]);
}

#[test]
fn cleaning_removes_only_our_entries() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("cache"));
    assert!(!cache.clean().unwrap());
    cache.write(name("x"), b"x").unwrap();
    assert!(cache.folder().join(".gitignore").is_file() && cache.folder().join("CACHEDIR.TAG").is_file());
    assert!(cache.clean().unwrap());
    assert!(!cache.folder().exists());
    cache.write(name("x"), b"x").unwrap();
    fs::write(cache.folder().join("notes.txt"), "mine").unwrap();
    assert!(cache.clean().unwrap());
    assert!(cache.folder().join("notes.txt").exists());
}

#[test]
fn oldest_entries_are_evicted_first() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().to_owned());
    let names = ["a", "b", "c", "d"].map(name);
    for (age, name) in names.into_iter().enumerate() {
        cache.write(name, &[0; 1000]).unwrap();
        let file = OpenOptions::new().append(true).open(cache.path_of(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(10 * (4 - age as u64))).unwrap();
    }
    cache.shrink(10_000, 0).unwrap();
    assert!(names.iter().all(|name| cache.read(*name).is_some()));
    cache.shrink(4_000, 2_500).unwrap();
    assert_eq!(names.map(|name| cache.read(name).is_some()), [false, false, true, true]);
}
