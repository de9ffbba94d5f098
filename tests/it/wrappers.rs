//! Objects that wrap keys, across modules and versions of the library.

use crate::run::{folder, keylint};

/// The findings of a run on some files, as `file:row code level`.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let folder = folder(files);
    // The process does not stand in the folder.
    let root = format!("{}/", folder.path().display());
    let ran = keylint(folder.path(), ["check", &root, "--quiet", "--no-cache", "--output-format", "json"], b"");
    let findings: Vec<serde_json::Value> = serde_json::from_slice(&ran.out).unwrap();
    let place = |finding: &serde_json::Value| {
        let text = |key: &str| finding[key].as_str().unwrap().trim_start_matches(&root).to_owned();
        format!("{}:{} {} {}", text("filename"), finding["location"]["row"], text("code"), text("level"))
    };
    findings.iter().map(place).collect()
}

const BOXES: &str = "
class Box:
    def __init__(self, key):
        self.key = key

    def __jax_array__(self):
        return self.key


class Inner(Box):
    pass
";

const MAIN: &str = "
import jax
import jax.numpy as jnp
from lib import boxes
from lib.boxes import Inner


@jax.jit
def noise(box):
    return jax.random.normal(jnp.asarray(box))


def crosses(seed):
    return noise(boxes.Box(jax.random.key(seed)))


def handed(seed):
    return jax.random.normal(Inner(jax.random.key(seed)))


def twice(seed):
    box = Inner(jax.random.key(seed))
    return jax.random.normal(jnp.asarray(box)) + jax.random.normal(jnp.asarray(box))
";

const ALL: [&str; 3] = ["main.py:14 KEY502 error", "main.py:18 KEY501 error", "main.py:23 KEY101 error"];

#[test]
fn classes_of_other_modules_are_followed() {
    assert_eq!(found(&[("main.py", MAIN), ("lib/__init__.py", ""), ("lib/boxes.py", BOXES)]), ALL);
}

#[test]
fn registrations_anywhere_in_the_module_count() {
    let registry = "
import jax
from lib import boxes

jax.tree_util.register_pytree_node(boxes.Box, lambda box: ((box.key,), None), lambda _, parts: boxes.Box(*parts))
";
    let files = [("main.py", MAIN), ("lib/__init__.py", ""), ("lib/boxes.py", BOXES), ("lib/registry.py", registry)];
    assert_eq!(found(&files), ALL[1..]);
    let decorated = format!("import jax\n\n@jax.tree_util.register_pytree_node_class{BOXES}");
    assert_eq!(found(&[("main.py", MAIN), ("lib/__init__.py", ""), ("lib/boxes.py", &decorated)]), ALL[1..]);
}

#[test]
fn both_roots_have_the_array_protocol() {
    let renamed = |text: &str| text.replace("jax", "olympus");
    let files = [("main.py", &*renamed(MAIN)), ("lib/__init__.py", ""), ("lib/boxes.py", &*renamed(BOXES))];
    assert_eq!(found(&files), ALL);
    let other = |text: &str| text.replace("jax", "array_lib");
    let settings = "roots = [\"array_lib\"]\n";
    let (main, boxes) = (other(MAIN), other(BOXES));
    let files = [("main.py", &*main), ("lib/__init__.py", ""), ("lib/boxes.py", &*boxes), ("keylint.toml", settings)];
    assert_eq!(found(&files), ALL);
}

#[test]
fn the_pinned_version_decides() {
    let with = |version: &str| {
        let settings = format!("jax-version = \"{version}\"\n");
        found(&[("main.py", MAIN), ("lib/__init__.py", ""), ("lib/boxes.py", BOXES), ("keylint.toml", &settings)])
    };
    assert_eq!(with("0.8.0"), ALL);
    assert_eq!(with("0.7.2"), ["main.py:14 KEY502 warning", ALL[1], ALL[2]]);
    assert_eq!(with("0.6.0"), ALL[1..]);
}
