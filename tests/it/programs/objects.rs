//! Programs whose keys are in objects, containers and variables that functions change on some of their paths.
//!
//! **Invariant:** as of every generated program: `main(flag, other, mode, n)` is all that a run needs. No method raises, since what an
//! exception interrupts is reported with low confidence.

use super::dice::Dice;
use super::generate::Program;

/// What changes the keys: methods, functions, properties, records, generators.
const LIBRARY: &str = r"import dataclasses

import jax
import jax.numpy as jnp
from jax import random


class Box:
    def __init__(self, key):
        self.key = key
        self.keys = []
        self.count = 0

    def advance(self):
        self.key = random.split(self.key)[0]

    def advance_if(self, wanted):
        if wanted:
            self.key = random.split(self.key)[0]

    def advance_unless(self, done):
        if done:
            return
        self.key = random.split(self.key)[0]

    def advance_times(self, n):
        for _ in range(n):
            self.key, _ = random.split(self.key)

    def fresh(self):
        self.key, sub = random.split(self.key)
        return sub

    def push(self):
        self.keys.append(self.fresh())

    def push_if(self, wanted):
        if wanted:
            self.keys.append(self.fresh())

    def pop(self):
        if self.keys:
            return self.keys.pop()
        return self.fresh()

    def replaced(self, wanted):
        if wanted:
            return self
        return Box(self.fresh())


class Folding(Box):
    def advance(self):
        self.key = random.fold_in(self.key, 7)


class Around:
    def __init__(self, box):
        self.box = box

    @property
    def key(self):
        return self.box.key

    @key.setter
    def key(self, value):
        self.box.key = value

    def advance_if(self, wanted):
        self.box.advance_if(wanted)


@dataclasses.dataclass(frozen=True)
class State:
    key: object
    step: int = 0

    def next(self):
        key, sub = random.split(self.key)
        return dataclasses.replace(self, key=key, step=self.step + 1), sub

    def unless(self, done):
        if done:
            return self
        return dataclasses.replace(self, key=random.split(self.key)[0])


KEY = random.key(7)


def global_unless(done):
    global KEY
    if done:
        return
    KEY = random.split(KEY)[0]


def bump_if(box, wanted):
    if wanted:
        box.key = random.split(box.key)[1]


def exchanged(box, key):
    old = box.key
    box.key = key
    return old


def put_if(store, name, key, wanted):
    if wanted:
        store[name] = key


def stream(key, n):
    for _ in range(n):
        key, sub = random.split(key)
        yield sub


";

struct Writer {
    dice: Dice,
    lines: Vec<String>,
    boxes: Vec<String>,
    closures: usize,
    /// Children of the first split that are used already.
    used: usize,
    /// Statements that may still be written.
    budget: usize,
}

/// The program of a number.
pub fn program(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let budget = 6 + dice.below(14);
    let boxes = vec!["a".to_owned(), "b".to_owned()];
    let mut w = Writer { dice, lines: Vec::new(), boxes, closures: 0, used: 0, budget };
    for line in [
        "x = jnp.zeros(3)",
        "keys = random.split(key, 120)",
        "a, b = Box(keys[118]), Folding(keys[119])",
        "around = Around(Box(keys[117]))",
        "state = State(keys[116])",
        "store = {\"p\": keys[115], \"q\": keys[114]}",
        "current = keys[113]",
    ] {
        w.put(0, line);
    }
    while w.budget > 0 {
        w.statement(0);
    }
    w.put(0, "return x");
    let body = w.lines.join("\n");
    let main = "def main(flag, other, mode, n):\n    unit(random.key(100), flag, other, mode, n)\n";
    let source = format!("{LIBRARY}def unit(key, flag, other, mode, n):\n{body}\n\n\n{main}");
    let units = vec![1; source.lines().count() + 1];
    Program { source, units }
}

impl Writer {
    fn put(&mut self, depth: usize, line: &str) {
        self.lines.push(format!("{}{line}", "    ".repeat(depth + 1)));
    }

    fn block(&mut self, depth: usize, header: &str) {
        self.put(depth, header);
        for _ in 0..=self.dice.below(3) {
            self.statement(depth + 1);
        }
    }

