//! Partially known numbers: an interval with excluded values, and residues.
//!
//! **Invariant:** a range or a set of residues is rejected only if it contains no number that the program can have.

use std::cmp::Ordering;

use super::term::{TermId, common_multiple};

/// Most integers of an interval that are checked against the excluded ones.
const FEW: i128 = 16;

/// Largest number that bounds are distinguished up to.
pub(super) const LARGEST: i128 = 1 << 52;

/// Zero, as an integer.
pub(super) const ZERO: Bound = Bound { at: 0.0, is_integer: true };

/// A bound, and whether the program writes it as an integer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    pub(super) at: f64,
    pub(super) is_integer: bool,
}

/// One constraint on a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Predicate {
    /// It equals (or is) a literal.
    Equals(TermId),
    /// It equals the number.
    Is(Bound),
    /// It is identical to the object with this number, to which others may be equal.
    Same(Bound),
    /// It is below the number.
    Below(Bound),
    /// It is above the number.
    Above(Bound),
    /// It equals one of the literals of the tuple.
    Among(TermId),
    /// It is an instance of the class.
    Instance(TermId),
    /// It is true.
    True,
}

/// What is known about a number, from all constraints on it.
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether the bounds themselves are excluded.
    pub(super) is_open: [bool; 2],
    pub(super) without: Vec<f64>,
    /// Whether the program compares it with integers only.
    pub(super) is_integer: bool,
    /// Whether anything is known.
    pub(super) is_known: bool,
}

impl Range {
    pub(super) fn all() -> Self {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        Self { low, high, is_open: [false; 2], without: Vec::new(), is_integer: true, is_known: false }
    }

    pub(super) fn counting() -> Self {
        Self { low: 0.0, ..Self::all() }
    }

    /// The same, unless the number is written as another kind.
    pub(super) fn add_integer(&mut self, predicate: Predicate, polarity: bool) {
        if let Predicate::Is(bound) | Predicate::Same(bound) | Predicate::Below(bound) | Predicate::Above(bound) =
            predicate
            && bound.is_integer
        {
            self.add(predicate, polarity);
        }
    }

    pub(super) fn add(&mut self, predicate: Predicate, polarity: bool) {
        let (bound, edges) = match (predicate, polarity) {
            (Predicate::Is(bound) | Predicate::Same(bound), true) => {
                (bound, [Some((bound.at, false)), Some((bound.at, false))])
            }
            (Predicate::Is(bound), false) => {
                self.without.push(bound.at);
                (bound, [None, None])
            }
            (Predicate::Below(bound), true) => (bound, [None, Some((bound.at, true))]),
            (Predicate::Below(bound), false) => (bound, [Some((bound.at, false)), None]),
            (Predicate::Above(bound), true) => (bound, [Some((bound.at, true)), None]),
            (Predicate::Above(bound), false) => (bound, [None, Some((bound.at, false))]),
            _ => return,
        };
        self.is_known = true;
        self.is_integer &= bound.is_integer;
        let [low, high] = edges;
        if let Some((at, is_open)) = low
            && (at > self.low || at.total_cmp(&self.low) == Ordering::Equal && is_open)
        {
            (self.low, self.is_open[0]) = (at, is_open);
        }
        if let Some((at, is_open)) = high
            && (at < self.high || at.total_cmp(&self.high) == Ordering::Equal && is_open)
        {
            (self.high, self.is_open[1]) = (at, is_open);
        }
    }

    /// Its least and greatest integer, where it holds integers and they are known.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "bounds are small integers, or infinite, which is asked before"
    )]
    fn integers(&self) -> [Option<i128>; 2] {
        let edge = |at: f64, is_open: bool, inwards: i128| {
            let is_exact = at.abs() < 9e15;
            is_exact.then(|| if is_open { at as i128 + inwards } else { at as i128 })
        };
        [edge(self.low, self.is_open[0], 1), edge(self.high, self.is_open[1], -1)]
    }

    /// Its integers, where they are few.
    fn few(&self) -> Option<impl Iterator<Item = i128>> {
        let [Some(low), Some(high)] = self.integers() else { return None };
        (high - low < FEW).then(|| (low..=high).filter(|number| self.has(*number)))
    }

    pub(super) fn is_empty(&self) -> bool {
        if !self.is_integer {
            let is_point = self.low.total_cmp(&self.high) == Ordering::Equal;
            return self.low > self.high
                || is_point && (self.is_open != [false; 2] || self.without.contains(&self.low));
        }
        let [Some(low), Some(high)] = self.integers() else { return false };
        low > high || self.few().is_some_and(|mut few| few.next().is_none())
    }

    /// Whether it is one number.
    fn is_point(&self) -> bool {
        match self.integers() {
            [Some(low), Some(high)] => low == high,
            _ => false,
        }
    }

    /// Whether it can be this integer.
    fn has(&self, number: i128) -> bool {
        let [low, high] = self.integers();
        low.is_none_or(|low| low <= number)
            && high.is_none_or(|high| number <= high)
            && !self.without.iter().any(|other| other.total_cmp(&as_float(number)).is_eq())
    }

    /// Whether the value can be this number, whether integer or float.
    pub(super) fn reaches(&self, number: f64) -> bool {
        self.low <= number && number <= self.high && !self.without.contains(&number)
    }

    /// Whether it can only be zero, or cannot be.
    pub(super) fn is_zero(&self) -> Option<bool> {
        if !self.is_known {
            return None;
        }
        let is_left_out = |side: usize, edge: f64| self.is_open[side] && edge.total_cmp(&0.0).is_eq();
        if is_left_out(0, self.low) || is_left_out(1, self.high) {
            return Some(false);
        }
        if self.low > 0.0 || self.high < 0.0 || self.is_integer && self.integers()[0].is_some_and(|low| low > 0) {
            return Some(false);
        }
        if self.is_integer && self.integers() == [Some(0), Some(0)] {
            return Some(true);
        }
        None
    }
}

