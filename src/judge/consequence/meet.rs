//! Where two draws meet.
//!
//! **Invariant:** a place is named only where both draws certainly go, in the innermost frame that both have in common.

use std::sync::Arc;

use crate::analysis::record::{Activation, Callee, Consumption};
use crate::finding::{Consequence, ConsequenceKind, Place};
use crate::ir::{Function, OpKind, Temp, Uses, Variable};
use crate::judge::consequence::body::{Effects, Passed};
use crate::judge::consequence::{Code, Flows, Frame, Reach};

/// Most operations between the one in which two draws meet and the store of its result.
const STEPS: usize = 16;

/// Most targets of an unpacking that are looked at.
const TARGETS: usize = 3;

/// Deepest nesting of calls into which two draws are followed together.
const DEPTH: u32 = 4;

/// Most pairs of arguments that are followed from one function into others.
const PAIRS: usize = 8;

/// The innermost frame that two draws reach, with what each of them reaches in it.
pub fn common<'a>(one: &'a Reach, other: &'a Reach) -> Option<(&'a Frame, &'a Frame)> {
    one.frames.iter().find_map(|frame| {
        let same = other.frames.iter().find(|other| other.activation == frame.activation)?;
        Some((frame, same))
    })
}

/// The activation of a frame, with the place in it that leads to a draw.
pub fn frame_of(event: &Consumption, id: u32) -> Option<(Arc<Activation>, Place)> {
    event.chain().into_iter().find(|(activation, _)| activation.id == id)
}

/// The first value into which both draws go.
pub fn meeting(
    flows: &Flows<'_>,
    (first, one): (&Consumption, &Reach),
    (second, other): (&Consumption, &Reach),
) -> Option<Consequence> {
    let run = flows.run;
    let (here, there) = common(one, other)?;
    let (activation, once) = frame_of(first, here.activation)?;
    // The repeated draws of one call of the frame meet in later iterations only.
    if frame_of(second, here.activation).is_none_or(|(_, again)| again == once) {
        return None;
    }
    let (code, uses) = (run.code(&activation), run.uses_of(activation.module, activation.function));
    let mut shared: Vec<Temp> = here.effects.reached.intersection(&there.effects.reached).copied().collect();
    shared.sort_unstable();
    let file = run.module(activation.module).file;
    let is_shared = |temp: Temp| here.effects.reached.contains(&temp) && there.effects.reached.contains(&temp);
    // Parts of one tuple, none of whose targets gets both.
    let is_apart = |temp: Temp| {
        let is_unpacked = |reader: &&Temp| matches!(code.ops[**reader as usize].kind, OpKind::Unpack { .. });
        let mut unpacked = uses.readers(temp).iter().filter(is_unpacked);
        unpacked.any(|unpack| !uses.readers(*unpack).iter().any(|part| is_shared(*part)))
    };
    let is_reached = |of: Temp| here.effects.reached.contains(&of) || there.effects.reached.contains(&of);
    let is_before = |temp: Temp| {
        matches!(code.ops[temp as usize].kind, OpKind::Load(_)) || is_made_before(code, temp, &is_reached, DEPTH)
    };
    shared.retain(|temp| !is_before(*temp) && !is_apart(*temp));
    // What was computed before a draw does not depend on it, except in the next iteration of a loop around both draws.
    let calls = [once, frame_of(second, here.activation)?.1].map(|place| run.call_at(&activation, place));
    let last = calls.into_iter().flatten().max().unwrap_or_default();
    let is_repeated = |temp: Temp| {
        let repeats = |at: Temp| matches!(code.ops[at as usize].kind, OpKind::Loop { .. });
        let mut loops = uses.around(temp).map(|(around, _)| around).filter(|around| repeats(*around));
        let holds = |of: Temp, around: Temp| uses.around(of).any(|(outer, _)| outer == around);
        loops.any(|around| calls.iter().all(|call| call.is_some_and(|call| holds(call, around))))
    };
    let after = shared.iter().find(|temp| **temp >= last);
    let Some(meeting) = after.or_else(|| shared.iter().find(|temp| is_repeated(**temp))).copied() else {
        let (call, (module, function)) = meeting_within(flows, (&*here.effects, &*there.effects), DEPTH)?;
        let place = Place { file, span: code.ops[call as usize].span };
        let message = match &*run.module(module).function(function).name {
            name if name.starts_with('<') => ConsequenceKind::Meet.sentence().to_owned(),
            name => format!("both draws meet in `{name}`"),
        };
        return Some(Consequence { kind: ConsequenceKind::Meet, message, place: Some(place), is_decision: false });
    };
    let unnamed = || (ConsequenceKind::Meet.sentence().to_owned(), meeting);
    let (message, temp) = described(code, &uses, meeting, &is_shared).unwrap_or_else(unnamed);
    let place = Place { file, span: code.ops[temp as usize].span };
    let is_return = matches!(code.ops[temp as usize].kind, OpKind::Return(_));
    let kind = if is_return { ConsequenceKind::Returned } else { ConsequenceKind::Meet };
    Some(Consequence { kind, message, place: Some(place), is_decision: false })
}

/// Whether a value gets a draw only from later statements: `losses = [inf]`, to which they append.
fn is_made_before(code: &Function, temp: Temp, is_reached: &dyn Fn(Temp) -> bool, depth: u32) -> bool {
    let kind = &code.ops[temp as usize].kind;
    let Some(depth) = depth.checked_sub(1) else { return false };
    let mut gets_one = false;
    kind.operands(&mut |operand| gets_one |= is_reached(operand) && !is_made_before(code, operand, is_reached, depth));
    !gets_one && matches!(kind, OpKind::Attribute(..) | OpKind::Build(..) | OpKind::Constant(_))
}

