//! What names and annotations of a program say of a value: whether it is a key.
//!
//! **Invariant:** a name alone makes no finding; it is evidence beside a library in use or a parameter that nothing reads.

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::ir::Annotation;
use crate::models::Words;

/// Whether something from outside is called a key: a parameter or attribute by its own name, any other by a name that is
/// hardly given to anything else.
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

/// Whether an annotation names one type, so that what it stands at is not `None`: `samples: jax.Array`, `samples: Float[Array, "n"]`.
pub fn excludes_none(annotation: &Annotation) -> bool {
    match annotation {
        Annotation::Path(path, _) => {
            path.last().is_some_and(|name| !matches!(&**name, "Any" | "Optional" | "Union" | "object"))
        }
        Annotation::Subscript(base, _) => excludes_none(base),
        Annotation::Union(parts) => parts.iter().all(excludes_none),
        Annotation::Text(_) | Annotation::None | Annotation::Other => false,
    }
}

/// Whether an annotation names what is neither a key nor a seed: `key: str`, `rng: np.random.Generator`.
pub fn is_of_another_kind(words: &Words, annotation: &Annotation) -> bool {
    let is_other = |annotation: &Annotation| is_of_another_kind(words, annotation);
    match annotation {
        Annotation::Path(path, _) => path.last().is_some_and(|name| words.is_other_type(name)),
        // `Generator | None`, `Optional[Generator]`, `tuple[int, int]`
        Annotation::Union(parts) => parts.iter().any(is_other),
        Annotation::Subscript(base, arguments) => {
            let is_optional =
                matches!(&**base, Annotation::Path(path, _) if path.last().is_some_and(|name| &**name == "Optional"));
            is_other(base) || is_optional && arguments.iter().any(is_other)
        }
        Annotation::Text(_) | Annotation::None | Annotation::Other => false,
    }
}
