//! Rows that stay together: one permutation of inputs and labels, or of all leaves of a tree.
//!
//! **Invariant:** all arguments but the arrays are the same.

use std::rc::Rc;

use crate::analysis::domain::term::{PlaceKey, Term, TermId, place_key};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::record::{Consumption, Iteration, Recording, Stage};
use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{Annotation, Function, OpKind, Temp, Variable};
use crate::judge::intent::{Pair, intent};

/// Two draws reorder the rows of two arrays, or choose from them, in the same way, so that rows that belong together
/// stay together: all arguments but the arrays are the same. A number of rows does not count as an array, unless one
/// function counts the rows of both arrays and chooses the same rows of each. A result of the calls around a draw does
/// not count as another array, and neither do two parts of one array that iterations of a loop take.
pub fn aligned_rows(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let arranged = |consumption: usize| run.log.row_selections.get(&consumption);
    let (a, b) = (arranged(pair.reuse.first)?, arranged(pair.reuse.second)?);
    let are_aligned = a.others == b.others
        && (are_of_one_tree(run, pair)
            || a.rows != b.rows && are_of_two_arrays(run, pair, [a.rows, b.rows])
            || are_counted_by_one_function(run, pair, [a.rows, b.rows])
            || a.rows == b.rows && select_from_two_arrays(run, pair));
    are_aligned.then(|| intent(IntentKind::AlignedRows, pair.first.place))
}

/// Whether two draws reorder two arrays, neither of which comes from the enclosing calls. Each may reorder what it returned in an earlier
/// iteration.
fn are_of_two_arrays(run: &Recording<'_>, pair: &Pair<'_>, rows: [TermId; 2]) -> bool {
    let (first, second) = (pair.first, pair.second);
    let calls: Vec<_> =
        [first, second].into_iter().flat_map(Consumption::chain).map(|(_, place)| place_key(place)).collect();
    let is_drawn = |term: TermId, draw: &Consumption| {
        let made = run.terms.symbol(run.terms.root(term)).and_then(|info| info.place);
        let is_own = |made: PlaceKey| first.place != second.place && made == place_key(draw.place);
        made.is_some_and(|made| calls.contains(&made) && !is_own(made))
    };
    let is_computed = |rows: TermId| pair.repeated_by.is_some() && is_part(run, rows);
    // A loop within the one that repeats the draws goes through the same arrays again.
    let is_inner = |outer: &Rc<Iteration>| first.iterations().first().is_some_and(|inner| inner.place != outer.place);
    !pair.repeated_by.as_ref().is_some_and(is_inner)
        && first.callee == second.callee
        && !rows.into_iter().any(|rows| is_number(run, rows) || is_computed(rows))
        && !rows.into_iter().zip([first, second]).any(|(rows, draw)| is_drawn(rows, draw))
}

/// Whether two calls of one function each choose from the rows of another array, by their number:
/// `x[choice(key, len(x), (n,))]`.
fn are_counted_by_one_function(run: &Recording<'_>, pair: &Pair<'_>, [one, other]: [TermId; 2]) -> bool {
    let arrays = counted(run, one).zip(counted(run, other));
    pair.first.place == pair.second.place
        && pair.repeated_by.is_none()
        && arrays.is_some_and(|(one, other)| one != other)
}

/// Whether two draws in one body are only indices of two arrays: `x[permutation(key, n)], y[permutation(key, n)]`, or of all arrays that a
/// comprehension goes through.
fn select_from_two_arrays(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let (first, second) = (pair.first, pair.second);
    if first.activation.id != second.activation.id {
        return false;
    }
    let activation = &first.activation;
    let (code, uses) = (run.code(activation), run.uses_of(activation.module, activation.function));
    let array = |event: &Consumption| {
        let drawn = run.call_at(activation, event.place)?;
        let [reader] = uses.readers(drawn) else { return None };
        match code.ops[*reader as usize].kind {
            OpKind::Item(of, index) if index == drawn => Some(&code.ops[of as usize].kind),
            _ => None,
        }
    };
    // The place of a comprehension contains its element, and that of a `for` statement does not contain its body.
    let is_in_comprehension = |head: Place| head.file == first.place.file && head.span.covers(first.place.span);
    let is_element_of = |head: Place, array: &OpKind| match array {
        OpKind::Load(Variable::Local(slot)) => {
            let bound = uses.stores_of(*slot).iter().filter(|store| is_next(code, **store));
            { bound }.any(|store| is_bound_by(code, head, *store))
        }
        _ => false,
    };
    match &pair.repeated_by {
        _ if first.place != second.place => array(first).zip(array(second)).is_some_and(|(one, other)| one != other),
        Some(iteration) => {
            let head = iteration.place;
            is_in_comprehension(head) && array(first).is_some_and(|array| is_element_of(head, array))
        }
        None => false,
    }
}

