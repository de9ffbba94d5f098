//! Functions that the prelude defines in Python: run as part of the calling operation.
//!
//! **Invariant:** a frame of the prelude is transparent: what runs in it has the place of the call, the execution of its caller and the
//! running functions of its caller, and uses their budget.

use std::cell::RefCell;
use std::rc::Rc;

use super::frame::{Eval, Halt};
use super::machine::Machine;
use super::value::{Args, Closure, Value};
use crate::finding::Place;
use crate::ir::{Name, prelude};
use crate::models::Effect;

/// The class of the prelude that a library's class is: `flax.nnx.Variable`.
pub(super) fn class_of<'p>(machine: &mut Machine<'p>, path: &str) -> Option<Value<'p>> {
    let Effect::Prelude { definition } = &machine.project.models.callable(path)?.effect else { return None };
    let (module, name) = prelude::class(definition)?;
    let module = machine.project.own + module;
    machine.ensure_module(module);
    machine.globals.get(&module)?.get(&name).cloned()
}

/// Calls a function of the prelude, or makes an instance of a class of it.
pub(super) fn run_prelude<'p>(
    machine: &mut Machine<'p>,
    (path, name): (&str, &Name),
    args: Args<'p>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    if let Some(class) = class_of(machine, path) {
        return machine.call_value(&class, args, place);
    }
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
) -> Eval<'p, Value<'p>> {
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
