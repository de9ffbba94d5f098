//! Context managers that are generators: what comes before their `yield` runs when a block is entered, the rest when it is left.
//!
//! **Invariant:** only a generator with one `yield`, which no loop or handler repeats, is suspended; each half runs once. Generators that
//! enter blocks of each other nest as calls do.

use std::sync::Arc;

use crate::analysis::domain::value::{ObjectId, Value};
use crate::analysis::machine::{CALL_DEPTH, Frame, Machine, RECURSION};
use crate::analysis::record::Activation;
use crate::analysis::store::heap::{ObjectKind, Source, Suspended};
use crate::analysis::store::paths;
use crate::finding::Place;
use crate::ir::{Block, Function, OpKind, Temp};

/// A generator that waits for the end of the block that it manages.
#[derive(Clone)]
pub struct Waiting {
    generator: Suspended,
    activation: Arc<Activation>,
    temps: Vec<Value>,
    at: Temp,
}

/// Runs a generator up to its `yield`, and returns the yielded value; `None` for any other manager.
pub fn enter<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, manager: ObjectId, place: Place) -> Option<Value> {
    let ObjectKind::Iterator(Source::Generator(generator), _) = &machine.state.store.objects[manager.0 as usize].kind
    else {
        return None;
    };
    let generator = (**generator).clone();
    let code = machine.module(generator.module).function(generator.function);
    let at = only_yield(code)?;
    let running =
        machine.context.stack.iter().filter(|entry| **entry == (generator.module, generator.function)).count();
    if running >= RECURSION || frame.activation.depth >= CALL_DEPTH {
        return None;
    }
    machine.state.store.objects[manager.0 as usize].kind = ObjectKind::Iterator(Source::Items(Vec::new()), None);
    machine.context.activations += 1;
    let activation = Arc::new(Activation {
        id: machine.context.activations,
        caller: Some((frame.activation.clone(), place)),
        module: generator.module,
        function: generator.function,
        depth: frame.activation.depth + 1,
        environment: generator.environment,
        root: false,
        born: machine.state.terms.next(),
    });
    let temps = Value::places(code.ops.len());
    let waiting = Waiting { generator, activation, temps, at };
    let (waiting, yielded) = run_half(machine, waiting, |machine, frame| before(machine, frame, &code.body, at));
    machine.context.waiting.insert(manager, waiting);
    Some(yielded.unwrap_or_else(|| machine.state.terms.opaque("<yielded>", Some(place))))
}

/// Runs the rest of a suspended generator when its block is left.
pub fn leave(machine: &mut Machine<'_>, manager: ObjectId) {
    let Some(waiting) = machine.context.waiting.remove(&manager) else { return };
    let (module, function, at) = (waiting.generator.module, waiting.generator.function, waiting.at);
    let code = machine.module(module).function(function);
    run_half(machine, waiting, |machine, frame| after(machine, frame, &code.body, at));
}

/// Runs one half of a generator in its frame; returns the frame afterwards and the yielded value.
fn run_half<'p>(
    machine: &mut Machine<'p>,
    waiting: Waiting,
    half: impl FnOnce(&mut Machine<'p>, &mut Frame<'p>),
) -> (Waiting, Option<Value>) {
    let Waiting { generator, activation, temps, at } = waiting;
    let code = machine.module(generator.module).function(generator.function);
    let Suspended { module, environment, class, .. } = generator;
    let mut frame = Frame { temps, ..Frame::new(code, (module, environment), class, activation) };
    let here = machine.context.here;
    machine.context.stack.push((generator.module, generator.function));
    paths::preserving(machine, |machine| half(machine, &mut frame));
    machine.context.stack.pop();
    machine.context.here = here;
    let yielded = frame.yields.pop().map(|(_, value)| value);
    (Waiting { generator, activation: frame.activation, temps: frame.temps, at }, yielded)
}

/// The only `yield` of a function, if it is outside loops and handlers.
fn only_yield(code: &Function) -> Option<Temp> {
    let is_yield = |temp: &Temp| matches!(code.ops[*temp as usize].kind, OpKind::Yield { from: false, .. });
    let mut yields = code.within(&code.body).filter(is_yield);
    let only = yields.next().filter(|_| yields.next().is_none())?;
    is_straight(code, &code.body, only).then_some(only)
}

fn is_straight(code: &Function, block: &Block, at: Temp) -> bool {
    block.contains(&at) || around(code, block, at).is_some_and(|(_, inner)| is_straight(code, inner, at))
}

/// The operation of a block that contains an operation, and its block; `None` in loops and handlers.
fn around<'c>(code: &'c Function, block: &Block, at: Temp) -> Option<(usize, &'c Block)> {
    block.iter().enumerate().find_map(|(index, temp)| {
        let holds = |inner: &&Block| code.within(inner).any(|inner| inner == at);
        let inner = match &code.ops[*temp as usize].kind {
            OpKind::If { then, orelse, .. } => [then, orelse].into_iter().find(holds),
            OpKind::Try { body, .. } => Some(body).filter(holds),
            _ => None,
        };
        inner.map(|inner| (index, inner))
    })
}

/// Runs a block up to the `yield` in it.
fn before<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, block: &Block, at: Temp) {
    let code = frame.code;
    if let Some(index) = block.iter().position(|temp| *temp == at) {
        return machine.block(frame, &block[..=index].iter().copied().collect());
    }
    let Some((index, inner)) = around(code, block, at) else { return };
    machine.block(frame, &block[..index].iter().copied().collect());
    if let OpKind::If { test, then, .. } = &code.ops[block[index] as usize].kind {
        // A generator without a `yield` manages no block.
        let test = frame.value(*test);
        let holds = machine.state.truth(&test);
        let paths = &mut machine.state.paths;
        let is_then = std::ptr::eq(then, inner);
        paths.pc = if is_then { paths.guards.and(paths.pc, holds) } else { paths.guards.without(paths.pc, holds) };
    }
    before(machine, frame, inner, at);
}

/// Runs the code after the `yield` in a block.
fn after<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, block: &Block, at: Temp) {
    let code = frame.code;
    let index = if let Some(index) = block.iter().position(|temp| *temp == at) {
        index
    } else {
        let Some((index, inner)) = around(code, block, at) else { return };
        after(machine, frame, inner, at);
        if let OpKind::Try { orelse, finally, .. } = &code.ops[block[index] as usize].kind {
            machine.block(frame, orelse);
            machine.block(frame, finally);
        }
        index
    };
    machine.block(frame, &block[index + 1..].iter().copied().collect());
}
