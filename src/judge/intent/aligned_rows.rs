//! Rows that stay together: one permutation of inputs and labels, or of all leaves of a tree.
//!
//! **Invariant:** all arguments but the arrays are the same.

use std::rc::Rc;

use crate::analysis::domain::term::{PlaceKey, Term, TermId, place_key};
use crate::analysis::record::{Consumption, Iteration, Recording, RowSelection};
use crate::finding::{Intent, IntentKind};
use crate::ir::{Argument, Constant, Function, OpKind, Temp, Variable, is_written_alike};
use crate::judge::computed_from::Origins;
use crate::judge::consequence::Flows;
use crate::judge::facts::LoopKind;
use crate::judge::intent::pair::{Calls, Pair, calls_apart, intent};
use crate::judge::reuse::loop_kind;

/// Two draws reorder the rows of two arrays, or choose from them, in the same way, so that rows that belong together
/// stay together: all arguments but the arrays are the same. A number of rows does not count as an array. A result of the
/// calls around a draw does not count as another array, and neither do two parts of one array that iterations of a loop take.
pub fn aligned_rows(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let arranged = |consumption: usize| run.log.row_selections.get(&consumption);
    let (a, b) = (arranged(pair.reuse.first)?, arranged(pair.reuse.second)?);
    // A function or a comprehension that draws for each array may get the number of its rows: `x[permutation(key, len(x))]`.
    let is_one_function =
        pair.first.place == pair.second.place && (pair.repeated_by.is_none() || is_in_comprehension(run, pair));
    let counted =
        |selection: &RowSelection| counted_rows(run, selection.rows).filter(|_| is_one_function && selection.is_whole);
    let rows = [a, b].map(|selection| counted(selection).unwrap_or(selection.rows));
    let are_aligned = a.others == b.others
        && (are_of_one_tree(run, pair) || rows[0] != rows[1] && are_of_two_arrays(run, pair, rows));
    are_aligned.then(|| intent(IntentKind::AlignedRows, pair.first.place))
}

/// Two calls of one function take the same elements of two arrays, or move them alike: one crop of an image and its mask. A draw in it
/// determines nothing but positions. A second crop of one image is not aligned with the first.
pub fn aligned_positions(flows: &Flows<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let drawn_in = |draw: &Consumption| (draw.activation.module, draw.activation.function);
    if drawn_in(pair.first) != drawn_in(pair.second) || pair.repeated_by.is_some() {
        return None;
    }
    let calls = calls_apart(flows.run, pair, 1).filter(|calls| calls.once != calls.again)?;
    let is_aligned = calls.run_one_function(flows.run)
        && are_given_two_arrays(flows.run, &calls)
        && flows.are_only_positions([pair.reuse.first, pair.reuse.second]);
    is_aligned.then(|| intent(IntentKind::AlignedRows, calls.place(calls.once)))
}

/// Whether an argument of two calls differs that may be an array, or says which array of a record it is (`crop(key, x, "depth")`): not a
/// number, and not the key by another name.
fn are_given_two_arrays(run: &Recording<'_>, calls: &Calls<'_>) -> bool {
    let code = calls.code;
    let given = |call: Temp| match &code.ops[call as usize].kind {
        OpKind::Call(_, given) => &given[..],
        _ => &[],
    };
    let values = || given(calls.once).iter().map(Argument::value).zip(given(calls.again).iter().map(Argument::value));
    let is_named_as_key = |value: Temp| match &code.ops[value as usize].kind {
        OpKind::Load(Variable::Local(slot)) => {
            code.slots.get(*slot as usize).is_some_and(|name| run.program.models.words.names_a_key(name))
        }
        _ => false,
    };
    let is_number = |value: Temp| match &code.ops[value as usize].kind {
        OpKind::Constant(constant) => !matches!(constant, Constant::Str(_)),
        OpKind::Build(..) | OpKind::Operate(..) => true,
        _ => false,
    };
    let is_alike = |(one, other): &(Temp, Temp)| is_written_alike(code, *one, *other);
    // A second crop of what the first one returned.
    let origins = Origins { code, uses: &calls.uses };
    let is_result = |value: Temp| origins.is_from(value, &|temp| temp == calls.once);
    let (same, different): (Vec<_>, Vec<_>) = values().partition(is_alike);
    let shares_key = same.iter().any(|(value, _)| is_named_as_key(*value));
    let is_array = |value: Temp| !is_number(value) && (shares_key || !is_named_as_key(value));
    different.into_iter().any(|(one, other)| is_array(one) && is_array(other) && !is_result(other))
}

