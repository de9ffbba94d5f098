//! Separate computations that restart from one key.
//!
//! Two parts of a script that each create a stream from one seed, stages of a loop that each initialise a network, a function that is
//! evaluated twice with one key: their draws are equal, and nothing observes that.
//!
//! **Invariant:** the draws meet nowhere, as far as they can be followed, and are not put into one object or an argument of the computation, or
//! carried into a later iteration. They are not printed together, unless the program splits the key of a seed for each computation. Only if the
//! program makes the keys from one seed twice may one result be used for the other. Two samplers in one body are never excused, and neither is a key that is drawn from and then continues to be used, or that
//! the body of a loop draws from or splits without making it first.

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::record::{Chain, Consumption, Recording};
use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind};
use crate::ir::{FunctionKind, Name, OpKind, Variable};
use crate::judge::consequence::body::Sinks;
use crate::judge::consequence::repeating_loop::{Kept, RepeatingLoop, returns_results};
use crate::judge::consequence::unused_children::is_drawn_from;
use crate::judge::consequence::{Code, Flows, Frame};
use crate::judge::facts::{ReuseKind, Role};
use crate::judge::intent::pair::{Pair, STEPS, calls_apart};

/// The reason if computations make their keys from one seed and their results meet.
const ONE_SEED: &str = "each computation makes its own key, from the same seed";
/// The reason if computations split the key of one seed, and their results never meet.
const ONE_START: &str = "each split of the seed's key starts a computation, and their results never meet";
/// The reason if the iterations of a loop through a collection each restart from one seed.
const RESTART: &str = "each iteration restarts from the seed, and the results never meet";

/// The reason if each iteration passes another element of the loop to a computation that starts from one seed.
const SETTING: &str = "each iteration starts a setting of its own from one seed";

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
        // What a script computes from children of its seed's key it may print.
        ReuseKind::SplitTwice | ReuseKind::Iterated if is_apart && start_from_seed(flows, pair) => {
            Some(Intent::because(IntentKind::SeparateRuns, ONE_START, None))
        }
        ReuseKind::Iterated if (is_apart || consequence.kind == ConsequenceKind::Returned) && restarts(flows, pair) => {
            Some(Intent::because(IntentKind::SeparateRuns, RESTART, pair.repeated_by.as_ref().map(|it| it.place)))
        }
        ReuseKind::Iterated if is_apart && restarts_for_setting(flows, pair) => {
            Some(Intent::because(IntentKind::Comparison, SETTING, pair.repeated_by.as_ref().map(|it| it.place)))
        }
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

/// Whether two computations start from keys of one seed: the author wrote the seed twice and wants that, unless one body calls both samplers
/// or makes both parts of an object, a module stores what both draw, or both draws or splits end in one value.
fn are_separate_seeds(flows: &Flows<'_>, pair: &Pair<'_>, consequence: &Consequence) -> bool {
    let run = flows.run;
    let are = |role: Role| pair.first.role == role && pair.second.role == role;
    let is_one_body = pair.first.activation.id == pair.second.activation.id;
    if is_one_body && consequence.kind == ConsequenceKind::Stored && are_networks_of_one_object(run, pair) {
        return false;
    }
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

/// Whether two networks, or modules that get streams of keys, are made for two attributes of one object: `self.actor = …`, `self.critic = …`.
/// One network made twice may be intended as its own copy.
fn are_networks_of_one_object(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let makes = |event: &Consumption| {
        let method = event.callee.rsplit('.').next().unwrap_or(&event.callee);
        match event.role {
            Role::Library => true,
            Role::Protocol => run.program.models.protocols(method).iter().any(|protocol| protocol.declares.is_some()),
            Role::Sample | Role::Split | Role::Fold | Role::Unresolved => false,
        }
    };
    let are_two = pair.first.role == Role::Library || pair.first.callee != pair.second.callee;
    are_two
        && makes(pair.first)
        && makes(pair.second)
        && match (attribute_for(run, pair.first), attribute_for(run, pair.second)) {
            (Some((one, name)), Some((other, named))) => one == other && name != named,
            _ => false,
        }
}

/// The variable and the attribute of it to which a body stores what it makes with a key.
fn attribute_for<'r>(run: &Recording<'r>, event: &Consumption) -> Option<(&'r Variable, &'r Name)> {
    let (code, uses) = (run.code(&event.activation), run.uses_of(event.activation.module, event.activation.function));
    let mut made = run.call_at(&event.activation, event.place)?;
    for _ in 0..STEPS {
        let [reader] = uses.readers(made) else { return None };
        match &code.ops[*reader as usize].kind {
            OpKind::StoreAttribute(object, name, _) => {
                return match &code.ops[*object as usize].kind {
                    OpKind::Load(variable) => Some((variable, name)),
                    _ => None,
                };
            }
            OpKind::Call(..) | OpKind::Item(..) | OpKind::Attribute(..) => made = *reader,
            _ => return None,
        }
    }
    None
}

/// Whether numbers are drawn from a key, or may be: a split takes none if nothing visible draws from its children and no caller gets them.
fn may_draw(flows: &Flows<'_>, draw: usize) -> bool {
    is_drawn_from(flows.run, &flows.run.log.consumptions[draw]) || flows.keys_reach(draw).has(Sinks::RETURNED)
}

