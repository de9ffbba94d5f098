//! Detects reuse: whether a consumption conflicts with an earlier one.
//!
//! **Invariant:** a reuse is found only if the two keys must be equal and some path reaches both consumptions.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::analysis::domain::extent::{Extent, must_overlap};
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::progression::{Holds, holds};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::record::{Activation, Consumption, DrawnIn, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{Argument, OpKind, Operator, Temp, Variable, is_written_alike};
use crate::judge::facts::Role;
use crate::judge::paths::PathQueries;
use crate::judge::reuse::repetition::repeated_by;
use crate::judge::reuse::unlikely_paths::{
    edges_after, is_none_there, may_leave_out_the_last, needs_empty_loop, needs_exception, needs_nothing_returned,
    needs_repeated_element, needs_unseen,
};
use crate::models::{Construct, Protocol};

/// Most earlier events that one event is compared with.
const COMPARED: usize = 64;

/// Two consumptions of one key, before they are assigned to a frame.
#[derive(Clone, Copy, Debug)]
pub struct Reuse {
    /// The earlier consumption.
    pub first: usize,
    /// The later consumption.
    pub second: usize,
    /// How certain.
    pub confidence: Confidence,
}

/// The reuses of a recording.
#[derive(Clone, Debug, Default)]
pub struct Reuses {
    /// In execution order of the later consumption.
    pub all: Vec<Reuse>,
    /// Keys that are reused.
    pub keys: FxHashSet<TermId>,
    /// Those that were split twice, or that one call consumed in two runs: keys derived from them are equal for this reason.
    derived_again: FxHashSet<TermId>,
}

/// Finds the reuses of a recording.
pub fn detect(run: &Recording<'_>, paths: &mut PathQueries<'_>) -> Reuses {
    let mut reuses = Reuses::default();
    for index in 0..run.log.consumptions.len() {
        compare(run, paths, index, &mut reuses);
    }
    reuses
}

/// Compares an event with the earlier ones of its family.
///
/// One event may be part of several mistakes: a function draws twice from a key that its caller has consumed before. So
/// besides the most certain reuse, the most certain one in the innermost frame is taken, if that is another frame.
fn compare(run: &Recording<'_>, paths: &mut PathQueries<'_>, index: usize, reuses: &mut Reuses) {
    let mut met = meetings(run, paths, index);
    let is_derived_again =
        met.iter().any(|reuse| reuse.confidence > Confidence::Low && derive_equal_children(run, reuse.first, index));
    let second = &run.log.consumptions[index];
    met.retain(|reuse| !is_folded_into_another(run, reuses, &run.log.consumptions[reuse.first], second));
    let Some(best) = most_certain(run, met.iter().copied()) else { return };
    let depth = |reuse: &Reuse| common_depth(&run.log.consumptions[reuse.first].activation, &second.activation);
    let innermost = met.iter().map(depth).max().filter(|innermost| *innermost > depth(&best));
    let inner = innermost
        .and_then(|innermost| most_certain(run, met.iter().copied().filter(|reuse| depth(reuse) == innermost)));
    for reuse in [Some(best), inner].into_iter().flatten() {
        if reuse.confidence > Confidence::Low {
            let (term, family) = (second.target.term, second.target.family);
            reuses.keys.extend([term, family]);
            if is_derived_again {
                reuses.derived_again.extend([term, family]);
            }
        }
        reuses.all.push(reuse);
    }
}

/// The earlier events of the same family that an event conflicts with, in execution order.
fn meetings(run: &Recording<'_>, paths: &mut PathQueries<'_>, second: usize) -> Vec<Reuse> {
    let family = run.log.consumptions[second].target.family;
    earlier(run, family, second)
        .into_iter()
        .filter_map(|first| Some(Reuse { first, second, confidence: meet(run, paths, first, second)? }))
        .collect()
}

/// The most certain of some reuses. Of equally certain ones, a reuse of the key itself is preferred to that of an equal
/// key that was made elsewhere; then two draws or two splits to a draw and a split; then the first.
fn most_certain(run: &Recording<'_>, reuses: impl Iterator<Item = Reuse>) -> Option<Reuse> {
    let event = |index: usize| &run.log.consumptions[index];
    let is_split = |index: usize| event(index).role == Role::Split;
    let rank = |reuse: &Reuse| {
        let is_one_key = event(reuse.first).target.derivation == event(reuse.second).target.derivation;
        (reuse.confidence, is_one_key, is_split(reuse.first) == is_split(reuse.second))
    };
    reuses.reduce(|best, reuse| if rank(&reuse) > rank(&best) { reuse } else { best })
}

/// The number of activations below the innermost one that two have in common.
fn common_depth(one: &Arc<Activation>, other: &Arc<Activation>) -> u32 {
    let (mut one, mut other) = (Some(one), Some(other));
    while let (Some(a), Some(b)) = (one, other) {
        if a.id == b.id {
            return a.depth;
        }
        if a.depth >= b.depth {
            one = a.caller.as_ref().map(|(caller, _)| caller);
        }
        if b.depth >= a.depth {
            other = b.caller.as_ref().map(|(caller, _)| caller);
        }
    }
    0
}

/// The earlier consumptions of a family whose part of the key may overlap; if there are many, the first and the last
/// ones.
fn earlier(run: &Recording<'_>, family: TermId, before: usize) -> Vec<usize> {
    let events = run.log.by_family.get(&family).map_or(&[][..], Vec::as_slice);
    let extent = |event: usize| run.log.consumptions[event].target.extent;
    let mut found: Vec<usize> = events.iter().copied().take_while(|first| *first < before).collect();
    found.retain(|first| must_overlap(run.terms, extent(*first), extent(before)));
    if found.len() > COMPARED {
        found.drain(COMPARED / 2..found.len() - COMPARED / 2);
    }
    found
}

/// The other reuses of a reuse's second event, in execution order: if one is harmless, another may not be.
pub fn others(run: &Recording<'_>, paths: &mut PathQueries<'_>, reuses: &Reuses, reuse: Reuse) -> Vec<Reuse> {
    let mut met = meetings(run, paths, reuse.second);
    let event = |index: usize| &run.log.consumptions[index];
    met.retain(|other| {
        other.first != reuse.first && !is_folded_into_another(run, reuses, event(other.first), event(other.second))
    });
    met
}

/// Whether two events that conflict also make keys derived from theirs equal: two splits, or two runs of one call
/// together with the code around it. A draw and a split of one key make no children equal.
fn derive_equal_children(run: &Recording<'_>, first: usize, second: usize) -> bool {
    let (first, second) = (&run.log.consumptions[first], &run.log.consumptions[second]);
    first.place == second.place || first.role == Role::Split && second.role == Role::Split
}

/// Whether the parent of the two keys was derived from twice: then this reuse is a consequence.
fn is_folded_into_another(run: &Recording<'_>, reuses: &Reuses, first: &Consumption, second: &Consumption) -> bool {
    first.target.derivation != second.target.derivation
        && run.terms.ancestors(second.target.term).iter().any(|ancestor| reuses.derived_again.contains(ancestor))
}

/// How certain it is that two events whose parts of a key overlap share a key; `None` if they do not.
fn meet(run: &Recording<'_>, paths: &mut PathQueries<'_>, first: usize, second: usize) -> Option<Confidence> {
    let (a, b) = (&run.log.consumptions[first], &run.log.consumptions[second]);
    let mut confidence = role_confidence(run, a, b)?;
    if a.target.folded != b.target.folded {
        confidence = confidence.min(fold_confidence(run, a.target.extent, b.target.extent)?);
    }
    if let (Some(x), Some(y)) = (run.derivation(a.target.derivation), run.derivation(b.target.derivation)) {
        if x.number != y.number && !matches!(run.terms.get(a.target.term), Term::Seed(_)) {
            confidence = confidence.min(Confidence::Medium);
        }
        if x.by_default || y.by_default {
            confidence = confidence.min(Confidence::Medium);
        }
        // A number of children that differs between paths may be what is folded in on each of them: `split(key, len(xs))`,
        // `fold_in(key, len(xs))`.
        let folded = if a.target.folded { a } else { b };
        let is_mixed = a.target.folded != b.target.folded;
        if is_mixed && x.number.is_none() && y.number.is_none() && !folded.guard.is_true() {
            confidence = Confidence::Low;
        }
    }
    // Unknown code that got the data may have stored another key in it.
    if !run.log.kept.is_empty() && run.terms.mentions(b.target.term, &|part| run.log.kept.contains(&part)) {
        confidence = confidence.min(Confidence::Medium);
    }
    if !is_unconditional_meeting(run, paths, [a, b]) {
        return None;
    }
    let is_repeated = a.place == b.place && b.iteration.is_some();
    let (target, derivations) = (b.target.term, (a.target.derivation, b.target.derivation));
    let (a, b) = (a.guard, b.guard);
    let both = paths.and(a, b);
    if !paths.feasible(both)
        || is_none_there(run, paths, target, both)
        || needs_unseen(run, paths, both)
        || is_one_choice(run, paths, first, second)
    {
        return None;
    }
    let events = [first, second].map(|event| &run.log.consumptions[event]);
    if events.into_iter().any(|event| is_key_by_test(run, paths, event) || may_leave_out_the_last(paths, event)) {
        confidence = Confidence::Low;
    }
    let is_unlikely = is_repeated
        && (needs_repeated_element(run, paths, target, both)
            || needs_nothing_returned(run, paths, (first, second), both));
    if is_unlikely || needs_empty_loop(run, paths, first..second, both) {
        confidence = Confidence::Low;
    }
    if paths.needs_override(both) {
        // A key that each call makes itself comes from an override, of which usually only the shape matters.
        let is_seeded = matches!(run.terms.get(run.terms.root(target)), Term::Seed(_));
        let is_made_again = is_seeded && derivations.0 != derivations.1;
        confidence = confidence.min(if is_made_again { Confidence::Low } else { Confidence::Medium });
    }
    if needs_exception(run, paths, both, &[]) {
        // A draw directly in the `try` body did happen; one within a call that may have raised may not have.
        let own = edges_after(run, &run.log.consumptions[first]);
        let is_unlikely = needs_exception(run, paths, both, &own);
        confidence = confidence.min(if is_unlikely { Confidence::Low } else { Confidence::Medium });
    }
    Some(confidence)
}

/// Whether no condition keeps two loops from the iterations in which both take one number. Equal terms meet in any.
fn is_unconditional_meeting(run: &Recording<'_>, paths: &mut PathQueries<'_>, events: [&Consumption; 2]) -> bool {
    let [Extent::Index(i), Extent::Index(j)] = events.map(|event| event.target.extent) else { return true };
    i == j
        || events.into_iter().all(|event| {
            let conditions = paths.support(event.guard);
            let known = |condition: TermId| [i, j].map(|index| holds(run.terms, index, condition));
            let is_free = conditions.iter().all(|condition| !known(*condition).contains(&Holds::Sometimes));
            let truth = |condition: TermId| {
                known(condition).into_iter().find_map(|holds| match holds {
                    Holds::Always(truth) => Some(truth),
                    Holds::Independently | Holds::Sometimes => None,
                })
            };
            let there = paths.assume(event.guard, &truth);
            is_free && paths.feasible(there)
        })
}

/// Whether the only evidence that a parameter is a key is a test in a callee: `if isinstance(rngs, jax.Array): …`. A parameter that is
/// annotated as something else is not a key, however callees use it.
fn is_key_by_test(run: &Recording<'_>, paths: &mut PathQueries<'_>, event: &Consumption) -> bool {
    let term = event.target.term;
    if run.log.otherwise.contains(&term) && !event.activation.root {
        return true;
    }
    run.terms.is_parameter(term) && is_tested_for_a_class(run, paths, event)
}

/// Whether a key is consumed in a callee, and only where a test for its class holds.
pub fn is_tested_for_a_class(run: &Recording<'_>, paths: &mut PathQueries<'_>, event: &Consumption) -> bool {
    let term = event.target.term;
    if run.log.declared.contains(&term) || event.activation.root {
        return false;
    }
    let tests: Vec<TermId> = paths
        .support(event.guard)
        .into_iter()
        .filter(|literal| {
            matches!(run.terms.get(*literal), Term::Operate(Operator::MatchClass, parts) if parts.first() == Some(&term))
        })
        .collect();
    tests.into_iter().any(|test| {
        let without = paths.assume(event.guard, &|literal| (literal == test).then_some(false));
        !paths.feasible(without)
    })
}

/// Whether a key is used only for elements that use none of its children: `where(c, child, key)` beside `where(c, other_child, other)`.
fn is_one_choice(run: &Recording<'_>, paths: &mut PathQueries<'_>, first: usize, second: usize) -> bool {
    let (split, draw) = (&run.log.consumptions[first], &run.log.consumptions[second]);
    if split.role != Role::Split || draw.role == Role::Split {
        return false;
    }
    let parent = split.target.term;
    let is_child = |term: TermId| matches!(run.terms.get(term), Term::Child(of, _) if *of == parent);
    let descends = |term: TermId| is_child(term) || run.terms.ancestors(term).into_iter().any(is_child);
    let served: Vec<Guard> =
        run.log.consumptions.iter().filter(|event| descends(event.target.term)).map(|event| event.guard).collect();
    (!served.is_empty() || are_children_chosen(run, split))
        && !run.log.exits.iter().any(|exit| descends(exit.term))
        && served.into_iter().all(|guard| {
            let both = paths.and(guard, draw.guard);
            !paths.feasible(both)
        })
}

/// Whether nothing but calls that choose between arrays reads the children of a split.
fn are_children_chosen(run: &Recording<'_>, split: &Consumption) -> bool {
    let code = run.code(&split.activation);
    let uses = run.uses_of(split.activation.module, split.activation.function);
    let Some(call) = run.call_at(&split.activation, split.place) else { return false };
    let mut work = uses.readers(call).to_vec();
    let mut is_chosen = false;
    while let Some(temp) = work.pop() {
        match &code.ops[temp as usize].kind {
            OpKind::Unpack { .. } | OpKind::Project(..) => work.extend(uses.readers(temp)),
            OpKind::Store(Variable::Local(slot), _) if uses.stores_of(*slot).len() == 1 && !uses.is_captured(*slot) => {
                work.extend(uses.loads_of(*slot).iter().flat_map(|load| uses.readers(*load)));
            }
            OpKind::Call(..) => {
                let place = Place { file: split.place.file, span: code.ops[temp as usize].span };
                if !run.log.choices.contains_key(&place) {
                    return false;
                }
                is_chosen = true;
            }
            _ => return false,
        }
    }
    is_chosen
}

/// How certain it is that the data of a `fold_in` is the index of a child that a `split` made, if it may be: `fold_in(k, i)` is
/// `split(k, n)[i]` by JAX's default implementation. A number from outside, such as a counter of steps or the number of a device, may be the
/// index of a child in some call, and a hash or a tag in none. The number of the children is the index of none of them.
fn fold_confidence(run: &Recording<'_>, a: Extent, b: Extent) -> Option<Confidence> {
    let (Extent::Index(index), Extent::Range { length, .. }) = (match (a, b) {
        (Extent::Range { .. }, _) => (b, a),
        _ => (a, b),
    }) else {
        return Some(Confidence::Medium);
    };
    if length == Some(index) {
        return None;
    }
    match (run.terms.as_int(index), length.and_then(|length| run.terms.as_int(length))) {
        (Some(index), Some(length)) => (index < length).then_some(Confidence::Medium),
        (Some(index), None) => (index == 0).then_some(Confidence::Medium),
        (None, _) => matches!(run.terms.get(index), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..))
            .then_some(Confidence::Low),
    }
}

