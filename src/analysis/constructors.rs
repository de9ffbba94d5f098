//! Functions that a constructor stores, for the methods that call them: `self.step = jax.jit(self._step)`.
//!
//! **Invariant:** only what is a function is taken from a constructor, and only if nothing else stores an attribute of that name:
//! whatever else it stores is unknown to a method that runs on its own.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::value::{ClassHandle, Closure, ObjectId, Partial, Val, Value, Wrapped};
use crate::analysis::entry;
use crate::analysis::machine::context::Stored;
use crate::analysis::machine::{Machine, call};
use crate::analysis::record::Activation;
use crate::analysis::store::budget::FUEL;
use crate::ir::{Function, Module, Name, OpKind, Variable};

/// Runs the constructors of the home module that store functions which some method calls, without logging anything.
pub fn run_constructors(machine: &mut Machine<'_>) {
    let init: Name = "__init__".into();
    let classes: Vec<ClassHandle> = machine
        .state
        .store
        .classes
        .own()
        .filter(|(_, info)| info.module == machine.context.home)
        .filter_map(|(number, _)| u32::try_from(number).ok().map(ClassHandle))
        .collect();
    for class in classes {
        let Some(found) = machine.state.class_attribute(class, &init) else { continue };
        let Some(Val::Function(closure)) = found.single() else { continue };
        if closure.module != machine.context.home {
            continue;
        }
        let closure = closure.clone();
        let module = machine.module(machine.context.home);
        let names = functions_stored(module, module.function(closure.function));
        if !names.is_empty() {
            run_constructor(machine, class, &closure, &names);
        }
    }
}

fn run_constructor(machine: &mut Machine<'_>, class: ClassHandle, closure: &Closure, names: &BTreeSet<Name>) {
    let quiet = machine.recorder.afresh();
    let recorder = std::mem::replace(&mut machine.recorder, quiet);
    let pending = std::mem::take(&mut machine.context.pending);
    let modules = machine.state.store.modules.clone();
    let state = (
        machine.state.paths.pc,
        machine.state.paths.live,
        machine.budget.fuel,
        machine.budget.exhausted,
        (machine.budget.cut_off, machine.budget.limited),
    );
    (machine.state.paths.pc, machine.state.paths.live, machine.budget.fuel) = (Guard::TRUE, Guard::TRUE, FUEL);
    machine.state.paths.guards.renew();
    machine.transforms.abstract_depth += 1;

    let code = machine.module(machine.context.home).function(closure.function);
    let slots = {
        let module = machine.context.home;
        entry::symbolic_parameters(machine, module, code, Some(class))
    };
    let object = slots.first().and_then(Value::single).cloned();
    let environment = call::new_environment(&mut machine.state, slots, closure.environment);
    machine.context.activations += 1;
    let activation = Rc::new(Activation {
        id: machine.context.activations,
        caller: None,
        module: machine.context.home,
        function: closure.function,
        depth: 0,
        environment,
        root: true,
        born: machine.state.terms.next(),
    });
    machine.run_frame(machine.context.home, closure.function, environment, Some(class), activation);

    machine.transforms.abstract_depth -= 1;
    (
        machine.state.paths.pc,
        machine.state.paths.live,
        machine.budget.fuel,
        machine.budget.exhausted,
        (machine.budget.cut_off, machine.budget.limited),
    ) = state;
    machine.context.pending = pending;
    // Whether an instance is ever made is not known, so that no global is written.
    machine.state.store.modules = modules;
    let quiet = std::mem::replace(&mut machine.recorder, recorder);
    // Keys that a closure captured name their derivations by number.
    machine.recorder.adopt_derivations(quiet);
    if let Some(Val::Object(object)) = object {
        let attributes = &machine.state.store.objects[object.0 as usize].attributes;
        let functions: Vec<(Name, Value)> = names
            .iter()
            .filter_map(|name| Some((name.clone(), attributes.get(name)?.clone())))
            .filter(|(_, value)| value.single().is_some_and(is_function))
            .collect();
        if !functions.is_empty() {
            machine.caches.constructors.insert(class, Rc::new(Stored { object, functions }));
        }
    }
}

/// Gives an instance, of which a method runs on its own, the functions that its constructor stores.
pub fn give_stored(machine: &mut Machine<'_>, class: ClassHandle, instance: &Value) {
    let (Some(stored), Some(Val::Object(own))) =
        (machine.caches.constructors.get(&class).cloned(), instance.single().cloned())
    else {
        return;
    };
    for (name, value) in &stored.functions {
        let value = moved(value, stored.object, own);
        machine.state.store.objects[own.0 as usize].attributes.insert(name.clone(), value);
    }
}

/// Whether a value is a function that its program made or transformed.
fn is_function(val: &Val) -> bool {
    match val {
        Val::Function(_) | Val::Method(_) | Val::Wrapped(_) => true,
        Val::Partial(partial) => partial.keywords.iter().all(|(name, _)| !name.starts_with('<')),
        _ => false,
    }
}

/// A function with what was bound to one object bound to another.
fn moved(value: &Value, from: ObjectId, to: ObjectId) -> Value {
    match value.single() {
        Some(Val::Method(method)) if matches!(method.0.single(), Some(Val::Object(id)) if *id == from) => {
            Value::of(Val::Method(Rc::new((Value::of(Val::Object(to)), method.1.clone()))))
        }
        Some(Val::Wrapped(wrapped)) => {
            let function = wrapped.function.as_ref().map(|function| moved(function, from, to));
            Value::of(Val::Wrapped(Rc::new(Wrapped { function, ..(**wrapped).clone() })))
        }
        Some(Val::Partial(partial)) => {
            let function = moved(&partial.function, from, to);
            Value::of(Val::Partial(Rc::new(Partial { function, ..(**partial).clone() })))
        }
        _ => value.clone(),
    }
}

/// The attributes that a constructor stores calls, functions or names of functions in, that nothing else in the class stores, and that
/// some function of the module calls.
fn functions_stored(module: &Module, init: &Function) -> BTreeSet<Name> {
    let is_self = |code: &Function, temp: u32| {
        matches!(code.ops.get(temp as usize).map(|op| &op.kind), Some(OpKind::Load(Variable::Local(0))))
    };
    let mut names = BTreeSet::new();
    for op in &init.ops {
        if let OpKind::StoreAttribute(object, name, value) = &op.kind
            && is_self(init, *object)
            && matches!(
                init.ops.get(*value as usize).map(|op| &op.kind),
                Some(OpKind::Call(..) | OpKind::Function(..) | OpKind::Attribute(..) | OpKind::Load(_))
            )
        {
            names.insert(name.clone());
        }
    }
    if names.is_empty() {
        return names;
    }
    let (mut called, mut stores) = (BTreeSet::new(), Vec::new());
    for code in &module.functions {
        for op in &code.ops {
            match &op.kind {
                OpKind::Call(callee, _) => {
                    if let Some(OpKind::Attribute(object, name)) = code.ops.get(*callee as usize).map(|op| &op.kind)
                        && is_self(code, *object)
                    {
                        called.insert(name.clone());
                    }
                }
                OpKind::StoreAttribute(_, name, _) if code.class == init.class => stores.push(name.clone()),
                _ => {}
            }
        }
    }
    names.retain(|name| called.contains(name) && stores.iter().filter(|stored| *stored == name).count() == 1);
    names
}