/// Why one draw that each iteration of a loop makes from one key is intended, if it is.
fn separate_iterations(flows: &Flows<'_>, pair: &Pair<'_>, is_apart: bool) -> Option<Intent> {
    let iteration = pair.repeated_by.as_ref()?;
    let around = RepeatingLoop::around(flows.run, pair.second, iteration)?;
    let reach = flows.reach(pair.reuse.second);
    let kept = around.kept(&reach);
    let is_made_again = is_made_again(flows.run, pair);
    if pair.first.place != pair.second.place {
        // What else an iteration draws from its key is compared within the iteration.
        let earlier = RepeatingLoop::around(flows.run, pair.first, iteration)?;
        let is_kept = kept != Kept::default() || earlier.kept(&flows.reach(pair.reuse.first)) != Kept::default();
        let is_own = is_apart && is_made_again && !is_kept && around.is_followed() && earlier.is_followed();
        return is_own.then(|| Intent::new(IntentKind::SeparateRuns, Some(iteration.place)));
    }
    if is_made_again && (is_apart || !kept.beside) && around.is_for_setting(&reach, kept) {
        return Some(Intent::because(IntentKind::Comparison, SETTING, Some(iteration.place)));
    }
    // A split in the body of a loop that does not rebind the key is a mistake.
    let goes_on = pair.second.role == Role::Sample || pair.second.role == Role::Split && !around.is_in_call();
    let is_own = is_apart && (is_made_again || !goes_on) && around.is_followed() && kept == Kept::default();
    is_own.then(|| Intent::new(IntentKind::SeparateRuns, Some(iteration.place)))
}

/// Whether each iteration passes another element of the loop to a computation that makes its key from one seed. What it prints is its own.
fn restarts_for_setting(flows: &Flows<'_>, pair: &Pair<'_>) -> bool {
    let Some(iteration) = pair.repeated_by.as_ref().filter(|_| is_made_again(flows.run, pair)) else { return false };
    let Some(around) = RepeatingLoop::around(flows.run, pair.second, iteration) else { return false };
    let reach = flows.reach(pair.reuse.second);
    around.is_for_setting(&reach, around.kept(&reach)) && around.runs_computation(pair.second, iteration, &reach)
}

/// Whether each of two splits of the key of a seed starts another computation, and not that of another iteration: in the body that has both, a
/// split makes many keys, which only code that it calls draws from, and two calls run other functions.
fn start_from_seed(flows: &Flows<'_>, pair: &Pair<'_>) -> bool {
    let run = flows.run;
    let parent = pair.second.target.term;
    let common = frames_in_common(&pair.first.chain(), &pair.second.chain());
    let is_shared = |draw: usize| flows.reach(draw).sinks.has(Sinks::SHARED);
    let is_repetition = pair.repeated_by.is_some() && pair.first.place == pair.second.place;
    let are_splits = pair.first.role == Role::Split && pair.second.role == Role::Split;
    let starts = |split: &Consumption| split.chain().len() > common || makes_many(run, split);
    let is_direct = pair.first.chain().len() == common || pair.second.chain().len() == common;
    is_seed(run, pair)
        && are_splits
        && !is_repetition
        && starts(pair.first)
        && starts(pair.second)
        && (is_direct || calls_apart(run, pair, 1).is_some_and(|calls| !calls.run_one_function(run)))
        && !(is_direct && draws_from_children(run, pair.second.activation.id, parent))
        && !is_shared(pair.reuse.first)
        && !is_shared(pair.reuse.second)
        && !are_kept_together(flows, pair)
}

/// Whether a split is told how many keys to make.
fn makes_many(run: &Recording<'_>, split: &Consumption) -> bool {
    let call = run.call_at(&split.activation, split.place);
    let kind = call.and_then(|call| run.code(&split.activation).ops.get(call as usize)).map(|op| &op.kind);
    matches!(kind, Some(OpKind::Call(_, given)) if given.len() > 1)
}

/// Whether a sampler draws from a child of a key in an activation or in a function within it.
fn draws_from_children(run: &Recording<'_>, activation: u32, parent: TermId) -> bool {
    let is_child = |key: TermId| key != parent && run.terms.mentions(key, &|part| part == parent);
    let is_within = |event: &Consumption| {
        let mut outwards = event.activation.outwards();
        outwards.next().is_some_and(|own| own.id == activation)
            || run.code(&event.activation).parent.is_some()
                && outwards.next().is_some_and(|around| around.id == activation)
    };
    run.log
        .consumptions
        .iter()
        .any(|event| event.role == Role::Sample && is_within(event) && is_child(event.target.term))
}

/// Whether a loop through a collection runs something for each element, from a key that it makes from one seed again: it splits the key, also
/// in a loop within the iteration. No iteration uses the results of another.
fn restarts(flows: &Flows<'_>, pair: &Pair<'_>) -> bool {
    let run = flows.run;
    if pair.first.place != pair.second.place || pair.second.role != Role::Split || !is_made_again(run, pair) {
        return false;
    }
    let Some(iteration) = pair.repeated_by.as_ref() else { return false };
    let parent = pair.second.target.term;
    let advances = |event: &Consumption| {
        event.role == Role::Split
            && event.iteration.as_ref().is_some_and(|inner| inner.place != iteration.place)
            && run.terms.mentions(event.target.term, &|part| part == parent)
    };
    let Some(around) = RepeatingLoop::around(run, pair.second, iteration) else { return false };
    let reach = flows.reach(pair.reuse.second);
    around.goes_through_things()
        && around.reads_element()
        && !around.is_collected(&reach)
        && !around.is_stored_as_state(&reach)
        && !around.kept(&reach).carried
        && run.log.consumptions.iter().any(advances)
}

/// Whether each iteration makes the key from one seed again, as what is to start in the same way each time does.
fn is_made_again(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    pair.first.target.derivation != pair.second.target.derivation && is_seed(run, pair)
}

/// Whether the key is that of a seed, and not derived from another key.
fn is_seed(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    matches!(run.terms.get(pair.second.target.term), Term::Seed(_))
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
