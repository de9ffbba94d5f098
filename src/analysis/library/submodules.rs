//! Where in a module of a library its methods draw: the names of the submodules, as far as its class shows them.
//!
//! A library that folds the path of the drawing submodule into the key gives equal numbers for equal keys only at equal
//! paths. A path starts with the attribute that holds a submodule, with the name that its constructor gets, or with the
//! name of its class and a number.
//!
//! **Invariant:** the names are those of all submodules that the method may use, or nothing is said: other names would
//! let a reuse disappear. So the search gives up wherever a submodule may be made or used that it cannot name, and where
//! it finds no name at all.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ClassHandle, Closure, EnvironmentId, ModuleIndex, ObjectId, Val, Value};
use crate::analysis::library::parameters::{classes_of_module, functions_of, is_among, named};
use crate::analysis::machine::Machine;
use crate::analysis::record::DrawnIn;
use crate::analysis::store::args::Args;
use crate::ir::{Argument, Constant, Function, FunctionId, Name, OpKind, Temp, Variable};
use crate::models::{Protocol, ProtocolEffect, Submodules};

/// The method that `init` and `apply` run if the call names no other.
const CALL: &str = "__call__";
/// The part of a path that stands for what the module itself draws.
const OWN: &str = "";
/// What may name an attribute, or a method of a base, in a way that the search does not follow.
const UNNAMED: [&str; 3] = ["builtins.super", "builtins.getattr", "builtins.setattr"];
/// Most decorators around a method.
const DECORATORS: u32 = 3;
/// Most operations that one search visits; beyond them it gives up.
pub const SEARCHED: usize = 4_000;

/// Where a call of a protocol's method draws, as far as it is known.
pub fn drawn_in(machine: &mut Machine<'_>, receiver: &Val, protocol: &Protocol, args: &Args) -> DrawnIn {
    if let Some(names) = submodules(machine, receiver, protocol, args) {
        return DrawnIn::Submodules(names);
    }
    let named = args.keyword("method").filter(|_| protocol.folds_path);
    named.and_then(|given| method_named(machine, &given.value)).map_or(DrawnIn::Unknown, DrawnIn::Method)
}

/// The first parts of the paths at which a call of a protocol's method draws, without their numbers; nothing if they are
/// not all known.
fn submodules(machine: &mut Machine<'_>, receiver: &Val, protocol: &Protocol, args: &Args) -> Option<Arc<[Name]>> {
    let naming = protocol.submodules.as_ref().filter(|_| args.mappings.is_empty())?;
    let Val::Object(id) = receiver else { return None };
    let class = machine.state.store.objects[id.0 as usize].class?;
    classes_of_module(&machine.state, class, protocol)?;
    let method = match args.keyword("method") {
        None => CALL.into(),
        Some(given) => method_named(machine, &given.value)?,
    };
    // A module does not change once it is made.
    if let Some(known) = machine.caches.submodules.get(&(*id, method.clone())) {
        return known.clone();
    }
    let mut search = Search {
        protocol,
        naming,
        instance: *id,
        class,
        followed: BTreeSet::new(),
        names: BTreeSet::new(),
        fuel: SEARCHED,
    };
    let is_complete = search.setup(machine).and_then(|()| search.method(machine, &method, Mode::Call)).is_some();
    let is_known = is_complete && !search.names.is_empty();
    let names = is_known.then(|| search.names.into_iter().collect::<Arc<[Name]>>());
    machine.caches.submodules.insert((*id, method), names.clone());
    names
}

/// The method that `method=` selects.
fn method_named(machine: &Machine<'_>, given: &Value) -> Option<Name> {
    match given.single()? {
        Val::Term(term) => match machine.state.terms.get(*term) {
            Term::Text(name) => Some(name.clone()),
            _ => None,
        },
        Val::Method(parts) => method_named(machine, &parts.1),
        Val::Function(closure) => Some(machine.module(closure.module).function(closure.function).name.clone()),
        _ => None,
    }
}

/// What a function that is searched runs for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    /// To make the submodules, which get the names of the attributes that hold them.
    Setup,
    /// To draw.
    Call,
}

