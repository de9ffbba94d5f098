//! Keys that are evaluated for hovers.

use keylint::engine::evaluated;
use keylint::finding::{Derivation, DerivationKind};

#[test]
fn complete_derivations_are_evaluated() {
    let of = |made: DerivationKind| Derivation::new(String::new(), made);
    let seed = |seed| of(DerivationKind::Seed(seed, None));
    let child = |index| of(DerivationKind::Child(Box::new(seed(Some(0))), index));
    let data = |derivation: &Derivation| evaluated(derivation, true).map(|(_, data)| data);
    assert_eq!(data(&seed(Some(0))).as_deref(), Some("[0, 0]"));
    // Under the default implementation a child does not depend on the number of children.
    assert_eq!(data(&child(Some(7))), data(&of(DerivationKind::Fold(Box::new(seed(Some(0))), Some(7)))));
    assert!(data(&child(Some(7))).is_some());
    for unknown in
        [child(None), seed(None), of(DerivationKind::Elsewhere), of(DerivationKind::Children(Box::new(seed(Some(0)))))]
    {
        assert_eq!(data(&unknown), None, "{unknown:?}");
    }
    assert_eq!(evaluated(&child(Some(1)), false), None);
}
