//! Lines with indentation, names that are not yet taken, and the helpers of a program.

use std::collections::BTreeSet;

use super::dice::Dice;
use super::scope::Scope;

/// What a helper does with its first argument, a key.
#[derive(Clone, Copy, PartialEq)]
pub enum Effect {
    /// Draws from it, and returns an array.
    Draws,
    /// Returns a new key and an array.
    Threads,
    /// Returns a key derived by `fold_in`.
    Folds,
    /// Returns several new keys.
    Splits,
}

/// A helper that programs call.
#[derive(Clone)]
pub struct Helper {
    pub name: String,
    pub effect: Effect,
}

/// A program that is being generated.
pub struct Writer {
    pub dice: Dice,
    pub lines: Vec<String>,
    pub depth: usize,
    /// The probability, in percent, of using a key that should not be used.
    pub sloppiness: usize,
    pub helpers: Vec<Helper>,
    /// Statements that may still be written.
    pub budget: usize,
    taken: BTreeSet<String>,
}

impl Writer {
    pub fn new(seed: u64, sloppiness: usize) -> Self {
        Self {
            dice: Dice::new(seed),
            lines: Vec::new(),
            depth: 0,
            sloppiness,
            helpers: Vec::new(),
            budget: 0,
            taken: BTreeSet::new(),
        }
    }

    /// Writes lines at the indentation that holds.
    pub fn put(&mut self, text: &str) {
        for line in text.lines() {
            let line = if line.is_empty() { String::new() } else { format!("{}{line}", "    ".repeat(self.depth)) };
            self.lines.push(line);
        }
    }

    /// Writes a header and its indented body.
    pub fn block<T>(&mut self, header: &str, body: impl FnOnce(&mut Self) -> T) -> T {
        self.put(header);
        self.depth += 1;
        let start = self.lines.len();
        let result = body(self);
        if self.lines.len() == start {
            self.put("pass");
        }
        self.depth -= 1;
        result
    }

    /// Another name, after one of the usual ones.
    pub fn name(&mut self, usual: &[&str]) -> String {
        let base = self.dice.pick(usual);
        let mut name = base.to_owned();
        let mut count = 1;
        while !self.taken.insert(name.clone()) {
            count += 1;
            name = format!("{base}{count}");
        }
        name
    }

    pub fn key_name(&mut self) -> String {
        self.name(&[
            "sub",
            "subkey",
            "k1",
            "k2",
            "noise_key",
            "sample_key",
            "rng_step",
            "drop_key",
            "init_rng",
            "step_key",
            "k",
        ])
    }

    pub fn value_name(&mut self) -> String {
        self.name(&["x", "y", "noise", "eps", "out", "z", "sample", "mask", "batch", "h", "w"])
    }

    /// Names may be used again: another function begins.
    pub fn forget_names(&mut self, reserved: &[&str]) {
        self.taken = reserved.iter().map(|name| (*name).to_owned()).collect();
        let helpers: Vec<String> = self.helpers.iter().map(|helper| helper.name.clone()).collect();
        self.taken.extend(helpers);
    }

    /// Whether a mistake is due.
    pub fn slips(&mut self) -> bool {
        let chance = self.sloppiness;
        self.dice.percent(chance)
    }

    /// The expression of a key to consume; the scope takes note of it.
    pub fn take(&mut self, scope: &mut Scope) -> Option<String> {
        if !scope.used.is_empty() && self.slips() {
            let at = self.dice.below(scope.used.len());
            return Some(scope.used[at].clone());
        }
        if (scope.fresh.is_empty() || self.dice.percent(30)) && !scope.arrays.is_empty() {
            let at = self.dice.below(scope.arrays.len());
            let (array, length) = scope.arrays.remove(at);
            for index in 0..length {
                let spelt =
                    if index + 1 == length && self.dice.percent(40) { "-1".to_owned() } else { index.to_string() };
                scope.fresh.push(format!("{array}[{spelt}]"));
            }
        }
        if (scope.fresh.is_empty() || self.dice.percent(10))
            && let Some(folded) = self.fold(scope)
        {
            return Some(folded);
        }
        if scope.fresh.is_empty() {
            return None;
        }
        let at = self.dice.below(scope.fresh.len());
        let key = scope.fresh[at].clone();
        scope.consume(&key);
        Some(key)
    }

