//! Numbers that the later iterations of a loop take, and whether two loops take one of them both.
//!
//! **Invariant:** only loops count whose number of iterations is known and that no statement of their body leaves, so that a common number is one
//! that both do take, unless a condition keeps it out ([`holds`]).

use super::term::{Symbol, SymbolInfo, Term, TermId, Terms, is_small};
use crate::ir::Operator;

/// Deepest nesting of sums and products.
const DEPTH: u32 = 4;

/// Most iterations that are compared one by one.
const ENUMERATED: i128 = 4096;

/// The numbers `step * i + offset` for `i` from `first` to `last`; a constant has no step.
#[derive(Clone, Copy, Debug)]
struct Progression {
    /// The number of the iteration.
    of: Option<TermId>,
    step: i128,
    offset: i128,
    first: i128,
    last: i128,
}

/// Whether a number of one loop equals one of another, or a constant.
pub fn progressions_meet(terms: &Terms, a: TermId, b: TermId) -> bool {
    let (Some(a), Some(b)) = (progression(terms, a, DEPTH), progression(terms, b, DEPTH)) else { return false };
    // Numbers of one iteration are compared by their terms.
    a.of != b.of && meet(a, b).unwrap_or(false)
}

/// What the later iterations of a loop make of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It does not depend on the number of the iteration.
    Independently,
    /// It is true in all of them, or false in all.
    Always(bool),
    /// It may be true in some only.
    Sometimes,
}

/// In which of the later iterations that an index counts a condition holds.
pub fn holds(terms: &Terms, index: TermId, condition: TermId) -> Holds {
    let Some(Progression { of: Some(number), first, last, .. }) = progression(terms, index, DEPTH) else {
        return Holds::Independently;
    };
    if !terms.mentions(condition, &|part| part == number) {
        return Holds::Independently;
    }
    let Term::Operate(Operator::Lt, parts) = terms.get(condition) else { return Holds::Sometimes };
    let [a, b] = &**parts else { return Holds::Sometimes };
    let (Some(a), Some(b)) = (progression(terms, *a, DEPTH), progression(terms, *b, DEPTH)) else {
        return Holds::Sometimes;
    };
    // Both sides are lines, so their order is the same in between.
    let is_less = |at: i128| Some(a.step.checked_mul(at)? + a.offset < b.step.checked_mul(at)? + b.offset);
    match (is_less(first), is_less(last)) {
        (Some(one), Some(other)) if one == other => Holds::Always(one),
        _ => Holds::Sometimes,
    }
}

/// The numbers that a term takes in the later iterations of one loop.
fn progression(terms: &Terms, id: TermId, depth: u32) -> Option<Progression> {
    let depth = depth.checked_sub(1)?;
    match terms.get(id) {
        Term::Int(_) => Some(Progression { of: None, step: 0, offset: terms.as_int(id)?, first: 0, last: 0 }),
        Term::Symbol(_) => match terms.symbol(id)? {
            SymbolInfo { symbol: Symbol::Iteration { first, count: Some(count) }, .. } => {
                let (first, last) = (i128::from(*first), i128::from(*count) - 1);
                (first <= last).then_some(Progression { of: Some(id), step: 1, offset: 0, first, last })
            }
            _ => None,
        },
        Term::Offset(of, by) => {
            let of = progression(terms, *of, depth)?;
            Some(Progression { offset: small(of.offset.checked_add(*by))?, ..of })
        }
        Term::Operate(Operator::Mul, parts) => {
            let [a, b] = &**parts else { return None };
            let (of, by) = match (terms.as_int(*a), terms.as_int(*b)) {
                (_, Some(by)) => (*a, by),
                (Some(by), None) => (*b, by),
                (None, None) => return None,
            };
            let of = progression(terms, of, depth)?;
            Some(Progression { step: small(of.step.checked_mul(by))?, offset: small(of.offset.checked_mul(by))?, ..of })
        }
        _ => None,
    }
}

/// A number as small as those of [`Terms::as_int`]: the product of it and the number of an iteration is no overflow.
fn small(value: Option<i128>) -> Option<i128> {
    value.filter(is_small)
}

/// Whether two progressions have a common number; `None` if numbers are too large.
fn meet(a: Progression, b: Progression) -> Option<bool> {
    // The iterations of `a` whose number is between the ends of `b`.
    let offset = a.offset.checked_sub(b.offset)?;
    let ends = [b.first, b.last].map(|number| b.step.checked_mul(number)?.checked_sub(offset));
    let (least, most) = (ends[0]?.min(ends[1]?), ends[0]?.max(ends[1]?));
    let (first, last) = match a.step {
        0 if least <= 0 && 0 <= most => (a.first, a.first),
        0 => return Some(false),
        1.. => (div_ceil(least, a.step), most.div_euclid(a.step)),
        _ => (div_ceil(-most, -a.step), (-least).div_euclid(-a.step)),
    };
    let (first, last) = (first.max(a.first), last.min(a.last));
    // Whether `b` takes it repeats with the step of `b`.
    let last = last.min(first.checked_add(b.step.abs().clamp(1, ENUMERATED))?);
    Some((first..=last).any(|number| {
        let taken = a.step.checked_mul(number).and_then(|taken| taken.checked_add(offset));
        taken.is_some_and(|taken| taken == 0 || b.step != 0 && taken % b.step == 0)
    }))
}

/// The quotient of two numbers, rounded up; the divisor is positive.
fn div_ceil(number: i128, by: i128) -> i128 {
    -(-number).div_euclid(by)
}
