//! The key data of a derivation.
//!
//! **Invariant:** every key is that of the reference PRNG under JAX's defaults; if the derivation leaves anything open,
//! there is no key.

use crate::arrays::Map;
use crate::finding::{Derivation, DerivationKind};
use crate::prng::derive;
use crate::prng::implementation::Implementation;
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;

/// Most children of a key that are made to take one.
const CHILDREN: i128 = 1 << 16;

/// The key, or the two children of a `split` with an unknown number of children.
pub fn keys(derivation: &Derivation) -> Option<Keys> {
    match derivation.kind() {
        DerivationKind::Elsewhere | DerivationKind::Part(_) => None,
        DerivationKind::Seed(seed, implementation) => {
            let implementation = match implementation {
                Some(name) => Implementation::from_name(name).ok()?,
                None => Implementation::default(),
            };
            derive::key(Mode::default(), implementation, (*seed)?).ok()
        }
        DerivationKind::Children(parent) => derive::split(Mode::default(), &single(parent)?, &[2]).ok(),
        DerivationKind::Child(parent, index) => {
            let index =
                index.filter(|index| (0..CHILDREN).contains(index)).and_then(|index| usize::try_from(index).ok())?;
            let children = derive::split(Mode::default(), &single(parent)?, &[(index + 1).max(2)]).ok()?;
            let map = Map::element(children.shape(), 0, index)?;
            children.gather(&map.shape, &map.positions).ok()
        }
        DerivationKind::Fold(parent, data) => {
            derive::fold_in(&single(parent)?, derive::fold_in_data((*data)?).ok()?).ok()
        }
        DerivationKind::Clone(parent) => keys(parent),
    }
}

fn single(derivation: &Derivation) -> Option<Keys> {
    keys(derivation).filter(|keys| keys.shape().is_empty())
}
