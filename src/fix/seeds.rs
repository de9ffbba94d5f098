//! Two keys from one seed (KEY105): make one key and split it, or give one of the two a seed of its own.
//!
//! **Invariant:** keys are merged only if plain assignments of one suite make them and nothing between those names the second; a new
//! seed is a number that the file uses nowhere as a seed.

use super::context::{FixContext, Proposal, is_keyish};
use super::equality_asserts::do_results_meet;
use super::intent::draws;
use super::jax;
use super::layout;
use super::names::ScopeId;
use super::tree::{self, Step};
use crate::finding::{Finding, Place};
use crate::python::ast::{self, AnyNodeRef, Expr, Number, Stmt};
use crate::python::{span_of, suites};
use crate::text::{Edit, Span};

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let derived = findings[index].repair.as_ref().and_then(|repair| repair.derived_at);
    let mut proposals: Vec<Proposal> = merged(cx, findings, index).into_iter().collect();
    proposals.extend(derived.and_then(|derived| superseded(cx, index, derived)));
    for place in derived.into_iter().flat_map(|(first, again)| [again, first]) {
        let Some(proposal) = reseeded(cx, findings, index, place) else { continue };
        if proposal.resolves.len() > 1 {
            // A third key of the seed may still meet the other one.
            proposals.push(Proposal { resolves: vec![index], ..proposal.clone() });
        }
        proposals.insert(proposals.len() - usize::from(proposal.resolves.len() > 1), proposal);
    }
    let is_dummy = |(first, again): (Place, Place)| [first, again].into_iter().any(|place| is_for_nothing(cx, place));
    let is_meant = |derived: (Place, Place)| {
        is_begun_anew(cx, derived)
            || is_made_alike(cx, derived)
            || is_dummy(derived)
            || begins_examples(cx, derived)
            || [derived.0, derived.1].into_iter().any(|place| passes_over(cx, place))
    };
    if derived.is_some_and(is_meant) {
        Proposal::only_display(&mut proposals);
    }
    proposals
}

/// Whether both keys are made for one call, word for word: `params` and `target_params` begin alike. What draws for itself has no
/// reason to.
fn is_made_alike(cx: &FixContext<'_>, (first, again): (Place, Place)) -> bool {
    let call = |place: Place| {
        let span = cx.here(place)?;
        let around = tree::ancestors(cx.module, span).into_iter().rev();
        let mut calls = around.filter_map(|node| match node {
            AnyNodeRef::ExprCall(call) if span_of(call) != span => Some(call),
            _ => None,
        });
        calls.next().filter(|call| !draws(cx, call))
    };
    let (Some(first), Some(again)) = (call(first), call(again)) else { return false };
    span_of(first) != span_of(again) && cx.slice(span_of(first)) == cx.slice(span_of(again))
}

/// Words for a key that is only there because a function asks for one.
const DUMMIES: [&str; 2] = ["dummy", "placeholder"];

/// Whether code says that a key serves nothing.
pub(super) fn is_called_dummy(code: &str) -> bool {
    let code = code.to_ascii_lowercase();
    DUMMIES.iter().any(|word| code.contains(word))
}

/// Whether a key is made for a call of which only other results are kept, or is said to serve nothing: its numbers are not used.
fn is_for_nothing(cx: &FixContext<'_>, place: Place) -> bool {
    let Some((span, step)) = cx.here(place).and_then(|span| Some((span, cx.steps(span).pop()?))) else {
        return false;
    };
    let statement = step.statement();
    let is_given = |call: &ast::ExprCall| tree::arguments(call).any(|argument| span_of(argument).covers(span));
    let is_dropped = match statement {
        // What is merely initialised has its parameters in what it returns.
        Stmt::Expr(expr) => match &*expr.value {
            Expr::Call(call) => is_given(call) && is_initialisation(cx, call),
            _ => false,
        },
        Stmt::Assign(assign) => match (&assign.targets[..], &*assign.value) {
            ([Expr::Name(name)], Expr::Call(call)) => span_of(call) != span && name.id.as_str() == "_",
            ([Expr::Tuple(targets)], Expr::Call(call)) => {
                let is_split = cx.is_split(call);
                is_given(call) && !is_split && targets.elts.iter().any(|target| cx.code(target) == "_")
            }
            _ => false,
        },
        _ => false,
    };
    let is_named = tree::targets(statement).iter().any(|target| is_called_dummy(cx.code(target)));
    // A comment may follow the statement, or stand on the line before.
    let mut comments = layout::comments_around(cx.text, span_of(statement));
    let is_said =
        suites(statement).is_empty() && comments.any(|said| is_called_dummy(said) && said.split(' ').any(is_keyish));
    is_dropped || is_named || is_said
}

