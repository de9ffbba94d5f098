//! Whether initialising a module of a library draws anything, according to its class.
//!
//! `init` of a module without parameters, or with constant parameters only, does not use its key.
//!
//! **Invariant:** a class is deterministic only if every call in its methods is visible: parameters are declared with constant initialisers, no
//! other module that may draw is made or called, and no key is requested; or if a library class gets constant initialisers in place of all
//! those with which it would draw.

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ClassHandle, ModuleIndex, ObjectId, Val, Value};
use crate::analysis::machine::{Machine, name_cache};
use crate::analysis::program::Program;
use crate::analysis::store::State;
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::ClassInfo;
use crate::ir::{Argument, Collection, Function, FunctionId, FunctionKind, Module, Name, OpKind, Temp, Variable};
use crate::models::{Effect, Protocol, ProtocolEffect};

/// The functions that print their arguments.
pub const PRINT: &str = "builtins.print";

/// Deepest nesting of calls that are followed.
pub const DEPTH: u32 = 3;

/// A class whose methods are checked.
pub struct InspectedClass<'a> {
    protocol: &'a Protocol,
    /// The names of its methods.
    methods: Vec<Name>,
    /// The attributes that they store: modules may be created there.
    stored: Vec<Name>,
    /// Those that hold only the result of a call.
    made: Vec<Name>,
}

/// Whether the class of a receiver, or the arguments of its constructor, show that the call of a protocol's method
/// draws nothing.
pub fn is_deterministic_init(machine: &mut Machine<'_>, receiver: &Val, protocol: &Protocol) -> bool {
    if protocol.declares.is_none() {
        return false;
    }
    if let Val::Term(term) = receiver {
        return machine.caches.deterministic.terms.contains(term);
    }
    let Val::Object(id) = receiver else { return false };
    let Some(class) = machine.state.store.objects[id.0 as usize].class else { return false };
    // The constructor arguments of a module include what a call may have changed since.
    if machine.caches.deterministic.objects.contains(id) || has_constant_initialisers(machine, *id, class) {
        machine.caches.deterministic.objects.insert(*id);
        return true;
    }
    is_deterministic_class(machine, class, protocol, DEPTH)
}

/// Whether a class is one of modules of a library, all of whose methods are seen, and which draw nothing.
fn is_deterministic_class(machine: &mut Machine<'_>, class: ClassHandle, protocol: &Protocol, depth: u32) -> bool {
    let Some(classes) = classes_of_module(&machine.state, class, protocol) else { return false };
    let mut methods: Vec<(ModuleIndex, FunctionId)> = Vec::new();
    for class in &classes {
        let module = machine.module(class.module);
        methods
            .extend(functions_of(module, |function| function.class == Some(class.class)).map(|id| (class.module, id)));
    }
    let names = methods.iter().map(|(module, id)| machine.module(*module).function(*id).name.clone()).collect();
    let (mut stored, mut made) = (Vec::new(), Vec::new());
    for (module, id) in &methods {
        let ops = &machine.module(*module).function(*id).ops;
        for op in ops {
            if let OpKind::StoreAttribute(_, name, value) = &op.kind {
                stored.push(name.clone());
                if matches!(ops[*value as usize].kind, OpKind::Call(..)) {
                    made.push(name.clone());
                }
            }
        }
    }
    // A value that is stored once and comes from a call.
    made.retain(|name| stored.iter().filter(|other| *other == name).count() == 1);
    let looked = InspectedClass { protocol, methods: names, stored, made };
    !methods.is_empty()
        && methods.into_iter().all(|(module, id)| is_deterministic_function(machine, &looked, module, id, depth))
}

/// A class and those that it inherits from in the program; nothing for a class that is not a module of the protocol's
/// libraries.
pub fn classes_of_module(state: &State, class: ClassHandle, protocol: &Protocol) -> Option<Vec<ClassInfo>> {
    let lineage = state.lineage(class);
    let classes: Vec<ClassInfo> = lineage.iter().map(|class| state.store.classes[class.0 as usize].clone()).collect();
    let is_seen = |base: &Value| matches!(base.single(), Some(Val::Class(_) | Val::Library(_)));
    let is_module = |base: &Value| match base.single() {
        Some(Val::Library(path)) => path.split('.').next().is_some_and(|root| is_among(&protocol.libraries, root)),
        _ => false,
    };
    let bases = || classes.iter().flat_map(|class| &class.bases);
    (bases().all(is_seen) && bases().any(is_module)).then_some(classes)
}

