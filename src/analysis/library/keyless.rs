//! Whether a function that a library transformed requests no key: `hk.transform(forward)` of layers without dropout.
//!
//! `apply` of such a function takes a key only because its signature has one.
//!
//! **Invariant:** a function is keyless only if everything that it may call is seen, or is known to be a library's: whatever is called through a
//! parameter, a captured variable or an unresolved name may request a key.

use std::collections::BTreeSet;

use crate::analysis::domain::value::{ClassHandle, ModuleIndex, Val, Value};
use crate::analysis::library::flags::function_of;
use crate::analysis::library::parameters::{functions_of, named};
use crate::analysis::machine::Machine;
use crate::ir::{Function, FunctionId, OpKind, Temp, Variable};
use crate::models::{Construct, Effect, Protocol, ProtocolEffect};

/// Most operations that one search visits; beyond them the function may request a key.
pub const SEARCHED: usize = 4_000;

/// Whether the function from which a library made the receiver of `apply` requests no key.
pub fn requests_no_key(machine: &mut Machine<'_>, receiver: &Val, protocol: &Protocol) -> bool {
    if !protocol.draws_requested {
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
            OpKind::Call(callee, _) => self.is_seen(machine, module, code, *callee),
            OpKind::Unsupported(_) => false,
            _ => true,
        })
    }

    /// Whether what is called is visible, a part of an object, or the result of another call.
    fn is_seen(&self, machine: &mut Machine<'_>, module: ModuleIndex, code: &Function, callee: Temp) -> bool {
        match &code.ops[callee as usize].kind {
            OpKind::Load(Variable::Local(slot)) => *slot as usize >= code.parameters.len(),
            OpKind::Load(Variable::Outer(..)) => false,
            OpKind::Load(_) => !matches!(
                named(machine, module, code, callee).as_ref().and_then(Value::single),
                None | Some(Val::Term(_))
            ),
            _ => true,
        }
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
            Some(Val::Object(object)) => match machine.state.store.objects[object.0 as usize].class {
                Some(class) => self.class(machine, class),
                None => true,
            },
            Some(Val::Module(_) | Val::Term(_) | Val::Tuple(_) | Val::Key(_)) => true,
            _ => false,
        }
    }
}
