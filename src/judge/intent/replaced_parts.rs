//! Parts of a model that are drawn again: `model = tree_at(lambda m: m.weight, MLP(…, key=key), init(key, shape))`.
//!
//! The constructor splits the key for its parts, so these differ from what is drawn later, and most of them are overwritten.
//!
//! **Invariant:** a library makes the object from the first consumption; numbers of the second one replace parts of this object in a call whose
//! model says so.

use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{Argument, OpKind, Temp};
use crate::judge::callee_model::model_of;
use crate::judge::consequence::{Flows, Frame, Reach};
use crate::judge::facts::{ReuseKind, Role};
use crate::judge::intent::pair::{Pair, because};
use crate::models::{Callable, Effect, TreeOp};

/// The parameter for what is put into the tree.
const REPLACE: &str = "replace";

/// Why two consumptions are harmless, if the second one's numbers replace parts of what the first one made.
pub fn replaced_parts(flows: &Flows<'_>, kind: ReuseKind, pair: &Pair<'_>) -> Option<Intent> {
    let is_apart = matches!(kind, ReuseKind::Sampled | ReuseKind::SplitAndSampled);
    if !is_apart || pair.first.role != Role::Library {
        return None;
    }
    let (made, drawn) = (flows.reach(pair.reuse.first), flows.reach(pair.reuse.second));
    let place = drawn.frames.iter().find_map(|frame| replacement(flows, &made, frame))?;
    Some(because(
        IntentKind::DisjointParts,
        "the second draw replaces parts of the object that the first one made",
        place,
    ))
}

/// The call in a frame of a draw that puts the draw into a tree that holds something of another one.
fn replacement(flows: &Flows<'_>, made: &Reach, frame: &Frame) -> Option<Place> {
    let module = flows.run.module(frame.code.0);
    let code = module.function(frame.code.1);
    let is_made = |tree: Temp| {
        let here = made.frames.iter().filter(|other| other.activation == frame.activation);
        here.into_iter().any(|other| other.effects.reached.contains(&tree))
            || made.frames.iter().flat_map(|other| &other.effects.passed).any(|passed| {
                passed.to == frame.code
                    && flows.of_passed(passed).is_some_and(|effects| effects.reached.contains(&tree))
            })
    };
    let mut calls = (0..).zip(&code.ops).filter_map(|(temp, op)| match &op.kind {
        OpKind::Call(callee, arguments) => Some((temp, op.span, *callee, arguments)),
        _ => None,
    });
    calls.find_map(|(call, span, callee, arguments)| {
        let callable = model_of(flows.run, frame.code.0, code, callee)?;
        let Effect::Tree { op: TreeOp::At, of } = &callable.effect else { return None };
        let (tree, put) = (argument(callable, arguments, of)?, argument(callable, arguments, REPLACE)?);
        // What was drawn is used for nothing else.
        let is_used_later = |temp: &Temp| match &code.ops[*temp as usize].kind {
            OpKind::Load(variable) => *temp > call && code.sole_value(variable).is_some_and(|value| value < call),
            _ => false,
        };
        if frame.effects.reached.iter().any(is_used_later) {
            return None;
        }
        (frame.effects.reached.contains(&put) && is_made(tree)).then_some(Place { file: module.file, span })
    })
}

/// The argument for a parameter.
fn argument(callable: &Callable, arguments: &[Argument], name: &str) -> Option<Temp> {
    let position = callable.params.iter().position(|param| &*param.name == name)?;
    let mut arguments = arguments.iter().enumerate();
    arguments.find_map(|(index, argument)| match argument {
        Argument::Positional(given) if index == position => Some(*given),
        Argument::Keyword(keyword, given) if **keyword == *name => Some(*given),
        _ => None,
    })
}