    /// A `fold_in` of a key that is kept for that.
    fn fold(&mut self, scope: &mut Scope) -> Option<String> {
        if scope.bases.is_empty() {
            return None;
        }
        let at = self.dice.below(scope.bases.len());
        let slip = self.slips();
        let (base, next) = &mut scope.bases[at];
        if !slip {
            *next += 1;
        }
        let data = next.to_string();
        Some(match scope.indices.last().filter(|_| scope.in_loop) {
            Some(index) => format!("R.fold_in(R.fold_in({base}, {data}), {index})"),
            None => format!("R.fold_in({base}, {data})"),
        })
    }

    /// A new key array's length.
    pub fn length(&mut self) -> usize {
        2 + self.dice.below(3)
    }

    /// An array at hand.
    pub fn value(&mut self, scope: &Scope) -> String {
        if scope.values.is_empty() {
            return self.dice.pick(&["jnp.zeros(3)", "jnp.ones((3,))", "jnp.full((3,), 0.5)"]).to_owned();
        }
        scope.values[self.dice.below(scope.values.len())].clone()
    }

    /// An expression that draws from a key.
    pub fn draw(&mut self, key: &str, scope: &Scope) -> String {
        let helpers: Vec<String> = self
            .helpers
            .iter()
            .filter(|helper| helper.effect == Effect::Draws)
            .map(|helper| helper.name.clone())
            .collect();
        if !helpers.is_empty() && self.dice.percent(25) {
            let helper = &helpers[self.dice.below(helpers.len())];
            let value = self.value(scope);
            return match self.dice.below(3) {
                0 => format!("{helper}({key}, {value})"),
                1 => format!("{helper}({key}, x={value})"),
                _ => format!("{helper}(key={key}, x={value})"),
            };
        }
        let value = self.value(scope);
        match self.dice.below(16) {
            0 => format!("R.uniform({key}, (3,))"),
            1 => format!("R.uniform({key}, shape=(3,), minval=-1.0, maxval=1.0)"),
            2 => format!("R.bernoulli({key}, 0.5, (3,))"),
            3 => format!("R.normal(key={key}, shape=(3,))"),
            4 => format!("R.randint({key}, (3,), 0, 10)"),
            5 => format!("{value} + 0.1 * R.normal({key}, {value}.shape)"),
            6 => format!("R.truncated_normal({key}, -2.0, 2.0, (3,))"),
            7 => format!("R.exponential({key}, (3,)) * {value}"),
            8 => format!("R.choice({key}, {value}, (3,))"),
            9 => format!("jnp.where(R.bernoulli({key}, 0.9, {value}.shape), {value}, 0.0)"),
            10 => format!("jnp.tanh(R.gumbel({key}, (3,)))"),
            11 => format!("{value}.at[0].add(R.normal({key}))"),
            12 => format!("R.normal({key}, (3,), dtype=jnp.float32)"),
            _ => format!("R.normal({key}, (3,))"),
        }
    }

    /// A condition and its negation, as text.
    pub fn condition(&mut self, scope: &Scope) -> (String, String) {
        let number = scope.numbers.first().cloned();
        let mode = scope.flags.iter().find(|flag| *flag == "mode").cloned();
        let flags: Vec<&String> = scope.flags.iter().filter(|flag| *flag != "mode").collect();
        match (self.dice.below(10), number, mode) {
            (0, _, Some(mode)) => (format!("{mode} == \"train\""), format!("{mode} != \"train\"")),
            (1, _, Some(mode)) => (format!("{mode} != \"eval\""), format!("{mode} == \"eval\"")),
            (2, Some(number), _) => (format!("{number} > 1"), format!("{number} <= 1")),
            (3, ..) if !scope.values.is_empty() => {
                let value = self.value(scope);
                (format!("{value}.mean() > 0"), format!("not {value}.mean() > 0"))
            }
            (4, ..) if scope.in_loop && !scope.indices.is_empty() => {
                let index = scope.indices[scope.indices.len() - 1].clone();
                (format!("{index} == 0"), format!("{index} != 0"))
            }
            (5, ..) if scope.in_loop && !scope.indices.is_empty() => {
                let index = scope.indices[scope.indices.len() - 1].clone();
                (format!("{index} % 2 == 0"), format!("{index} % 2 != 0"))
            }
            _ if flags.is_empty() => ("jnp.zeros(3).mean() > 0".to_owned(), "not jnp.zeros(3).mean() > 0".to_owned()),
            _ => {
                let flag = flags[self.dice.below(flags.len())].clone();
                if self.dice.percent(20) {
                    (format!("not {flag}"), flag)
                } else {
                    (flag.clone(), format!("not {flag}"))
                }
            }
        }
    }
}