/// The branch by which one draw decides whether another happens: `if uniform(key) < epsilon: return randint(key, …)`.
pub fn decision(flows: &Flows<'_>, one: &Reach, second: &Consumption) -> Option<Consequence> {
    let run = flows.run;
    one.frames.iter().filter(|frame| !frame.effects.decided.is_empty()).find_map(|frame| {
        let (activation, place) = frame_of(second, frame.activation)?;
        let (code, uses) = (run.code(&activation), run.uses_of(activation.module, activation.function));
        let blocks = uses.blocks_around(code, run.call_at(&activation, place)?)?;
        let decides = |temp: &&Temp| blocks.iter().any(|(block, at)| depends_on(code, block, *at, **temp));
        let branch = frame.effects.decided.iter().filter(decides).min()?;
        let place = Place { file: run.module(activation.module).file, span: code.ops[*branch as usize].span };
        let message = "the first draw decides whether the second one happens".to_owned();
        Some(Consequence { kind: ConsequenceKind::Meet, message, place: Some(place), is_decision: true })
    })
}

/// Whether a branch decides if the operation at a position of a block runs: it holds the operation, or it is earlier in the block and one
/// of its arms leaves. A test that raises, as an assertion does, decides nothing else.
fn depends_on(code: &Function, block: &[Temp], at: usize, branch: Temp) -> bool {
    let leaves = |temp: &Temp| {
        let kind = code.ops.get(*temp as usize).map(|op| &op.kind);
        matches!(kind, Some(OpKind::Return(_) | OpKind::Break | OpKind::Continue))
    };
    match block.iter().position(|temp| *temp == branch) {
        Some(position) if position < at => match &code.ops[branch as usize].kind {
            OpKind::If { then, orelse, .. } => then.iter().any(leaves) != orelse.iter().any(leaves),
            _ => false,
        },
        position => position == Some(at),
    }
}

/// The call of a function of the program that gets two draws by different parameters, and in which they meet, with the
/// function.
fn meeting_within(flows: &Flows<'_>, (one, other): (&Effects, &Effects), depth: u32) -> Option<(Temp, Code)> {
    let depth = depth.checked_sub(1)?;
    let both = one.passed.iter().flat_map(|first| {
        let is_beside =
            |second: &&Passed| (second.call, second.to) == (first.call, first.to) && second.slot != first.slot;
        other.passed.iter().filter(is_beside).map(move |second| (first, second))
    });
    both.take(PAIRS).find_map(|(first, second)| {
        let within = |passed: &Passed| flows.of_parameter(passed.to, passed.slot, &passed.part, depth);
        let (here, there) = (within(first)?, within(second)?);
        let module = flows.run.module(first.to.0);
        let code = module.function(first.to.1);
        // What a function of the program combines is followed into it; the result of one beyond the depth says nothing.
        let combines = |temp: &Temp| match &code.ops[*temp as usize].kind {
            OpKind::Load(_) => false,
            OpKind::Call(..) => {
                let place = Place { file: module.file, span: code.ops[*temp as usize].span };
                let callees = flows.run.log.callees.get(&place);
                callees.is_none_or(|callees| !callees.iter().any(|callee| matches!(callee, Callee::Function(..))))
            }
            _ => true,
        };
        let meets = here.reached.intersection(&there.reached).any(combines);
        (meets || meeting_within(flows, (&here, &there), depth).is_some()).then_some((first.call, first.to))
    })
}

/// The name of the value in which two draws meet: the variables in which it is stored, or the function that returns it.
fn described(code: &Function, uses: &Uses, meeting: Temp, is_shared: &dyn Fn(Temp) -> bool) -> Option<(String, Temp)> {
    let mut temp = meeting;
    for _ in 0..STEPS {
        let readers = uses.readers(temp);
        for reader in readers {
            match &code.ops[*reader as usize].kind {
                OpKind::Store(..) => {
                    return stored_name(code, *reader).map(|name| (format!("both draws flow into `{name}`"), *reader));
                }
                OpKind::Unpack { .. } => {
                    let mut stores = Vec::new();
                    targets(code, uses, *reader, is_shared, &mut stores);
                    if let Some(first) = stores.first() {
                        return stored_name(code, *first)
                            .map(|name| (format!("both draws flow into `{name}`"), *first));
                    }
                }
                OpKind::Return(_) => return Some(("both draws are returned".to_owned(), *reader)),
                _ => {}
            }
        }
        temp = *readers.first()?;
    }
    None
}

/// The stores of the targets of an unpacking that both draws reach.
fn targets(code: &Function, uses: &Uses, unpack: Temp, is_shared: &dyn Fn(Temp) -> bool, stores: &mut Vec<Temp>) {
    for part in uses.readers(unpack).iter().copied().filter(|part| is_shared(*part)) {
        for reader in uses.readers(part) {
            match &code.ops[*reader as usize].kind {
                // `(a, b), c = …`
                OpKind::Unpack { .. } if stores.len() <= TARGETS => targets(code, uses, *reader, is_shared, stores),
                _ => stores.extend(stored_name(code, *reader).map(|_| *reader)),
            }
        }
    }
}

/// The name of the variable that an operation stores; `_` does not count as a name.
fn stored_name(code: &Function, store: Temp) -> Option<&str> {
    let name = match &code.ops[store as usize].kind {
        OpKind::Store(Variable::Local(slot), _) => code.slots.get(*slot as usize)?,
        OpKind::Store(Variable::Global(name), _) => name,
        _ => return None,
    };
    (!name.starts_with('<') && &**name != "_").then_some(&**name)
}
