//! Whether names and annotations indicate that a value is a key.
//!
//! **Invariant:** a name alone never causes a finding; it is evidence in addition to a library in use or a parameter that nothing reads.

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::ir::Annotation;
use crate::models::Words;

/// Whether a value from outside is named like a key: a parameter or attribute by its name, any other by a name that
/// hardly anything but a key has.
pub fn is_named_for_a_key(
    words: &Words,
    (terms, otherwise): (&Terms, &FxHashSet<TermId>),
    term: TermId,
    written: Option<&str>,
) -> bool {
    let is_key = |name: &str| words.names_a_key(name) && !name.ends_with("seed");
    match terms.get(term) {
        _ if otherwise.contains(&term) => false,
        Term::Symbol(_) if terms.is_parameter(term) => terms.symbol(term).is_some_and(|info| is_key(&info.text)),
        Term::Attribute(_, name, _) => is_key(name),
        Term::Item(_, index, _) => {
            let called = written.and_then(|written| written.rsplit('.').next());
            matches!(terms.get(*index), Term::Text(name) if is_key(name))
                || called.is_some_and(|name| is_key(name) && name.contains("rng"))
        }
        _ => false,
    }
}

/// The members of a union annotation: `A | B`, `Union[A, B]`, `Optional[A]`.
pub fn members<'a>(words: &Words, annotation: &'a Annotation) -> Option<&'a [Annotation]> {
    annotation.members(|name| words.is_union(name))
}

/// Whether an annotation names one type, so that the annotated value is not `None`: `samples: jax.Array`, `samples: Float[Array, "n"]`.
pub fn excludes_none(words: &Words, annotation: &Annotation) -> bool {
    match annotation {
        Annotation::Path(path, _) => path.last().is_some_and(|name| !words.is_union(name) && !words.is_any_type(name)),
        Annotation::Subscript(base, _) => excludes_none(words, base),
        Annotation::Union(parts) => parts.iter().all(|part| excludes_none(words, part)),
        Annotation::Text(_) | Annotation::None | Annotation::Other => false,
    }
}

/// Whether an annotation says that a value may be an integer: `seed: int`, `seed: int | None`.
pub fn admits_an_integer(words: &Words, annotation: &Annotation) -> bool {
    match annotation {
        Annotation::Path(path, _) => path.last().is_some_and(|name| &**name == "int"),
        annotation => {
            members(words, annotation).is_some_and(|of| of.iter().any(|member| admits_an_integer(words, member)))
        }
    }
}

/// Whether an annotation names a type that is neither a key nor a seed: `key: str`, `rng: np.random.Generator`.
pub fn is_of_another_kind(words: &Words, annotation: &Annotation) -> bool {
    // `Generator | None`, `Optional[Generator]`
    if let Some(members) = members(words, annotation) {
        return members.iter().any(|member| is_of_another_kind(words, member));
    }
    match annotation {
        Annotation::Path(path, _) => path.last().is_some_and(|name| words.is_other_type(name)),
        // `tuple[int, int]`
        Annotation::Subscript(base, _) => is_of_another_kind(words, base),
        Annotation::Union(_) | Annotation::Text(_) | Annotation::None | Annotation::Other => false,
    }
}
