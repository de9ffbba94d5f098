//! What a constructor stores, for the methods that call it: `self.step = jax.jit(self._step)`, `self.net = Net(size)`.
//!
//! The `setup` of a library's module counts as its constructor, and so do methods that only constructors call.
//!
//! **Invariant:** functions are taken from a constructor unchanged. For instances and lists of instances only the class
//! is taken, and the constant fields of an immutable record. An attribute counts only if nothing but constructors stores it. Everything else that the constructor stores is
//! unknown in a method that is analysed on its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ClassHandle, Closure, ObjectId, Partial, PartialKind, Val, Value, Wrapped};
use crate::analysis::entry;
use crate::analysis::kept::Wanted;
use crate::analysis::machine::context::{Stored, StoredInstances};
use crate::analysis::machine::{Machine, annotate, call};
use crate::analysis::store::State;
use crate::analysis::store::budget::FUEL;
use crate::analysis::store::heap::{ElementClass, InstancePositions, ObjectKind};
use crate::analysis::store::paths::Running;
use crate::ir::{ClassId, Constant, Function, FunctionId, Module, Name, Op, OpKind, Temp, Variable};
use crate::text::Span;

/// Runs the constructors of the home module that store functions which some method calls, without logging anything.
///
/// Returns what was wanted of each, which depends on all functions of the module.
pub fn run_constructors(machine: &mut Machine<'_>) -> Vec<Wanted> {
    let classes: Vec<ClassHandle> = machine
        .state
        .store
        .classes
        .own()
        .filter(|(_, info)| info.module == machine.context.home)
        .filter_map(|(number, _)| u32::try_from(number).ok().map(ClassHandle))
        .collect();
    let (mut all_wanted, mut learned) = (Vec::new(), None);
    for class in classes {
        let Some(closure) = constructor(machine, class) else { continue };
        let makers = makers(machine, class, &closure, &mut learned);
        let mut wanted = stored(machine, class, &makers, &mut learned);
        all_wanted.push((wanted.functions.clone(), wanted.instances.clone()));
        let mut makes = || has_instances(machine, class, &makers) && is_relevant(machine, class);
        if !wanted.instances.is_empty() && !makes() {
            wanted.instances.clear();
        }
        if !wanted.functions.is_empty() || !wanted.instances.is_empty() {
            run_constructor(machine, class, &closure, &makers, &wanted);
        }
    }
    all_wanted
}

/// What makes the instances of a class: its `__init__`, or the method that makes the submodules of a library's module.
fn constructor(machine: &Machine<'_>, class: ClassHandle) -> Option<Arc<Closure>> {
    let found = machine.state.class_attribute(class, &"__init__".into()).or_else(|| {
        let lineage = machine.state.lineage(class);
        let mut bases = lineage.iter().flat_map(|class| &machine.state.store.classes[class.0 as usize].bases);
        let made_in = bases.find_map(|base| match base.single() {
            Some(Val::Library(path)) => machine.program.models.submodules_made_in(path),
            _ => None,
        });
        machine.state.class_attribute(class, &made_in?.into())
    });
    let found = found?;
    let Some(Val::Function(closure)) = found.single() else { return None };
    (closure.module == machine.context.home).then(|| closure.clone())
}

/// Most functions that make one instance.
const MAKERS: usize = 8;

/// The constructor, those of bases that it calls, and the methods that only these functions use.
fn makers<'m>(
    machine: &Machine<'m>,
    class: ClassHandle,
    constructor: &Closure,
    learned: &mut Option<SelfAttributes<'m>>,
) -> Vec<FunctionId> {
    let home = machine.context.home;
    let module = machine.module(home);
    let name = &module.function(constructor.function).name;
    let own = own_lineage(machine, class);
    let mut makers = vec![constructor.function];
    let mut at = 0;
    while let Some(id) = makers.get(at).copied() {
        at += 1;
        for (method, is_super) in called_methods(module.function(id)) {
            let lineage = machine.state.lineage(class);
            let from = if is_super { after(machine, &lineage, module.function(id)) } else { 0 };
            let classes = &machine.state.store.classes;
            let mut found = lineage.iter().skip(from).filter_map(|of| classes[of.0 as usize].attributes.get(method));
            let Some(Val::Function(closure)) = found.next().and_then(Value::single) else { continue };
            if closure.module != home || makers.contains(&closure.function) || makers.len() == MAKERS {
                continue;
            }
            let is_constructor = is_super && method == name;
            makers.push(closure.function);
            let learned = learned.get_or_insert_with(|| module.unrecorded(|| SelfAttributes::of(module)));
            if !is_constructor && !learned.is_mentioned_only_in(&own, method, &spans(module, &makers)) {
                makers.pop();
            }
        }
    }
    makers
}

