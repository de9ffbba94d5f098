//! Computations that start from one key again and go on for themselves.
//!
//! Two scripts' worth of code that each make a stream from one seed, stages of a loop that each initialise a network, a function that is
//! evaluated twice under one key: what they draw is equal, and nothing sees that.
//!
//! **Invariant:** the draws meet nowhere, as far as they can be followed, and are not printed for one reader, put into one object or carried
//! into a later iteration. Only of keys that the program makes from one seed twice may one result serve the other. Two samplers that stand
//! in one body are never excused, nor is a key that is drawn from and then goes on, or that the body of a loop draws from or splits
//! without making it first.

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::record::{Activation, Chain, Consumption, Iteration, Recording};
use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind};
use crate::ir::{Function, FunctionKind, OpKind, Temp, Variable};
use crate::judge::consequence::body::Ways;
use crate::judge::consequence::{Flows, Frame};
use crate::judge::facts::{ReuseKind, Role};
use crate::judge::intent::Pair;
use crate::models::{BuiltinOp, Effect};

/// Most operations that one value of a loop is computed with.
const FOLLOWED: usize = 128;

/// Most steps from what a loop goes through to what is computed of it.
const ROUNDS: usize = 4;

/// Why two draws that start computations of their own are intended, if they do.
pub fn separate_runs(flows: &Flows<'_>, kind: ReuseKind, pair: &Pair<'_>, consequence: &Consequence) -> Option<Intent> {
    let run = flows.run;
    let is_apart = matches!(consequence.kind, ConsequenceKind::Stored | ConsequenceKind::Escapes);
    let is_printed = |draw: usize| flows.reach(draw).ways.has(Ways::PRINTED);
    let are_printed = is_printed(pair.reuse.first) && is_printed(pair.reuse.second);
    let made = |event: &Consumption| run.derivation(event.target.derivation).map(|made| made.place);
    let draws = |event: &Consumption| event.role == Role::Sample;
    let are_draws = draws(pair.first) && draws(pair.second);
    let are_computations = || is_within_calls(run, pair, consequence) && !are_kept_together(flows, pair);
    match kind {
        // Whoever writes one seed twice for two computations wants to start both from it, even if a result of one serves the other.
        ReuseKind::SeededTwice => {
            let meet = matches!(consequence.kind, ConsequenceKind::Meet | ConsequenceKind::Returned);
            let is_in_one_body = pair.first.activation.id == pair.second.activation.id;
            // One piece of code that runs twice gives the same numbers twice, and so do two splits that stand in one body.
            let are_alike =
                pair.first.place == pair.second.place || pair.first.role == pair.second.role && is_in_one_body;
            let is_own = match consequence.kind {
                // Nothing of the program sees both: two samplers in one body were hardly to draw the same.
                ConsequenceKind::Escapes if !is_in_one_body => !are_printed,
                _ if is_apart => !are_draws && !are_printed,
                _ => !are_draws && meet && !are_alike,
            };
            is_own.then(|| Intent::new(IntentKind::SeparateRuns, made(pair.first)))
        }
        ReuseKind::Iterated if is_apart || consequence.kind == ConsequenceKind::Returned => {
            let iteration = pair.repeated_by.as_ref()?;
            if pair.first.place == pair.second.place
                && is_made_anew(run, pair)
                && !are_printed
                && is_for_setting(flows, pair, iteration, is_apart)
            {
                let reason = "each iteration starts a setting of its own from one seed";
                return Some(Intent::because(IntentKind::Comparison, reason, Some(iteration.place)));
            }
            if !is_apart || are_printed {
                return None;
            }
            let goes_on = draws(pair.second) || is_split_in(run, pair, iteration);
            let starts = pair.first.place == pair.second.place && (is_made_anew(run, pair) || !goes_on);
            let is_own = starts && is_followed_from(run, pair, iteration) && !is_collected(flows, pair, iteration);
            is_own.then(|| Intent::new(IntentKind::SeparateRuns, Some(iteration.place)))
        }
        _ if !is_apart || are_printed => None,
        ReuseKind::Sampled | ReuseKind::SplitTwice if are_computations() => {
            Some(Intent::new(IntentKind::SeparateRuns, None))
        }
        ReuseKind::Iterated
        | ReuseKind::Sampled
        | ReuseKind::SplitTwice
        | ReuseKind::SplitAndSampled
        | ReuseKind::FoldedTwice
        | ReuseKind::FoldMeetsChild
        | ReuseKind::FoldAndSampled => None,
    }
}

