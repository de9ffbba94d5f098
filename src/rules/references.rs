//! References to library names, grouped so that one cause makes one finding.
//!
//! **Invariant:** every matching reference is in at most one group, and groups keep source order. Only uses of an alias that the project
//! defines for a library name are in none: the line that defines it is.

use crate::judge::facts::{Facts, Reference, ReferenceKind};

/// A reference, and the later ones that follow from it.
pub(super) struct Group<'a> {
    /// The reference to report: an import, or a name that no matching import brings in.
    pub lead: &'a Reference,
    /// The uses of the imported name.
    pub uses: Vec<&'a Reference>,
}

/// Whether a reference is to a name that rules report.
pub(super) fn is_reported(reference: &Reference) -> bool {
    reference.reported.is_some()
}

/// Groups the references that `matches` admits, all of them to [reported names](is_reported): uses follow the import that brings them in.
///
/// A failing import hides its uses, since `from jax.random import KeyArray` raises before any of them runs.
pub(super) fn grouped(facts: &Facts, matches: impl Fn(&Reference) -> bool) -> Vec<Group<'_>> {
    let matching: Vec<&Reference> =
        facts.references.iter().filter(|reference| is_reported(reference) && matches(reference)).collect();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for &import in matching.iter().filter(|reference| reference.kind == ReferenceKind::Import) {
        groups.push(Group { lead: import, uses: Vec::new() });
    }
    for &reference in matching.iter().filter(|reference| reference.kind != ReferenceKind::Import) {
        match groups
            .iter_mut()
            .find(|group| group.lead.kind == ReferenceKind::Import && is_within(&reference.path, &group.lead.path))
        {
            Some(group) => group.uses.push(reference),
            None if is_alias(reference) => {}
            None => groups.push(Group { lead: reference, uses: Vec::new() }),
        }
    }
    groups.sort_by_key(|group| group.lead.place);
    groups
}

/// Whether a name is an alias for a path that no import of this file binds: `Key = jax.random.KeyArray`, here or in a module that this one
/// imports.
fn is_alias(reference: &Reference) -> bool {
    !reference.written.contains('.')
}

/// Whether `path` is `root` or below it.
pub(super) fn is_within(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