    fn condition(&mut self) -> &'static str {
        self.dice.pick(&["flag", "other", "not flag", "mode == \"train\"", "n > 1", "flag and other", "flag or other"])
    }

    fn argument(&mut self) -> &'static str {
        self.dice.pick(&["flag", "other", "not flag", "mode == \"train\""])
    }

    fn name(&mut self) -> String {
        let at = self.dice.below(self.boxes.len());
        self.boxes[at].clone()
    }

    /// A key that nothing else uses.
    fn key(&mut self) -> String {
        self.used += 1;
        format!("keys[{}]", self.used)
    }

    fn statement(&mut self, depth: usize) {
        self.budget = self.budget.saturating_sub(1);
        let (name, wanted, key) = (self.name(), self.argument(), self.key());
        let entry = self.dice.pick(&["p", "q"]);
        let is_nested = depth < 2 && self.budget > 0;
        let line = match self.dice.below(32) {
            0 => format!("{name}.advance()"),
            1 => format!("{name}.advance_if({wanted})"),
            2 => format!("{name}.advance_unless({wanted})"),
            3 => format!("{name}.advance_times({})", self.dice.pick(&["n", "2", "0"])),
            4 => format!("x = x + random.normal({name}.fresh(), (3,))"),
            5 | 6 => format!("x = x + random.normal({name}.key, (3,))"),
            7 => format!("bump_if({name}, {wanted})"),
            8 => format!("{name}.key = {key}"),
            9 => format!("x = x + random.normal(exchanged({name}, {key}), (3,))"),
            10..=13 if is_nested => {
                let condition = self.condition();
                self.block(depth, &format!("if {condition}:"));
                if self.dice.percent(40) {
                    self.block(depth, "else:");
                }
                return;
            }
            14 if is_nested => {
                let count = self.dice.pick(&["n", "2"]);
                return self.block(depth, &format!("for _ in range({count}):"));
            }
            15 if depth == 0 => {
                let new = format!("c{}", self.boxes.len());
                let other = self.name();
                let condition = self.condition();
                let line = match self.dice.below(4) {
                    0 => format!("{new} = {name}"),
                    1 => format!("{new} = {name} if {condition} else {other}"),
                    2 => format!("{new} = Folding({key})"),
                    _ => format!("{new} = {name}.replaced({wanted})"),
                };
                self.boxes.push(new);
                line
            }
            16 => format!("{name}.push()"),
            17 => format!("{name}.push_if({wanted})"),
            18 => format!("x = x + random.normal({name}.pop(), (3,))"),
            19 if depth > 0 => "return x".to_owned(),
            20 => {
                let other = self.name();
                self.put(depth, &format!("for box in [{name}, {other}]:"));
                return self.put(depth + 1, "box.advance()");
            }
            21 => format!("put_if(store, \"{entry}\", {key}, {wanted})"),
            22 => format!("x = x + random.normal(store[\"{entry}\"], (3,))"),
            23 if depth == 0 => {
                let closure = format!("f{}", self.closures);
                self.closures += 1;
                self.put(depth, &format!("def {closure}(wanted):"));
                self.put(depth + 1, "nonlocal current");
                self.put(depth + 1, "if wanted:");
                return self.put(depth + 2, "current = random.split(current)[0]");
            }
            24 if self.closures > 0 => format!("f{}({wanted})", self.dice.below(self.closures)),
            25 => "x = x + random.normal(current, (3,))".to_owned(),
            26 => {
                let way = [
                    "around.advance_if(flag)".to_owned(),
                    format!("around.key = {key}"),
                    format!("around.box = {name}"),
                ];
                way[self.dice.below(way.len())].clone()
            }
            27 => "x = x + random.normal(around.key, (3,))".to_owned(),
            28 => format!("state = state.unless({wanted})"),
            29 => {
                self.put(depth, "state, sub = state.next()");
                "x = x + random.normal(sub, (3,))".to_owned()
            }
            30 => {
                self.put(depth, &format!("global_unless({wanted})"));
                "x = x + random.normal(KEY, (3,))".to_owned()
            }
            31 => {
                self.put(depth, &format!("for sub in stream({key}, n):"));
                return self.put(depth + 1, "x = x + random.normal(sub, (3,))");
            }
            _ => format!("{name}.count += 1"),
        };
        self.put(depth, &line);
    }
}