fn role_confidence(run: &Recording<'_>, a: &Consumption, b: &Consumption) -> Option<Confidence> {
    match (a.role, b.role) {
        (Role::Fold, Role::Sample | Role::Library) | (Role::Sample | Role::Library, Role::Fold) => {
            Some(Confidence::Low)
        }
        (Role::Fold, _) | (_, Role::Fold) => None,
        // A stream may only fold its key: a draw from that key is then no draw of the stream's.
        (Role::Sample, _) if folds(run, b) => Some(Confidence::Low),
        (_, Role::Sample) if folds(run, a) => Some(Confidence::Low),
        _ if folds_path(run, a) != folds_path(run, b) => Some(Confidence::Low),
        _ if draw_independently(a, b) => Some(Confidence::Low),
        // Two networks that already exist: their draws are at different paths.
        _ if folds_path(run, a) == Some(false) && receiver(a) != receiver(b) => Some(Confidence::Low),
        (Role::Unresolved, Role::Unresolved) if a.place == b.place && a.iteration.is_none() => None,
        (Role::Unresolved, Role::Unresolved)
            if is_passed_in_each_iteration(run, a, b) || is_called_again(run, a, b) =>
        {
            Some(Confidence::Medium)
        }
        (Role::Sample | Role::Split, Role::Unresolved) if returns_what_it_draws(run, b) => Some(Confidence::Medium),
        (Role::Unresolved, _) | (_, Role::Unresolved) => Some(Confidence::Low),
        (Role::Library | Role::Protocol, _) | (_, Role::Library | Role::Protocol) => Some(Confidence::Medium),
        _ => Some(Confidence::High),
    }
}