/// The methods of its first parameter that a function calls, and whether it looks for them in the bases.
fn called_methods(code: &Function) -> impl Iterator<Item = (&Name, bool)> {
    let kind = |temp: Temp| code.ops.get(temp as usize).map(|op| &op.kind);
    code.ops.iter().filter_map(move |op| {
        let OpKind::Call(callee, _) = &op.kind else { return None };
        let OpKind::Attribute(object, name) = kind(*callee)? else { return None };
        if is_self(code, *object) {
            return Some((name, false));
        }
        let OpKind::Call(made_by, _) = kind(*object)? else { return None };
        matches!(kind(*made_by)?, OpKind::Load(Variable::Global(of)) if &**of == "super").then_some((name, true))
    })
}

/// How many classes a lookup skips that begins after the class of a method.
fn after(machine: &Machine<'_>, lineage: &[ClassHandle], method: &Function) -> usize {
    let is_its = |of: &ClassHandle| {
        let info = &machine.state.store.classes[of.0 as usize];
        info.module == machine.context.home && Some(info.class) == method.class
    };
    lineage.iter().position(is_its).map_or(lineage.len(), |at| at + 1)
}

/// The class and its bases, as far as they are in the home module.
fn own_lineage(machine: &Machine<'_>, class: ClassHandle) -> Vec<ClassId> {
    let lineage = machine.state.lineage(class);
    let classes = lineage.iter().map(|class| &machine.state.store.classes[class.0 as usize]);
    classes.filter(|info| info.module == machine.context.home).map(|info| info.class).collect()
}

fn spans(module: &Module, functions: &[FunctionId]) -> Vec<Span> {
    functions.iter().map(|id| module.function(*id).span).collect()
}

/// Deepest nesting of functions between a constructor and the call of a class.
const FACTORY_DEPTH: u32 = 2;

/// Whether a constructor calls a class of the program by its name, itself or in a function of the module that it defines or calls, or takes
/// an instance of one, according to its annotations.
fn has_instances(machine: &mut Machine<'_>, class: ClassHandle, makers: &[FunctionId]) -> bool {
    let home = machine.context.home;
    let module = machine.module(home);
    let parameters = makers.iter().take(1).flat_map(|id| &module.function(*id).parameters);
    let mut annotations = parameters.filter_map(|parameter| parameter.annotation.as_ref());
    annotations.any(|annotation| annotate::names_instances(machine, home, annotation))
        || makes_instances(machine, class, makers)
}

fn makes_instances(machine: &mut Machine<'_>, class: ClassHandle, makers: &[FunctionId]) -> bool {
    let home = machine.context.home;
    let module = machine.module(home);
    let mut seen = BTreeSet::new();
    let mut work: Vec<(&Function, u32)> = makers.iter().map(|id| (module.function(*id), FACTORY_DEPTH)).collect();
    while let Some((code, depth)) = work.pop() {
        for op in &code.ops {
            let inner = match &op.kind {
                OpKind::Function(nested, _) => *nested,
                OpKind::Call(callee, _) => {
                    let made = named_callee(machine, class, code, *callee);
                    match made.as_ref().and_then(Value::single) {
                        Some(Val::Class(_)) => return true,
                        Some(Val::Function(closure)) if closure.module == home => closure.function,
                        _ => continue,
                    }
                }
                _ => continue,
            };
            if depth > 0 && seen.insert(inner) {
                work.push((module.function(inner), depth - 1));
            }
        }
    }
    false
}