/// Whether a class of a library, made with these arguments, draws nothing when it is initialised.
pub fn makes_deterministic_module<'p>(program: &'p Program<'p>, path: &str, args: &Args) -> bool {
    let Some(draws_by) = program.models.draws_by(path) else { return false };
    let is_constant = |given: &Value| given.single().is_some_and(|val| is_constant_value(program, val));
    args.mappings.is_empty()
        && draws_by.drawing.iter().all(|name| args.keyword(name).is_some())
        && args
            .keywords
            .iter()
            .filter(|(name, _)| draws_by.takes_initialiser(name))
            .all(|(_, given)| is_constant(&given.value))
}

/// Whether an instance of a modelled class, in a program that is the library itself, has constant initialisers in place of all those with
/// which it would draw.
fn has_constant_initialisers(machine: &Machine<'_>, instance: ObjectId, class: ClassHandle) -> bool {
    let class = &machine.state.store.classes[class.0 as usize];
    let module = machine.module(class.module);
    let Some(name) = module.classes.get(class.class.0 as usize).map(|class| &class.name) else { return false };
    let path = machine.program.resolver.absolute(module.file, 1, name);
    let Some(draws_by) = machine.program.models.draws_by(&path) else { return false };
    let held = &machine.state.store.objects[instance.0 as usize].attributes;
    let is_none = |val: &Val| matches!(val, Val::Term(term) if matches!(machine.state.terms.get(*term), Term::None));
    draws_by.drawing.iter().all(|name| held.contains_key(name.as_str()))
        && held
            .iter()
            .filter(|(name, _)| draws_by.takes_initialiser(name))
            .all(|(_, value)| value.single().is_some_and(|val| is_none(val) || is_constant_value(machine.program, val)))
}

/// Whether an initialiser does not use its key, which is its first parameter.
fn is_constant_value<'p>(program: &'p Program<'p>, initialiser: &Val) -> bool {
    let models = program.models;
    match initialiser {
        Val::Library(path) => {
            models.callable(path).is_some_and(|callable| callable.exact && callable.effect == Effect::Observe)
        }
        Val::Wrapped(made) => models.callable(&made.transform).is_some_and(
            |callable| matches!(&callable.effect, Effect::Factory { makes } if makes.effect == Effect::Observe),
        ),
        Val::Function(closure) => leaves_key_alone(program, closure.module, closure.function),
        _ => false,
    }
}

/// Whether nothing reads the first parameter of a function.
fn leaves_key_alone<'p>(program: &'p Program<'p>, module: ModuleIndex, id: FunctionId) -> bool {
    let module = program.module(module);
    let reads_key = |function: &Function, key: &Variable| {
        function.ops.iter().any(|op| matches!(&op.kind, OpKind::Load(variable) if variable == key))
    };
    let within = functions_of(module, |inner| inner.parent == Some(id)).collect::<Vec<_>>();
    let is_read_outside = |id: FunctionId| {
        module.function(id).ops.iter().any(|op| matches!(op.kind, OpKind::Load(Variable::Outer(_, 0))))
    };
    !reads_key(module.function(id), &Variable::Local(0)) && !within.into_iter().any(is_read_outside)
}

fn is_deterministic_function(
    machine: &mut Machine<'_>,
    looked: &InspectedClass<'_>,
    module: ModuleIndex,
    id: FunctionId,
    depth: u32,
) -> bool {
    let code = machine.module(module).function(id);
    (0u32..).zip(&code.ops).all(|(temp, op)| match &op.kind {
        OpKind::Call(callee, arguments) => {
            is_deterministic_call(machine, looked, (module, code), (*callee, arguments), depth)
                || is_key_shown(machine, module, id, temp, *callee)
        }
        OpKind::Unsupported(_) => false,
        _ => true,
    })
}

/// Whether a call only requests a key that is printed: `print(f"{self.make_rng('params')}")`.
fn is_key_shown(machine: &mut Machine<'_>, module: ModuleIndex, id: FunctionId, call: Temp, callee: Temp) -> bool {
    let code = machine.module(module).function(id);
    let OpKind::Attribute(object, name) = &code.ops[callee as usize].kind else { return false };
    let is_self = code.class.is_some() && matches!(code.ops[*object as usize].kind, OpKind::Load(Variable::Local(0)));
    let supplies =
        machine.program.models.protocols(name).iter().any(|protocol| protocol.effect == ProtocolEffect::Supply);
    let uses = machine.uses_of(module, id);
    is_self
        && supplies
        && uses.readers(call).iter().all(|reader| match &code.ops[*reader as usize].kind {
            OpKind::Build(Collection::Text, _) => true,
            OpKind::Call(print, _) => *print != call && is_print(machine, module, code, *print),
            _ => false,
        })
}

fn is_print(machine: &mut Machine<'_>, module: ModuleIndex, code: &Function, callee: Temp) -> bool {
    let named = named(machine, module, code, callee);
    matches!(named.as_ref().and_then(Value::single), Some(Val::Library(path)) if &**path == PRINT)
}

