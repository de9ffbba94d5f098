//! How a program spells its imports.
//!
//! Programs are written with `R.name` for `jax.random`, `R.KEY` for the constructor of keys, `J.name` for `jax` and `L.name` for
//! `jax.lax`, each on its own or after a character that no name has.
//!
//! **Invariant:** spelling changes neither rows nor what the program does.

use std::collections::BTreeSet;

use super::dice::Dice;

/// The header lines and the spelt text of a program.
pub fn spell(dice: &mut Dice, text: &str) -> String {
    let root = if dice.percent(15) { "olympus" } else { "jax" };
    let constructor = if dice.percent(55) { "key" } else { "PRNGKey" };
    let text = text.replace("R.KEY(", &format!("R.{constructor}("));
    let mut imports = vec![format!("import {root}")];
    let (text, names) = match dice.below(8) {
        0 => (substitute(&text, "R.", &format!("{root}.random.")).0, None),
        1 => {
            imports.push(format!("import {root}.random"));
            (substitute(&text, "R.", &format!("{root}.random.")).0, None)
        }
        2 | 3 => {
            imports.push(format!("from {root} import random"));
            (substitute(&text, "R.", "random.").0, None)
        }
        4 => {
            imports.push(format!("import {root}.random as jr"));
            (substitute(&text, "R.", "jr.").0, None)
        }
        5 => {
            imports.push(format!("import {root}.random as jrandom"));
            (substitute(&text, "R.", "jrandom.").0, None)
        }
        6 => {
            imports.push(format!("from {root} import random as jrand"));
            (substitute(&text, "R.", "jrand.").0, None)
        }
        _ => {
            let (text, names) = substitute(&text, "R.", "");
            (text, Some(names))
        }
    };
    if let Some(names) = names.filter(|names| !names.is_empty()) {
        imports.push(format!("from {root}.random import {}", joined(&names)));
    }
    let text = match dice.below(3) {
        0 => {
            let (text, names) = substitute(&text, "J.", "");
            if !names.is_empty() {
                imports.push(format!("from {root} import {}", joined(&names)));
            }
            text
        }
        _ => substitute(&text, "J.", &format!("{root}.")).0,
    };
    let text = match dice.below(3) {
        0 => {
            imports.push(format!("from {root} import lax"));
            substitute(&text, "L.", "lax.").0
        }
        _ => substitute(&text, "L.", &format!("{root}.lax.")).0,
    };
    imports.push(format!("import {root}.numpy as jnp"));
    for (name, import) in [
        ("partial(", "from functools import partial"),
        ("functools.", "import functools"),
        ("itertools.", "import itertools"),
        ("dataclass", "import dataclasses"),
        ("@dataclass", "from dataclasses import dataclass"),
        ("NamedTuple", "from typing import NamedTuple"),
        ("contextlib.", "import contextlib"),
        ("math.", "import math"),
        ("abc.", "import abc"),
        ("collections.", "import collections"),
        ("copy.", "import copy"),
    ] {
        if text.contains(name) {
            imports.push(import.to_owned());
        }
    }
    format!("{}\n\n{text}", imports.join("\n"))
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// The text with every prefix replaced, and the names that stood behind one.
fn substitute(text: &str, prefix: &str, by: &str) -> (String, BTreeSet<String>) {
    let mut names = BTreeSet::new();
    let mut spelt = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(prefix) {
        let (before, behind) = rest.split_at(at);
        spelt.push_str(before);
        let behind = &behind[prefix.len()..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if spelt.chars().next_back().is_some_and(|c| is_word(c) || c == '.') {
            spelt.push_str(prefix);
        } else {
            spelt.push_str(by);
            names.insert(behind.chars().take_while(|c| is_word(*c)).collect());
        }
        rest = behind;
    }
    spelt.push_str(rest);
    (spelt, names)
}
