//! Paths that hardly any run takes, although two consumptions share a key on them: loops without an iteration, calls that return nothing,
//! exceptions.
//!
//! **Invariant:** a path is unlikely only if all paths of a guard need what is unlikely.

use std::ops::Range;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::marks::{RAISES, raised_in};
use crate::analysis::domain::term::{PlaceKey, Symbol, Term, TermId};
use crate::analysis::record::{Activation, Consumption, LoggedLoop, Recording};
use crate::finding::Place;
use crate::ir::{Constant, Op, OpKind, Operator, Temp};
use crate::judge::paths::PathQueries;
use crate::text::{FileId, Span};

/// Most loops between two events that are considered.
const LOOPS: usize = 64;

/// Whether a condition of the body decides that something happens in the last iteration of a loop. Code that treats the last element apart
/// tests for it in many ways, few of which are understood.
pub fn may_leave_out_the_last(paths: &mut PathQueries<'_>, event: &Consumption) -> bool {
    event.iterations().iter().filter_map(|iteration| iteration.last).any(|begun| {
        let elsewhere = paths.without(begun, event.guard);
        paths.feasible(elsewhere)
    })
}

/// Whether a key is `None` on every path of a guard: where `if key is not None` does not split it, `layer(x, key=key)` passes none.
pub fn is_none_there(run: &Recording<'_>, paths: &mut PathQueries<'_>, key: TermId, guard: Guard) -> bool {
    let is_asked = |literal: TermId| match run.terms.get(literal) {
        Term::Operate(Operator::Is, parts) => parts[0] == key && matches!(run.terms.get(parts[1]), Term::None),
        _ => false,
    };
    if !paths.support(guard).into_iter().any(is_asked) {
        return false;
    }
    let without = paths.assume(guard, &|literal| is_asked(literal).then_some(false));
    !paths.feasible(without)
}

/// Whether something decides a guard that iterations which are not run may have written.
pub fn needs_unseen(run: &Recording<'_>, paths: &PathQueries<'_>, guard: Guard) -> bool {
    let is_unseen = |term: TermId| run.terms.symbol(term).is_some_and(|info| info.symbol == Symbol::Havoc);
    paths.support(guard).into_iter().any(|literal| run.terms.mentions(literal, &is_unseen))
}

/// Most loops within a loop that are assumed to run.
const NESTED_LOOPS: usize = 4;

/// Whether every path of a guard goes through a `for` loop between two events that consumes keys and runs no iteration: as
/// a rule there is something to iterate over, also for the loops within it. Code that tests whether there is expects that there may be
/// nothing.
pub fn needs_empty_loop(run: &Recording<'_>, paths: &mut PathQueries<'_>, between: Range<usize>, guard: Guard) -> bool {
    let is_between = |looped: &&LoggedLoop| between.start < looped.events.start && looped.events.end <= between.end;
    let loops: Vec<&LoggedLoop> = run.log.loops.iter().filter(is_between).take(LOOPS).collect();
    loops.iter().any(|outer| {
        let mut left = paths.without(guard, outer.empty);
        if left == guard {
            return false;
        }
        let is_within =
            |inner: &&&LoggedLoop| outer.events.start <= inner.events.start && inner.events.end <= outer.events.end;
        let within: Vec<&LoggedLoop> = loops.iter().filter(is_within).take(NESTED_LOOPS).copied().collect();
        for inner in &within {
            left = paths.without(left, inner.empty);
        }
        !paths.feasible(left) && !within.iter().chain([outer]).any(|looped| is_tested(run, paths, looped, guard))
    })
}

/// Whether a condition that an `if` statement tests decides on all paths of a guard that a loop runs no iteration.
fn is_tested(run: &Recording<'_>, paths: &mut PathQueries<'_>, looped: &LoggedLoop, guard: Guard) -> bool {
    let runs = paths.without(looped.begun, looped.empty);
    let tested = paths.support(guard).into_iter().filter(|condition| run.log.tested.contains(condition));
    tested.collect::<Vec<_>>().into_iter().any(|condition| {
        [true, false].into_iter().any(|holds| {
            let (here, elsewhere) = (paths.literal(condition, holds), paths.literal(condition, !holds));
            let (runs, otherwise) = (paths.and(runs, here), paths.and(guard, elsewhere));
            !paths.feasible(runs) && !paths.feasible(otherwise)
        })
    })
}

/// Whether every path of a guard needs two elements of one iterable to be the same text, or the same number if it was folded into the key:
/// `if name == "noise"` in a loop over names, `fold_in(key, workers[i].rank)` in a loop over indices. Neither is often repeated.
pub fn needs_repeated_element(run: &Recording<'_>, paths: &mut PathQueries<'_>, key: TermId, guard: Guard) -> bool {
    let mut elements: Vec<(TermId, TermId, TermId)> = Vec::new();
    let is_fold = |term: &TermId| matches!(run.terms.get(*term), Term::Fold(..));
    let is_folded = is_fold(&key) || run.terms.ancestors(key).iter().any(is_fold);
    let is_named =
        |term: TermId| matches!(run.terms.get(term), Term::Text(_)) || is_folded && run.terms.is_constant(term);
    let is_element = |literal: TermId| match run.terms.get(literal) {
        Term::Operate(Operator::Eq, parts) if is_named(parts[1]) => {
            // `workers[int(i)]`
            let element = match run.terms.get(parts[0]) {
                Term::Apply(_, given) if is_folded && given.len() == 1 => given[0],
                _ => parts[0],
            };
            match run.terms.get(element) {
                Term::Item(of, ..) => Some((*of, parts[1])),
                _ => None,
            }
        }
        _ => None,
    };
    for literal in paths.support(guard) {
        if let Some((of, constant)) = is_element(literal) {
            elements.push((literal, of, constant));
        }
    }
    let alike = |(literal, of, constant): &(TermId, TermId, TermId)| {
        elements.iter().any(|(other, others, same)| other != literal && others == of && same == constant)
    };
    let twice: Vec<TermId> = elements.iter().filter(|element| alike(element)).map(|(literal, ..)| *literal).collect();
    let mut needed = twice.into_iter().filter(|literal| {
        let without = paths.assume(guard, &|other| (other == *literal).then_some(false));
        !paths.feasible(without)
    });
    needed.next().is_some() && needed.next().is_some()
}