/// Whether a loop gives one key to an unresolved call in each iteration, and reads what the call returns. A call with a key whose result is
/// read draws from it nearly always; one without a result may log or save the key, and a method of a library that is known to draw only
/// for some receivers may draw nothing.
fn is_passed_in_each_iteration(run: &Recording<'_>, a: &Consumption, b: &Consumption) -> bool {
    let code = run.code(&b.activation);
    let Some(call) = run.call_at(&b.activation, b.place) else { return false };
    let is_method = match code.ops.get(call as usize).map(|op| &op.kind) {
        Some(OpKind::Call(callee, _)) => matches!(code.ops[*callee as usize].kind, OpKind::Attribute(..)),
        _ => false,
    };
    let method = b.callee.rsplit('.').next().unwrap_or(&b.callee);
    a.place == b.place
        && b.written.is_some()
        && repeated_by(a, b).is_some()
        && !run.uses_of(b.activation.module, b.activation.function).readers(call).is_empty()
        && (!is_method || run.program.models.protocols(method).is_empty())
}

/// Whether a block makes the same unresolved call again, as it is written, and uses both results for more than a test: what is equal is not
/// computed twice. What the second call overwrites is not used, and what initialises something may draw nothing.
fn is_called_again(run: &Recording<'_>, a: &Consumption, b: &Consumption) -> bool {
    let calls = [a, b].map(|event| run.call_at(&event.activation, event.place));
    let [Some(one), Some(other)] = calls else { return false };
    let (code, uses) = (run.code(&a.activation), run.uses_of(a.activation.module, a.activation.function));
    let is_test = |reader: &Temp| matches!(code.ops[*reader as usize].kind, OpKind::If { .. });
    let is_overwritten = |reader: &Temp| match &code.ops[*reader as usize].kind {
        OpKind::Store(variable, _) => {
            let reaching = uses.reaching(code, variable);
            let loads = reaching.loads_of(*reader);
            !loads.iter().any(|load| *load < other)
                && uses.readers(other).iter().any(
                    |reader| matches!(&code.ops[*reader as usize].kind, OpKind::Store(again, _) if again == variable),
                )
        }
        _ => false,
    };
    let method = b.callee.rsplit('.').next().unwrap_or(&b.callee);
    a.activation.id == b.activation.id
        && one != other
        && uses.around(one).eq(uses.around(other))
        && ![one, other].iter().any(|call| uses.readers(*call).iter().all(is_test))
        && !uses.readers(one).iter().all(is_overwritten)
        && !run.program.models.words.names_a_first_construction(method)
        && is_written_alike(code, one, other)
        && [a, b].into_iter().all(|event| returns_what_it_draws(run, event))
}