/// Whether a loop itself binds a variable with an operation, not a loop within it.
fn is_bound_by(code: &Function, head: Place, store: Temp) -> bool {
    code.ops.iter().any(|op| match &op.kind {
        OpKind::Loop { body, .. } => op.span == head.span && body.contains(&store),
        _ => false,
    })
}

/// Whether an operation stores the next element of an iterator.
fn is_next(code: &Function, store: Temp) -> bool {
    match code.ops[store as usize].kind {
        OpKind::Store(_, value) => matches!(code.ops[value as usize].kind, OpKind::Next(_)),
        _ => false,
    }
}

/// The array whose rows a number counts: `len(x)`, `x.shape[0]`.
fn counted(run: &Recording<'_>, number: TermId) -> Option<TermId> {
    match run.terms.get(number) {
        Term::Apply(name, parts) if &**name == "len" => parts.first().copied(),
        Term::Item(shape, index, _) if run.terms.as_int(*index) == Some(0) => match run.terms.get(*shape) {
            Term::Attribute(array, name, _) if &**name == "shape" => Some(*array),
            _ => None,
        },
        _ => None,
    }
}

/// Whether two draws happen at one place, for two leaves of a tree: `tree.map(lambda x: jnp.take(x, permutation(key,
/// n), axis=0), batch)`.
fn are_of_one_tree(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let leaf = |event: &Consumption| event.iteration.clone().filter(|leaf| run.log.trees.contains_key(&leaf.place));
    let (Some(one), Some(other)) = (leaf(pair.first), leaf(pair.second)) else { return false };
    pair.first.place == pair.second.place && one.instance == other.instance
}

/// Whether a term is concatenated from arrays, or is some of the rows of one. A column has all of them.
fn is_part(run: &Recording<'_>, term: TermId) -> bool {
    let is_whole = |index: &TermId| match run.terms.get(*index) {
        Term::Apply(name, bounds) => {
            &**name == "<slice>" && bounds.iter().all(|bound| matches!(run.terms.get(*bound), Term::None))
        }
        _ => false,
    };
    match run.terms.get(term) {
        Term::Apply(..) | Term::Operate(..) => true,
        Term::Item(_, index, _) => match run.terms.get(*index) {
            Term::Apply(name, axes) if &**name == "<tuple>" => !axes.first().is_some_and(is_whole),
            Term::Apply(..) | Term::Operate(..) => true,
            _ => false,
        },
        _ => false,
    }
}

/// Whether a term is clearly a single number: a literal, a length, an element of a shape, a parameter of such a type,
/// or computed.
fn is_number(run: &Recording<'_>, term: TermId) -> bool {
    match run.terms.get(term) {
        Term::Symbol(_) => is_declared_number(run, term),
        Term::Attribute(_, name, _) => matches!(&**name, "size" | "ndim"),
        Term::Item(of, ..) => matches!(run.terms.get(*of), Term::Attribute(_, name, _) if &**name == "shape"),
        Term::Apply(name, _) => &**name == "len",
        Term::Operate(_, parts) => parts.iter().all(|part| is_number(run, *part)),
        _ => run.terms.is_constant(term),
    }
}

/// Whether a parameter of the function that is analysed is annotated as a number.
fn is_declared_number(run: &Recording<'_>, term: TermId) -> bool {
    let Stage::Entry(id) = run.stage else { return false };
    let is_it = |value: &Value| matches!(value.single(), Some(Val::Term(given)) if *given == term);
    let slot = run.log.entered.as_ref().and_then(|given| given.iter().position(is_it));
    let parameter = slot.and_then(|slot| run.module(run.home).function(id).parameters.get(slot));
    parameter.and_then(|parameter| parameter.annotation.as_ref()).is_some_and(
        |annotation| matches!(annotation, Annotation::Path(path, _) if path.len() == 1 && &*path[0] == "int"),
    )
}
