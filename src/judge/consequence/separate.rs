//! Computations that each begin with the same key and go on for themselves.
//!
//! A comparison of settings, one stage after another, or an agent and a script that are given the same configured seed: each splits the
//! key into a stream of its own, and nothing that one draws goes into what another computes.
//!
//! **Invariant:** only a key that a callee splits or initialises something from begins a computation; a draw that the frame makes by
//! itself never does. No value of one iteration is read by a later one. Where the call only computes, what it returns is not collected or
//! printed either.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::Term;
use crate::analysis::record::{Activation, Callee, Consumption, Iteration, Recording};
use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind, Place};
use crate::ir::{Function, OpKind, Temp, Variable};
use crate::judge::consequence::Flows;
use crate::judge::facts::{CollisionKind, Role};
use crate::judge::intent::Pair;
use crate::models::{BuiltinOp, Effect};

/// Why two consumptions that begin separate computations are intended, if they do.
pub fn separate_runs(
    flows: &Flows<'_>,
    kind: CollisionKind,
    pair: &Pair<'_>,
    consequence: &Consequence,
) -> Option<Intent> {
    if !matches!(consequence.kind, ConsequenceKind::Stored | ConsequenceKind::Escapes) {
        return None;
    }
    if ![pair.first, pair.second].into_iter().all(begins_a_run) {
        return None;
    }
    let run = flows.run;
    let place = match kind {
        CollisionKind::Iterated => {
            let iteration = pair.repeated_by.as_ref()?;
            is_own_run_of_each_iteration(flows, pair, iteration).then_some(iteration.place)
        }
        CollisionKind::SeededTwice => {
            let made = |event: &Consumption| run.derivation(event.target.derivation);
            let (one, other) = (made(pair.first)?, made(pair.second)?);
            let function = |activation: &Activation| (activation.module, activation.function);
            let is_configured = !is_constant(run, pair.second);
            (is_configured && function(&one.activation) != function(&other.activation)).then_some(one.place)
        }
        _ => None,
    };
    Some(Intent::new(IntentKind::SeparateRuns, Some(place?)))
}

/// Whether a consumption makes a stream of keys, or the parameters of a network, rather than numbers.
fn begins_a_run(event: &Consumption) -> bool {
    matches!(event.role, Role::Split | Role::Protocol)
}

/// Whether a key is made of a number that is written there.
fn is_constant(run: &Recording<'_>, event: &Consumption) -> bool {
    match run.terms.get(run.terms.root(event.target.term)) {
        Term::Seed(seed) => matches!(run.terms.get(*seed), Term::Int(_)),
        _ => true,
    }
}

/// Whether each iteration of a loop calls a function that consumes the key, and no later iteration reads what comes of it.
fn is_own_run_of_each_iteration(flows: &Flows<'_>, pair: &Pair<'_>, iteration: &Iteration) -> bool {
    let run = flows.run;
    let chain = pair.second.chain();
    let loop_of = |(activation, _): &(Rc<Activation>, _)| loop_at(run, activation, iteration);
    let Some((frame, body)) = (0..).zip(&chain).find_map(|(frame, entry)| Some((frame, loop_of(entry)?))) else {
        return false;
    };
    if pair.first.place != pair.second.place || frame + 1 >= chain.len() {
        return false;
    }
    let (activation, place) = &chain[frame];
    let Some(call) = run.call_at(activation, *place) else { return false };
    let code = run.code(activation);
    let reach = flows.reach(pair.reuse.second);
    let Some(reached) = reach.reached_in(activation.id) else { return false };
    let stored: Vec<&Variable> = body.iter().filter_map(|temp| stored_at(code, *temp)).collect();
    let load = |temp: &Temp| match &code.ops[*temp as usize].kind {
        OpKind::Load(variable) if body.contains(temp) => Some(variable),
        _ => None,
    };
    // What is loaded before the call was stored by an earlier iteration.
    let is_carried = |temp: &Temp| *temp < call && load(temp).is_some_and(|variable| stored.contains(&variable));
    if reached.iter().any(is_carried) {
        return false;
    }
    // What only computes hands its numbers on: those that are collected or printed meet there.
    let is_collected = |temp: &Temp| load(temp).is_some_and(|variable| !stored.contains(&variable));
    let uses = run.uses_of(activation.module, activation.function);
    let is_printed = |temp: &Temp| {
        uses.readers(*temp).iter().any(|reader| body.contains(reader) && is_print(run, activation, *reader))
    };
    reach.is_observed_below(activation.id) || !reached.iter().any(|temp| is_collected(temp) || is_printed(temp))
}

fn stored_at(code: &Function, temp: Temp) -> Option<&Variable> {
    match &code.ops[temp as usize].kind {
        OpKind::Store(variable, _) => Some(variable),
        _ => None,
    }
}

/// Whether a call prints what it is given, for a reader who sees all iterations.
fn is_print(run: &Recording<'_>, activation: &Activation, call: Temp) -> bool {
    let place = Place { file: run.module(activation.module).file, span: run.code(activation).ops[call as usize].span };
    let callees = run.log.callees.get(&place).map_or(&[][..], Vec::as_slice);
    callees.iter().any(|callee| match callee {
        Callee::Library(path) => {
            let effect = run.program.models.callable(path).map(|callable| &callable.effect);
            matches!(effect, Some(Effect::Builtin(BuiltinOp::Print)))
        }
        _ => false,
    })
}

/// The operations in the body of the loop that repeats something, where it is a statement of an activation's function.
fn loop_at(run: &Recording<'_>, activation: &Activation, iteration: &Iteration) -> Option<FxHashSet<Temp>> {
    if run.module(activation.module).file != iteration.place.file {
        return None;
    }
    let code = run.code(activation);
    let body = code.ops.iter().find_map(|op| match &op.kind {
        OpKind::Loop { body, .. } if op.span == iteration.place.span => Some(body),
        _ => None,
    })?;
    let mut found = FxHashSet::default();
    let mut work = vec![body];
    while let Some(block) = work.pop() {
        for temp in block {
            found.insert(*temp);
            work.extend(code.ops[*temp as usize].kind.blocks());
        }
    }
    Some(found)
}