/// A name looked up in a class.
enum Attribute {
    /// The class has none.
    Missing,
    /// A method.
    Method(Arc<Closure>),
    /// A value that is not called.
    Value,
    /// Something else.
    Unknown,
}

/// A search through the methods of a class.
struct Search<'a> {
    protocol: &'a Protocol,
    naming: &'a Submodules,
    instance: ObjectId,
    class: ClassHandle,
    /// Functions that were searched.
    followed: BTreeSet<(ModuleIndex, FunctionId, Mode)>,
    names: BTreeSet<Name>,
    /// How many more operations are visited.
    fuel: usize,
}

/// A function that is searched, and where it was defined.
#[derive(Clone, Copy)]
struct Scope<'p> {
    module: ModuleIndex,
    id: FunctionId,
    code: &'p Function,
    environment: Option<EnvironmentId>,
    /// How many functions are between it and the method, itself included.
    nesting: u32,
    mode: Mode,
}

impl Search<'_> {
    /// Searches the method that makes submodules, if the class has it.
    fn setup(&mut self, machine: &mut Machine<'_>) -> Option<()> {
        match self.attribute(machine, &self.naming.made_in.as_str().into()) {
            Attribute::Missing => Some(()),
            Attribute::Method(closure) => self.function(machine, &closure, Mode::Setup),
            Attribute::Value | Attribute::Unknown => None,
        }
    }

    /// Searches a method of the class.
    fn method(&mut self, machine: &mut Machine<'_>, method: &Name, mode: Mode) -> Option<()> {
        match self.attribute(machine, method) {
            Attribute::Method(closure) => self.function(machine, &closure, mode),
            _ => None,
        }
    }

    fn attribute(&self, machine: &Machine<'_>, name: &Name) -> Attribute {
        let Some(mut value) = machine.state.class_attribute(self.class, name) else { return Attribute::Missing };
        for _ in 0..DECORATORS {
            let inner = match value.single() {
                Some(Val::Function(closure)) => return Attribute::Method(closure.clone()),
                Some(Val::Wrapped(wrapped)) => wrapped.function.clone(),
                Some(Val::Term(_) | Val::Tuple(_) | Val::Library(_)) => return Attribute::Value,
                _ => None,
            };
            let Some(inner) = inner else { break };
            value = inner;
        }
        Attribute::Unknown
    }

    /// Whether a method requests a key for the module on which it is called.
    fn requests_key(&self, machine: &Machine<'_>, method: &Name) -> bool {
        let supplies = |protocol: &Protocol| protocol.effect == ProtocolEffect::Supply;
        self.protocol.declares.as_deref() == Some(&**method)
            || machine.program.models.protocols(method).iter().any(supplies)
    }

    /// Searches a function and those within it.
    fn function(&mut self, machine: &mut Machine<'_>, closure: &Closure, mode: Mode) -> Option<()> {
        if !self.followed.insert((closure.module, closure.function, mode)) {
            return Some(());
        }
        let module = machine.module(closure.module);
        let outermost = module.function(closure.function).span;
        let ids: Vec<FunctionId> = functions_of(module, |function| function.span == outermost).collect();
        for id in ids {
            let code = module.function(id);
            let parents = std::iter::successors(Some(id), |id| module.function(*id).parent);
            let nesting = u32::try_from(parents.take_while(|id| *id != closure.function).count()).ok()?;
            let scope = Scope { module: closure.module, id, code, environment: closure.environment, nesting, mode };
            self.fuel = self.fuel.checked_sub(code.ops.len())?;
            for (temp, op) in (0u32..).zip(&code.ops) {
                self.operation(machine, scope, temp, &op.kind)?;
            }
        }
        Some(())
    }

    fn operation(&mut self, machine: &mut Machine<'_>, scope: Scope<'_>, temp: Temp, kind: &OpKind) -> Option<()> {
        match kind {
            OpKind::Attribute(_, name) if self.requests_key(machine, name) => {
                self.names.insert(OWN.into());
                Some(())
            }
            OpKind::Attribute(object, name) if is_self(scope, *object) => {
                self.own_attribute(machine, scope, temp, name)
            }
            // Whoever gets the module may use any of its submodules.
            OpKind::Load(_) if is_self(scope, temp) => {
                let uses = machine.uses_of(scope.module, scope.id);
                let reads_attribute = |reader: &Temp| match &scope.code.ops[*reader as usize].kind {
                    OpKind::Attribute(..) => true,
                    OpKind::StoreAttribute(object, ..) => *object == temp,
                    _ => false,
                };
                uses.readers(temp).iter().all(reads_attribute).then_some(())
            }
            OpKind::Attribute(..) | OpKind::Load(_) => {
                let Some(value) = resolved(machine, scope, temp) else { return Some(()) };
                self.reference(machine, scope, temp, &value)
            }
            OpKind::Call(callee, arguments) if scope.mode == Mode::Call => {
                self.names.extend(self.name_given(scope, arguments)?.map(|name| without_number(&name)));
                match &scope.code.ops[*callee as usize].kind {
                    // A parameter may be a class of modules, and so may be what a table holds: `BLOCKS[name](64)`.
                    OpKind::Load(Variable::Local(slot)) if (*slot as usize) < scope.code.parameters.len() => None,
                    OpKind::Item(table, _) => is_attribute_of_self(scope, *table).then_some(()),
                    // The class is what a field holds: `self.block(64)(x)`.
                    OpKind::Call(made_by, _) => (!is_attribute_of_self(scope, *made_by)).then_some(()),
                    _ => Some(()),
                }
            }
            OpKind::Unsupported(_) => None,
            _ => Some(()),
        }
    }

    /// Something that a name resolves to is used.
    fn reference(&mut self, machine: &mut Machine<'_>, scope: Scope<'_>, temp: Temp, value: &Value) -> Option<()> {
        let is_setup = scope.mode == Mode::Setup;
        match value.single() {
            Some(Val::Class(class)) if classes_of_module(&machine.state, *class, self.protocol).is_some() => {
                let info = &machine.state.store.classes[class.0 as usize];
                let name = machine.module(info.module).classes.get(info.class.0 as usize)?.name.clone();
                self.made(machine, scope, temp, &name)
            }
            Some(Val::Library(path)) if UNNAMED.contains(&&**path) => None,
            Some(Val::Library(path)) => {
                let root = path.split('.').next().unwrap_or_default();
                let name = path.rsplit('.').next().filter(|name| name.starts_with(char::is_uppercase));
                match name {
                    Some(name) if is_among(&self.protocol.libraries, root) => {
                        self.made(machine, scope, temp, &name.into())
                    }
                    // A class of a module that is not part of the program may be one of modules.
                    Some(_) if !is_setup && !machine.program.models.is_modelled(path) => None,
                    _ => Some(()),
                }
            }
            Some(Val::Function(closure)) => self.function(machine, &closure.clone(), scope.mode),
            Some(Val::Term(_) | Val::Module(_)) => Some(()),
            // What is made of it is stored in attributes.
            _ if is_setup => Some(()),
            // Classes with parts that are not known, prepared constructors, objects that may hold some.
            _ => None,
        }
    }

    /// An attribute of the module: a method, or a submodule.
    fn own_attribute(&mut self, machine: &mut Machine<'_>, scope: Scope<'_>, temp: Temp, name: &Name) -> Option<()> {
        if self.protocol.requests_no_key.iter().any(|method| **method == **name) {
            return Some(());
        }
        match self.attribute(machine, name) {
            Attribute::Method(closure) => return self.function(machine, &closure, scope.mode),
            Attribute::Unknown => return None,
            Attribute::Missing | Attribute::Value => {}
        }
        if scope.mode == Mode::Call && self.may_be_submodule(machine, scope, temp, name) {
            self.names.insert(without_number(name));
        }
        Some(())
    }

    /// Whether an attribute may hold submodules, according to what the instance holds or to what is done with it.
    fn may_be_submodule(&self, machine: &mut Machine<'_>, scope: Scope<'_>, temp: Temp, name: &Name) -> bool {
        let held = machine.state.store.objects[self.instance.0 as usize].attributes.get(name);
        match held.and_then(Value::single) {
            Some(Val::Object(_) | Val::Tuple(_)) => return true,
            Some(Val::Library(_) | Val::Function(_)) => return false,
            Some(Val::Term(term)) if !matches!(machine.state.terms.get(*term), Term::Symbol(_)) => return false,
            _ => {}
        }
        let uses = machine.uses_of(scope.module, scope.id);
        uses.readers(temp).iter().any(|reader| match &scope.code.ops[*reader as usize].kind {
            OpKind::Call(callee, _) if *callee == temp => true,
            // A size that a constructor gets.
            OpKind::Call(callee, _) => !matches!(
                resolved(machine, scope, *callee).as_ref().and_then(Value::single),
                Some(Val::Library(_) | Val::Class(_))
            ),
            OpKind::Operate(..) | OpKind::If { .. } => false,
            _ => true,
        })
    }

    /// The name among the arguments of a constructor, if it gets one; nothing if it cannot be read.
    #[expect(clippy::option_option, reason = "a constructor may get no name")]
    fn name_given(&self, scope: Scope<'_>, arguments: &[Argument]) -> Option<Option<Name>> {
        let mut found = None;
        for argument in arguments {
            match argument {
                Argument::Keyword(keyword, given) if **keyword == *self.naming.named_by => {
                    match &scope.code.ops[*given as usize].kind {
                        OpKind::Constant(Constant::Str(name)) => found = Some(Name::from(&**name)),
                        OpKind::Constant(Constant::None) => {}
                        _ => return None,
                    }
                }
                Argument::SpreadMapping(_) => return None,
                _ => {}
            }
        }
        Some(found)
    }

    /// A class of modules is used: the submodule has the name that the constructor gets, or that of the class.
    fn made(&mut self, machine: &Machine<'_>, scope: Scope<'_>, class: Temp, name: &Name) -> Option<()> {
        if scope.mode == Mode::Setup {
            return Some(());
        }
        let uses = machine.uses_of(scope.module, scope.id);
        for reader in uses.readers(class) {
            let mut made = vec![*reader];
            // `nn.remat(Block)(4, name="block")`
            if !matches!(&scope.code.ops[*reader as usize].kind, OpKind::Call(callee, _) if *callee == class) {
                made = uses.readers(*reader).to_vec();
            }
            for call in made {
                let is_named = match &scope.code.ops[call as usize].kind {
                    OpKind::Call(_, arguments) => self.name_given(scope, arguments)?.is_some(),
                    _ => false,
                };
                if !is_named {
                    self.names.insert(without_number(name));
                }
            }
        }
        Some(())
    }
}

