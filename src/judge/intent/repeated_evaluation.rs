//! Evaluations of what a loop computes, each with the same key: `for batch in data: params = step(params, batch);
//! losses.append(evaluate(params, key))`.
//!
//! With one key, the results of two iterations differ only because what is evaluated does. The average over evaluations of one thing would
//! need independent draws.
//!
//! **Invariant:** the draws are within a call of a function whose name says that it evaluates, shows or measures something, each iteration has
//! something else to evaluate, and no later iteration uses what this one draws.

use crate::finding::{Consequence, ConsequenceKind, Intent, IntentKind};
use crate::ir::Name;
use crate::judge::consequence::Flows;
use crate::judge::consequence::repeating_loop::RepeatingLoop;
use crate::judge::intent::Pair;

/// Why two draws in different iterations are intended, if both evaluate something else.
pub fn repeated_evaluation(flows: &Flows<'_>, pair: &Pair<'_>, consequence: &Consequence) -> Option<Intent> {
    if pair.first.place != pair.second.place || consequence.kind == ConsequenceKind::Meet {
        return None;
    }
    let iteration = pair.repeated_by.as_ref()?;
    let around = RepeatingLoop::around(flows.run, pair.second, iteration)?;
    let words = &flows.run.program.models.words;
    let is_training = |name: &Name| words.names_training(name) || words.names_a_search(name);
    let mut called = around.called(pair.second).into_iter().take_while(|name| !is_training(name));
    let name = called.find(|name| words.names_an_evaluation(name) || words.names_a_measurement(name))?;
    let reach = flows.reach(pair.reuse.second);
    let is_used = around.kept(&reach).carried || around.is_taken(&reach);
    let reason = format!("`{name}` evaluates or shows something else in each iteration, usually with the same key");
    (!is_used && around.gets_another()).then(|| Intent::because(IntentKind::Evaluation, &reason, Some(iteration.place)))
}