/// Whether each iteration makes the key from one seed again, as what is to start in the same way each time does.
fn is_made_anew(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let (one, other) = (pair.first.target, pair.second.target);
    one.derivation != other.derivation && matches!(run.terms.get(other.term), Term::Seed(_))
}

/// Whether a call in the loop, of which the draw is a part, is given what the loop goes through, or what is computed of that: a
/// setting, and not another member of one ensemble. A number that is counted up is an epoch, or such a member.
///
/// Results may be kept by setting, `results[rate] = train(key(0), rate)`. What is appended, or returned together, may be layers of one network.
fn is_for_setting(flows: &Flows<'_>, pair: &Pair<'_>, iteration: &Iteration, is_apart: bool) -> bool {
    let run = flows.run;
    let chain = pair.second.chain();
    let found = chain.iter().find_map(|(activation, place)| {
        Some((activation, loop_at(run, activation, iteration)?, run.call_at(activation, *place)?))
    });
    let Some((activation, body, call)) = found else { return false };
    let Some(kept) = kept(flows, pair, iteration) else { return false };
    // A sampler in the loop itself computes nothing else.
    if kept.carried || kept.beside && !is_apart || activation.id == pair.second.activation.id {
        return false;
    }
    let (code, module) = (run.code(activation), activation.module);
    let mut varying: Vec<&Variable> = Vec::new();
    let varies = |varying: &[&Variable], temp: Temp| {
        let (mut work, mut seen) = (vec![temp], FxHashSet::default());
        while let Some(temp) = work.pop().filter(|_| seen.len() < FOLLOWED) {
            if !seen.insert(temp) {
                continue;
            }
            match &code.ops[temp as usize].kind {
                OpKind::Next(iterator) if !counts(run, module, code, *iterator) => return true,
                OpKind::Next(_) => {}
                OpKind::Load(variable) if varying.contains(&variable) => return true,
                kind => kind.operands(&mut |operand| work.push(operand)),
            }
        }
        false
    };
    let stores = || {
        code.ops.iter().enumerate().filter_map(|(at, op)| match &op.kind {
            OpKind::Store(variable, value) => Some((Temp::try_from(at).ok()?, variable, *value)),
            _ => None,
        })
    };
    for _ in 0..ROUNDS {
        let before = varying.len();
        for (at, variable, value) in stores() {
            if body.contains(&at) && !varying.contains(&variable) && varies(&varying, value) {
                varying.push(variable);
            }
        }
        if varying.len() == before {
            break;
        }
    }
    let reach = flows.reach(pair.reuse.second);
    let frame = reach.frames.iter().find(|frame| frame.activation == activation.id);
    let is_by_setting = |temp: &Temp| match &code.ops[*temp as usize].kind {
        OpKind::StoreItem(_, index, value) => {
            frame.is_some_and(|frame| frame.effects.reached.contains(value)) && varies(&varying, *index)
        }
        _ => false,
    };
    varies(&varying, call) && (!kept.beside || body.iter().any(is_by_setting))
}

/// Whether an iterator counts: what it goes through has a `range` in it.
fn counts(run: &Recording<'_>, module: ModuleIndex, code: &Function, iterator: Temp) -> bool {
    let (mut work, mut seen) = (vec![iterator], FxHashSet::default());
    while let Some(temp) = work.pop().filter(|_| seen.len() < FOLLOWED) {
        if !seen.insert(temp) {
            continue;
        }
        let kind = &code.ops[temp as usize].kind;
        if let OpKind::Call(callee, _) = kind
            && let Some(path) = run.library_named(module, code, *callee)
            && let Some(callable) = run.program.models.callable(&path)
            && matches!(callable.effect, Effect::Builtin(BuiltinOp::Range | BuiltinOp::Count))
        {
            return true;
        }
        kind.operands(&mut |operand| work.push(operand));
    }
    false
}

/// Whether the body of a loop itself splits the key: whoever does this and does not bind the key anew has forgotten to.
fn is_split_in(run: &Recording<'_>, pair: &Pair<'_>, iteration: &Iteration) -> bool {
    let chain = pair.second.chain();
    let own = chain.last().and_then(|(activation, _)| loop_at(run, activation, iteration));
    pair.second.role == Role::Split && own.is_some()
}