/// A name without the number by which a library tells submodules of one class, or of one list, apart.
fn without_number(name: &Name) -> Name {
    match name.rsplit_once('_') {
        Some((stem, number)) if !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()) => stem.into(),
        _ => name.clone(),
    }
}

/// Whether an operation loads the first parameter of the method.
fn is_self(scope: Scope<'_>, temp: Temp) -> bool {
    match &scope.code.ops[temp as usize].kind {
        OpKind::Load(Variable::Local(0)) => scope.code.class.is_some(),
        OpKind::Load(Variable::Outer(depth, 0)) => *depth == scope.nesting,
        _ => false,
    }
}

/// Whether an operation reads an attribute of the first parameter.
fn is_attribute_of_self(scope: Scope<'_>, temp: Temp) -> bool {
    matches!(&scope.code.ops[temp as usize].kind, OpKind::Attribute(object, _) if is_self(scope, *object))
}

/// What a name of the module, of an enclosing function, or an attribute chain on one, resolves to.
fn resolved(machine: &mut Machine<'_>, scope: Scope<'_>, temp: Temp) -> Option<Value> {
    let OpKind::Load(Variable::Outer(depth, slot)) = &scope.code.ops[temp as usize].kind else {
        return named(machine, scope.module, scope.code, temp);
    };
    let outwards = depth.checked_sub(scope.nesting + 1)?;
    let environment = machine.state.environment_around(scope.environment?, outwards)?;
    machine.state.store.environments[environment.0 as usize].slots.get(*slot as usize).cloned()
}
