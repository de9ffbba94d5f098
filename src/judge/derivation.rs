//! How a key was derived, as described by its term.
//!
//! **Invariant:** a derivation has the structure of its term; its text is that of the term.

use crate::analysis::domain::marks::SEEDED;
use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::finding::{Derivation, DerivationKind};

/// Deepest nesting of derivations.
const DEPTH: u32 = 8;

/// The derivation of a key.
pub fn derivation(terms: &Terms, term: TermId) -> Derivation {
    derived(terms, term, DEPTH)
}

fn derived(terms: &Terms, term: TermId, depth: u32) -> Derivation {
    let text = terms.describe(term);
    let Some(depth) = depth.checked_sub(1) else { return Derivation::new(text, DerivationKind::Elsewhere) };
    let parent = |of: TermId| Box::new(derived(terms, of, depth));
    let number = |of: TermId| match terms.get(of) {
        Term::Int(number) => Some(*number),
        Term::Bool(flag) => Some(i128::from(*flag)),
        _ => None,
    };
    let made = match terms.get(term) {
        Term::Seed(seed) => match terms.get(*seed) {
            Term::Apply(name, parts) if &**name == SEEDED => match **parts {
                [seed, implementation] => match terms.get(implementation) {
                    Term::Text(name) => DerivationKind::Seed(number(seed), Some(name.to_string())),
                    _ => DerivationKind::Seed(None, None),
                },
                _ => DerivationKind::Seed(None, None),
            },
            _ => DerivationKind::Seed(number(*seed), None),
        },
        Term::Children(of) => DerivationKind::Children(parent(*of)),
        Term::Child(of, index) => DerivationKind::Child(parent(*of), number(*index)),
        Term::Fold(of, data) => DerivationKind::Fold(parent(*of), number(*data)),
        Term::Clone(of, _) => DerivationKind::Clone(parent(*of)),
        Term::Attribute(of, ..) | Term::Item(of, ..) | Term::Words(of, _) => DerivationKind::Part(parent(*of)),
        Term::Symbol(_)
        | Term::None
        | Term::Bool(_)
        | Term::Int(_)
        | Term::Float(_)
        | Term::Text(_)
        | Term::Offset(..)
        | Term::Apply(..)
        | Term::Operate(..)
        | Term::Choice(_) => DerivationKind::Elsewhere,
    };
    Derivation::new(text, made)
}

/// The number from which a key or family is made, if it is made from a seed.
pub fn seed_number(terms: &Terms, key: TermId) -> Option<TermId> {
    let Term::Seed(seed) = *terms.get(key) else { return None };
    match terms.get(seed) {
        Term::Apply(name, parts) if &**name == SEEDED => parts.first().copied(),
        _ => Some(seed),
    }
}