/// What a callee denotes that is written as a global, an attribute of a module, or a method of an object.
fn named_callee(machine: &mut Machine<'_>, class: ClassHandle, code: &Function, callee: Temp) -> Option<Value> {
    let home = machine.context.home;
    let kind = |temp: Temp| code.ops.get(temp as usize).map(|op| &op.kind);
    match kind(callee)? {
        OpKind::Load(Variable::Global(name)) => machine.global(home, name),
        OpKind::Attribute(of, name) => match kind(*of)? {
            OpKind::Load(Variable::Global(outer)) => match machine.global(home, outer)?.single() {
                Some(Val::Module(module)) => machine.global(*module, name),
                _ => None,
            },
            OpKind::Load(Variable::Local(0) | Variable::Outer(_, 0)) => {
                let found = machine.state.class_attribute(class, name)?;
                match found.single() {
                    Some(Val::Partial(partial)) if partial.kind == PartialKind::StaticMethod => {
                        Some(partial.function.clone())
                    }
                    _ => Some(found),
                }
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a method of a class may involve keys.
fn is_relevant(machine: &Machine<'_>, class: ClassHandle) -> bool {
    let (home, class) = (machine.context.home, machine.state.store.classes[class.0 as usize].class);
    let methods = (0u32..).zip(&machine.module(home).functions).filter(|(_, code)| code.class == Some(class));
    methods.map(|(number, _)| FunctionId(number)).any(|method| machine.program.relevance.of(home, method))
}

fn run_constructor(
    machine: &mut Machine<'_>,
    class: ClassHandle,
    closure: &Closure,
    makers: &[FunctionId],
    wanted: &StoredAttributes,
) {
    let quiet = machine.recorder.for_next_run();
    let recorder = std::mem::replace(&mut machine.recorder, quiet);
    let pending = std::mem::take(&mut machine.context.pending);
    let modules = machine.state.store.modules.clone();
    let state = (
        machine.state.paths.running(),
        machine.budget.fuel,
        machine.budget.exhausted,
        (machine.budget.cut_off, machine.budget.limited),
    );
    machine.state.paths.run(Running::on(Guard::TRUE));
    machine.budget.fuel = FUEL;
    machine.state.paths.guards.renew();
    machine.transforms.abstract_depth += 1;

    let code = machine.module(machine.context.home).function(closure.function);
    let slots = entry::symbolic_parameters(machine, machine.context.home, code, Some(class));
    let object = slots.first().and_then(Value::single).cloned();
    let environment = call::new_environment(&mut machine.state, slots, closure.environment);
    let activation = machine.root_activation(machine.context.home, closure.function, environment);
    machine.run_frame(machine.context.home, closure.function, environment, Some(class), activation);

    machine.transforms.abstract_depth -= 1;
    let running;
    (running, machine.budget.fuel, machine.budget.exhausted, (machine.budget.cut_off, machine.budget.limited)) = state;
    machine.state.paths.run(running);
    machine.context.pending = pending;
    // It is unknown whether an instance is ever created, so no global is written.
    machine.state.store.modules = modules;
    let quiet = std::mem::replace(&mut machine.recorder, recorder);
    // Keys that a closure captured refer to their derivations by number.
    machine.recorder.adopt_derivations(quiet);
    if let Some(Val::Object(object)) = object {
        let attributes = &machine.state.store.objects[object.0 as usize].attributes;
        let functions: Vec<(Name, Value)> = wanted
            .functions
            .iter()
            .filter_map(|name| Some((name.clone(), attributes.get(name)?.clone())))
            .filter(|(_, value)| value.single().is_some_and(is_function))
            .collect();
        let instances = |name: &Name| {
            let value = where_stored(machine, class, object, name, attributes.get(name)?);
            Some((name.clone(), stored_instances(&machine.state, &value)?))
        };
        let instances: Vec<(Name, StoredInstances)> = wanted.instances.iter().filter_map(instances).collect();
        if !functions.is_empty() || !instances.is_empty() {
            let makers = makers.to_vec();
            machine.caches.constructors.insert(class, Arc::new(Stored { object, makers, functions, instances }));
        }
    }
}

/// The value of an attribute where the constructor stored one. Reading it elsewhere raises, if nothing else can supply it.
fn where_stored(machine: &Machine<'_>, class: ClassHandle, object: ObjectId, name: &Name, value: &Value) -> Value {
    let symbol = machine.state.store.objects[object.0 as usize].symbol;
    let is_unset = |val: &Val| match val {
        Val::Term(term) => {
            matches!(machine.state.terms.get(*term), Term::Attribute(of, read, _) if *of == symbol && read == name)
        }
        _ => false,
    };
    let is_supplied = machine.state.class_attribute(class, name).is_some() || machine.field(class, name).is_some();
    // `hasattr(self, "noise")` asks whether the constructor stored it.
    let module = machine.module(machine.context.home);
    let is_name = |op: &Op| matches!(&op.kind, OpKind::Constant(Constant::Str(text)) if text == name);
    let is_asked = || module.functions.iter().flat_map(|code| &code.ops).any(is_name);
    if value.alternatives().len() < 2 || is_supplied || !machine.is_closed(class) || is_asked() {
        return value.clone();
    }
    value.without(is_unset)
}

/// The fields of an immutable record that have constant values: `Block(noisy=True)`.
fn constants(state: &State, val: &Val) -> Arc<[(Name, TermId)]> {
    let Val::Object(id) = val else { return Arc::default() };
    let object = &state.store.objects[id.0 as usize];
    let is_fixed = object.class.is_some_and(|class| {
        let info = &state.store.classes[class.0 as usize];
        info.record && info.frozen
    });
    let constant = |(name, value): (&Name, &Value)| match value.single()? {
        Val::Term(term) => {
            let is_constant = matches!(
                state.terms.get(*term),
                Term::None | Term::Bool(_) | Term::Int(_) | Term::Float(_) | Term::Text(_)
            );
            is_constant.then(|| (name.clone(), *term))
        }
        _ => None,
    };
    if is_fixed { object.attributes.iter().filter_map(constant).collect() } else { Arc::default() }
}

/// The class of an instance, or of all elements of a container, with the constants that they have in common. Elements that differ in
/// constants are unknown.
fn stored_instances(state: &State, value: &Value) -> Option<StoredInstances> {
    let of_val = |val: &Val| match val {
        Val::Object(id) => {
            let object = &state.store.objects[id.0 as usize];
            object.class.filter(|_| matches!(object.kind, ObjectKind::Instance))
        }
        _ => None,
    };
    let one = |value: &Value| {
        let of = |val: &Val| Some((of_val(val)?, constants(state, val)));
        let first = of(&value.alternatives().first()?.val)?;
        value.alternatives().iter().all(|other| of(&other.val).as_ref() == Some(&first)).then_some(first)
    };
    let all = |values: Vec<&Value>, holds| {
        let first = one(values.first()?)?;
        let are_alike = values.into_iter().all(|value| one(value).as_ref() == Some(&first));
        are_alike.then_some(StoredInstances::Each(ElementClass::Program(first.0), holds))
    };
    if let Some((class, constants)) = one(value) {
        return Some(StoredInstances::One(class, constants));
    }
    match value.single()? {
        Val::Term(container) => {
            let (class, holds) = state.store.element_classes.get(container).cloned()?;
            Some(StoredInstances::Each(class, holds))
        }
        Val::Tuple(parts) => all(parts.iter().collect(), InstancePositions::Elements),
        Val::Object(id) => match &state.store.objects[id.0 as usize].kind {
            ObjectKind::List { items, .. } => {
                all(items.iter().map(|item| &item.value).collect(), InstancePositions::Elements)
            }
            ObjectKind::Dict { entries, .. } => {
                all(entries.iter().map(|entry| &entry.value).collect(), InstancePositions::Values)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Adds to an instance whose method is analysed on its own the functions that its constructor stores, and instances of
/// the stored classes.
pub fn set_stored_attributes(machine: &mut Machine<'_>, method: FunctionId, class: ClassHandle, instance: &Value) {
    let (Some(stored), Some(Val::Object(own))) =
        (machine.caches.constructors.get(&class).cloned(), instance.single().cloned())
    else {
        return;
    };
    if stored.makers.contains(&method) {
        return;
    }
    for (name, value) in &stored.functions {
        let value = rebind_receiver(value, stored.object, own);
        machine.state.store.objects[own.0 as usize].attributes.insert(name.clone(), value);
    }
    for (name, instances) in &stored.instances {
        let object = &machine.state.store.objects[own.0 as usize];
        let attribute = Term::Attribute(object.symbol, name.clone(), object.epoch);
        let attribute = machine.state.terms.intern(attribute);
        match instances {
            StoredInstances::One(class, constants) => {
                let value = annotate::instance_of(&mut machine.state, attribute, *class);
                if let Some(Val::Object(id)) = value.single() {
                    let fields = constants.iter().map(|(name, term)| (name.clone(), Value::term(*term)));
                    machine.state.store.objects[id.0 as usize].attributes.extend(fields);
                }
                machine.state.store.objects[own.0 as usize].attributes.insert(name.clone(), value);
            }
            StoredInstances::Each(class, holds) => {
                machine.state.store.element_classes.insert(attribute, (class.clone(), *holds));
            }
        }
    }
}

/// Whether a value is a function that its program made or transformed.
fn is_function(val: &Val) -> bool {
    match val {
        Val::Function(_) | Val::Method(_) | Val::Wrapped(_) => true,
        Val::Partial(partial) => matches!(partial.kind, PartialKind::Bound | PartialKind::Record),
        _ => false,
    }
}

/// A function with what was bound to one object bound to another.
fn rebind_receiver(value: &Value, from: ObjectId, to: ObjectId) -> Value {
    match value.single() {
        Some(Val::Method(method)) if matches!(method.0.single(), Some(Val::Object(id)) if *id == from) => {
            Value::of(Val::Method(Arc::new((Value::of(Val::Object(to)), method.1.clone()))))
        }
        Some(Val::Wrapped(wrapped)) => {
            let function = wrapped.function.as_ref().map(|function| rebind_receiver(function, from, to));
            Value::of(Val::Wrapped(Arc::new(Wrapped { function, ..(**wrapped).clone() })))
        }
        Some(Val::Partial(partial)) => {
            let function = rebind_receiver(&partial.function, from, to);
            Value::of(Val::Partial(Arc::new(Partial { function, ..(**partial).clone() })))
        }
        _ => value.clone(),
    }
}

/// The attributes of interest among those that a constructor stores.
#[derive(Default)]
struct StoredAttributes {
    /// Those that some function of the module calls.
    functions: BTreeSet<Name>,
    /// Those that some other function of the module reads.
    instances: BTreeSet<Name>,
}

/// Whether an operation reads the first parameter, of its own function or of one around it.
fn is_self(code: &Function, temp: Temp) -> bool {
    let kind = code.ops.get(temp as usize).map(|op| &op.kind);
    matches!(kind, Some(OpKind::Load(Variable::Local(0) | Variable::Outer(_, 0))))
}

/// The attributes that the functions which make an instance store, that nothing else in its classes stores, and that some function of the
/// module calls or reads.
fn stored<'m>(
    machine: &Machine<'m>,
    class: ClassHandle,
    makers: &[FunctionId],
    learned: &mut Option<SelfAttributes<'m>>,
) -> StoredAttributes {
    let module = machine.module(machine.context.home);
    let (mut wanted, mut elsewhere) = (StoredAttributes::default(), FxHashSet::default());
    for code in makers.iter().map(|id| module.function(*id)) {
        for op in &code.ops {
            let OpKind::StoreAttribute(object, name, value) = &op.kind else { continue };
            if !is_self(code, *object) {
                elsewhere.insert(name);
                continue;
            }
            match code.ops.get(*value as usize).map(|op| &op.kind) {
                Some(OpKind::Call(..) | OpKind::Load(_) | OpKind::Project(..)) => {
                    wanted.functions.insert(name.clone());
                    wanted.instances.insert(name.clone());
                }
                Some(OpKind::Function(..) | OpKind::Attribute(..)) => {
                    wanted.functions.insert(name.clone());
                }
                Some(OpKind::Build(..)) => {
                    wanted.instances.insert(name.clone());
                }
                _ => {}
            }
        }
    }
    if wanted.functions.is_empty() && wanted.instances.is_empty() {
        return wanted;
    }
    let (own, spans) = (own_lineage(machine, class), spans(module, makers));
    // What is learned from the other functions is compared instead.
    let learned = learned.get_or_insert_with(|| module.unrecorded(|| SelfAttributes::of(module)));
    let is_kept = |name: &Name| !elsewhere.contains(name) && learned.is_stored_only_in(&own, name, &spans);
    wanted.functions.retain(|name| learned.called.contains(name) && is_kept(name));
    wanted.instances.retain(|name| learned.is_read_outside(&spans, name) && is_kept(name));
    wanted
}

/// What the functions of a module do with attributes of their first parameters.
struct SelfAttributes<'m> {
    /// The attributes that some function calls.
    called: FxHashSet<&'m Name>,
    /// The names of the functions that read each attribute.
    read: FxHashMap<&'m Name, FxHashSet<Span>>,
    /// The names of the functions that read each attribute of any object, with the class of a method that only reads its own object's.
    mentioned: FxHashMap<&'m Name, FxHashSet<(Span, Option<ClassId>)>>,
    /// The names of the methods of each class that store an attribute of their own object, and of the functions that store one of another.
    stores: FxHashMap<(Option<ClassId>, &'m Name), FxHashSet<Span>>,
}

impl<'m> SelfAttributes<'m> {
    fn of(module: &'m Module) -> Self {
        let mut found = Self {
            called: FxHashSet::default(),
            read: FxHashMap::default(),
            mentioned: FxHashMap::default(),
            stores: FxHashMap::default(),
        };
        for code in &module.functions {
            for op in &code.ops {
                match &op.kind {
                    OpKind::Call(callee, _) => {
                        if let Some(OpKind::Attribute(object, name)) = code.ops.get(*callee as usize).map(|op| &op.kind)
                            && is_self(code, *object)
                        {
                            found.called.insert(name);
                        }
                    }
                    OpKind::Attribute(object, name) => {
                        let is_own = is_self(code, *object);
                        if is_own {
                            found.read.entry(name).or_default().insert(code.span);
                        }
                        let class = code.class.filter(|_| is_own);
                        found.mentioned.entry(name).or_default().insert((code.span, class));
                    }
                    OpKind::StoreAttribute(object, name, _) => {
                        // The object of another function may be of any class.
                        let class = code.class.filter(|_| is_self(code, *object));
                        found.stores.entry((class, name)).or_default().insert(code.span);
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// Whether a function other than those that make an instance reads an attribute.
    fn is_read_outside(&self, makers: &[Span], name: &Name) -> bool {
        self.read.get(name).is_some_and(|readers| readers.iter().any(|reader| !makers.contains(reader)))
    }

    /// Whether no other function reads an attribute of this name of an object that may be of these classes.
    fn is_mentioned_only_in(&self, classes: &[ClassId], name: &Name, functions: &[Span]) -> bool {
        let is_other = |class: &Option<ClassId>| class.is_some_and(|class| !classes.contains(&class));
        let mut readers = self.mentioned.get(name).into_iter().flatten();
        readers.all(|(reader, class)| functions.contains(reader) || is_other(class))
    }

    /// Whether no other function of some classes stores an attribute of its own object, and none one of another, as functions nested in
    /// methods do.
    fn is_stored_only_in(&self, classes: &[ClassId], name: &Name, makers: &[Span]) -> bool {
        let stores = |class| self.stores.get(&(class, name)).into_iter().flatten();
        stores(None).next().is_none()
            && classes.iter().all(|class| stores(Some(*class)).all(|function| makers.contains(function)))
    }
}
