//! Computations that start from one key again and go on for themselves.
//!
//! Two scripts' worth of code that each make a stream from one seed, stages of a loop that each initialise a network, calls that leave a
//! key with its default: what they draw is equal, and nothing sees that.
//!
//! **Invariant:** the draws meet nowhere, as far as they can be followed, and are not printed for one reader. Draws that a sampler makes from
//! keys that the program made or passed on itself are never excused.

use rustc_hash::FxHashSet;

use crate::analysis::record::{Activation, Consumption, Iteration, Recording};
use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind};
use crate::ir::{OpKind, Temp, Variable};
use crate::judge::consequence::Flows;
use crate::judge::consequence::body::Ways;
use crate::judge::facts::{ReuseKind, Role};
use crate::judge::intent::Pair;
use crate::judge::intent::default_key::is_default;

/// Why two draws that start computations of their own are intended, if they do.
pub fn separate_runs(flows: &Flows<'_>, kind: ReuseKind, pair: &Pair<'_>, consequence: &Consequence) -> Option<Intent> {
    let run = flows.run;
    let is_apart = matches!(consequence.kind, ConsequenceKind::Stored | ConsequenceKind::Escapes);
    let is_printed = |draw: usize| flows.reach(draw).ways.has(Ways::PRINTED);
    if !is_apart || is_printed(pair.reuse.first) && is_printed(pair.reuse.second) {
        return None;
    }
    let made = |event: &Consumption| run.derivation(event.target.derivation).map(|made| made.place);
    match kind {
        ReuseKind::SeededTwice => {
            let makes_stream = |event: &Consumption| matches!(event.role, Role::Split | Role::Library);
            let is_own =
                pair.first.place != pair.second.place && (makes_stream(pair.first) || makes_stream(pair.second));
            is_own.then(|| Intent::new(IntentKind::SeparateRuns, made(pair.first)))
        }
        _ if is_default(run, pair.first) && is_default(run, pair.second) => {
            Some(Intent::new(IntentKind::DocumentedDefault, made(pair.second)))
        }
        ReuseKind::Iterated => {
            let iteration = pair.repeated_by.as_ref()?;
            let starts = pair.first.place == pair.second.place && initialises(run, pair.second);
            let is_own = starts && !is_collected(flows, pair, iteration);
            is_own.then(|| Intent::new(IntentKind::SeparateRuns, Some(iteration.place)))
        }
        _ => None,
    }
}

/// Whether a call makes the first parameters of a network, by a method that a model knows.
fn initialises(run: &Recording<'_>, event: &Consumption) -> bool {
    let method = event.callee.rsplit('.').next().unwrap_or(&event.callee);
    let protocols = run.program.models.protocols(method);
    event.role == Role::Protocol && !protocols.is_empty() && protocols.iter().any(|protocol| protocol.reads_shapes)
}

/// Whether what an iteration draws may be kept beside what others draw, as members of an ensemble are.
fn is_collected(flows: &Flows<'_>, pair: &Pair<'_>, iteration: &Iteration) -> bool {
    let run = flows.run;
    let chain = pair.second.chain();
    let Some((activation, body)) =
        chain.iter().find_map(|(activation, _)| Some((activation, loop_at(run, activation, iteration)?)))
    else {
        return true;
    };
    let code = run.code(activation);
    let reach = flows.reach(pair.reuse.second);
    let Some(frame) = reach.frames.iter().find(|frame| frame.activation == activation.id) else { return false };
    let reached = &frame.effects.reached;
    let is_stored = |variable: &Variable| {
        body.iter().any(|temp| matches!(&code.ops[*temp as usize].kind, OpKind::Store(stored, _) if stored == variable))
    };
    body.iter().any(|temp| match &code.ops[*temp as usize].kind {
        OpKind::Load(variable) => reached.contains(temp) && !is_stored(variable),
        OpKind::Append(container, _) => reached.contains(container) && !body.contains(container),
        OpKind::Yield { .. } => true,
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
