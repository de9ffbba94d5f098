//! Tests of `finding::Derivation`.

use keylint::finding::{Derivation, Made};

#[test]
fn derivations_contain_their_parents() {
    let of = |text: &str, made: Made| Derivation::new(text.to_owned(), made);
    let root = of("key(0)", Made::Seed(Some(0), None));
    let all = of("split(key(0))", Made::Children(Box::new(root.clone())));
    let child = of("split(key(0))[1]", Made::Child(Box::new(root.clone()), Some(1)));
    let folded = of("fold_in(split(key(0))[1], 2)", Made::Fold(Box::new(child.clone()), Some(2)));
    assert!(child.is_made_of(&root) && child.is_made_of(&all) && folded.is_made_of(&root));
    assert!(!root.is_made_of(&root) && !all.is_made_of(&child) && !root.is_made_of(&folded));
    assert!(folded.is_split() && !root.is_split());
}
