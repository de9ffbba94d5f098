//! Reuse of the kinds that programs mostly mean.
//!
//! **Invariant:** each answer rests on what was consumed and how, never on a name of the program; what is meant is still told, as a note.

use std::collections::BTreeSet;

use crate::analysis::domain::term::{Term, TermId, place_key};
use crate::analysis::log::{Event, Iteration, Meeting};
use crate::finding::Place;

use super::Interp;

/// What a draw arranges, or chooses from.
#[derive(Clone, Debug)]
pub(super) struct Arranged {
    /// The array.
    pub(super) rows: TermId,
    /// The arguments beside key and array, by parameter.
    pub(super) others: Box<[Option<TermId>]>,
}

impl Interp<'_> {
    /// Whether two draws arrange, or choose from, the rows of two arrays in one way, so that what belongs together stays together:
    /// all arguments but the arrays are the same.
    /// A number of rows is no array, and what the calls around a draw gave is no other array.
    pub(super) fn keeps_rows_aligned(&self, meeting: &Meeting) -> bool {
        let (first, second) = (&self.log.events[meeting.first], &self.log.events[meeting.second]);
        let arranged = |event: usize| self.log.arranged.get(&event).filter(|arranged| !self.is_number(arranged.rows));
        let (Some(a), Some(b)) = (arranged(meeting.first), arranged(meeting.second)) else { return false };
        let (one, other) = (a.rows, b.rows);
        let calls: Vec<_> =
            [first, second].into_iter().flat_map(Self::chain).map(|(_, place)| place_key(place)).collect();
        let is_drawn = |term: TermId| {
            let made = self.terms.symbol(self.root_of(term)).and_then(|info| info.place);
            made.is_some_and(|made| calls.contains(&made))
        };
        first.callee == second.callee && a.others == b.others && one != other && !is_drawn(one) && !is_drawn(other)
    }

    /// Whether a key is made in a loop within `outer` by a call that makes keys of several seeds: the seeds are those of the inner
    /// loop, and each iteration of the outer one goes through them.
    pub(super) fn has_seeds_of_its_own(&self, event: &Event, outer: &Iteration) -> bool {
        let is_nested = event.iteration.as_ref().is_some_and(|inner| inner.instance != outer.instance);
        let seed = self.terms.ancestors(event.target.term).into_iter().chain([event.target.term]);
        let mut seed = seed.filter(|term| matches!(self.terms.get(*term), Term::Seed(_)));
        let Some(seed) = seed.next().filter(|_| is_nested) else { return false };
        let made = self.log.derivations.iter().filter(|derivation| derivation.term == seed);
        let places: BTreeSet<Place> = made.map(|derivation| derivation.place).collect();
        self.log.derivations.iter().any(|other| {
            other.term != seed && places.contains(&other.place) && matches!(self.terms.get(other.term), Term::Seed(_))
        })
    }

    /// Whether a term is evidently one number: a literal, a length, an element of a shape, or computed.
    fn is_number(&self, term: TermId) -> bool {
        match self.terms.get(term) {
            Term::Attribute(_, name, _) => matches!(&**name, "size" | "ndim"),
            Term::Item(of, ..) => matches!(self.terms.get(*of), Term::Attribute(_, name, _) if &**name == "shape"),
            Term::Apply(name, _) => &**name == "len",
            Term::Operate(_, parts) => parts.iter().all(|part| self.is_number(*part)),
            _ => self.terms.is_constant(term),
        }
    }
}
