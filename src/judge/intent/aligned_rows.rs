//! Rows that stay together: one permutation of inputs and labels, or of all leaves of a tree.
//!
//! **Invariant:** all arguments but the arrays are the same.

use crate::analysis::domain::term::{Term, TermId, place_key};
use crate::analysis::record::{Consumption, Recording};
use crate::judge::reuse::Reuse;

/// Whether two draws arrange, or choose from, the rows of two arrays in one way, so that what belongs together stays together:
/// all arguments but the arrays are the same.
/// A number of rows is no array, and what the calls around a draw gave is no other array.
pub fn keeps_rows_aligned(run: &Recording<'_>, reuse: Reuse) -> bool {
    let (first, second) = (&run.log.consumptions[reuse.first], &run.log.consumptions[reuse.second]);
    let arranged = |event: usize| run.log.arranged.get(&event);
    let (Some(a), Some(b)) = (arranged(reuse.first), arranged(reuse.second)) else { return false };
    let (one, other) = (a.rows, b.rows);
    if one == other {
        return a.others == b.others && are_of_one_tree(run, first, second);
    }
    if is_number(run, one) || is_number(run, other) {
        return false;
    }
    let calls: Vec<_> =
        [first, second].into_iter().flat_map(Consumption::chain).map(|(_, place)| place_key(place)).collect();
    let is_drawn = |term: TermId| {
        let made = run.terms.symbol(run.terms.root(term)).and_then(|info| info.place);
        made.is_some_and(|made| calls.contains(&made))
    };
    first.callee == second.callee && a.others == b.others && !is_drawn(one) && !is_drawn(other)
}

/// Whether two draws happen at one place, for two leaves of one tree:
/// `tree.map(lambda x: jnp.take(x, permutation(key, n), axis=0), batch)`.
fn are_of_one_tree(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> bool {
    let leaf = |event: &Consumption| event.iteration.clone().filter(|leaf| run.log.trees.contains_key(&leaf.place));
    let (Some(one), Some(other)) = (leaf(first), leaf(second)) else { return false };
    first.place == second.place && one.instance == other.instance
}

/// Whether a term is evidently one number: a literal, a length, an element of a shape, or computed.
fn is_number(run: &Recording<'_>, term: TermId) -> bool {
    match run.terms.get(term) {
        Term::Attribute(_, name, _) => matches!(&**name, "size" | "ndim"),
        Term::Item(of, ..) => matches!(run.terms.get(*of), Term::Attribute(_, name, _) if &**name == "shape"),
        Term::Apply(name, _) => &**name == "len",
        Term::Operate(_, parts) => parts.iter().all(|part| is_number(run, *part)),
        _ => run.terms.is_constant(term),
    }
}