/// Whether two draws reorder two arrays, neither of which comes from the enclosing calls. Each may reorder what it returned in an earlier
/// iteration.
fn are_of_two_arrays(run: &Recording<'_>, pair: &Pair<'_>, rows: [TermId; 2]) -> bool {
    let (first, second) = (pair.first, pair.second);
    let calls: Vec<_> =
        [first, second].into_iter().flat_map(Consumption::chain).map(|(_, place)| place_key(place)).collect();
    let is_drawn = |term: TermId, draw: &Consumption| {
        let may_be_own = first.place != second.place || is_of_targets(run, pair);
        let is_own = |made: PlaceKey| may_be_own && made == place_key(draw.place);
        // Nothing that existed before the key was drawn from it.
        let is_made = |part: TermId| {
            let made = run.terms.symbol(part).filter(|_| part > draw.target.term).and_then(|info| info.place);
            made.is_some_and(|made| calls.contains(&made) && !is_own(made))
        };
        run.terms.mentions(term, &is_made)
    };
    let is_computed =
        |part: TermId| pair.repeated_by.is_some() && is_part(run, part) && !are_same_rows_of_two(run, rows);
    // A loop within the one that repeats the draws goes through the same arrays again.
    let is_inner = |outer: &Rc<Iteration>| first.iterations().first().is_some_and(|inner| inner.place != outer.place);
    !pair.repeated_by.as_ref().is_some_and(is_inner)
        && first.callee == second.callee
        && !rows.into_iter().any(|rows| is_number(run, rows) || is_computed(rows))
        && !rows.into_iter().zip([first, second]).any(|(rows, draw)| is_drawn(rows, draw))
}

/// Whether a comprehension repeats a draw, and passes its target to it: `xs = [permutation(key, x) for x in xs]`. What the program carries
/// from one element to the next is in other variables.
fn is_of_targets(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let is_target = |code: &Function, temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Load(Variable::Local(slot)) => {
            *slot >= code.named && code.slots.get(*slot as usize).is_some_and(|name| !name.starts_with('<'))
        }
        _ => false,
    };
    let takes_target = |draw: &Consumption| {
        let code = run.code(&draw.activation);
        let call = run.call_at(&draw.activation, draw.place).map(|call| &code.ops[call as usize].kind);
        matches!(call, Some(OpKind::Call(_, given)) if given.iter().any(|one| is_target(code, one.value())))
    };
    is_in_comprehension(run, pair) && [pair.first, pair.second].into_iter().all(takes_target)
}

/// Whether a comprehension repeats a draw.
fn is_in_comprehension(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let kind = |at| loop_kind(run, pair.second, at, pair.second.place);
    pair.repeated_by.as_ref().is_some_and(|by| kind(by.place) == LoopKind::Comprehension)
}

/// Whether two draws happen at one place, for two leaves of a tree: `tree.map(lambda x: jnp.take(x, permutation(key,
/// n), axis=0), batch)`.
fn are_of_one_tree(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let leaf = |event: &Consumption| event.iteration.clone().filter(|leaf| run.log.trees.contains_key(&leaf.place));
    let (Some(one), Some(other)) = (leaf(pair.first), leaf(pair.second)) else { return false };
    pair.first.place == pair.second.place && one.instance == other.instance
}

/// Whether two terms are the same rows of two arrays: `[x[:n] for x in arrays]`.
fn are_same_rows_of_two(run: &Recording<'_>, rows: [TermId; 2]) -> bool {
    match rows.map(|rows| run.terms.get(rows)) {
        [Term::Item(one, rows, _), Term::Item(other, others, _)] => rows == others && one != other,
        [Term::Apply(view, parts), Term::Apply(kind, others)] if &**view == "<view>" && view == kind => {
            parts[1..] == others[1..] && parts[0] != others[0]
        }
        _ => false,
    }
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

/// The array whose rows a term counts: `len(x)`, `x.shape[0]`.
fn counted_rows(run: &Recording<'_>, term: TermId) -> Option<TermId> {
    match run.terms.get(term) {
        Term::Apply(name, parts) if &**name == "len" => parts.first().copied(),
        Term::Item(shape, axis, _) => match run.terms.get(*shape) {
            Term::Attribute(array, name, _) if &**name == "shape" && run.terms.as_int(*axis) == Some(0) => Some(*array),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a term is clearly a single number: a literal, a length, an element of a shape, or computed.
fn is_number(run: &Recording<'_>, term: TermId) -> bool {
    match run.terms.get(term) {
        Term::Attribute(_, name, _) => matches!(&**name, "size" | "ndim"),
        Term::Item(of, ..) => matches!(run.terms.get(*of), Term::Attribute(_, name, _) if &**name == "shape"),
        Term::Apply(name, _) => &**name == "len",
        Term::Operate(_, parts) => parts.iter().all(|part| is_number(run, *part)),
        _ => run.terms.is_constant(term),
    }
}
