//! Paths on which two consumptions share a key, and which hardly any run takes: loops without an iteration, calls that return nothing, exceptions.
//!
//! **Invariant:** a path is unlikely only if all paths of a guard need what is unlikely.

use std::ops::Range;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::marks::{RAISES, raised_in};
use crate::analysis::domain::term::{PlaceKey, Symbol, Term, TermId};
use crate::analysis::record::{Activation, Consumption, LoggedLoop, Recording};
use crate::finding::Place;
use crate::ir::{Constant, Function, Name, Op, OpKind, Operator, Temp, Variable};
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

/// Whether every path of a guard needs two elements of one iterable to be the same text: `if name == "noise"` in a loop over names, which
/// are hardly ever repeated.
pub fn needs_repeated_element(run: &Recording<'_>, paths: &mut PathQueries<'_>, guard: Guard) -> bool {
    let mut elements: Vec<(TermId, TermId, TermId)> = Vec::new();
    let is_text = |term: TermId| matches!(run.terms.get(term), Term::Text(_));
    let is_element = |literal: TermId| match run.terms.get(literal) {
        Term::Operate(Operator::Eq, parts) if is_text(parts[1]) => match run.terms.get(parts[0]) {
            Term::Item(of, ..) => Some((*of, parts[1])),
            _ => None,
        },
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

/// Whether every path of a guard needs a call of unknown code to have returned `None`, and the code around it expects something else.
///
/// `if state is None` tests for the first iteration, and an update at its end returns a state. What is `None` or empty unless it gets the
/// result of a call is tested for whether it did.
pub fn needs_nothing_returned(
    run: &Recording<'_>,
    paths: &mut PathQueries<'_>,
    (first, second): (usize, usize),
    (is_repeated, guard): (bool, Guard),
) -> bool {
    let chains = [second, first].map(|event| run.log.consumptions[event].chain());
    // The draw, and the code after it in a function that led to it, ran in an earlier iteration.
    let is_before = |(file, start, _): PlaceKey| {
        chains[0].iter().any(|(activation, place)| {
            let is_here = place.file.0 == file && run.code(activation).full.contains(start);
            is_here && place.span.start <= start
        })
    };
    let made = |term: TermId| {
        let info = run.terms.symbol(run.terms.root(term)).filter(|info| info.symbol == Symbol::Opaque);
        info.and_then(|info| info.place)
    };
    let is_alternative = |made: PlaceKey| {
        let mut frames = chains.iter().flatten().map(|(activation, _)| activation);
        frames.any(|frame| is_empty_unless_called(run, frame, made))
    };
    // The literal, and how it is decided where something was returned.
    let returned = |literal: TermId| match run.terms.get(literal) {
        Term::Operate(Operator::Is, parts) if matches!(run.terms.get(parts[1]), Term::None) => {
            let is_returned = |made: PlaceKey| is_repeated && is_before(made) || is_alternative(made);
            made(parts[0]).is_some_and(is_returned).then_some(false)
        }
        // `if not params`, but not `if not done`.
        Term::Symbol(_) => made(literal).is_some_and(is_alternative).then_some(true),
        _ => None,
    };
    if !paths.support(guard).into_iter().any(|literal| returned(literal).is_some()) {
        return false;
    }
    let without = paths.assume(guard, &returned);
    !paths.feasible(without)
}

/// Whether the result of a call is stored in a variable of a frame, or in an attribute, that is also set to `None` or an empty container, or to
/// a parameter with a default.
fn is_empty_unless_called(run: &Recording<'_>, frame: &Activation, (file, start, end): PlaceKey) -> bool {
    let made = Place { file: FileId(file), span: Span::new(start, end) };
    let (module, code, uses) = (run.module(frame.module), run.code(frame), run.uses_of(frame.module, frame.function));
    let Some(mut result) = run.call_at(frame, made) else { return false };
    // What only passes a value on, such as `stop_gradient`, is around it.
    while let [reader] = uses.readers(result)
        && matches!(code.ops[*reader as usize].kind, OpKind::Call(..))
    {
        result = *reader;
    }
    let is_empty = |code: &Function, value: Temp| match &code.ops[value as usize].kind {
        OpKind::Constant(Constant::None) => true,
        OpKind::Build(_, elements) => elements.is_empty(),
        OpKind::Load(Variable::Local(slot)) => {
            code.parameters.get(*slot as usize).is_some_and(|parameter| parameter.has_default)
        }
        _ => false,
    };
    let is_emptied = |store: &Temp| match &code.ops[*store as usize].kind {
        OpKind::Store(_, value) => is_empty(code, *value),
        _ => false,
    };
    let starts_empty = |attribute: &Name| {
        module.functions.iter().any(|code| {
            code.ops.iter().any(|op| match &op.kind {
                OpKind::StoreAttribute(_, name, value) => name == attribute && is_empty(code, *value),
                _ => false,
            })
        })
    };
    uses.readers(result).iter().any(|reader| match &code.ops[*reader as usize].kind {
        OpKind::Store(Variable::Local(slot), _) => uses.stores_of(*slot).iter().any(is_emptied),
        OpKind::StoreAttribute(_, name, _) => starts_empty(name),
        _ => false,
    })
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