fn is_deterministic_call(
    machine: &mut Machine<'_>,
    looked: &InspectedClass<'_>,
    (module, code): (ModuleIndex, &Function),
    (callee, arguments): (Temp, &[Argument]),
    depth: u32,
) -> bool {
    let passes_a_sampler = arguments.iter().any(|argument| match argument {
        Argument::Positional(given) | Argument::Keyword(_, given) => is_sampler(machine, module, code, *given),
        Argument::Spread(_) | Argument::SpreadMapping(_) => false,
    });
    if passes_a_sampler {
        return false;
    }
    if call_makes_deterministic_module(machine, module, code, callee, arguments) {
        return true;
    }
    match &code.ops[callee as usize].kind {
        OpKind::Attribute(object, name) => {
            let is_self = |temp: Temp| match &code.ops[temp as usize].kind {
                OpKind::Load(Variable::Local(0)) => code.class.is_some(),
                OpKind::Load(Variable::Outer(..)) => true,
                _ => false,
            };
            if is_self(*object) {
                if looked.protocol.declares.as_deref() == Some(&**name) {
                    return is_constant_initialiser(machine, module, code, arguments);
                }
                return looked.methods.contains(name)
                    || looked.made.contains(name)
                    || looked.protocol.requests_no_key.iter().any(|method| **method == **name);
            }
            match named(machine, module, code, callee) {
                Some(value) => is_deterministic_callee(machine, looked, &value, depth),
                // A method of a value, unless that is a field of a module, which may be a module itself.
                None => match &code.ops[*object as usize].kind {
                    OpKind::Attribute(of, name) if is_self(*of) => looked.stored.contains(name),
                    _ => true,
                },
            }
        }
        OpKind::Load(Variable::Local(slot)) => {
            let mut stores = code.ops.iter().filter_map(|op| match &op.kind {
                OpKind::Store(Variable::Local(target), value) if target == slot => Some(*value),
                _ => None,
            });
            let is_function = |value: Temp| matches!(code.ops[value as usize].kind, OpKind::Function(..));
            *slot as usize >= code.parameters.len() && stores.all(is_function)
        }
        // `Dense(4, kernel_init=zeros)(x)`
        OpKind::Call(class, given) => {
            call_makes_deterministic_module(machine, module, code, *class, given)
                || named(machine, module, code, *class).is_some_and(|value| {
                    matches!(value.single(), Some(Val::Class(_)))
                        && is_deterministic_callee(machine, looked, &value, depth)
                })
        }
        OpKind::Load(Variable::Global(_)) => {
            let value = named(machine, module, code, callee);
            value.is_some_and(|value| is_deterministic_callee(machine, looked, &value, depth))
        }
        _ => false,
    }
}

/// Whether a call makes a module of a library that draws nothing.
fn call_makes_deterministic_module(
    machine: &mut Machine<'_>,
    module: ModuleIndex,
    code: &Function,
    callee: Temp,
    arguments: &[Argument],
) -> bool {
    let Some(value) = named(machine, module, code, callee) else { return false };
    let Some(Val::Library(path)) = value.single() else { return false };
    let Some(draws_by) = machine.program.models.draws_by(path) else { return false };
    let is_given = |name: &String| {
        arguments.iter().any(|given| matches!(given, Argument::Keyword(keyword, _) if **keyword == **name))
    };
    draws_by.drawing.iter().all(is_given)
        && arguments.iter().all(|argument| match argument {
            Argument::Keyword(name, given) if draws_by.takes_initialiser(name) => {
                is_constant(machine, module, code, *given)
            }
            Argument::SpreadMapping(_) => false,
            _ => true,
        })
}

fn is_deterministic_callee(machine: &mut Machine<'_>, looked: &InspectedClass<'_>, value: &Value, depth: u32) -> bool {
    let libraries = &looked.protocol.libraries;
    match value.single() {
        Some(Val::Library(path)) => {
            let (root, last) = (path.split('.').next().unwrap_or_default(), path.rsplit('.').next());
            // A name of a module library that starts with a capital letter is a class, possibly of modules.
            let is_class = last.is_some_and(|name| name.starts_with(char::is_uppercase));
            !(is_class && libraries.iter().any(|library| library == root))
        }
        Some(Val::Class(class)) => {
            let Some(depth) = depth.checked_sub(1) else { return false };
            let is_module = machine.state.lineage(*class).iter().any(|class| {
                let bases = &machine.state.store.classes[class.0 as usize].bases;
                bases.iter().any(|base| match base.single() {
                    Some(Val::Library(path)) => path.split('.').next().is_some_and(|root| is_among(libraries, root)),
                    Some(Val::Class(_)) => false,
                    _ => true,
                })
            });
            !is_module || is_deterministic_class(machine, *class, looked.protocol, depth)
        }
        Some(Val::Function(closure)) => {
            let (module, id) = (closure.module, closure.function);
            let Some(depth) = depth.checked_sub(1) else { return false };
            let functions: Vec<FunctionId> = functions_of(machine.module(module), |function| {
                function.span == machine.module(module).function(id).span
            })
            .collect();
            functions.into_iter().all(|id| is_deterministic_function(machine, looked, module, id, depth))
        }
        _ => false,
    }
}

