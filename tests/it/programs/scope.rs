//! The names that generated code may use at a point of the program.
//!
//! **Invariant:** a name is in scope only if it is bound on every path to this point.

/// The names at one place of a function.
#[derive(Clone, Default)]
pub struct Scope {
    /// Expressions for keys that nothing has consumed, as far as the generator knows.
    pub fresh: Vec<String>,
    /// Expressions for keys that were consumed.
    pub used: Vec<String>,
    /// Keys that are fresh on the paths on which a condition does not hold.
    pub fresh_unless: Vec<(String, String)>,
    /// Key arrays that nothing has consumed, with their length.
    pub arrays: Vec<(String, usize)>,
    /// Keys of which only `fold_in` is taken, with the next constant.
    pub bases: Vec<(String, usize)>,
    /// Arrays of shape `(3,)`.
    pub values: Vec<String>,
    /// Booleans.
    pub flags: Vec<String>,
    /// Small numbers.
    pub numbers: Vec<String>,
    /// The indices of the loops around, innermost last.
    pub indices: Vec<String>,
    /// Whether `return` is allowed, and what it must return.
    pub result: Option<String>,
    pub in_loop: bool,
}

impl Scope {
    /// The scope after two paths join.
    pub fn join(mut self, other: &Self) -> Self {
        let gone: Vec<String> = self.fresh.iter().filter(|key| !other.fresh.contains(key)).cloned().collect();
        self.fresh.retain(|key| other.fresh.contains(key));
        self.used.retain(|key| other.used.contains(key) || other.fresh.contains(key));
        self.used.extend(gone.into_iter().filter(|key| other.used.contains(key)));
        self.fresh_unless.retain(|pair| other.fresh_unless.contains(pair));
        self.arrays.retain(|array| other.arrays.contains(array));
        self.bases.retain(|base| other.bases.contains(base));
        self.values.retain(|value| other.values.contains(value));
        self.flags.retain(|flag| other.flags.contains(flag));
        self.numbers.retain(|number| other.numbers.contains(number));
        self
    }

    /// The scope of a body that may run again: it must not consume keys that are fresh outside.
    pub fn repeated(&self) -> Self {
        let mut inner = self.clone();
        inner.used.append(&mut inner.fresh);
        inner.fresh_unless.clear();
        inner.arrays.clear();
        inner.bases.clear();
        inner
    }

    /// Marks a key as consumed.
    pub fn consume(&mut self, key: &str) {
        self.fresh.retain(|other| other != key);
        self.used.retain(|other| other != key);
        self.used.push(key.to_owned());
    }

    /// A name is bound to a key that is new.
    pub fn bind(&mut self, key: &str) {
        self.forget(key);
        self.fresh.push(key.to_owned());
    }

    /// A name is bound to something else: nothing is known about it or about values that are reached through it.
    pub fn forget(&mut self, name: &str) {
        let is_of =
            |key: &String| key == name || key.starts_with(&format!("{name}.")) || key.starts_with(&format!("{name}["));
        self.fresh.retain(|key| !is_of(key));
        self.used.retain(|key| !is_of(key));
        self.fresh_unless.retain(|(_, key)| !is_of(key));
        self.arrays.retain(|(array, _)| array != name);
        self.bases.retain(|(base, _)| base != name);
    }
}
