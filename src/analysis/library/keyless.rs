//! Whether a function that a library transformed requests no key: `hk.transform(forward)` of layers without dropout.
//!
//! `apply` of such a function takes a key only because its signature has one.
//!
//! **Invariant:** a function is keyless only if everything that it may call is found: functions, classes and library names by their name, modules
//! that are made in it or in a constructor, and methods of arrays. Whatever else is called may request a key. What it is given is data: a
//! parameter or a captured variable is not called, and no library runs it.

use std::collections::BTreeSet;

use crate::analysis::domain::value::{ClassHandle, ModuleIndex, Val, Value};
use crate::analysis::library::flags::function_of;
use crate::analysis::library::parameters::{functions_of, named};
use crate::analysis::machine::Machine;
use crate::analysis::store::args::Args;
use crate::ir::{Function, FunctionId, Name, OpKind, Temp, Variable};
use crate::models::{Construct, Effect, Protocol, ProtocolEffect};

/// Most operations that one search visits; beyond them the function may request a key.
pub const SEARCHED: usize = 4_000;

/// Whether the function from which a library made the receiver of `apply` requests no key, and is given no other one as an argument.
pub fn requests_no_key(
    machine: &mut Machine<'_>,
    receiver: &Val,
    protocol: &Protocol,
    (args, key): (&Args, &Value),
) -> bool {
    let is_key = |value: &&Value| *value == key || matches!(value.single(), Some(Val::Key(_) | Val::Array(_)));
    if !protocol.draws_requested || args.values().filter(is_key).count() > 1 {
        return false;
    }
    let Some(function) = function_of(machine, receiver) else { return false };
    if let Some(known) = machine.caches.keyless.get(&function) {
        return *known;
    }
    let mut search = Search { found: BTreeSet::new(), waiting: Vec::new(), fuel: SEARCHED };
    search.function(machine, function);
    let mut is_keyless = true;
    while let Some((module, id)) = search.waiting.pop() {
        is_keyless = search.is_keyless(machine, module, id);
        if !is_keyless {
            break;
        }
    }
    machine.caches.keyless.insert(function, is_keyless);
    is_keyless
}

/// A search through the functions that one may call.
struct Search {
    found: BTreeSet<(ModuleIndex, FunctionId)>,
    waiting: Vec<(ModuleIndex, FunctionId)>,
    /// How many more operations are visited.
    fuel: usize,
}

impl Search {
    /// Adds a function and those within it.
    fn function(&mut self, machine: &Machine<'_>, (module, id): (ModuleIndex, FunctionId)) {
        let code = machine.module(module);
        let outermost = code.function(id).span;
        let all = functions_of(code, |function| function.span == outermost).map(|id| (module, id));
        self.add(all.collect());
    }

    fn add(&mut self, functions: Vec<(ModuleIndex, FunctionId)>) {
        for function in functions {
            if self.found.insert(function) {
                self.waiting.push(function);
            }
        }
    }

    /// Adds the methods of a class and of those that it inherits from; false if some of these are not seen.
    fn class(&mut self, machine: &Machine<'_>, class: ClassHandle) -> bool {
        let lineage = machine.state.lineage(class);
        let infos: Vec<_> = lineage.iter().map(|class| &machine.state.store.classes[class.0 as usize]).collect();
        let is_seen = |base: &Value| match base.single() {
            Some(Val::Class(_)) => true,
            Some(Val::Library(path)) => machine.program.models.knows(path, &[]),
            _ => false,
        };
        if !infos.iter().flat_map(|info| &info.bases).all(is_seen) {
            return false;
        }
        for info in infos {
            let methods = functions_of(machine.module(info.module), |function| function.class == Some(info.class));
            self.add(methods.map(|id| (info.module, id)).collect());
        }
        true
    }

    fn is_keyless(&mut self, machine: &mut Machine<'_>, module: ModuleIndex, id: FunctionId) -> bool {
        let code = machine.module(module).function(id);
        let Some(fuel) = self.fuel.checked_sub(code.ops.len()) else { return false };
        self.fuel = fuel;
        (0u32..).zip(&code.ops).all(|(temp, op)| match &op.kind {
            OpKind::Load(Variable::Global(_)) => {
                let value = named(machine, module, code, temp);
                self.reference(machine, value.as_ref())
            }
            OpKind::Attribute(_, name) => {
                let requests = |protocol: &Protocol| protocol.effect == ProtocolEffect::Supply;
                let value = named(machine, module, code, temp);
                !machine.program.models.protocols(name).iter().any(requests)
                    && (value.is_none() || self.reference(machine, value.as_ref()))
            }
            OpKind::Call(callee, arguments) => {
                is_found(machine, (module, code), *callee)
                    && (!runs_arguments(machine, (module, code), *callee)
                        || arguments.iter().all(|argument| !is_foreign(code, argument.value())))
            }
            OpKind::Unsupported(_) => false,
            _ => true,
        })
    }

    /// What a name refers to.
    fn reference(&mut self, machine: &Machine<'_>, value: Option<&Value>) -> bool {
        let models = machine.program.models;
        match value.and_then(Value::single) {
            Some(Val::Library(path)) => {
                let requests =
                    models.callable(path).is_some_and(|callable| matches!(callable.effect, Effect::Supply { .. }))
                        || models.class(path).is_some_and(|class| matches!(class.construct, Construct::Stream { .. }));
                // A library without models may be a module of the program that is not here.
                !requests && models.knows(path, &[])
            }
            Some(Val::Function(closure)) => {
                self.function(machine, (closure.module, closure.function));
                true
            }
            Some(Val::Class(class)) => self.class(machine, *class),
            Some(Val::Tuple(parts)) => parts.iter().all(|part| is_number(machine, part)),
            Some(Val::Module(_) | Val::Term(_) | Val::Key(_)) => true,
            _ => false,
        }
    }
}

