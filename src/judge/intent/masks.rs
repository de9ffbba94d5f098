//! Two draws under masks that exclude each other: `normal(key) * (kind == 0) + uniform(key) * (kind == 1)`.
//!
//! **Invariant:** the masks compare one value with different constants.

use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::ir::{Constant, Function, OpKind, Operator, Temp, Uses, is_written_alike};
use crate::judge::intent::ALTERNATIVES;
use crate::judge::intent::pair::{Pair, STEPS, because, calls_apart};

/// Each of two draws is multiplied by a mask, and the masks compare one value with different constants:
/// `normal(key) * (kind == 0) + uniform(key) * (kind == 1)`.
pub fn masked(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let calls = calls_apart(run, pair, 0)?;
    let mask = |draw: Temp| mask_of(calls.code, &calls.uses, draw);
    let ((value, wanted), (other, unwanted)) = (mask(calls.once)?, mask(calls.again)?);
    let exclude = is_written_alike(calls.code, value, other) && wanted != unwanted;
    exclude.then(|| because(IntentKind::DisjointParts, ALTERNATIVES, calls.place(calls.once)))
}

/// The value and the constant that the mask of a draw compares.
fn mask_of<'c>(code: &'c Function, uses: &Uses, draw: Temp) -> Option<(Temp, &'c Constant)> {
    let mut temp = draw;
    for _ in 0..STEPS {
        let [reader] = uses.readers(temp) else { return None };
        match &code.ops[*reader as usize].kind {
            OpKind::Operate(Operator::Mul, [Some(left), Some(right)], _) => {
                let mask = if *left == temp { *right } else { *left };
                if let Some(found) = comparison(code, mask) {
                    return Some(found);
                }
            }
            // `uniform(key).astype(float)`, `2 * normal(key)`
            OpKind::Call(..) | OpKind::Operate(..) | OpKind::Attribute(..) => {}
            _ => return None,
        }
        temp = *reader;
    }
    None
}

/// The value and the constant of `value == constant`.
fn comparison(code: &Function, mask: Temp) -> Option<(Temp, &Constant)> {
    let OpKind::Operate(Operator::Eq, [Some(left), Some(right)], _) = &code.ops[mask as usize].kind else {
        return None;
    };
    let constant = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Constant(constant) => Some(constant),
        _ => None,
    };
    constant(*right).map(|constant| (*left, constant)).or_else(|| constant(*left).map(|constant| (*right, constant)))
}
