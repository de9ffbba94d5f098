//! In which versions of JAX two keys are equal: since 0.5, the children of a key do not depend on how many are made, and `fold_in` makes them too.
//!
//! **Invariant:** two splits count as equal in all versions only if they make equally many keys, as far as their function says.

use crate::analysis::record::{Consumption, Recording};
use crate::finding::Confidence;
use crate::ir::{Constant, OpKind, Temp, is_written_alike};
use crate::judge::facts::{Facts, ReuseKind, Role};

/// The first version of JAX in which `jax_threefry_partitionable` is the default.
const PARTITIONABLE: [u32; 3] = [0, 5, 0];

/// In which versions of JAX two keys, or the children of two splits, are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEquality {
    /// In all of them.
    Always,
    /// With `jax_threefry_partitionable`, the default since 0.5, which the project has.
    ByDefault,
    /// With it, but the project has an older version.
    Later,
}

impl Facts {
    /// The facts for the newest version of JAX that a project admits. Before 0.5, the children of a key depend on how many are made, and
    /// `fold_in` makes none of them: two different splits of one key become a mistake with the next version, and a fold and a split are none.
    #[must_use]
    pub fn for_version(mut self, newest: Option<[u32; 3]>) -> Self {
        if newest.is_some_and(|newest| newest < PARTITIONABLE) {
            self.reuses.retain_mut(|reuse| {
                let is_by_default = reuse.equality == KeyEquality::ByDefault;
                if is_by_default {
                    reuse.equality = KeyEquality::Later;
                    reuse.confidence = Confidence::Low;
                }
                !is_by_default || reuse.kind == ReuseKind::SplitTwice
            });
        }
        self.jax = newest;
        self
    }
}

/// In which versions the keys of two consumptions, or the children of two splits, are equal.
pub fn equality_of(run: &Recording<'_>, kind: ReuseKind, first: &Consumption, second: &Consumption) -> KeyEquality {
    let is_split = matches!(kind, ReuseKind::SplitTwice | ReuseKind::Iterated)
        && [first, second].iter().all(|event| event.role == Role::Split)
        && (first.place, &first.callee) != (second.place, &second.callee);
    let has_other_counts = is_split && !make_equally_many(run, first, second);
    let is_by_default = first.target.folded != second.target.folded || has_other_counts;
    if is_by_default { KeyEquality::ByDefault } else { KeyEquality::Always }
}

/// Whether two splits make equally many keys, or may do so for all that is written.
fn make_equally_many(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> bool {
    match (count(run, first), count(run, second)) {
        (Some(Count::Number(first)), Some(Count::Number(second))) => first == second,
        (Some(Count::Written(one)), Some(Count::Written(other))) if first.activation.id == second.activation.id => {
            is_written_alike(run.code(&first.activation), one, other)
        }
        (Some(Count::Number(_)), Some(Count::Written(_))) | (Some(Count::Written(_)), Some(Count::Number(_))) => false,
        _ => true,
    }
}

/// How many keys a split makes.
enum Count {
    Number(i128),
    /// What an operation of its function computes.
    Written(Temp),
}

fn count(run: &Recording<'_>, split: &Consumption) -> Option<Count> {
    let code = run.code(&split.activation);
    let call = run.call_at(&split.activation, split.place)?;
    let OpKind::Call(_, arguments) = &code.ops[call as usize].kind else { return None };
    match arguments.as_ref() {
        [_] => Some(Count::Number(2)),
        [_, number] => match &code.ops[number.value() as usize].kind {
            OpKind::Constant(Constant::Int(count)) => Some(Count::Number(**count)),
            _ => Some(Count::Written(number.value())),
        },
        _ => None,
    }
}
