//! Modules that import each other, and code that is too complex: what the rest of the program knows about them.
//!
//! **Invariant:** what cannot be followed costs what it would have found, and nothing else.

use std::fmt::Write as _;

use crate::in_memory::check_texts;

/// What is found: the position of the text, the row and the code, in that order.
fn found(texts: &[(&str, &str)]) -> Vec<(u32, usize, &'static str)> {
    let checked = check_texts(texts);
    checked.iter().map(|checked| (checked.finding.primary.file.0, checked.row, checked.finding.rule.code())).collect()
}

#[test]
fn modules_that_import_each_other_share_their_keys() {
    let home = "import jax\nimport b\nKEY = jax.random.key(0)\ndef f():\n    x = jax.random.normal(KEY)\n    return x + b.draw()\n";
    for other in [
        "import jax\nimport a\ndef draw():\n    return jax.random.normal(a.KEY)\n",
        "import jax\nfrom a import KEY\ndef draw():\n    return jax.random.normal(KEY)\n",
    ] {
        // One key, not two that were made from one seed.
        assert_eq!(found(&[("a.py", home), ("b.py", other)]), [(0, 6, "KEY101")], "{other}");
    }
}

#[test]
fn importers_see_the_same_module_state() {
    let shared = "import itertools\nimport jax\nKEYS = iter(jax.random.split(jax.random.key(0), 9))\nSTATE = {}\n";
    let user = "import jax\nimport shared\ndef f():\n    shared.STATE['key'] = jax.random.key(1)\n    return jax.random.normal(next(shared.KEYS))\ndef g():\n    return jax.random.normal(next(shared.KEYS))\n";
    assert_eq!(found(&[("shared.py", shared), ("u.py", user), ("v.py", user)]), []);
}

/// A function whose paths are too many to be distinguished.
fn checks(count: usize) -> String {
    let mut text = String::from("import jax\ndef validate(key, config):\n");
    for number in 0..count {
        writeln!(text, "    if config.option{number} == {number}:\n        raise ValueError(key)").unwrap();
    }
    text.push_str("    return config.size\n");
    text
}

const TWICE: &str = "def f(key, config):
    validate(key, config)
    x = jax.random.normal(key)
    return x + jax.random.normal(key)
";

#[test]
fn exhausted_functions_do_not_hide_their_callers() {
    for count in [10, 100, 300, 2_000] {
        let text = format!("{}{TWICE}", checks(count));
        assert_eq!(found(&[("a.py", &text)]), [(0, 3 + 2 * count + 4, "KEY101")], "{count} checks");
    }
}

#[test]
fn arguments_of_exhausted_functions_may_have_changed() {
    let mut text = checks(300).replace("return config.size", "config.key, _ = jax.random.split(config.key)");
    text.push_str(
        "class Config:
    def __init__(self, key):
        self.key = key
def f(key):
    config = Config(key)
    x = jax.random.normal(config.key)
    validate(x, config)
    return x + jax.random.normal(config.key)
",
    );
    let codes: Vec<&str> = found(&[("a.py", &text)]).iter().map(|(_, _, code)| *code).collect();
    assert!(!codes.contains(&"KEY101"), "{codes:?}");
}