fn is_number(machine: &Machine<'_>, value: &Value) -> bool {
    matches!(value.single(), Some(Val::Term(term)) if machine.state.terms.is_constant(*term))
}

/// Whether a value comes from outside the function: a parameter other than `self`, or a captured variable.
fn is_foreign(code: &Function, value: Temp) -> bool {
    match &code.ops[value as usize].kind {
        OpKind::Load(Variable::Local(0)) if code.class.is_some() => false,
        OpKind::Load(Variable::Local(slot)) => (*slot as usize) < code.parameters.len(),
        OpKind::Load(Variable::Outer(..)) => true,
        _ => false,
    }
}

/// Whether a callee may run functions that it is given: a transform, or a function of the library that makes the modules.
fn runs_arguments(machine: &mut Machine<'_>, (module, code): (ModuleIndex, &Function), callee: Temp) -> bool {
    let value = named(machine, module, code, callee);
    let Some(Val::Library(path)) = value.as_ref().and_then(Value::single) else { return false };
    let models = machine.program.models;
    let callable = models.callable(path);
    let is_class = path.rsplit('.').next().is_some_and(|name| name.starts_with(char::is_uppercase));
    match callable.map(|callable| &callable.effect) {
        Some(Effect::Transform(_) | Effect::Builtin(_)) | None => true,
        // `hk.Sequential(layers)`. In a method, `hk.Linear(size)` gets what the functions that are searched pass to the constructor.
        Some(Effect::Observe) => !is_class || code.class.is_none(),
        Some(_) => false,
    }
}

/// Whether what is called is found: by its name, as a module made here or by the constructor, as a method of the class or of arrays.
fn is_found(machine: &mut Machine<'_>, (module, code): (ModuleIndex, &Function), callee: Temp) -> bool {
    if names_code(machine, (module, code), callee) {
        return true;
    }
    match &code.ops[callee as usize].kind {
        // `hk.Linear(3)(x)`
        OpKind::Call(inner, _) => names_modules(machine, (module, code), *inner),
        OpKind::Load(Variable::Local(slot)) if *slot as usize >= code.parameters.len() => {
            let mut stored = code.ops.iter().filter_map(|op| match &op.kind {
                OpKind::Store(Variable::Local(target), value) if target == slot => Some(*value),
                _ => None,
            });
            stored.all(|value| makes_module(machine, (module, code), value))
        }
        OpKind::Attribute(of, name) => {
            let is_self =
                code.class.is_some() && matches!(code.ops[*of as usize].kind, OpKind::Load(Variable::Local(0)));
            let is_super = matches!(&code.ops[*of as usize].kind, OpKind::Call(..)) && name.starts_with("__");
            machine.program.models.of_array(name).is_some()
                || is_super
                || is_self && is_own(machine, (module, code), name)
        }
        _ => false,
    }
}

/// Whether a name, or an attribute chain on one, denotes a function, a class or a name of a library.
fn names_code(machine: &mut Machine<'_>, (module, code): (ModuleIndex, &Function), temp: Temp) -> bool {
    let value = named(machine, module, code, temp);
    matches!(value.as_ref().and_then(Value::single), Some(Val::Library(_) | Val::Function(_) | Val::Class(_)))
}

/// Whether a name denotes a class, or a name of a library that is no builtin: `getattr` may return anything.
fn names_modules(machine: &mut Machine<'_>, (module, code): (ModuleIndex, &Function), temp: Temp) -> bool {
    let value = named(machine, module, code, temp);
    let models = machine.program.models;
    match value.as_ref().and_then(Value::single) {
        Some(Val::Library(path)) => {
            models.callable(path).is_some_and(|callable| matches!(callable.effect, Effect::Observe))
        }
        Some(Val::Class(_)) => true,
        _ => false,
    }
}

/// Whether a value is a function defined here, or a module made here.
fn makes_module(machine: &mut Machine<'_>, (module, code): (ModuleIndex, &Function), value: Temp) -> bool {
    match &code.ops[value as usize].kind {
        OpKind::Function(..) => true,
        OpKind::Call(inner, _) => names_modules(machine, (module, code), *inner),
        _ => false,
    }
}

/// Whether an attribute of `self` is a method of its class, or only ever stores modules made there.
fn is_own(machine: &mut Machine<'_>, (module, code): (ModuleIndex, &Function), name: &Name) -> bool {
    let ids: Vec<FunctionId> = functions_of(machine.module(module), |function| function.class == code.class).collect();
    let all = machine.module(module);
    if ids.iter().any(|id| all.function(*id).name == *name && all.function(*id).class == code.class) {
        return true;
    }
    let mut stores = 0;
    for id in ids {
        let method = machine.module(module).function(id);
        for op in &method.ops {
            if let OpKind::StoreAttribute(_, stored, value) = &op.kind
                && stored == name
            {
                stores += 1;
                if !makes_module(machine, (module, method), *value) {
                    return false;
                }
            }
        }
    }
    stores > 0
}
