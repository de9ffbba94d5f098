//! Tests of `finding::Derivation`.

use keylint::finding::{Derivation, DerivationKind};

#[test]
fn derivations_contain_their_parents() {
    let of = |text: &str, made: DerivationKind| Derivation::new(text.to_owned(), made);
    let root = of("key(0)", DerivationKind::Seed(Some(0), None));
    let all = of("split(key(0))", DerivationKind::Children(Box::new(root.clone())));
    let child = of("split(key(0))[1]", DerivationKind::Child(Box::new(root.clone()), Some(1)));
    let folded = of("fold_in(split(key(0))[1], 2)", DerivationKind::Fold(Box::new(child.clone()), Some(2)));
    assert!(child.is_made_of(&root) && child.is_made_of(&all) && folded.is_made_of(&root));
    assert!(!root.is_made_of(&root) && !all.is_made_of(&child) && !root.is_made_of(&folded));
    assert!(folded.is_split() && !root.is_split());
}
