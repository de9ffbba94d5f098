//! Whole programs: imports, helpers, functions that use keys, and `main`, which calls them with concrete arguments.
//!
//! **Invariant:** a program is self-contained: a run only calls `main(flag, other, mode, n)`.

use super::scope::Scope;
use super::statements::statements;
use super::style::spell;
use super::templates;
use super::writer::{Effect, Helper, Writer};

/// One program.
pub struct Program {
    pub source: String,
    /// The function of a row, as the number of the unit that it belongs to; row 0 is not used.
    pub units: Vec<usize>,
}

/// The program of a number.
pub fn program(seed: u64) -> Program {
    let mut w = Writer::new(seed, 0);
    w.sloppiness = [0, 0, 4, 10][w.dice.below(4)];
    let mut calls = Vec::new();
    let mut marks = Vec::new();
    helpers(&mut w);
    let count = 1 + w.dice.below(2);
    for unit in 1..=count {
        marks.push((w.lines.len(), unit));
        let seed = 100 * unit;
        w.put(&format!("# unit {unit}"));
        if w.dice.percent(70) {
            calls.push(templates::unit(&mut w, unit, seed));
        } else {
            calls.push(function(&mut w, unit, seed));
        }
        w.put("\n");
    }
    marks.push((w.lines.len(), 0));
    w.block("def main(flag, other, mode, n):", |w| {
        for call in &calls {
            w.put(call);
        }
    });
    let body = w.lines.join("\n") + "\n";
    let source = spell(&mut w.dice, &body);
    let header = source.lines().count() - body.lines().count();
    let mut units = vec![0; header + 1];
    for row in 0..body.lines().count() {
        units.push(marks.iter().rev().find(|(start, _)| *start <= row).map_or(0, |(_, unit)| *unit));
    }
    Program { source, units }
}

/// A few helpers.
fn helpers(w: &mut Writer) {
    let all = [
        ("jitter", Effect::Draws, "def jitter(key, x):\n    return x + 0.1 * R.normal(key, x.shape)"),
        (
            "dropout",
            Effect::Draws,
            "def dropout(key, x, rate=0.1):\n    keep = R.bernoulli(key, 1.0 - rate, x.shape)\n    return jnp.where(keep, x / (1.0 - rate), 0.0)",
        ),
        (
            "augment",
            Effect::Draws,
            "def augment(key, x, *, strength=1.0):\n    k_shift, k_scale = R.split(key)\n    x = x + strength * R.uniform(k_shift, x.shape)\n    return x * (1 + R.normal(k_scale, ()))",
        ),
        (
            "init_layer",
            Effect::Draws,
            "@J.jit\ndef init_layer(key, x):\n    w = R.normal(key, (3, 3)) / jnp.sqrt(3.0)\n    return x @ w",
        ),
        (
            "maybe_noise",
            Effect::Draws,
            "def maybe_noise(key, x, sigma=0.5):\n    if sigma == 0.0:\n        return x\n    return x + sigma * R.normal(key, (3,))",
        ),
        (
            "sample_many",
            Effect::Draws,
            "def sample_many(key, x):\n    total = x\n    for i in range(3):\n        total = total + R.normal(R.fold_in(key, i), (3,))\n    return total",
        ),
        (
            "advance",
            Effect::Threads,
            "def advance(key):\n    key, sub = R.split(key)\n    return key, R.normal(sub, (3,))",
        ),
        (
            "next_sample",
            Effect::Threads,
            "def next_sample(rng, scale=1.0):\n    rng, sample_rng = R.split(rng)\n    return rng, scale * R.uniform(sample_rng, (3,))",
        ),
        ("for_step", Effect::Folds, "def for_step(key, step):\n    return R.fold_in(key, step)"),
        (
            "named",
            Effect::Folds,
            "def named(key, index):\n    \"\"\"A key of its own for each name.\"\"\"\n    return R.fold_in(R.fold_in(key, 11), index)",
        ),
        ("two_keys", Effect::Splits, "def two_keys(key):\n    return R.split(key)"),
        ("pair", Effect::Splits, "def pair(key):\n    a, b = R.split(key, 2)\n    return a, b"),
    ];
    for (name, effect, text) in all {
        if w.dice.percent(25) {
            w.put(text);
            w.put("\n");
            w.helpers.push(Helper { name: name.to_owned(), effect });
        }
    }
}

/// A function of statements at random; answers with its call.
fn function(w: &mut Writer, unit: usize, seed: usize) -> String {
    w.forget_names(&["key", "rng", "flag", "other", "mode", "n", "x0", "k", "a", "c", "i", "v", "p", "self", "f"]);
    let key = w.dice.pick(&["key", "rng"]).to_owned();
    let name = format!("{}_{unit}", w.dice.pick(&["train", "sample", "run", "rollout", "fit", "simulate", "observe"]));
    let mut scope = Scope {
        fresh: vec![key.clone()],
        values: vec!["x0".to_owned()],
        flags: vec!["flag".to_owned(), "other".to_owned(), "mode".to_owned()],
        numbers: vec!["n".to_owned()],
        result: Some(String::new()),
        ..Scope::default()
    };
    w.budget = 6 + w.dice.below(14);
    let count = w.budget;
    let is_method = w.dice.percent(20);
    let annotated = w.dice.percent(30);
    let annotation = if annotated { ": jnp.ndarray" } else { "" };
    let parameters = format!("{key}{annotation}, flag, other=False, mode=\"train\", n=3, x0=jnp.ones(3)");
    let body = |w: &mut Writer, scope: &mut Scope| {
        if w.dice.percent(20) {
            w.put("\"\"\"Draws what it needs.\"\"\"");
        }
        statements(w, scope, count);
        let value = w.value(scope);
        w.put(&format!("return {value}"));
    };
    if is_method {
        let class = format!("Model{unit}");
        w.block(&format!("class {class}:"), |w| {
            w.put("def __init__(self, size=3):\n    self.size = size\n");
            w.block(&format!("def {name}(self, {parameters}):"), |w| body(w, &mut scope));
        });
        return format!("{class}(3).{name}(R.KEY({seed}), flag, other, mode=mode, n=n)");
    }
    w.block(&format!("def {name}({parameters}):"), |w| body(w, &mut scope));
    format!("{name}(R.KEY({seed}), flag, other, mode, n)")
}