/// Whether a parameter is declared with an initialiser that does not use its key.
fn is_constant_initialiser(
    machine: &mut Machine<'_>,
    module: ModuleIndex,
    code: &Function,
    arguments: &[Argument],
) -> bool {
    let Some(Argument::Positional(initialiser)) = arguments.get(1) else { return false };
    is_constant(machine, module, code, *initialiser)
}

/// Whether an initialiser, as written, does not use its key.
fn is_constant(machine: &mut Machine<'_>, module: ModuleIndex, code: &Function, initialiser: Temp) -> bool {
    if let Some(id) = function_at(code, initialiser) {
        return leaves_key_alone(machine.program, module, id);
    }
    if let Some(effect) = effect_of(machine, module, code, initialiser) {
        return *effect == Effect::Observe;
    }
    let value = named(machine, module, code, initialiser);
    value.is_some_and(|value| value.single().is_some_and(|val| is_constant_value(machine.program, val)))
}

/// The function that an expression defines, or that is the only value stored in a variable.
fn function_at(code: &Function, temp: Temp) -> Option<FunctionId> {
    match &code.ops[temp as usize].kind {
        OpKind::Function(id, _) => Some(*id),
        OpKind::Load(Variable::Local(slot)) if *slot as usize >= code.parameters.len() => {
            let mut stored = code.ops.iter().filter_map(|op| match &op.kind {
                OpKind::Store(Variable::Local(target), value) if target == slot => Some(*value),
                _ => None,
            });
            let (only, None) = (stored.next()?, stored.next()) else { return None };
            match code.ops[only as usize].kind {
                OpKind::Function(id, _) => Some(id),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a function that draws is passed on, as an initialiser is.
fn is_sampler(machine: &mut Machine<'_>, module: ModuleIndex, code: &Function, given: Temp) -> bool {
    matches!(effect_of(machine, module, code, given), Some(Effect::Sample { .. } | Effect::Consume { .. }))
}

/// The effect of a modelled function, or of a function that a modelled factory makes.
fn effect_of<'p>(
    machine: &mut Machine<'p>,
    module: ModuleIndex,
    code: &Function,
    function: Temp,
) -> Option<&'p Effect> {
    let (of, is_made) = match &code.ops[function as usize].kind {
        OpKind::Call(callee, _) => (*callee, true),
        _ => (function, false),
    };
    let value = named(machine, module, code, of)?;
    let Some(Val::Library(path)) = value.single() else { return None };
    let callable = machine.program.models.callable(path).filter(|callable| callable.exact)?;
    match &callable.effect {
        Effect::Factory { makes } if is_made => Some(&makes.effect),
        effect if !is_made => Some(effect),
        _ => None,
    }
}

/// What a module-level name, or an attribute chain on one, resolves to.
pub fn named(machine: &mut Machine<'_>, module: ModuleIndex, code: &Function, temp: Temp) -> Option<Value> {
    match &code.ops[temp as usize].kind {
        OpKind::Load(Variable::Global(name)) => machine
            .global(module, name)
            .or_else(|| Some(Value::of(Val::Library(name_cache::builtin_path(machine, name)?)))),
        OpKind::Attribute(of, name) => match named(machine, module, code, *of)?.single()? {
            Val::Library(path) => Some(Value::of(Val::Library(format!("{path}.{name}").into()))),
            Val::Module(inner) => machine.global(*inner, name),
            _ => None,
        },
        _ => None,
    }
}

pub fn is_among(libraries: &[String], root: &str) -> bool {
    libraries.iter().any(|library| library == root)
}

/// The functions that satisfy a predicate, and those nested in them.
pub fn functions_of(module: &Module, holds: impl Fn(&Function) -> bool) -> impl Iterator<Item = FunctionId> {
    let mut selected: Vec<bool> = Vec::with_capacity(module.functions.len());
    for function in &module.functions {
        let is_within =
            function.parent.and_then(|parent| selected.get(parent.0 as usize)).is_some_and(|within| *within);
        selected.push(function.kind != FunctionKind::ClassBody && (is_within || holds(function)));
    }
    (0u32..).zip(selected).filter(|(_, is_selected)| *is_selected).map(|(number, _)| FunctionId(number))
}
