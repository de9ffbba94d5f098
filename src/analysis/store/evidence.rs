//! Which terms may denote a key at all.
//!
//! **Invariant:** a term that may be a key is never ruled out by its name.

use crate::analysis::domain::marks::ELLIPSIS;
use crate::analysis::domain::term::{Term, TermId, Terms};

/// Whether a term may denote a key at all.
pub fn may_be_key(terms: &Terms, term: TermId) -> bool {
    match terms.get(term) {
        Term::None
        | Term::Bool(_)
        | Term::Int(_)
        | Term::Float(_)
        | Term::Text(_)
        | Term::Offset(..)
        | Term::Words(..)
        | Term::Operate(..) => false,
        Term::Symbol(_)
        | Term::Choice(_)
        | Term::Seed(_)
        | Term::Children(_)
        | Term::Child(..)
        | Term::Fold(..)
        | Term::Clone(..)
        | Term::Attribute(..)
        | Term::Item(..) => true,
        // `...` may stand for anything that is not written yet, and all of them are one term.
        Term::Apply(name, _) => !name.starts_with("jax.numpy") && &**name != ELLIPSIS,
    }
}