/// Whether each of two draws happens within a call of its own, as seen from the innermost frame that both have in common. What a module keeps
/// under two names, it may use together later; what becomes of the results of coroutines and generators is not followed.
fn is_within_calls(run: &Recording<'_>, pair: &Pair<'_>, consequence: &Consequence) -> bool {
    let (a, b) = (pair.first.chain(), pair.second.chain());
    let common = a.iter().zip(&b).take_while(|((one, _), (other, _))| one.id == other.id).count();
    let is_followed = |chain: &Chain| {
        let mut below = chain.iter().skip(common).map(|(activation, _)| run.code(activation));
        chain.len() > common && below.all(|code| code.kind == FunctionKind::Def && returns_results(code))
    };
    let Some((frame, _)) = common.checked_sub(1).and_then(|frame| a.get(frame)) else { return false };
    let keeps = run.code(frame).kind == FunctionKind::Module && consequence.kind == ConsequenceKind::Stored;
    !keeps && is_followed(&a) && is_followed(&b)
}

/// Whether a call gives what the function returns: what becomes of the results of coroutines and generators is not followed.
fn returns_results(code: &Function) -> bool {
    !code.is_async && !code.is_generator
}

/// Whether all that runs within a loop down to the draw that it repeats can be followed.
fn is_followed_from(run: &Recording<'_>, pair: &Pair<'_>, iteration: &Iteration) -> bool {
    let chain = pair.second.chain();
    let around = chain.iter().position(|(activation, _)| loop_at(run, activation, iteration).is_some());
    chain.iter().skip(around.map_or(0, |at| at + 1)).all(|(activation, _)| returns_results(run.code(activation)))
}

/// Whether both draws are put into one object, as the layers of a network are: `self.a = make(key); self.b = make(key)`.
fn are_kept_together(flows: &Flows<'_>, pair: &Pair<'_>) -> bool {
    let (one, other) = (flows.reach(pair.reuse.first), flows.reach(pair.reuse.second));
    one.frames.iter().any(|frame| {
        let same = other.frames.iter().find(|other| other.activation == frame.activation);
        let slots = |frame: &Frame| frame.effects.mutated.iter().map(|(slot, _)| *slot).collect::<FxHashSet<u32>>();
        same.is_some_and(|same| !slots(frame).is_disjoint(&slots(same)))
    })
}

/// What becomes of the result of an iteration in the loop.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Kept {
    /// It may be kept beside what others draw, as members of an ensemble are.
    beside: bool,
    /// It goes into what later iterations draw, as the state of a training does.
    carried: bool,
}

/// Whether what an iteration draws may be kept beside what others draw, or goes into what later ones draw.
fn is_collected(flows: &Flows<'_>, pair: &Pair<'_>, iteration: &Iteration) -> bool {
    kept(flows, pair, iteration).is_none_or(|kept| kept.beside || kept.carried)
}

/// What becomes of what an iteration draws, where the loop is a statement.
fn kept(flows: &Flows<'_>, pair: &Pair<'_>, iteration: &Iteration) -> Option<Kept> {
    let run = flows.run;
    let chain = pair.second.chain();
    let (activation, body) =
        chain.iter().find_map(|(activation, _)| Some((activation, loop_at(run, activation, iteration)?)))?;
    let code = run.code(activation);
    let reach = flows.reach(pair.reuse.second);
    let mut kept = Kept::default();
    let Some(frame) = reach.frames.iter().find(|frame| frame.activation == activation.id) else { return Some(kept) };
    let reached = &frame.effects.reached;
    let is_stored = |variable: &Variable| {
        body.iter().any(|temp| matches!(&code.ops[*temp as usize].kind, OpKind::Store(stored, _) if stored == variable))
    };
    let call =
        chain.iter().find(|(own, _)| own.id == activation.id).and_then(|(_, place)| run.call_at(activation, *place));
    let bound_first = |variable: &Variable| {
        let binds =
            |temp: &&Temp| matches!(&code.ops[**temp as usize].kind, OpKind::Store(stored, _) if stored == variable);
        body.iter().filter(binds).min().copied()
    };
    // What stands before the draw, or before the variable is bound, is reached by way of the next iteration only.
    let is_before = |temp: Temp, variable: &Variable| {
        call.is_none_or(|call| temp < call) || bound_first(variable).is_some_and(|bound| temp < bound)
    };
    for temp in &body {
        match &code.ops[*temp as usize].kind {
            OpKind::Load(variable) if reached.contains(temp) => {
                kept.beside |= !is_stored(variable);
                kept.carried |= is_stored(variable) && is_before(*temp, variable);
            }
            OpKind::Append(container, _) => kept.beside |= reached.contains(container) && !body.contains(container),
            OpKind::Yield { .. } => kept.beside = true,
            _ => {}
        }
    }
    Some(kept)
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
    Some(code.within(body).collect())
}
