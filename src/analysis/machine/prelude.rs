//! Functions that the prelude defines in Python: run as part of the calling operation.
//!
//! A frame of the prelude has no activation of its own: everything in it, including what it calls, happens in the activation and at the
//! place of the call. Chains of activations, places, names and exception edges are those of a native operation.
//!
//! **Invariant:** nothing that is logged names the prelude; at most [`DEPTH`] frames of it are nested, and each runs at most
//! [`FRAME_FUEL`] operations.

use std::sync::Arc;

use crate::analysis::domain::value::{ClassHandle, Closure, ModuleIndex, Val, Value};
use crate::analysis::machine::{Frame, Machine, call, cutoff, instances, iterate, name_cache};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{ObjectKind, Registration, Source, Suspended};
use crate::finding::Place;
use crate::ir::{Name, prelude};
use crate::models::{Effect, Registers};

/// Most nested frames of the prelude, without one of the program between them.
const DEPTH: u32 = 8;

/// Most operations of a frame of the prelude, with all that it calls.
const FRAME_FUEL: u32 = 512;

/// The call of the program that a frame of the prelude is part of.
#[derive(Clone, Copy, Debug)]
pub struct Inlined {
    /// The place of the call.
    pub place: Place,
    /// The number of prelude frames below it.
    depth: u32,
}

/// Lets the modules of the prelude define their functions.
pub fn define(machine: &mut Machine<'_>) {
    for module in 0..prelude::modules().len() {
        machine.ensure_module(machine.program.prelude(module));
    }
}

/// The call that a frame of this module, called from another frame, is part of, if the module belongs to the prelude.
pub fn inlined(machine: &Machine<'_>, below: &Frame<'_>, module: ModuleIndex, place: Place) -> Option<Inlined> {
    let depth = below.inlined.map_or(0, |inlined| inlined.depth + 1);
    machine.program.is_prelude(module).then_some(Inlined { place, depth })
}

/// Runs a frame of the prelude with a small share of the fuel, half of which is charged to the caller: a native operation would cost one. A
/// frame that is cut off returns an unknown value, and yields unknown values from there on.
pub fn with_budget_share<'p>(
    machine: &mut Machine<'p>,
    place: Place,
    run: impl FnOnce(&mut Machine<'p>) -> call::CallOutcome,
) -> call::CallOutcome {
    let running = machine.state.paths.running();
    let exhausted = machine.budget.exhausted;
    let kept = machine.budget.portion(FRAME_FUEL);
    let given = machine.budget.fuel;
    let mut ended = run(machine);
    let spent = given.saturating_sub(machine.budget.fuel);
    machine.budget.rejoin(kept + spent / 2);
    if machine.budget.take_cut_off().is_some() {
        machine.state.paths.run(running);
        machine.budget.exhausted = exhausted;
        ended.result = machine.state.terms.opaque("<rest>", Some(place));
        ended.may_continue = true;
    }
    ended
}

/// Whether the bound on nested frames of this module is reached.
pub fn is_too_deep(machine: &Machine<'_>, below: &Frame<'_>, module: ModuleIndex) -> bool {
    machine.program.is_prelude(module) && below.inlined.is_some_and(|inlined| inlined.depth >= DEPTH)
}

/// Runs a generator of the prelude that is about to be iterated over: the number of its elements decides how often a body runs.
pub fn begin<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, iterator: &Value, place: Place) {
    if let Some(Val::Object(object)) = iterator.single()
        && let ObjectKind::Iterator(Source::Generator(suspended), _) =
            &machine.state.store.objects[object.0 as usize].kind
        && machine.program.is_prelude(suspended.module)
    {
        machine.force_generator(frame, *object, place);
    }
}

/// The class of the prelude that a library's class is; defines it, and registers it as the library does.
pub fn define_class(machine: &mut Machine<'_>, path: &str) -> Option<ClassHandle> {
    let models = machine.program.models;
    let Effect::Prelude { definition } = &models.callable(path)?.effect else { return None };
    let (module, _) = prelude::class(definition)?;
    machine.ensure_module(machine.program.prelude(module));
    let class = instances::prelude_class(machine, path)?;
    if models.array_object(path).is_some_and(|row| row.registers == Some(Registers::Family)) {
        machine.state.register(class, Registration::Family);
    }
    Some(class)
}

/// Calls a function of the prelude, or makes an instance of a class of it.
pub fn run_prelude<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (path, name): (&str, &Name),
    args: Args,
    place: Place,
) -> Value {
    if let Some(class) = define_class(machine, path) {
        return machine.construct(frame, class, args, place);
    }
    let found = prelude::definition(name).and_then(|definition| {
        let module = machine.program.prelude(definition.module);
        machine.ensure_module(module);
        machine.state.store.definitions.get(&(module, definition.function)).cloned()
    });
    match found {
        Some(closure) => run_inlined(machine, frame, &closure, args, place),
        None => name_cache::unknown_result(machine, name, place),
    }
}

/// Runs a function of the prelude, on a share of its caller's fuel.
pub fn run_inlined<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    closure: &Arc<Closure>,
    args: Args,
    place: Place,
) -> Value {
    let (module, function, class) = (closure.module, closure.function, closure.class);
    let code = machine.module(module).function(function);
    if is_too_deep(machine, frame, module) {
        let given: Vec<Value> = args.values().cloned().collect();
        return cutoff::unknown_result(machine, frame, &given, code, place);
    }
    let slots = machine.bind(code, closure, args, Some(place));
    let environment = call::new_environment(&mut machine.state, slots, closure.environment);
    if code.is_generator {
        let suspended = Suspended { module, function, environment, class };
        return iterate::new_iterator(&mut machine.state, Source::Generator(Box::new(suspended)), Some(place));
    }
    machine.activate(frame, (module, function), environment, class, place, false).result
}
