//! Evaluations of what a loop computes, each with the same key: `for batch in data: params = step(params, batch);
//! losses.append(evaluate(params, key))`; and two evaluations with one key, `before = evaluate(params, key)`.
//!
//! With one key, the results of two iterations differ only because what is evaluated does. The average over evaluations of one thing would
//! need independent draws.
//!
//! **Invariant:** the draws are within a call of a function whose name says that it evaluates, shows or measures something, within a call that
//! gets only keys that are named for an evaluation, or within one that the loop makes only once in several iterations; or each iteration
//! makes the key from a seed that is named for an evaluation. Each of these calls has something else to evaluate, and a later iteration at
//! most compares what this one draws with other results.

use crate::analysis::domain::term::Term;
use crate::analysis::record::{Consumption, Recording};
use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind};
use crate::ir::{Collection, Name, OpKind, Temp, Variable};
use crate::judge::consequence::Flows;
use crate::judge::consequence::body::Sinks;
use crate::judge::consequence::repeating_loop::{Kept, RepeatingLoop};
use crate::judge::facts::ReuseKind;
use crate::judge::intent::compared_results::{differing, get_one_key};
use crate::judge::intent::pair::{Calls, Pair, calls_apart};

/// Why two draws in different iterations are intended, if both evaluate something else.
pub fn repeated_evaluation(flows: &Flows<'_>, pair: &Pair<'_>, consequence: &Consequence) -> Option<Intent> {
    if consequence.kind == ConsequenceKind::Meet {
        return None;
    }
    let iteration = pair.repeated_by.as_ref()?;
    let around = |draw: &Consumption| RepeatingLoop::around(flows.run, draw, iteration);
    let reach = flows.reach(pair.reuse.second);
    // Each iteration makes the key again, and goes on from nothing that it draws.
    let is_made_again = pair.first.place == pair.second.place
        && pair.first.target.derivation != pair.second.target.derivation
        && is_seeded_for_evaluation(flows.run, pair.second)
        && around(pair.second).is_none_or(|around| !around.kept(&reach).carried);
    if is_made_again {
        let reason = "each iteration makes the key from a seed that is named for an evaluation";
        return Some(Intent::because(IntentKind::Evaluation, reason, Some(iteration.place)));
    }
    let second = around(pair.second)?;
    let reason = match evaluation(flows, pair, &second) {
        Some(name) => {
            format!("`{name}` evaluates or shows something else in each iteration, usually with the same key")
        }
        None if is_for_evaluation(flows, pair, &second) => {
            "the key is named for an evaluation, and each iteration evaluates something else".to_owned()
        }
        None if is_progress(flows, pair.reuse.second, &second)
            && is_progress(flows, pair.reuse.first, &around(pair.first)?) =>
        {
            "the loop shows its progress now and then, usually with the same key".to_owned()
        }
        None => return None,
    };
    let is_used = second.kept(&reach).carried || second.is_taken(&reach);
    (!is_used && second.gets_another()).then(|| Intent::because(IntentKind::Evaluation, &reason, Some(iteration.place)))
}

/// Why two draws are intended, if both are within calls of one function that evaluates something, by its name, and that gets something else to
/// evaluate: `before = evaluate(params, key)`, and the same after an update. Results that are added or carried on may have to be independent.
pub fn evaluated_twice(
    flows: &Flows<'_>,
    kind: ReuseKind,
    pair: &Pair<'_>,
    consequence: &Consequence,
) -> Option<Intent> {
    let run = flows.run;
    if kind == ReuseKind::Iterated || pair.repeated_by.is_some() || consequence.kind == ConsequenceKind::Carried {
        return None;
    }
    let calls = calls_apart(run, pair, 1).filter(|calls| calls.once != calls.again && calls.run_one_function(run))?;
    let is_apart = consequence.kind != ConsequenceKind::Meet
        || is_collected(&calls, calls.once) && is_collected(&calls, calls.again);
    let [differing, same] = differing(calls.code, calls.once, calls.again)?;
    let words = &run.program.models.words;
    let chain = pair.second.chain();
    let at = chain.iter().position(|(activation, _)| activation.id == calls.activation)?;
    let called = chain.iter().skip(at + 1).map(|(activation, _)| &run.code(activation).name);
    let mut called = called.take_while(|name| !words.names_training(name) && !words.names_a_search(name));
    let name = called.find(|name| words.names_an_evaluation(name))?;
    let reason = format!("`{name}` evaluates or shows something else in each call, usually with the same key");
    let is_another = is_apart && differing > 0 && same > 0 && get_one_key(run, pair, &calls);
    is_another.then(|| Intent::because(IntentKind::Evaluation, &reason, Some(calls.place(calls.once))))
}

