//! Choices between two draws: `where(test, normal(key), uniform(key))`.
//!
//! **Invariant:** a choice counts only if each of its elements has something of one draw alone, and that is its own element of the draw.

use crate::analysis::record::{Consumption, Recording};
use crate::finding::Place;
use crate::ir::{Argument, Collection, Function, OpKind, Operator, Temp, Variable};
use crate::judge::consequence::meet::{common, frame_of};
use crate::judge::consequence::{Frame, Reach};
use crate::judge::facts::Role;
use crate::models::Effect;

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
        let OpKind::Call(_, arguments) = &code.ops.get(*call as usize)?.kind else { return None };
        let place = Place { file: run.module(activation.module).file, span: code.ops[*call as usize].span };
        let test = test_of(run, run.log.choices.get(&place)?, arguments)?;
        let is_choice = side != opposite && side != test && opposite != test;
        let is_by_element = [(first, here), (second, there)]
            .into_iter()
            .all(|(draw, frame)| is_by_element(run, code, (draw, frame), *call));
        (is_choice && is_by_element).then_some((activation.id, *call, place))
    })
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

/// Whether each element of a side of a choice has its own element of a draw: nothing between the two combines elements, selects by a drawn index, or
/// uses one number for all of them.
fn is_by_element(run: &Recording<'_>, code: &Function, (draw, frame): (&Consumption, &Frame), choice: Temp) -> bool {
    let reached = |temp: Temp| temp < choice && frame.effects.reached.contains(&temp);
    let words = &run.program.models.words;
    // Along an axis, the elements of a row are combined with no others.
    let is_axis = |argument: &Argument| matches!(argument, Argument::Keyword(name, _) if &**name == "axis");
    let mut is_computed_with = false;
    for (temp, op) in (0u32..).zip(&code.ops).filter(|(temp, _)| reached(*temp)) {
        let combines = match &op.kind {
            OpKind::Operate(operator, ..) => {
                is_computed_with = true;
                *operator == Operator::MatMul
            }
            OpKind::Item(of, index) => reached(*index) && !reached(*of),
            OpKind::Call(callee, arguments) if Some(temp) != run.call_at(&draw.activation, draw.place) => {
                match &code.ops[*callee as usize].kind {
                    OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name)) => {
                        words.combines_elements(name) && !arguments.iter().any(is_axis)
                    }
                    _ => false,
                }
            }
            _ => false,
        };
        if combines {
            return false;
        }
    }
    !(is_computed_with && draw.activation.id == frame.activation && is_one_number(run, draw))
}

/// Whether a sampler draws one number: it gets the shape `()`, or none where that is its default.
fn is_one_number(run: &Recording<'_>, draw: &Consumption) -> bool {
    let code = run.code(&draw.activation);
    let kind = |temp: Temp| &code.ops[temp as usize].kind;
    let Some(OpKind::Call(_, arguments)) = run.call_at(&draw.activation, draw.place).map(kind) else { return false };
    let callable = run.program.models.callable(&draw.callee);
    let Some(at) = callable.filter(|_| draw.role == Role::Sample).and_then(|callable| callable.position("shape"))
    else {
        return false;
    };
    let shape = arguments.iter().enumerate().find_map(|(place, argument)| match argument {
        Argument::Positional(value) if place == at => Some(*value),
        Argument::Keyword(name, value) if &**name == "shape" => Some(*value),
        _ => None,
    });
    match shape {
        Some(shape) => matches!(kind(shape), OpKind::Build(Collection::Tuple, elements) if elements.is_empty()),
        // Distributions that take parameters before the shape have theirs.
        None => at == 1,
    }
}