/// Whether a method initialises something that does not keep it: an object that initialises itself does.
fn is_initialisation(cx: &FixContext<'_>, call: &ast::ExprCall) -> bool {
    match &*call.func {
        Expr::Attribute(method) => method.attr.as_str() == "init" && cx.code(&method.value) != "self",
        _ => false,
    }
}

/// Whether the function around it is given keys, and makes one of its own instead: `def __init__(self, *, rngs)` with
/// `Linear(3, 4, rngs=Rngs(0))`. What it is given is to be used, and not another seed.
fn passes_over(cx: &FixContext<'_>, place: Place) -> bool {
    let Some(span) = cx.here(place) else { return false };
    tree::function_around(cx.module, span).is_some_and(|def| {
        def.parameters.iter_non_variadic_params().any(|given| is_keyish(given.parameter.name.as_str()))
    })
}

/// How many examples of a notebook begin with one seed where that is a habit.
const HABIT: usize = 3;

/// Whether examples of a notebook each begin with one seed, and what comes of two of them never meets.
fn begins_examples(cx: &FixContext<'_>, (first, again): (Place, Place)) -> bool {
    let call = |place: Place| tree::call_at(cx.module, cx.here(place)?);
    let (Some(first), Some(again)) = (call(first), call(again)) else { return false };
    let Some((_, seed)) = seed_of(cx, first).filter(|_| cx.is_notebook()) else { return false };
    let alike = tree::calls(cx.module).into_iter().filter(|call| seed_of(cx, call).is_some_and(|of| of.1 == seed));
    alike.take(HABIT).count() == HABIT && !do_results_meet(cx, [first, again])
}

/// Whether one statement, word for word, makes both keys: it starts again with what it started with before.
fn is_begun_anew(cx: &FixContext<'_>, (first, again): (Place, Place)) -> bool {
    let statement = |place: Place| {
        let span = cx.here(place)?;
        let statement = cx.steps(span).pop()?.statement();
        // A key that is merely made says nothing of what it is for.
        let is_made = matches!(statement, Stmt::Assign(assign) if span_of(&*assign.value) == span);
        (!is_made).then(|| (span_of(statement), cx.names.scope_at(span.start)))
    };
    let (Some((first, scope)), Some((again, other))) = (statement(first), statement(again)) else { return false };
    first != again && scope == other && cx.slice(first) == cx.slice(again)
}

/// `a, b = split(key(0))` right after the statement that made `a` and `b` of a key of the same seed, together with others: it
/// makes nothing but names for keys that there are.
fn superseded(cx: &FixContext<'_>, index: usize, (first, again): (Place, Place)) -> Option<Proposal> {
    let (first, again) = (cx.here(first)?, cx.here(again)?);
    let seeded = tree::call_at(cx.module, first.max(again))?;
    let step = cx.steps(span_of(seeded)).pop()?;
    let before = Step { suite: step.suite, index: step.index.checked_sub(1)? };
    let split = |step: Step<'_>| match step.statement() {
        Stmt::Assign(assign) => match &*assign.value {
            Expr::Call(call) if cx.is_split(call) => Some(span_of(call)),
            _ => None,
        },
        _ => None,
    };
    let names = |step: Step<'_>| {
        let names = tree::targets(step.statement()).iter().flat_map(tree::names_bound);
        names.map(|name| name.id.to_string()).collect::<Vec<_>>()
    };
    let (bound, others) = (names(step), names(before));
    let is_again = split(step)?.covers(span_of(seeded)) && split(before).is_some();
    let lines = layout::own_lines(cx.text, span_of(step.statement()))?;
    let is_less = bound.len() < others.len() && bound.iter().all(|name| others.contains(name));
    (is_again && is_less).then(|| {
        Proposal::new(
            format!("keep the keys {} that were created before; the numbers change", bound.join(" and ")),
            vec![Edit::delete(lines)],
            vec![index],
        )
    })
}

