//! Splits of one key of which the code uses different children: `split(key, n)[i]` in iteration `i`.
//!
//! **Invariant:** each split has a child that is consumed, no two of these can be equal, and nothing else gets the keys. An index may not be
//! beyond the split, because JAX then takes the last key.

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::record::{Consumption, Iteration, Recording};
use crate::finding::{Intent, IntentKind};
use crate::ir::{Argument, Constant, OpKind};
use crate::judge::consequence::Flows;
use crate::judge::consequence::repeating_loop::RepeatingLoop;
use crate::judge::facts::Role;
use crate::judge::intent::Pair;

/// The reason if no child is used twice.
const REASON: &str = "the code uses different children of the two splits";

/// Most children of one split that are compared.
const COMPARED: usize = 16;

/// Two splits in one body, each of which is used for other children.
pub fn of_two_splits(flows: &Flows<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let (one, other) = (flows.children_seen(pair.reuse.first)?, flows.children_seen(pair.reuse.second)?);
    let is_apart = !one.is_empty() && !other.is_empty() && one.iter().all(|child| !other.contains(child));
    is_apart.then(|| Intent::because(IntentKind::DisjointParts, REASON, None))
}

/// A split that each iteration of a loop makes again, to use another child.
pub fn of_iterations(flows: &Flows<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let (run, iteration) = (flows.run, pair.repeated_by.as_ref()?);
    let are_splits = pair.first.role == Role::Split && pair.second.role == Role::Split;
    if !are_splits || pair.first.place != pair.second.place || run.exhausted.is_some() {
        return None;
    }
    let parent = pair.second.target.term;
    let one = consumed(run, (pair.first, parent), iteration)?;
    let other = consumed(run, (pair.second, parent), iteration)?;
    let is_apart = one.iter().all(|child| {
        other.iter().all(|used| match (run.terms.get(*child), run.terms.get(*used)) {
            (Term::Child(_, a), Term::Child(_, b)) => run.terms.distinct(*a, *b),
            _ => false,
        })
    });
    let escapes = |draw: usize| flows.keys_reach(draw).is_observed();
    let is_covered = is_within(flows, pair, iteration);
    (is_apart && is_covered && !escapes(pair.reuse.first) && !escapes(pair.reuse.second))
        .then(|| Intent::because(IntentKind::DisjointParts, REASON, Some(iteration.place)))
}

/// The children of a split that its iteration of a loop consumes; `None` if there are none, or too many.
fn consumed(
    run: &Recording<'_>,
    (split, parent): (&Consumption, TermId),
    iteration: &Iteration,
) -> Option<Vec<TermId>> {
    let copy =
        |event: &Consumption| event.iterations().iter().find(|of| of.instance == iteration.instance).map(|of| of.copy);
    let own = copy(split)?;
    let mut children = Vec::new();
    for event in run.log.consumptions.iter().filter(|event| copy(event) == Some(own)) {
        let mut key = event.target.term;
        while let Some(from) = run.terms.parent(key).filter(|from| *from != parent) {
            key = from;
        }
        if run.terms.parent(key) == Some(parent) && !children.contains(&key) {
            children.push(key);
        }
    }
    (!children.is_empty() && children.len() <= COMPARED).then_some(children)
}

/// Whether a loop has at most as many iterations as the split makes keys, where both numbers are written: a number that is computed is
/// that of the iterations.
fn is_within(flows: &Flows<'_>, pair: &Pair<'_>, iteration: &Iteration) -> bool {
    let (run, split) = (flows.run, pair.second);
    let code = run.code(&split.activation);
    let Some(call) = run.call_at(&split.activation, split.place) else { return false };
    let number = |argument: Option<&Argument>, default: Option<i128>| match argument {
        Some(argument) => match &code.ops[argument.value() as usize].kind {
            OpKind::Constant(Constant::Int(number)) => Some(**number),
            _ => None,
        },
        None => default,
    };
    let OpKind::Call(_, arguments) = &code.ops[call as usize].kind else { return false };
    let Some(keys) = number(arguments.get(1), Some(2)) else { return true };
    let around = RepeatingLoop::around(run, split, iteration);
    around.and_then(|around| around.counted()).is_some_and(|iterations| iterations <= keys)
}