/// Whether the program reads the result of an unresolved call that gets a key by its name, so that it probably draws from the key. What makes an object may
/// only keep it, a network that gets its parameters may draw nothing in its mode, and a function that has a default may draw nothing either, as
/// one that initialises with zeros.
pub fn returns_what_it_draws(run: &Recording<'_>, event: &Consumption) -> bool {
    let code = run.code(&event.activation);
    let Some(call) = run.call_at(&event.activation, event.place) else { return false };
    let OpKind::Call(callee, arguments) = &code.ops[call as usize].kind else { return false };
    let (models, method) = (run.program.models, event.callee.rsplit('.').next().unwrap_or(&event.callee));
    let constructs =
        method.trim_start_matches('_').starts_with(char::is_uppercase) || models.words.names_a_maker(method);
    let name = |argument: &Argument| match &code.ops[argument.value() as usize].kind {
        OpKind::Load(Variable::Local(slot)) => code.slots.get(*slot as usize).cloned(),
        OpKind::Load(Variable::Global(name)) | OpKind::Attribute(_, name) => Some(name.clone()),
        _ => None,
    };
    let gets_parameters = || arguments.iter().filter_map(name).any(|name| models.words.names_network_parameters(&name));
    event.written.is_some()
        && !constructs
        && !run.uses_of(event.activation.module, event.activation.function).readers(call).is_empty()
        && models.protocols(method).is_empty()
        && !gets_parameters()
        && !has_default(run, &event.activation, &code.ops[*callee as usize].kind)
}

