//! Choices between two draws: `where(test, normal(key), uniform(key))`.
//!
//! **Invariant:** a choice counts only if nothing visible moves elements of a draw, so that both draws meet in the result, and the two are no
//! indices into one array.

use crate::analysis::record::{Consumption, Recording};
use crate::finding::Place;
use crate::ir::{Argument, Function, OpKind, Temp, Variable};
use crate::judge::consequence::meet::{common, frame_of};
use crate::judge::consequence::{Frame, Reach};
use crate::models::{Effect, Runs};

/// A choice in which each of two draws is one side, perhaps through a choice within it: the activation, the call and its place.
pub fn choice(
    run: &Recording<'_>,
    [first, second]: [&Consumption; 2],
    one: &Reach,
    other: &Reach,
) -> Option<(u32, Temp, Place)> {
    let (here, there) = common(one, other)?;
    let (activation, _) = frame_of(first, here.activation)?;
    let code = run.code(&activation);
    let side_of = |frame: &Frame, call: Temp| {
        let sides = &frame.effects.sides;
        let mut own = sides.iter().filter(|(of, _)| *of == call).map(|(_, side)| *side);
        let side = own.next().filter(|_| own.next().is_none())?;
        // A choice within the choice is its argument as it is: what rearranges it may bring the draws together.
        let is_argument = |inner: Temp| {
            sides.iter().any(|(outer, side)| match &code.ops[*outer as usize].kind {
                OpKind::Call(_, arguments) => arguments.get(*side).is_some_and(|argument| argument.value() == inner),
                _ => false,
            })
        };
        (sides.iter().filter(|(of, _)| !is_argument(*of)).count() <= 1).then_some(side)
    };
    here.effects.sides.iter().find_map(|(call, _)| {
        let (side, opposite) = (side_of(here, *call)?, side_of(there, *call)?);
        let OpKind::Call(callee, arguments) = &code.ops.get(*call as usize)?.kind else { return None };
        let place = Place { file: run.module(activation.module).file, span: code.ops[*call as usize].span };
        // `tree.map(where, masks, xs, ys)` passes its other arguments on.
        let called = run.library_named(activation.module, code, *callee);
        let is_mapped = called.is_some_and(|called| maps_trees(run, &called));
        let passed = arguments.get(usize::from(is_mapped)..)?;
        let test = test_of(run, run.log.choices.get(&place)?, passed)? + usize::from(is_mapped);
        let is_choice = side != opposite && side != test && opposite != test;
        // Two indices choose one row twice, and moved elements meet those of the other draw.
        let sides = [(first, here), (second, there)];
        let is_alike = sides.into_iter().any(|side| is_moved(run, code, side, *call))
            || sides.into_iter().all(|(_, frame)| is_index(code, frame, *call));
        (is_choice && !is_alike).then_some((activation.id, *call, place))
    })
}

/// Whether a function runs another one on the leaves of trees.
fn maps_trees(run: &Recording<'_>, path: &str) -> bool {
    let effect = run.program.models.callable(path).map(|callable| &callable.effect);
    matches!(effect, Some(Effect::Transform(transform)) if transform.runs == Runs::TreeMap)
}

/// Which argument of a call of a function that chooses is the choice; the others are sides.
fn test_of(run: &Recording<'_>, choice: &str, given: &[Argument]) -> Option<usize> {
    let callable = run.program.models.callable(choice)?;
    let Effect::Shape { chosen: Some(chosen), .. } = &callable.effect else { return None };
    let by_name =
        given.iter().position(|argument| matches!(argument, Argument::Keyword(name, _) if **name == **chosen));
    let at = callable.position(chosen)?;
    let is_placed =
        given.iter().take(at + 1).filter(|argument| matches!(argument, Argument::Positional(_))).count() > at;
    by_name.or(is_placed.then_some(at))
}

/// Whether something moves the elements of a draw before it is a side of a choice.
fn is_moved(run: &Recording<'_>, code: &Function, (draw, frame): (&Consumption, &Frame), choice: Temp) -> bool {
    let words = &run.program.models.words;
    (0u32..).zip(&code.ops).any(|(temp, op)| match &op.kind {
        OpKind::Call(callee, _) if is_reached(frame, temp, choice) => match &code.ops[*callee as usize].kind {
            OpKind::Attribute(_, name) => words.moves_elements(name),
            // A function of the program may have such a name as well.
            OpKind::Load(Variable::Global(name)) => {
                words.moves_elements(name) && run.library_named(draw.activation.module, code, *callee).is_some()
            }
            _ => false,
        },
        _ => false,
    })
}

/// Whether a draw is an index before a choice: `population[randint(key, ())]`.
fn is_index(code: &Function, frame: &Frame, choice: Temp) -> bool {
    let reached = |temp: Temp| is_reached(frame, temp, choice);
    (0u32..).zip(&code.ops).any(|(temp, op)| match &op.kind {
        OpKind::Item(of, index) => reached(temp) && reached(*index) && !reached(*of),
        _ => false,
    })
}

/// Whether something of a draw is in the result of an operation before a choice.
fn is_reached(frame: &Frame, temp: Temp, choice: Temp) -> bool {
    temp < choice && frame.effects.reached.contains(&temp)
}
