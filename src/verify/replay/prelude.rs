//! Functions that the prelude defines in Python: run as part of the call that asks for them.
//!
//! **Invariant:** a frame of the prelude leaves no trace: what runs in it stands at the place of the call, in the execution that
//! made it, among the functions that were running, and takes its steps from what these may spend.

use std::cell::RefCell;
use std::rc::Rc;

use super::frame::{Halt, Ran};
use super::machine::Machine;
use super::value::{Args, Closure, Value};
use crate::finding::Place;
use crate::ir::{Name, prelude};

/// Calls a function of the prelude.
pub(super) fn run_prelude<'p>(
    machine: &mut Machine<'p>,
    name: &Name,
    args: Args<'p>,
    place: Place,
) -> Ran<'p, Value<'p>> {
    let found = prelude::definition(name).and_then(|definition| {
        let module = machine.project.own + definition.module;
        machine.ensure_module(module);
        machine.made.get(&(module, definition.function)).cloned()
    });
    match found {
        Some(closure) => run_inlined(machine, &closure, args, place),
        None => Ok(machine.unknown(name)),
    }
}

/// Runs a function of the prelude.
pub(super) fn run_inlined<'p>(
    machine: &mut Machine<'p>,
    closure: &Closure<'p>,
    args: Args<'p>,
    place: Place,
) -> Ran<'p, Value<'p>> {
    let slots = machine.bind_arguments(closure, args);
    let Some(mut frame) = machine.frame(closure.module, closure.id, slots, closure.parent.clone()) else {
        return Ok(machine.unknown(&closure.code.name));
    };
    if closure.code.is_generator {
        return Ok(Value::Generator(Rc::new(RefCell::new(Some(Box::new(frame))))));
    }
    let here = machine.here;
    machine.here = (place, here.1);
    let halt = machine.run(&mut frame);
    machine.here = here;
    match halt? {
        Halt::Return(value) => Ok(value),
        Halt::Yield(_) => Ok(machine.unknown(&closure.code.name)),
    }
}
