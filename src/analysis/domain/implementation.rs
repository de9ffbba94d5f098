//! The PRNG implementation of a key, according to its derivation.
//!
//! **Invariant:** a derived key has the implementation of its parent; the implementation of a key from outside is unknown.

use super::marks::SEEDED;
use super::term::{Term, TermId, Terms};

/// Longest chain of derivations that is followed.
const DEPTH: usize = 128;

/// What a derivation reveals about the implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Implementation {
    /// None was named.
    Default,
    /// This one was named.
    Given(TermId),
}

/// The implementation of a key, an array of keys, or their words. `wraps` tells whether a library function makes keys from words.
pub fn implementation(terms: &Terms, key: TermId, wraps: &dyn Fn(&str) -> bool) -> Option<Implementation> {
    let mut current = key;
    for _ in 0..DEPTH {
        current = match terms.get(current) {
            Term::Seed(number) => {
                return Some(match terms.get(*number) {
                    Term::Apply(name, parts) if &**name == SEEDED => Implementation::Given(parts[1]),
                    _ => Implementation::Default,
                });
            }
            Term::Apply(path, parts) if wraps(path) => {
                return Some(parts.get(1).copied().map_or(Implementation::Default, Implementation::Given));
            }
            Term::Words(of, None) | Term::Item(of, ..) => *of,
            _ => terms.parent(current)?,
        };
    }
    None
}
