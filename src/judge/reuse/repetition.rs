//! What repeats a consumption, and where a consumed key is carried into the next iteration.
//!
//! **Invariant:** results come from the code of the loop's own function; if that does not determine it, the simplest
//! one is returned.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use crate::analysis::record::{Activation, Consumption, Iteration, Recording};
use crate::finding::Place;
use crate::ir::{Argument, Element, Function, Op, OpKind, Temp, Variable};
use crate::judge::callee_model::model_of;
use crate::judge::consequence::Flows;
use crate::judge::consequence::body::Part;
use crate::judge::facts::{IterationDistance, KeyBinding, LoopKind};
use crate::judge::intent::Pair;
use crate::judge::slice::is_computed_from;
use crate::models::{Effect, Runs};

/// The loop of which the two events happened in different iterations: the outermost.
pub fn repeated_by(first: &Consumption, second: &Consumption) -> Option<Rc<Iteration>> {
    let (a, b) = (first.iterations(), second.iterations());
    a.into_iter().rev().find(|x| b.iter().any(|y| x.instance == y.instance && x.copy != y.copy))
}

/// Deepest nesting of displays that are searched for a variable.
const DEPTH: u32 = 4;

/// What kind of loop has its head at a place.
pub fn loop_kind(run: &Recording<'_>, event: &Consumption, head: Place, repeated: Place) -> LoopKind {
    if run.log.trees.contains_key(&head) {
        return LoopKind::Leaves;
    }
    if event.chain().iter().any(|(activation, _)| run.call_at(activation, head).is_some()) {
        return LoopKind::Call;
    }
    // The place of a `while` contains its body, as that of a comprehension contains its element.
    let is_while = event.chain().iter().any(|(activation, _)| {
        run.module(activation.module).file == head.file
            && run
                .code(activation)
                .ops
                .iter()
                .any(|op| op.span == head.span && matches!(op.kind, OpKind::Loop { test: Some(_), .. }))
    });
    if !is_while && head.file == repeated.file && head.span.contains(repeated.span.start) {
        return LoopKind::Comprehension;
    }
    LoopKind::Statement
}

