//! Where in a module of a library its methods draw: the names of the submodules, as far as its class shows them.
//!
//! A library that folds the path of the drawing submodule into the key gives equal numbers for equal keys only at equal paths. A path
//! starts with the attribute that holds a submodule, with the name that its constructor gets, or with the name of its class.
//!
//! **Invariant:** the names are those of all submodules that the method may use, or nothing is said: other names would let a reuse
//! disappear. So an unresolved callee that may make a submodule, a `super()` and a name that is computed give up.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ClassHandle, Closure, EnvironmentId, ModuleIndex, ObjectId, Val, Value};
use crate::analysis::library::parameters::{DEPTH, classes_of_module, functions_of, is_among, named};
use crate::analysis::machine::Machine;
use crate::analysis::store::args::Args;
use crate::ir::{Argument, Constant, Function, FunctionId, Name, OpKind, Temp, Variable};
use crate::models::{Protocol, ProtocolEffect};

/// The method that `init` and `apply` run if the call names no other.
const CALL: &str = "__call__";
/// The method that makes submodules and stores them in attributes.
const SETUP: &str = "setup";
/// The part of a path that stands for what the module itself draws.
const OWN: &str = "";

/// The first parts of the paths at which a call of a protocol's method draws; nothing if they are not all known.
pub fn drawn_in(machine: &mut Machine<'_>, receiver: &Val, protocol: &Protocol, args: &Args) -> Option<Rc<[Name]>> {
    if !protocol.folds_path || !args.mappings.is_empty() {
        return None;
    }
    let Val::Object(id) = receiver else { return None };
    let class = machine.state.store.objects[id.0 as usize].class?;
    classes_of_module(&machine.state, class, protocol)?;
    let method = match args.keyword("method") {
        None => CALL.into(),
        Some(given) => method_named(machine, &given.value)?,
    };
    let mut search = Search { protocol, instance: *id, class, followed: BTreeSet::new(), names: BTreeSet::new() };
    search.stored_in_setup(machine)?;
    search.method(machine, &method)?;
    Some(search.names.into_iter().collect())
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

/// A search through the methods of a class.
struct Search<'a> {
    protocol: &'a Protocol,
    instance: ObjectId,
    class: ClassHandle,
    /// Methods that were searched.
    followed: BTreeSet<Name>,
    names: BTreeSet<Name>,
}

/// A function that is searched: its module, and the environment in which it was defined.
#[derive(Clone, Copy)]
struct Searched<'p> {
    module: ModuleIndex,
    id: FunctionId,
    code: &'p Function,
    environment: Option<EnvironmentId>,
    /// How many functions are between it and the method, itself included.
    nesting: u32,
}

