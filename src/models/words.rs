//! Words that programs use for things that no library has a name for: what keys, targets and inverses are called.
//!
//! **Invariant:** a word alone makes no finding; whoever asks has other evidence beside it.

use serde::Deserialize;

/// The words of `[words]`, each a whole word of a name unless it says otherwise.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Words {
    /// Whole names of keys and seeds.
    keys: Vec<String>,
    /// Ends of such names.
    key_endings: Vec<String>,
    /// Parts of names that nothing but keys have.
    unmistakable_keys: Vec<String>,
    /// Last names of types that are neither keys nor seeds.
    other_types: Vec<String>,
    /// What a network is called that lags behind another.
    targets: Vec<String>,
    /// What the inverse of a function is called.
    inverses: Vec<String>,
    /// Beginnings of words that say the opposite of each other.
    opposites: Vec<[String; 2]>,
    /// Last names of base classes of tests.
    test_cases: Vec<String>,
}

fn holds(words: &[String], word: &str) -> bool {
    words.iter().any(|one| one == word)
}

impl Words {
    /// Adds the words of `other`.
    pub(super) fn merge(&mut self, other: Self) {
        self.keys.extend(other.keys);
        self.key_endings.extend(other.key_endings);
        self.unmistakable_keys.extend(other.unmistakable_keys);
        self.other_types.extend(other.other_types);
        self.targets.extend(other.targets);
        self.inverses.extend(other.inverses);
        self.opposites.extend(other.opposites);
        self.test_cases.extend(other.test_cases);
    }

    /// Whether a name says that it is that of a key or a seed. Evidence only for a parameter that nothing reads, and for what stands
    /// where a method takes its key.
    pub fn names_a_key(&self, name: &str) -> bool {
        let name = name.trim_start_matches('_');
        holds(&self.keys, name) || self.key_endings.iter().any(|end| name.ends_with(end.as_str()))
    }

    /// Whether nothing but a key has such a name.
    pub fn is_unmistakable(&self, name: &str) -> bool {
        self.unmistakable_keys.iter().any(|part| name.contains(part.as_str()))
    }

    /// Whether a type of this last name is neither that of a key nor that of a seed.
    pub fn is_other_type(&self, name: &str) -> bool {
        holds(&self.other_types, name)
    }

    /// Whether a base class of this last name is one of tests.
    pub fn is_test_case(&self, name: &str) -> bool {
        holds(&self.test_cases, name)
    }

    /// Whether a name says that it is that of a target: `target_critic`, `qf1_target_params`.
    pub fn says_target(&self, name: &str) -> bool {
        name.split('_').any(|word| self.targets.iter().any(|target| word.eq_ignore_ascii_case(target)))
    }

    /// Whether one of two names says the opposite of the other: `rotate` and `inverse_rotate`, `shuffle` and `unshuffle`, `encode` and
    /// `decode`.
    pub fn are_inverse(&self, one: &str, other: &str) -> bool {
        let words = |name: &str| -> Vec<String> {
            name.split('_').filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
        };
        let (one, other) = (words(one), words(other));
        let plain = |words: &[String]| -> Vec<String> {
            words.iter().filter(|word| !holds(&self.inverses, word)).cloned().collect()
        };
        let (a, b) = (plain(&one), plain(&other));
        if a.is_empty() || a.len() != b.len() {
            return false;
        }
        if one.len() - a.len() != other.len() - b.len() {
            return a == b;
        }
        let mut apart = a.iter().zip(&b).filter(|(a, b)| a != b);
        match (apart.next(), apart.next()) {
            (Some((a, b)), None) => self.is_opposite(a, b) || self.is_opposite(b, a),
            _ => false,
        }
    }

    fn is_opposite(&self, a: &str, b: &str) -> bool {
        self.opposites.iter().any(|[plain, opposite]| {
            let rests = (a.strip_prefix(plain.as_str()), b.strip_prefix(opposite.as_str()));
            matches!(rests, (Some(one), Some(other)) if one == other)
        })
    }
}