/// The seed of a call that makes a key or a stream of keys, where it is written as a number.
fn seed_of<'a>(cx: &FixContext<'_>, call: &'a ast::ExprCall) -> Option<(&'a Expr, u64)> {
    let seed = cx.seed_of(call).or_else(|| cx.stream_seed_of(call))?;
    match seed {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => number.as_u64().map(|number| (seed, number)),
            _ => None,
        },
        _ => None,
    }
}

/// `key(0)` becomes `key(1)` where another key is made of 0.
fn reseeded(cx: &FixContext<'_>, findings: &[Finding], index: usize, place: Place) -> Option<Proposal> {
    let (seed, number) = seed_of(cx, tree::call_at(cx.module, cx.here(place)?)?)?;
    let taken = tree::calls(cx.module);
    let taken: Vec<u64> = taken.into_iter().filter_map(|call| Some(seed_of(cx, call)?.1)).collect();
    let free = (number + 1..=number.saturating_add(MOST_SEEDS))
        .find(|seed| !taken.contains(seed) && !cx.is_promised(WHOLE_FILE, &seed.to_string()))?;
    // Whoever else meets this key meets it no more.
    let resolves = cx.matching(findings, |other| {
        let repair = other.repair.as_ref().filter(|repair| repair.is_seeded_alike);
        let derived = repair.and_then(|repair| repair.derived_at);
        derived.is_some_and(|(first, again)| first == place || again == place)
    });
    Some(
        Proposal::new(
            format!("create this key from the seed {free}, which no other key here uses; the numbers change"),
            vec![Edit::replace(span_of(seed), free.to_string())],
            if resolves.contains(&index) { resolves } else { vec![index] },
        )
        .naming(cx.promise(WHOLE_FILE, &[free.to_string()])),
    )
}

/// The scope of the module: seeds are the same everywhere in a file.
const WHOLE_FILE: ScopeId = 0;

/// More seeds than a file should count up to.
const MOST_SEEDS: u64 = 1_000;

/// `a = key(0)` … `b = key(0)` becomes `a, b = split(key(0))`.
fn merged(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let (first, again) = findings[index].repair.as_ref()?.derived_at?;
    let (first, again) = (cx.here(first)?, cx.here(again)?);
    let (first, again) = if first.start <= again.start { (first, again) } else { (again, first) };
    let (here, there) = (cx.steps(first), cx.steps(again));
    if here.len() != there.len() || first == again {
        return None;
    }
    let (step, later) = (*here.last()?, *there.last()?);
    if !step.is_beside(later) {
        return None;
    }
    let (left, right) = (assigned(step.statement(), first)?, assigned(later.statement(), again)?);
    if left == right || cx.slice(first) != cx.slice(again) {
        return None;
    }
    let between = Span::new(span_of(step.statement()).end, span_of(later.statement()).start);
    let is_named = cx.names.occurrences(right).iter().any(|one| between.covers(one.span));
    let lines = layout::own_lines(cx.text, span_of(later.statement()))?;
    let call = tree::call_at(cx.module, first)?;
    let split = cx.spelled(first.start, jax::SPLIT, Some(call))?;
    let code = format!("{left}, {right} = {split}({})", cx.slice(first));
    (!is_named).then(|| {
        Proposal::new(
            "create one key from the seed and split it; the numbers change".to_owned(),
            vec![Edit::replace(span_of(step.statement()), code), Edit::delete(lines)],
            vec![index],
        )
    })
}

/// The one variable that a statement assigns the value at a span to.
fn assigned(statement: &Stmt, value: Span) -> Option<&str> {
    match statement {
        Stmt::Assign(assign) if span_of(&*assign.value) == value => match &assign.targets[..] {
            [Expr::Name(name)] => Some(name.id.as_str()),
            _ => None,
        },
        _ => None,
    }
}