impl Search<'_> {
    /// What the module itself draws in `setup`.
    fn stored_in_setup(&mut self, machine: &Machine<'_>) -> Option<()> {
        let Some(setup) = self.closure_of(machine, &SETUP.into())? else { return Some(()) };
        let code = machine.module(setup.module).function(setup.function);
        if code.elided {
            return None;
        }
        if code.ops.iter().any(|op| matches!(&op.kind, OpKind::Attribute(_, name) if self.draws_itself(machine, name)))
        {
            self.names.insert(OWN.into());
        }
        Some(())
    }

    /// A method of the class, if it has one of this name; nothing if what it has is no function.
    fn closure_of(&self, machine: &Machine<'_>, method: &Name) -> Option<Option<Rc<Closure>>> {
        let Some(value) = machine.state.class_attribute(self.class, method) else { return Some(None) };
        let mut value = value;
        for _ in 0..DEPTH {
            value = match value.single()? {
                Val::Function(closure) => return Some(Some(closure.clone())),
                Val::Wrapped(wrapped) => wrapped.function.clone()?,
                _ => return None,
            };
        }
        None
    }

    /// Whether a method requests a key for the module itself.
    fn draws_itself(&self, machine: &Machine<'_>, method: &Name) -> bool {
        let supplies = |protocol: &Protocol| protocol.effect == ProtocolEffect::Supply;
        self.protocol.declares.as_deref() == Some(&**method)
            || machine.program.models.protocols(method).iter().any(supplies)
    }

    /// Searches a method and the functions within it.
    fn method(&mut self, machine: &mut Machine<'_>, method: &Name) -> Option<()> {
        if !self.followed.insert(method.clone()) {
            return Some(());
        }
        let closure = self.closure_of(machine, method)??;
        self.function(machine, &closure, DEPTH)
    }

    /// Searches a function and those within it.
    fn function(&mut self, machine: &mut Machine<'_>, closure: &Closure, depth: u32) -> Option<()> {
        let module = machine.module(closure.module);
        let outermost = module.function(closure.function).span;
        let ids: Vec<FunctionId> = functions_of(module, |function| function.span == outermost).collect();
        for id in ids {
            let code = module.function(id);
            let parents = std::iter::successors(Some(id), |id| module.function(*id).parent);
            let nesting = parents.take_while(|id| *id != closure.function).count();
            let nesting = u32::try_from(nesting).ok()?;
            let searched = Searched { module: closure.module, id, code, environment: closure.environment, nesting };
            if code.elided {
                return None;
            }
            for (temp, op) in (0u32..).zip(&code.ops) {
                self.operation(machine, searched, temp, &op.kind, depth)?;
            }
        }
        Some(())
    }

    fn operation<'p>(
        &mut self,
        machine: &mut Machine<'p>,
        at: Searched<'p>,
        temp: Temp,
        kind: &'p OpKind,
        depth: u32,
    ) -> Option<()> {
        match kind {
            OpKind::Attribute(object, name) if is_self(at, *object) => self.own_attribute(machine, at, temp, name),
            OpKind::Attribute(..) | OpKind::Load(_) => {
                let Some(value) = resolved(machine, at, temp) else { return Some(()) };
                match value.single() {
                    Some(Val::Class(class)) if classes_of_module(&machine.state, *class, self.protocol).is_some() => {
                        let info = &machine.state.store.classes[class.0 as usize];
                        let name = machine.module(info.module).classes.get(info.class.0 as usize)?.name.clone();
                        self.made(machine, at, temp, &name)
                    }
                    Some(Val::Class(class)) if !self.is_plain(machine, *class) => None,
                    Some(Val::Library(path)) => {
                        let mut parts = path.split('.');
                        let is_of_library = parts.next().is_some_and(|root| is_among(&self.protocol.libraries, root));
                        let name = parts.next_back().filter(|name| name.starts_with(char::is_uppercase));
                        match name {
                            Some(name) if is_of_library => self.made(machine, at, temp, &name.into()),
                            _ if &**path == "builtins.super" => None,
                            _ => Some(()),
                        }
                    }
                    Some(Val::Function(closure)) => {
                        let closure = closure.clone();
                        let name = machine.module(closure.module).function(closure.function).qualified.clone();
                        if self.followed.insert(name) {
                            self.function(machine, &closure, depth.checked_sub(1)?)
                        } else {
                            Some(())
                        }
                    }
                    _ => Some(()),
                }
            }
            OpKind::Call(callee, arguments) => {
                self.names.extend(name_given(at.code, arguments).flatten());
                // A parameter may be a class of modules, and so may be what a field holds: `self.block(64)(x)`.
                match &at.code.ops[*callee as usize].kind {
                    OpKind::Load(Variable::Local(slot)) if (*slot as usize) < at.code.parameters.len() => None,
                    OpKind::Call(made_by, _) => match &at.code.ops[*made_by as usize].kind {
                        OpKind::Attribute(object, _) if is_self(at, *object) => None,
                        _ => Some(()),
                    },
                    _ => Some(()),
                }
            }
            OpKind::Unsupported(_) => None,
            _ => Some(()),
        }
    }

    /// Whether all bases of a class are known, and none is of the library.
    fn is_plain(&self, machine: &Machine<'_>, class: ClassHandle) -> bool {
        machine.state.lineage(class).iter().all(|class| {
            machine.state.store.classes[class.0 as usize].bases.iter().all(|base| match base.single() {
                Some(Val::Library(path)) => {
                    path.split('.').next().is_some_and(|root| !is_among(&self.protocol.libraries, root))
                }
                Some(Val::Class(_)) => true,
                _ => false,
            })
        })
    }

    /// An attribute of the module: a method, what it draws itself, or a submodule.
    fn own_attribute(&mut self, machine: &mut Machine<'_>, at: Searched<'_>, temp: Temp, name: &Name) -> Option<()> {
        if self.draws_itself(machine, name) {
            self.names.insert(OWN.into());
            return Some(());
        }
        if self.protocol.requests_no_key.iter().any(|method| **method == **name) {
            return Some(());
        }
        if self.closure_of(machine, name).is_some_and(|closure| closure.is_some()) {
            return self.method(machine, name);
        }
        if self.may_be_submodule(machine, at, temp, name) {
            self.names.insert(name.clone());
        }
        Some(())
    }

    /// Whether an attribute may hold submodules, according to what the instance holds or to what is done with it.
    fn may_be_submodule(&self, machine: &Machine<'_>, at: Searched<'_>, temp: Temp, name: &Name) -> bool {
        let held = machine.state.store.objects[self.instance.0 as usize].attributes.get(name);
        match held.and_then(Value::single) {
            Some(Val::Object(_) | Val::Tuple(_)) => return true,
            Some(Val::Library(_) | Val::Function(_)) => return false,
            Some(Val::Term(term)) if !matches!(machine.state.terms.get(*term), Term::Symbol(_)) => return false,
            _ => {}
        }
        let uses = machine.uses_of(at.module, at.id);
        uses.readers(temp).iter().any(|reader| match &at.code.ops[*reader as usize].kind {
            OpKind::Call(callee, _) => *callee == temp,
            OpKind::Operate(..) | OpKind::Build(..) | OpKind::Attribute(..) | OpKind::If { .. } => false,
            _ => true,
        })
    }

    /// A class of modules is read: the submodule has the name that the constructor gets, or that of the class with a number.
    fn made(&mut self, machine: &Machine<'_>, at: Searched<'_>, class: Temp, name: &Name) -> Option<()> {
        let uses = machine.uses_of(at.module, at.id);
        for reader in uses.readers(class) {
            let mut made = vec![*reader];
            // `nn.remat(Block)(4, name="block")`
            if !matches!(&at.code.ops[*reader as usize].kind, OpKind::Call(callee, _) if *callee == class) {
                made = uses.readers(*reader).to_vec();
            }
            for call in made {
                let is_named = match &at.code.ops[call as usize].kind {
                    OpKind::Call(_, arguments) => name_given(at.code, arguments)?.is_some(),
                    _ => false,
                };
                if !is_named {
                    self.names.insert(name.clone());
                }
            }
        }
        Some(())
    }
}