/// Where the key of the first consumption is passed on under the name of the second: `return state, used_key`, `key = used_key`.
pub fn carried_at(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> Option<Place> {
    let (spent, next) = (first.written.as_deref()?, second.written.as_deref()?);
    let (module, code) = (run.module(first.activation.module), run.code(&first.activation));
    let is_here = first.activation.module == second.activation.module
        && first.activation.function == second.activation.function
        && spent != next;
    let (Some(spent), Some(next), true) = (slot_of(code, spent), slot_of(code, next), is_here) else { return None };
    let hands_on = code.ops.iter().find(|op| match &op.kind {
        OpKind::Return(Some(value)) => load_in(code, *value, spent, DEPTH).is_some(),
        OpKind::Store(Variable::Local(stored), value) => *stored == next && load_in(code, *value, spent, 1).is_some(),
        _ => false,
    })?;
    Some(Place { file: module.file, span: hands_on.span })
}

/// The function that consumes the first key and then returns it to the frame of the second consumption, and where it does.
pub fn returned_at(
    run: &Recording<'_>,
    first: &Consumption,
    second: &Consumption,
    names: [Option<&str>; 2],
) -> Option<(String, Place)> {
    let (activation, spent) = (&first.activation, first.written.as_deref()?);
    let is_inside = second.chain().iter().any(|(around, _)| around.id == activation.id);
    let is_its_own = first.target.term >= activation.born;
    if is_inside || !(is_its_own || reads_result(run, first, second, names)) {
        return None;
    }
    let (module, code) = (run.module(activation.module), run.code(activation));
    let slot = slot_of(code, spent)?;
    let consumed = first.place.span;
    let is_consumed = |load: &Temp| consumed.contains(code.ops[*load as usize].span.start);
    let variable = Variable::Local(slot);
    let uses = run.uses_of(activation.module, activation.function);
    let reaching = uses.reaching(code, &variable);
    let is_store = |temp: &Temp| matches!(&code.ops[*temp as usize].kind, OpKind::Store(of, _) if *of == variable);
    let stores = code.within(&code.body).filter(is_store);
    let definitions: Vec<&[Temp]> = std::iter::once(reaching.loads_of_parameter())
        .chain(stores.map(|store| reaching.loads_of(store)))
        .filter(|loads| loads.iter().any(is_consumed))
        .collect();
    let holds_it = |load: Temp| {
        code.ops[load as usize].span.start >= consumed.end && definitions.iter().any(|loads| loads.contains(&load))
    };
    let returns =
        |kind: &OpKind| matches!(kind, OpKind::Return(Some(value)) if is_returned_in(code, *value, &holds_it, DEPTH));
    let consuming = run.call_at(activation, first.place)?;
    // Two branches of one `if`: the key that one returns was not consumed in the other.
    let is_apart = |returned: Temp| {
        uses.around(returned).any(|(outer, branch)| {
            matches!(code.ops[outer as usize].kind, OpKind::If { .. })
                && uses.around(consuming).any(|(other, number)| other == outer && number != branch)
        })
    };
    let mut ops = (0..).zip(&code.ops);
    let (_, returned) = ops.find(|(temp, op)| returns(&op.kind) && !is_apart(*temp))?;
    Some((code.name.to_string(), Place { file: module.file, span: returned.span }))
}

/// Whether the second consumption gets its key from the result of the call around the first, in the frame that sees both. `names` are those of
/// the key at the two calls: the second is a variable that holds a part of the result, or the variable of the first is not read again.
fn reads_result(run: &Recording<'_>, first: &Consumption, second: &Consumption, names: [Option<&str>; 2]) -> bool {
    let (a, b) = (first.chain(), second.chain());
    let shared = a.iter().zip(b.iter()).take_while(|(x, y)| x.0.id == y.0.id).last();
    let Some(((frame, call), (_, read))) = shared else { return false };
    let (Some(call), code) = (run.call_at(frame, *call), run.code(frame)) else { return false };
    let uses = run.uses_of(frame.module, frame.function);
    let is_read = |load: &Temp| read.span.contains(code.ops[*load as usize].span.start);
    let root = |name: &'_ str| name.split(['.', '[']).next().unwrap_or(name).to_owned();
    let [given, used] = names.map(|name| name.map(root));
    let is_spent = given
        .and_then(|given| slot_of(code, &given))
        .is_some_and(|slot| !uses.is_captured(slot) && !uses.loads_of(slot).iter().any(is_read));
    let is_used = |variable: &Variable| match variable {
        Variable::Local(slot) => code.slots.get(*slot as usize).map(|slot| &**slot) == used.as_deref(),
        Variable::Global(global) => Some(&**global) == used.as_deref(),
        Variable::Outer(..) => false,
    };
    let from_call = |temp: Temp| {
        let OpKind::Store(variable, value) = &code.ops[temp as usize].kind else { return false };
        (is_spent || is_used(variable))
            && is_part_of(code, *value, &|temp| temp == call)
            && uses.reaching(code, variable).loads_of(temp).iter().any(is_read)
    };
    code.within(&code.body).any(from_call)
}

/// How far the iterations of two events are apart.
pub fn distance(first: &Consumption, second: &Consumption) -> IterationDistance {
    let (a, b) = (first.iterations(), second.iterations());
    let differ = |is_same: &dyn Fn(&Iteration, &Iteration) -> bool, least: u32| {
        a.iter().any(|x| b.iter().any(|y| is_same(x, y) && x.copy.abs_diff(y.copy) >= least))
    };
    let is_inner = |x: &Iteration, y: &Iteration| x.instance != y.instance && x.place == y.place;
    let is_loop = |x: &Iteration, y: &Iteration| x.instance == y.instance;
    if differ(&is_inner, 1) {
        IterationDistance::OfNestedLoops
    } else if differ(&is_loop, 2) {
        IterationDistance::Apart
    } else {
        IterationDistance::Adjacent
    }
}

/// What the loop with this head does with the variable of a key, which is called `name` in the loop's own function.
pub fn binding(run: &Recording<'_>, event: &Consumption, name: Option<&str>, head: Place) -> KeyBinding {
    if is_loop_target(run, event, head) {
        KeyBinding::Target
    } else if name.is_some_and(|name| may_change(run, event, name, head)) {
        KeyBinding::Changing
    } else {
        KeyBinding::Constant
    }
}

/// Whether the loop with its head at a place rebinds the name of an event's key in each iteration.
fn is_loop_target(run: &Recording<'_>, event: &Consumption, head: Place) -> bool {
    let (module, code) = (run.module(event.activation.module), run.code(&event.activation));
    let Some(written) = event.written.as_deref().filter(|_| module.file == head.file) else { return false };
    let is_name = |variable: &Variable| match variable {
        Variable::Local(slot) => code.slots.get(*slot as usize).is_some_and(|slot| &**slot == written),
        Variable::Global(name) => &**name == written,
        Variable::Outer(..) => false,
    };
    let binds = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Store(variable, value) => is_name(variable) && is_next(code, *value),
        _ => false,
    };
    code.ops.iter().any(|op| match &op.kind {
        OpKind::Loop { body, .. } if op.span == head.span => code.within(body).any(binds),
        _ => false,
    })
}

/// Whether the body of a loop may give a key's variable another value in some iterations: it replaces what the variable held before the loop,
/// or computes the value from the loop's elements. Equal keys are then those of some iterations only.
fn may_change(run: &Recording<'_>, event: &Consumption, name: &str, head: Place) -> bool {
    let root = name.split(['.', '[']).next().unwrap_or(name);
    event.chain().iter().any(|(activation, _)| {
        let (module, code) = (run.module(activation.module), run.code(activation));
        let is_head = |op: &Op| matches!(op.kind, OpKind::Loop { .. }) && op.span == head.span;
        let looped = (0u32..).zip(&code.ops).find(|(_, op)| module.file == head.file && is_head(op));
        let slot = (0u32..).zip(&code.slots).find(|(_, slot)| &***slot == root);
        let (Some((looped, _)), Some((slot, _))) = (looped, slot) else { return false };
        let uses = run.uses_of(activation.module, activation.function);
        let is_inside = |temp: Temp| uses.around(temp).any(|(around, _)| around == looped);
        let (inside, outside): (Vec<Temp>, Vec<Temp>) =
            uses.stores_of(slot).iter().partition(|store| is_inside(**store));
        let is_given = !outside.is_empty() || (slot as usize) < code.parameters.len();
        let is_element = |temp: Temp, kind: &OpKind| matches!(kind, OpKind::Next(_)) && is_inside(temp);
        let varies = |store: &Temp| is_computed_from((code, &uses), *store, &is_element) != Some(false);
        !inside.is_empty() && (is_given || inside.iter().any(varies))
    })
}

/// Whether a value is the next element of an iterator, or a part of it.
fn is_next(code: &Function, temp: Temp) -> bool {
    is_part_of(code, temp, &|temp| matches!(code.ops.get(temp as usize).map(|op| &op.kind), Some(OpKind::Next(_))))
}

/// Whether a value is the result of such an operation, or a part of it.
fn is_part_of(code: &Function, temp: Temp, is_it: &dyn Fn(Temp) -> bool) -> bool {
    is_it(temp)
        || match code.ops.get(temp as usize).map(|op| &op.kind) {
            Some(OpKind::Project(of, _) | OpKind::Unpack { value: of, .. }) => is_part_of(code, *of, is_it),
            _ => false,
        }
}

/// The slot of a variable of a function.
fn slot_of(code: &Function, name: &str) -> Option<u32> {
    let slot = code.slots.iter().take(code.named as usize).position(|slot| &**slot == name)?;
    u32::try_from(slot).ok()
}

/// Whether a returned value is or holds such a read of a variable: as an element of a display, as an argument of the call that makes it, or
/// through another variable that is assigned once.
fn is_returned_in(code: &Function, value: Temp, is_it: &dyn Fn(Temp) -> bool, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let within = |value: &Temp| is_returned_in(code, *value, is_it, depth);
    match code.ops.get(value as usize).map(|op| &op.kind) {
        Some(OpKind::Load(_)) if is_it(value) => true,
        Some(OpKind::Load(variable @ Variable::Local(_))) => {
            code.sole_value(variable).is_some_and(|stored| within(&stored))
        }
        Some(OpKind::Build(_, elements)) => elements
            .iter()
            .any(|element| matches!(element, Element::Value(value) | Element::Pair(_, value) if within(value))),
        Some(OpKind::Call(_, arguments)) => arguments.iter().any(
            |argument| matches!(argument, Argument::Positional(value) | Argument::Keyword(_, value) if within(value)),
        ),
        _ => false,
    }
}

/// The read of a variable that a value is, or that is an element of the display that it is.
fn load_in(code: &Function, temp: Temp, slot: u32, depth: u32) -> Option<Temp> {
    let depth = depth.checked_sub(1)?;
    match &code.ops.get(temp as usize)?.kind {
        OpKind::Load(Variable::Local(read)) => (*read == slot).then_some(temp),
        OpKind::Build(_, elements) => elements.iter().find_map(|element| match element {
            Element::Value(value) | Element::Pair(_, value) => load_in(code, *value, slot, depth),
            _ => None,
        }),
        _ => None,
    }
}

/// Most operations that the arguments of a call are searched for.
const FOLLOWED: usize = 64;

/// Whether the function that a transform repeats returns what a call draws as a part of its carry, from which a later iteration computes the
/// arguments of the call: `def step(x, _): u = policy(x, key); return x + u, u`.
pub fn continues_in_transform(flows: &Flows<'_>, pair: &Pair<'_>) -> bool {
    let Some(iteration) = &pair.repeated_by else { return false };
    let chain = pair.second.chain();
    let Some(at) = chain.iter().position(|(_, place)| *place == iteration.place) else { return false };
    let (Some((body, place)), Some(carry)) = (chain.get(at + 1), carry_of(flows.run, &chain[at])) else { return false };
    let reach = flows.reach(pair.reuse.second);
    let frame = reach.frames.iter().find(|frame| frame.activation == body.id);
    let is_carried = frame.is_some_and(|frame| {
        frame.effects.returned.iter().any(|path| match path.first() {
            Some(part) => carry.is_all || *part == Part::Index(0),
            None => true,
        })
    });
    let (code, uses) = (flows.run.code(body), flows.run.uses_of(body.module, body.function));
    let Some(call) = uses.call_at(place.span).filter(|_| is_carried) else { return false };
    let (mut work, mut seen) = (vec![call], BTreeSet::new());
    while let Some(temp) = work.pop().filter(|_| seen.len() < FOLLOWED) {
        if !seen.insert(temp) {
            continue;
        }
        match &code.ops[temp as usize].kind {
            OpKind::Load(Variable::Local(slot)) if *slot == carry.parameter => return true,
            OpKind::Load(Variable::Local(slot)) => {
                let stored = uses.stores_of(*slot).iter().filter_map(|store| match &code.ops[*store as usize].kind {
                    OpKind::Store(_, value) => Some(*value),
                    _ => None,
                });
                work.extend(stored);
            }
            kind => kind.operands(&mut |operand| work.push(operand)),
        }
    }
    false
}

/// How the body of a loop-like transform passes on its carry.
struct Carry {
    /// The parameter that gets it.
    parameter: u32,
    /// Whether the result is the next carry, and not a pair with an output.
    is_all: bool,
}

/// The carry of the body that a call repeats; nothing if it has none, as in `map`.
fn carry_of(run: &Recording<'_>, (activation, place): &(Arc<Activation>, Place)) -> Option<Carry> {
    let code = run.code(activation);
    let call = run.call_at(activation, *place)?;
    let OpKind::Call(callee, _) = &code.ops[call as usize].kind else { return None };
    match &model_of(run, activation.module, code, *callee)?.effect {
        Effect::Transform(transform) => match transform.runs {
            Runs::Scan => Some(Carry { parameter: 0, is_all: false }),
            Runs::While => Some(Carry { parameter: 0, is_all: true }),
            Runs::Fori => Some(Carry { parameter: 1, is_all: true }),
            _ => None,
        },
        _ => None,
    }
}
