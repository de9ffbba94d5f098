//! Backward slices within a function: what a value is computed from.
//!
//! **Invariant:** a variable stands for everything that the function stores in it, on any path; captured variables and calls are not followed.

use rustc_hash::FxHashSet;

use crate::ir::{Function, OpKind, Temp, Uses, Variable};

/// Most operations of a slice.
const SLICE: usize = 256;

/// Whether a value may be computed from an operation that satisfies a predicate; `None` if the slice is too large.
pub fn is_computed_from(
    (code, uses): (&Function, &Uses),
    value: Temp,
    is_source: &dyn Fn(Temp, &OpKind) -> bool,
) -> Option<bool> {
    let (mut work, mut seen) = (vec![value], FxHashSet::default());
    while let Some(temp) = work.pop() {
        if !seen.insert(temp) {
            continue;
        }
        if seen.len() > SLICE {
            return None;
        }
        match &code.ops[temp as usize].kind {
            kind if is_source(temp, kind) => return Some(true),
            OpKind::Load(Variable::Local(slot)) => work.extend(uses.stores_of(*slot)),
            kind => kind.operands(&mut |operand| work.push(operand)),
        }
    }
    Some(false)
}