/// Whether an operation reads a parameter that has a default.
fn has_default(run: &Recording<'_>, activation: &Activation, read: &OpKind) -> bool {
    let module = run.module(activation.module);
    let (outwards, slot) = match read {
        OpKind::Load(Variable::Local(slot)) => (0, *slot),
        OpKind::Load(Variable::Outer(outwards, slot)) => (*outwards, *slot),
        _ => return false,
    };
    let function = (0..outwards).try_fold(activation.function, |inner, _| module.function(inner).parent);
    let parameter = function.and_then(|id| module.function(id).parameters.get(slot as usize));
    parameter.is_some_and(|parameter| parameter.has_default)
}

/// If a library folds a path into the key for each draw, whether the call initialises the module that draws. Another
/// draw from the key itself, a split of it, or a call of the other kind gives other numbers.
fn folds_path(run: &Recording<'_>, event: &Consumption) -> Option<bool> {
    if event.role != Role::Protocol {
        return None;
    }
    let name = event.callee.rsplit('.').next().unwrap_or(&event.callee);
    let (relevance, module) = (&run.program.relevance, event.activation.module);
    let imports = |library: &String| relevance.imports(module, library);
    let protocols = run.program.models.protocols(name);
    // A script may get its modules from a package of the project, which alone imports the library.
    let is_near = protocols.iter().flat_map(|protocol| &protocol.libraries).any(imports);
    let is_used = |library: &String| if is_near { imports(library) } else { relevance.reaches(module, library) };
    // The submodules of a receiver are known only if its class is one of such a library.
    let is_unknown = matches!(event.drawn_in, DrawnIn::Unknown | DrawnIn::Method(_));
    let may_be = |protocol: &&Protocol| is_unknown || protocol.folds_path;
    let imported = protocols.iter().filter(|protocol| protocol.libraries.iter().any(is_used));
    let mut imported = imported.filter(may_be).peekable();
    let initialises = imported.peek()?.declares.is_some();
    imported.all(|protocol| protocol.folds_path).then_some(initialises)
}

/// Whether two calls fold different paths into their keys, or both drop what they draw. Two methods of a module as a rule use different
/// submodules. A key that is also used for a result serves two purposes.
fn draw_independently(a: &Consumption, b: &Consumption) -> bool {
    match (&a.drawn_in, &b.drawn_in) {
        (DrawnIn::Submodules(a), DrawnIn::Submodules(b)) => a.iter().all(|name| !b.contains(name)),
        (DrawnIn::Method(a), DrawnIn::Method(b)) => a != b,
        (DrawnIn::Nothing, DrawnIn::Nothing) => true,
        _ => false,
    }
}

/// The receiver of a method, as written.
fn receiver(event: &Consumption) -> Option<&str> {
    event.callee.rsplit_once('.').map(|(receiver, _)| receiver)
}

/// Whether an event is the creation of a stream that is not known to split its key.
fn folds(run: &Recording<'_>, event: &Consumption) -> bool {
    event.role == Role::Library
        && run
            .program
            .models
            .class(&event.callee)
            .is_some_and(|class| matches!(class.construct, Construct::Stream { splits: false, .. }))
}