/// What remains of a number, by what it is divided by and what is added before.
#[derive(Default)]
pub(super) struct Residues(Vec<([i128; 2], Range)>);

/// Most numbers that are tried for remainders.
const TRIED: i128 = 256;

impl Residues {
    pub(super) fn add(&mut self, [divisor, shift]: [i128; 2], predicate: Predicate, polarity: bool) {
        let at = self.0.iter().position(|(other, _)| *other == [divisor, shift]).unwrap_or_else(|| {
            let rest = Range { high: as_float(divisor), is_open: [false, true], ..Range::counting() };
            self.0.push(([divisor, shift], rest));
            self.0.len() - 1
        });
        match predicate {
            Predicate::True => self.0[at].1.add(Predicate::Is(ZERO), !polarity),
            predicate => self.0[at].1.add(predicate, polarity),
        }
    }

    /// Whether some number of a range leaves them. A number that is compared like a rate need not be an integer, unless
    /// it counts.
    pub(super) fn agree(&self, of: &Range, counts: bool) -> bool {
        let is_fraction = |rest: &Range| !rest.is_integer || rest.low < rest.high && rest.high <= 1.0;
        if self.0.is_empty() || !of.is_integer || !counts && self.0.iter().any(|(_, rest)| is_fraction(rest)) {
            return true;
        }
        // Numbers with exactly these remainders are a fixed distance apart.
        let (mut first, mut step) = (0, 1);
        for ([divisor, shift], rest) in self.0.iter().filter(|(_, rest)| rest.is_point()) {
            let Some(rest) = rest.integers()[0] else { continue };
            let Some(both) = congruent([first, step], [rest - shift, *divisor]) else { return false };
            [first, step] = both;
            if step > LARGEST {
                return true;
            }
        }
        let period = self.0.iter().fold(step, |all, ([divisor, _], _)| common_multiple(all, *divisor));
        let leaves = |number: i128| {
            self.0.iter().all(|([divisor, shift], rest)| rest.has((number + shift).rem_euclid(*divisor)))
        };
        let [low, high] = of.integers();
        let from = low.or(high.map(|high| high - TRIED.saturating_mul(step))).unwrap_or(0);
        let start = from + (first - from).rem_euclid(step);
        for tried in 0..TRIED {
            let number = start + tried * step;
            if high.is_some_and(|high| number > high) {
                return false;
            }
            if of.has(number) && leaves(number) {
                return true;
            }
            if tried * step >= period && of.without.is_empty() {
                return false;
            }
        }
        true
    }
}

/// The numbers congruent to both, as the least of them from 0 on and their distance; `None` where there are none.
fn congruent([a, m]: [i128; 2], [b, n]: [i128; 2]) -> Option<[i128; 2]> {
    let both = common_multiple(m, n);
    let divisor = m.saturating_mul(n) / both;
    if (a - b).rem_euclid(divisor) != 0 {
        return None;
    }
    // One of the first `n / divisor` steps of the first reaches the second.
    let (mut low, mut steps) = (a.rem_euclid(m), n / divisor);
    while (low - b).rem_euclid(n) != 0 && steps > 0 && steps <= LONGEST {
        low += m;
        steps -= 1;
    }
    Some(if (low - b).rem_euclid(n) == 0 { [low, both] } else { [a.rem_euclid(m), m] })
}

/// Most steps in the search for a common value of two residues.
const LONGEST: i128 = 1 << 12;

#[expect(clippy::cast_precision_loss, reason = "the number is below 2^53")]
pub(super) fn as_float(number: i128) -> f64 {
    number as f64
}