/// Whether every path of a guard needs a call of unknown code to have returned nothing, and the code around it expects something.
///
/// `if state is None` tests for the first iteration, and an update at its end returns a state. The next iteration skips what
/// `if not params: params = make(key)` did. Retries are different: `while not ok: ok = check(normal(key))` goes on because a call returned
/// nothing.
pub fn needs_nothing_returned(
    run: &Recording<'_>,
    paths: &mut PathQueries<'_>,
    (first, second): (usize, usize),
    guard: Guard,
) -> bool {
    let chains = [second, first].map(|event| run.log.consumptions[event].chain());
    // The code after the draw, in a function that led to it, ran in an earlier iteration.
    let is_before = |(file, start, _): PlaceKey| {
        chains[0].iter().any(|(activation, place)| {
            let is_here = place.file.0 == file && run.code(activation).full.contains(start);
            is_here && place.span.start < start
        })
    };
    let made = |term: TermId| {
        let info = run.terms.symbol(run.terms.root(term)).filter(|info| info.symbol == Symbol::Opaque);
        info.and_then(|info| info.place)
    };
    let is_set = |made: PlaceKey| chains.iter().flatten().any(|(frame, draw)| is_set_beside(run, frame, (*draw, made)));
    // The literal, and how it is decided where something was returned.
    let returned = |literal: TermId| match run.terms.get(literal) {
        Term::Operate(Operator::Is, parts) if matches!(run.terms.get(parts[1]), Term::None) => {
            made(parts[0]).is_some_and(|made| is_before(made) || is_set(made)).then_some(false)
        }
        Term::Symbol(_) => made(literal).is_some_and(is_set).then_some(true),
        _ => None,
    };
    if !paths.support(guard).into_iter().any(|literal| returned(literal).is_some()) {
        return false;
    }
    let without = paths.assume(guard, &returned);
    !paths.feasible(without)
}

/// Whether a branch of a frame draws, stores the result of a call, and runs only while what it stores is missing:
/// `if not params: params = make(key)`.
fn is_set_beside(run: &Recording<'_>, frame: &Activation, (draw, (file, start, end)): (Place, PlaceKey)) -> bool {
    let made = Place { file: FileId(file), span: Span::new(start, end) };
    let (code, uses) = (run.code(frame), run.uses_of(frame.module, frame.function));
    let (Some(call), Some(draw)) = (run.call_at(frame, made), run.call_at(frame, draw)) else { return false };
    // A call around it, such as `stop_gradient(…)`, passes the result on.
    let mut result = call;
    while let [reader] = uses.readers(result)
        && matches!(code.ops[*reader as usize].kind, OpKind::Call(..))
    {
        result = *reader;
    }
    let kind = |temp: Temp| &code.ops[temp as usize].kind;
    let is_none = |temp: Temp| matches!(kind(temp), OpKind::Constant(Constant::None));
    let reads = |read: Temp, store: &OpKind| match (kind(read), store) {
        (OpKind::Load(variable), OpKind::Store(stored, _)) => variable == stored,
        (OpKind::Attribute(_, name), OpKind::StoreAttribute(_, stored, _)) => name == stored,
        _ => false,
    };
    let is_expected = |branch: Temp, store: &OpKind| {
        let OpKind::If { test, .. } = kind(branch) else { return false };
        match kind(*test) {
            OpKind::Operate(Operator::Not, [Some(read), ..], _) => reads(*read, store),
            OpKind::Operate(Operator::Is, [Some(read), Some(other)], _) => is_none(*other) && reads(*read, store),
            _ => false,
        }
    };
    let branches: Vec<(Temp, usize)> = uses.around(draw).collect();
    let shared = || uses.around(call).filter(|branch| branches.contains(branch));
    uses.readers(result).iter().any(|reader| shared().any(|(branch, _)| is_expected(branch, kind(*reader))))
}

/// The exception edges before which a draw happened: those of its own frame, and those of the calling frames if a `raise` follows it.
pub fn edges_after(run: &Recording<'_>, event: &Consumption) -> Vec<String> {
    let mut edges = vec![raised_in(event.activation.id)];
    let mut is_after = false;
    for (activation, place) in event.chain().iter().rev() {
        if is_after {
            edges.extend([raised_in(activation.id), RAISES.to_owned()]);
        }
        let is_later = |op: &Op| matches!(op.kind, OpKind::Raise(Some(_))) && op.span.start >= place.span.end;
        is_after = run.code(activation).ops.iter().any(is_later);
    }
    edges
}

/// Whether every path of a guard goes through an exception edge, those of these names excepted.
pub fn needs_exception(run: &Recording<'_>, paths: &mut PathQueries<'_>, guard: Guard, except: &[String]) -> bool {
    let terms = run.terms;
    let is_edge = |literal: TermId| {
        terms.symbol(literal).is_some_and(|info| {
            info.symbol == Symbol::Path
                && info.text.starts_with(RAISES)
                && except.iter().all(|edge| **edge != *info.text)
        })
    };
    let without = paths.assume(guard, &|literal| is_edge(literal).then_some(false));
    !paths.feasible(without)
}