/// The name among the arguments of a constructor, if it gets one; nothing if it cannot be read.
#[expect(clippy::option_option, reason = "a constructor may get no name")]
fn name_given(code: &Function, arguments: &[Argument]) -> Option<Option<Name>> {
    let mut found = None;
    for argument in arguments {
        match argument {
            Argument::Keyword(keyword, given) if &**keyword == "name" => match &code.ops[*given as usize].kind {
                OpKind::Constant(Constant::Str(name)) => found = Some(Name::from(&**name)),
                OpKind::Constant(Constant::None) => {}
                _ => return None,
            },
            Argument::SpreadMapping(_) => return None,
            _ => {}
        }
    }
    Some(found)
}

/// Whether an operation loads the first parameter of the method.
fn is_self(at: Searched<'_>, temp: Temp) -> bool {
    match &at.code.ops[temp as usize].kind {
        OpKind::Load(Variable::Local(0)) => at.code.class.is_some(),
        OpKind::Load(Variable::Outer(depth, 0)) => *depth == at.nesting,
        _ => false,
    }
}

/// What a name of the module, of an enclosing function, or an attribute chain on one, resolves to.
fn resolved(machine: &mut Machine<'_>, at: Searched<'_>, temp: Temp) -> Option<Value> {
    let OpKind::Load(Variable::Outer(depth, slot)) = &at.code.ops[temp as usize].kind else {
        return named(machine, at.module, at.code, temp);
    };
    let outwards = depth.checked_sub(at.nesting + 1)?;
    let environments = &machine.state.store.environments;
    let mut environment = at.environment?;
    for _ in 0..outwards {
        environment = environments[environment.0 as usize].parent?;
    }
    environments[environment.0 as usize].slots.get(*slot as usize).cloned()
}
