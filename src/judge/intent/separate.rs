//! Separate computations that restart from one key.
//!
//! Two parts of a script that each create a stream from one seed, stages of a loop that each initialise a network, a function that is
//! evaluated twice with one key: their draws are equal, and nothing observes that.
//!
//! **Invariant:** the draws meet nowhere, as far as they can be followed, and are not printed together, put into one object or an argument
//! of the computation, or carried into a later iteration. Only if the program makes the keys from one seed twice may one result be used for
//! the other. Two samplers in one body are never excused, and neither is a key that is drawn from and then continues to be used, or that
//! the body of a loop draws from or splits without making it first.

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::Term;
use crate::analysis::record::{Chain, Recording};
use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind};
use crate::ir::{FunctionKind, Variable};
use crate::judge::consequence::body::Sinks;
use crate::judge::consequence::repeating_loop::{Kept, RepeatingLoop, returns_results};
use crate::judge::consequence::unused_children::is_drawn_from;
use crate::judge::consequence::{Code, Flows, Frame};
use crate::judge::facts::{ReuseKind, Role};
use crate::judge::intent::Pair;

/// The reason if computations make their keys from one seed and their results meet.
const ONE_SEED: &str = "each computation makes its own key, from the same seed";

/// Why two draws that start separate computations are intended, if they do.
pub fn separate_runs(flows: &Flows<'_>, kind: ReuseKind, pair: &Pair<'_>, consequence: &Consequence) -> Option<Intent> {
    let is_printed = |draw: usize| flows.reach(draw).sinks.has(Sinks::PRINTED);
    let are_printed = is_printed(pair.reuse.first) && is_printed(pair.reuse.second);
    let is_apart = is_apart(consequence);
    match kind {
        ReuseKind::SeededTwice => are_separate_seeds(flows, pair, consequence).then(|| {
            let made = flows.run.derivation(pair.first.target.derivation);
            let place = made.map(|made| made.place);
            if is_apart {
                Intent::new(IntentKind::SeparateRuns, place)
            } else {
                Intent::because(IntentKind::SeparateRuns, ONE_SEED, place)
            }
        }),
        _ if are_printed => None,
        ReuseKind::Iterated if is_apart || consequence.kind == ConsequenceKind::Returned => {
            separate_iterations(flows, pair, is_apart)
        }
        ReuseKind::Sampled | ReuseKind::SplitTwice if is_apart => {
            let are_computations = is_within_calls(flows.run, pair, consequence) && !are_kept_together(flows, pair);
            are_computations.then(|| Intent::new(IntentKind::SeparateRuns, None))
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

/// Whether two draws never meet, as far as they can be followed.
fn is_apart(consequence: &Consequence) -> bool {
    matches!(consequence.kind, ConsequenceKind::Stored | ConsequenceKind::Escapes)
}

/// Whether two computations start from keys of one seed: the author wrote the seed twice and wants that, unless one body calls both samplers,
/// a module stores what both draw, or both draws or splits end in one value.
fn are_separate_seeds(flows: &Flows<'_>, pair: &Pair<'_>, consequence: &Consequence) -> bool {
    let run = flows.run;
    let are = |role: Role| pair.first.role == role && pair.second.role == role;
    let is_one_body = pair.first.activation.id == pair.second.activation.id;
    if !matches!(consequence.kind, ConsequenceKind::Meet | ConsequenceKind::Returned) {
        return !(are(Role::Sample) && (is_one_body || are_stored_by_module(run, pair, consequence)));
    }
    // Code that splits twice gives the same children twice, and so do two splits in one body.
    let are_alike = are(Role::Split)
        && (is_one_body || pair.first.place == pair.second.place)
        && may_draw(flows, pair.reuse.first)
        && may_draw(flows, pair.reuse.second);
    !are(Role::Sample) && !are_alike
}

/// Whether numbers are drawn from a key, or may be: a split takes none if nothing visible draws from its children and no caller gets them.
fn may_draw(flows: &Flows<'_>, draw: usize) -> bool {
    is_drawn_from(flows.run, &flows.run.log.consumptions[draw]) || flows.keys_reach(draw).has(Sinks::RETURNED)
}

/// Why one draw that each iteration of a loop makes from one key is intended, if it is.
fn separate_iterations(flows: &Flows<'_>, pair: &Pair<'_>, is_apart: bool) -> Option<Intent> {
    if pair.first.place != pair.second.place {
        return None;
    }
    let iteration = pair.repeated_by.as_ref()?;
    let around = RepeatingLoop::around(flows.run, pair.second, iteration)?;
    let reach = flows.reach(pair.reuse.second);
    let kept = around.kept(&reach);
    let is_made_again = is_made_again(flows.run, pair);
    if is_made_again && (is_apart || !kept.beside) && around.is_for_setting(&reach, kept) {
        let reason = "each iteration starts a setting of its own from one seed";
        return Some(Intent::because(IntentKind::Comparison, reason, Some(iteration.place)));
    }
    // A split in the body of a loop that does not rebind the key is a mistake.
    let goes_on = pair.second.role == Role::Sample || pair.second.role == Role::Split && !around.is_in_call();
    let is_own = is_apart && (is_made_again || !goes_on) && around.is_followed() && kept == Kept::default();
    is_own.then(|| Intent::new(IntentKind::SeparateRuns, Some(iteration.place)))
}

/// Whether each iteration makes the key from one seed again, as what is to start in the same way each time does.
fn is_made_again(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let (one, other) = (pair.first.target, pair.second.target);
    one.derivation != other.derivation && matches!(run.terms.get(other.term), Term::Seed(_))
}

/// How many frames two draws have in common, from the outermost on.
fn frames_in_common(a: &Chain, b: &Chain) -> usize {
    a.iter().zip(b).take_while(|((one, _), (other, _))| one.id == other.id).count()
}

/// Whether a module stores the results of both draws: what it stores under two names, it may use together later.
fn are_stored_by_module(run: &Recording<'_>, pair: &Pair<'_>, consequence: &Consequence) -> bool {
    let chain = pair.first.chain();
    let frame = frames_in_common(&chain, &pair.second.chain()).checked_sub(1).and_then(|frame| chain.get(frame));
    consequence.kind == ConsequenceKind::Stored
        && frame.is_some_and(|(activation, _)| run.code(activation).kind == FunctionKind::Module)
}

/// Whether each of two draws happens within a separate call, as seen from their innermost common frame. The results of coroutines and
/// generators are not followed.
fn is_within_calls(run: &Recording<'_>, pair: &Pair<'_>, consequence: &Consequence) -> bool {
    let (a, b) = (pair.first.chain(), pair.second.chain());
    let common = frames_in_common(&a, &b);
    let is_followed = |chain: &Chain| {
        let mut below = chain.iter().skip(common).map(|(activation, _)| run.code(activation));
        chain.len() > common && below.all(|code| code.kind == FunctionKind::Def && returns_results(code))
    };
    common > 0 && !are_stored_by_module(run, pair, consequence) && is_followed(&a) && is_followed(&b)
}

/// Whether both draws are put into one object, as the layers of a network are: `self.a = make(key); self.b = make(key)`. An object that
/// gets both may combine them: `store.save(make(key)); store.save(make(key))`.
pub fn are_kept_together(flows: &Flows<'_>, pair: &Pair<'_>) -> bool {
    let (one, other) = (flows.reach(pair.reuse.first), flows.reach(pair.reuse.second));
    // Each call of a function makes new variables: one variable is one object only within the call that made it.
    let is_made_once = |owner: Option<Code>| {
        let mut around = pair.first.chain().into_iter().zip(pair.second.chain());
        around.any(|((one, _), (other, _))| one.id == other.id && Some((one.module, one.function)) == owner)
    };
    let takes_both = |frame: &Frame, other: &Frame| {
        let is_one = |variable: &Variable| match variable {
            Variable::Global(_) => frame.code.0 == other.code.0,
            Variable::Outer(depth, _) => frame.code == other.code && is_made_once(around(flows, frame.code, *depth)),
            Variable::Local(_) => frame.activation == other.activation,
        };
        frame.effects.takers.iter().any(|variable| is_one(variable) && other.effects.takers.contains(variable))
    };
    if one.frames.iter().any(|frame| other.frames.iter().any(|other| takes_both(frame, other))) {
        return true;
    }
    one.frames.iter().any(|frame| {
        let same = other.frames.iter().find(|other| other.activation == frame.activation);
        let slots = |frame: &Frame| frame.effects.mutated.iter().map(|(slot, _)| *slot).collect::<FxHashSet<u32>>();
        same.is_some_and(|same| !slots(frame).is_disjoint(&slots(same)))
    })
}

/// The function that is so many functions around another.
fn around(flows: &Flows<'_>, (module, function): Code, depth: u32) -> Option<Code> {
    let functions = &flows.run.module(module).functions;
    let owner = (0..depth).try_fold(function, |at, _| functions.get(at.0 as usize)?.parent);
    owner.map(|owner| (module, owner))
}