/// Whether the result of a call is only put into a list, a tuple or a dict, or appended to one.
fn is_collected(calls: &Calls<'_>, call: Temp) -> bool {
    let (code, uses) = (calls.code, &calls.uses);
    let collects = |reader: &Temp| match &code.ops[*reader as usize].kind {
        OpKind::Build(Collection::List | Collection::Tuple | Collection::Dict, _) | OpKind::Append(..) => true,
        OpKind::StoreItem(_, _, value) => *value == call,
        OpKind::Call(callee, _) => {
            matches!(code.ops[*callee as usize].kind, OpKind::Attribute(..)) && uses.readers(*reader).is_empty()
        }
        _ => false,
    };
    let readers = uses.readers(call);
    !readers.is_empty() && readers.iter().all(collects)
}

/// The function that evaluates something in each iteration, by its name.
fn evaluation(flows: &Flows<'_>, pair: &Pair<'_>, around: &RepeatingLoop<'_>) -> Option<Name> {
    let words = &flows.run.program.models.words;
    let is_training = |name: &Name| words.names_training(name) || words.names_a_search(name);
    let mut called = around.called(pair.second).into_iter().take_while(|name| !is_training(name));
    let is_one_place = pair.first.place == pair.second.place;
    called.find(|name| is_one_place && (words.names_an_evaluation(name) || words.names_a_measurement(name)))
}

/// Whether the name of the key says that it is for an evaluation: `eval_key`, `val_rng`.
fn is_for_evaluation(flows: &Flows<'_>, pair: &Pair<'_>, around: &RepeatingLoop<'_>) -> bool {
    let words = &flows.run.program.models.words;
    let mut keys = around.passed().filter(|name| words.is_keyish(name)).peekable();
    pair.first.place == pair.second.place
        && keys.peek().is_some()
        && keys.all(|name| words.names_a_key_for_evaluation(name) && !words.names_training(name))
}

/// Whether a key is made from a seed whose name says that it is for an evaluation: `key(config.eval_seed)`.
pub fn is_seeded_for_evaluation(run: &Recording<'_>, event: &Consumption) -> bool {
    let words = &run.program.models.words;
    let Some(made) = run.derivation(event.target.derivation) else { return false };
    let Some(call) = run.call_at(&made.activation, made.place) else { return false };
    let code = run.code(&made.activation);
    let OpKind::Call(_, arguments) = &code.ops[call as usize].kind else { return false };
    let name = match arguments.first().map(|seed| &code.ops[seed.value() as usize].kind) {
        Some(OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name))) => Some(name),
        Some(OpKind::Load(Variable::Local(slot))) => code.slots.get(*slot as usize),
        _ => None,
    };
    matches!(run.terms.get(event.target.term), Term::Seed(_))
        && name.is_some_and(|name| words.names_a_key_for_evaluation(name) && words.is_keyish(name))
}

/// Whether a loop shows what it draws once in several iterations, and keeps nothing of it.
fn is_progress(flows: &Flows<'_>, draw: usize, around: &RepeatingLoop<'_>) -> bool {
    let reach = flows.reach(draw);
    around.is_occasional()
        && around.is_in_call()
        && around.gets_another()
        && around.kept(&reach) == Kept::default()
        && !reach.sinks.has(Sinks::DECIDES)
        && !around.may_be_kept(&reach)
}
