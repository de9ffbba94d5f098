//! Which keys of an array a consumption covers, and whether two consumptions must share one.
//!
//! **Invariant:** [`must_overlap`] returns `true` only if every run in which both consumptions happen has a key in both. Two views are
//! assumed not to be empty: a program that maps over an empty array of keys draws nothing. A consumption of a later iteration is assumed to
//! happen in each of them.

use super::progression::progressions_meet;
use super::term::{TermId, Terms};

/// Keys of one family (the children of one key, or the elements of one array that came from outside).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// The family is a single key.
    Single,
    /// The element with this index.
    Index(TermId),
    /// Elements `start, start + step, …`, `length` of them where it is known.
    Range {
        /// First index.
        start: TermId,
        /// Difference of neighbours, not zero.
        step: i64,
        /// Number of elements, where it is known.
        length: Option<TermId>,
        /// Whether the last element of the family, or its neighbour within a step, is covered.
        to_end: bool,
    },
    /// Some elements, at least one; it is unknown which.
    Some,
}

impl Extent {
    /// All elements.
    pub fn whole(terms: &mut Terms, length: Option<TermId>) -> Self {
        Self::Range { start: terms.int(0), step: 1, length, to_end: true }
    }

    /// Whether it certainly covers every element of the family.
    pub fn is_whole(self, terms: &Terms) -> bool {
        matches!(self, Self::Range { start, step: 1, to_end: true, .. } if terms.as_int(start) == Some(0))
    }
}

/// Largest number of elements that is enumerated to compare two strided views.
const ENUMERATED: i128 = 64;

/// Whether two consumptions of one family must share a key.
pub fn must_overlap(terms: &Terms, a: Extent, b: Extent) -> bool {
    match (a, b) {
        (Extent::Single, _) | (_, Extent::Single) => true,
        (Extent::Some, other) | (other, Extent::Some) => other.is_whole(terms),
        (Extent::Index(i), Extent::Index(j)) => i == j || progressions_meet(terms, i, j),
        (Extent::Index(i), range @ Extent::Range { .. }) | (range @ Extent::Range { .. }, Extent::Index(i)) => {
            range.is_whole(terms) && within_length(terms, i, range) || contains(terms, range, i)
        }
        (Extent::Range { .. }, Extent::Range { .. }) => ranges_overlap(terms, a, b),
    }
}

/// Whether an index that is known to be in range of *a* split can be shown to be within this whole range too: with unequal
/// lengths only an index below both is.
fn within_length(terms: &Terms, index: TermId, range: Extent) -> bool {
    let Extent::Range { length, .. } = range else { return false };
    match (terms.as_int(index), length.and_then(|length| terms.as_int(length))) {
        (Some(index), Some(length)) => index < length,
        _ => true,
    }
}

fn contains(terms: &Terms, range: Extent, index: TermId) -> bool {
    let Extent::Range { start, step, length, to_end } = range else { return false };
    if start == index || step == 1 && is_last(terms, start, length, index) {
        return true;
    }
    let Some(offset) = terms.difference(index, start) else { return false };
    let step = i128::from(step);
    if step == 0 || offset % step != 0 || offset / step < 0 {
        return false;
    }
    let place = offset / step;
    match length.map(|length| (terms.as_int(length), least(terms, length))) {
        Some((Some(length), _)) => place < length,
        Some((None, least)) if place < least => true,
        _ => to_end && step > 0,
    }
}

/// The least number of keys that a term is assumed to stand for: what comes from outside counts as at least one, so `n + 1` as two.
fn least(terms: &Terms, length: TermId) -> i128 {
    terms.split_offset(length).1.saturating_add(1)
}

/// Whether an index is that of the last of so many neighbours.
fn is_last(terms: &Terms, start: TermId, length: Option<TermId>, index: TermId) -> bool {
    let (Some(start), Some(length)) = (terms.as_int(start), length) else { return false };
    terms.difference(index, length) == Some(start - 1)
}

fn ranges_overlap(terms: &Terms, a: Extent, b: Extent) -> bool {
    let (
        Extent::Range { start: start_a, step: step_a, length: length_a, to_end: end_a },
        Extent::Range { start: start_b, step: step_b, length: length_b, to_end: end_b },
    ) = (a, b)
    else {
        return false;
    };
    if a.is_whole(terms) || b.is_whole(terms) || start_a == start_b {
        return true;
    }
    // The first element of one is in the other: `keys[:n]`, `keys[n - 1:]`.
    if contains(terms, a, start_b) || contains(terms, b, start_a) {
        return true;
    }
    let bounds = |length: Option<TermId>| length.and_then(|length| terms.as_int(length));
    if let Some(offset) = terms.difference(start_b, start_a) {
        // Indices relative to the start of `a`.
        let known_a = bounds(length_a);
        let known_b = bounds(length_b);
        if step_a == 1 && step_b == 1 {
            let before_end_of_a = known_a.map_or(end_a, |length| offset < length);
            let before_end_of_b = known_b.map_or(end_b, |length| -offset < length);
            return if offset >= 0 { before_end_of_a } else { before_end_of_b };
        }
        let count =
            |known: Option<i128>, to_end: bool| known.or(to_end.then_some(ENUMERATED)).map(|n| n.min(ENUMERATED));
        if let (Some(count_a), Some(count_b)) = (count(known_a, end_a), count(known_b, end_b)) {
            return (0..count_a)
                .any(|i| (0..count_b).any(|j| i * i128::from(step_a) == offset + j * i128::from(step_b)));
        }
        return false;
    }
    // `keys[m:]` and `keys[n:]` share the last key.
    end_a && end_b && step_a == 1 && step_b == 1
}
