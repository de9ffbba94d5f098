//! What an operation denotes, by names and the surrounding code, without running anything: a function or class of the program, an instance
//! of such a class, a library name, a generator of Python.
//!
//! An instance is followed by its class: from its constructor, an annotation, the receiver of a method, or an attribute that a method
//! of the class sets.
//!
//! **Invariant:** a result is one possible denotation. Each takes at most [`DEPTH`] steps, and a query at most [`STEPS`] in all.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::analysis::domain::value::{ClassHandle, ModuleIndex, PartialKind, Val, Value};
use crate::analysis::record::Recording;
use crate::ir::{
    Annotation, Argument, ClassId, Function, FunctionId, FunctionKind, Module, Name, OpKind, Temp, Variable,
};
use crate::models::{BuiltinOp, Callable, Effect, Host};

/// Most steps from an operation to its denotation.
const DEPTH: u32 = 10;

/// Most steps that one question takes.
const STEPS: u32 = 512;

/// A function of the program.
pub type Callee = (ModuleIndex, FunctionId);

/// What an operation denotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denotation {
    /// A name of a library.
    Library(Name),
    /// A function or a method.
    Function(Callee),
    /// A class.
    Class(ClassHandle),
    /// An instance of a class.
    Instance(ClassHandle),
    /// An instance of a library's class of generators.
    Generator(Name),
}

/// The attributes that the methods of a module's classes set on their receivers.
type Attributes = FxHashMap<(ClassId, Name), Vec<(FunctionId, Temp)>>;

/// The code of a program, read for what its operations denote.
pub struct Denotations<'r, 'a> {
    run: &'r Recording<'a>,
    attributes: RefCell<FxHashMap<ModuleIndex, Rc<Attributes>>>,
    /// The answers to queries: every search through calls passes the same operations again. The recording does not change, so an answer
    /// stays true.
    known: RefCell<FxHashMap<(Callee, Temp), Option<Denotation>>>,
    left: Cell<u32>,
}

impl<'r, 'a> Denotations<'r, 'a> {
    /// The denotations in a recorded program.
    pub fn new(run: &'r Recording<'a>) -> Self {
        Self { run, attributes: RefCell::default(), known: RefCell::default(), left: Cell::new(0) }
    }

    /// What an operation of a function denotes.
    pub fn of(&self, at: Callee, temp: Temp) -> Option<Denotation> {
        if let Some(known) = self.known.borrow().get(&(at, temp)) {
            return known.clone();
        }
        self.left.set(STEPS);
        let found = self.at_depth(at, temp, DEPTH);
        self.known.borrow_mut().insert((at, temp), found.clone());
        found
    }

    /// The path and the model of the library function that a temp denotes.
    pub fn modelled(&self, at: Callee, temp: Temp) -> Option<(Name, &'a Callable)> {
        let path = self.library(at, temp, DEPTH)?;
        let callable = self.run.program.models.callable(&path)?;
        Some((path, callable))
    }

    /// The library path that a name denotes, also one that the function imports or assigns: `draw = np.random`.
    fn library(&self, at: Callee, temp: Temp, depth: u32) -> Option<Name> {
        let depth = depth.checked_sub(1)?;
        let code = self.run.module(at.0).function(at.1);
        match &code.ops.get(temp as usize)?.kind {
            OpKind::Load(Variable::Local(slot)) if *slot as usize >= code.parameters.len() => {
                self.library(at, stored(code, *slot)?, depth)
            }
            OpKind::Attribute(of, name) => self
                .run
                .library_named(at.0, code, temp)
                .or_else(|| Some(format!("{}.{name}", self.library(at, *of, depth)?).into())),
            OpKind::Load(_) => self.run.library_named(at.0, code, temp),
            kind => Some(kind.imported()?.into()),
        }
    }

    /// The function that a call of this denotation runs, if it is part of the program.
    pub fn function(&self, at: Callee, temp: Temp) -> Option<Callee> {
        match self.of(at, temp) {
            Some(Denotation::Function(function)) => Some(function),
            Some(Denotation::Instance(class)) => self.method(class, &"__call__".into()),
            Some(Denotation::Library(_) | Denotation::Class(_) | Denotation::Generator(_)) => None,
            None => self.run_by_protocol(at, temp),
        }
    }

    /// The method of an object that a library's method of this name runs: `apply` runs `__call__`.
    fn run_by_protocol(&self, at: Callee, temp: Temp) -> Option<Callee> {
        let code = self.run.module(at.0).function(at.1);
        let OpKind::Attribute(object, name) = &code.ops.get(temp as usize)?.kind else { return None };
        let runs = self.run.program.models.protocols(name).iter().find_map(|protocol| protocol.runs.as_deref())?;
        let in_use = self.run.program.has_protocol(at.0, name);
        match self.of(at, *object).filter(|_| in_use)? {
            Denotation::Instance(class) => self.method(class, &runs.into()),
            _ => None,
        }
    }

    fn at_depth(&self, at: Callee, temp: Temp, depth: u32) -> Option<Denotation> {
        let depth = depth.checked_sub(1)?;
        self.left.set(self.left.get().checked_sub(1)?);
        let (index, module) = (at.0, self.run.module(at.0));
        let code = module.function(at.1);
        match &code.ops.get(temp as usize)?.kind {
            OpKind::Function(inner, _) => Some(Denotation::Function((index, *inner))),
            OpKind::Load(Variable::Local(slot)) => self.variable(at, *slot, depth),
            OpKind::Load(Variable::Outer(outwards, slot)) => {
                let outer = (0..*outwards).try_fold(at.1, |inner, _| module.function(inner).parent)?;
                self.variable((index, outer), *slot, depth)
            }
            OpKind::Load(Variable::Global(name)) => {
                let body = module.function(Module::BODY);
                let mut stored = body.ops.iter().filter_map(|op| match &op.kind {
                    OpKind::Store(Variable::Global(stored), value) if stored == name => Some(*value),
                    _ => None,
                });
                let value = stored.next();
                // What a name means within the module's body depends on the place if it is bound more than once.
                if at.1 == Module::BODY && stored.next().is_some() {
                    return None;
                }
                let held = self.run.named(index, code, temp).and_then(|value| self.held(&value));
                held.or_else(|| self.at_depth((index, Module::BODY), value?, depth))
            }
            OpKind::Attribute(object, name) => {
                let held = self.run.named(index, code, temp).and_then(|value| self.held(&value));
                held.or_else(|| match self.at_depth(at, *object, depth)? {
                    Denotation::Library(path) => Some(Denotation::Library(format!("{path}.{name}").into())),
                    Denotation::Class(class) => self.bound(class, name),
                    Denotation::Instance(class) => self.attribute(class, name, depth),
                    Denotation::Function(_) | Denotation::Generator(_) => None,
                })
            }
            OpKind::Call(callee, arguments) => self.result(at, (*callee, arguments), depth),
            // An import within a function.
            kind => Some(Denotation::Library(kind.imported()?.into())),
        }
    }

    /// What a call gives: an instance of the class that is called, what the function that is called returns, the function that a
    /// transform wraps, or `partial`: `jax.grad(loss)(params)`.
    fn result(&self, at: Callee, (callee, arguments): (Temp, &[Argument]), depth: u32) -> Option<Denotation> {
        match self.at_depth(at, callee, depth)? {
            Denotation::Class(class) => Some(Denotation::Instance(class)),
            Denotation::Function(function) => {
                let code = self.run.module(function.0).function(function.1);
                let mut returned = code.ops.iter().filter_map(|op| match &op.kind {
                    OpKind::Return(value) => *value,
                    _ => None,
                });
                let first = self.at_depth(function, returned.next()?, depth)?;
                returned.all(|value| self.at_depth(function, value, depth).as_ref() == Some(&first)).then_some(first)
            }
            Denotation::Library(path) => {
                let callable = self.run.program.models.callable(&path)?;
                if callable.host == Some(Host::Generator) {
                    return Some(Denotation::Generator(path));
                }
                match (&callable.effect, arguments.first()?) {
                    (Effect::Transform(_) | Effect::Builtin(BuiltinOp::Partial), Argument::Positional(inner)) => {
                        self.at_depth(at, *inner, depth)
                    }
                    _ => None,
                }
            }
            Denotation::Instance(_) | Denotation::Generator(_) => None,
        }
    }

    /// What a variable of a function denotes: a receiver, its annotation or its default, or the only value that is stored in it.
    fn variable(&self, at: Callee, slot: u32, depth: u32) -> Option<Denotation> {
        let module = self.run.module(at.0);
        let code = module.function(at.1);
        if let Some(parameter) = code.parameters.get(slot as usize) {
            if slot == 0
                && let Some(class) = code.class
            {
                return self.receiver(self.class_of(at.0, class)?, &code.name);
            }
            if code
                .ops
                .iter()
                .any(|op| matches!(&op.kind, OpKind::Store(Variable::Local(stored), _) if *stored == slot))
            {
                return None;
            }
            let declared = parameter.annotation.as_ref().and_then(|annotation| self.declared(at.0, annotation));
            return declared.or_else(|| self.default(at, slot, depth));
        }
        self.at_depth(at, stored(code, slot)?, depth)
    }

    /// What the default of a parameter is.
    fn default(&self, (index, id): Callee, slot: u32, depth: u32) -> Option<Denotation> {
        let module = self.run.module(index);
        let outer = module.function(id).parent?;
        let defaults = module.function(outer).ops.iter().find_map(|op| match &op.kind {
            OpKind::Function(inner, defaults) if *inner == id => Some(defaults),
            _ => None,
        })?;
        let (_, value) = defaults.iter().find(|(parameter, _)| *parameter == slot)?;
        self.at_depth((index, outer), *value, depth)
    }

    /// What an annotation declares: an instance of a class.
    fn declared(&self, index: ModuleIndex, annotation: &Annotation) -> Option<Denotation> {
        match annotation {
            Annotation::Path(names, _) => {
                let (first, rest) = names.split_first()?;
                let denotation =
                    rest.iter().try_fold(self.held(&self.run.global(index, first)?)?, |of, name| match of {
                        Denotation::Library(path) => Some(Denotation::Library(format!("{path}.{name}").into())),
                        _ => None,
                    })?;
                match denotation {
                    Denotation::Class(class) => Some(Denotation::Instance(class)),
                    Denotation::Library(path) => {
                        let callable = self.run.program.models.callable(&path)?;
                        (callable.host == Some(Host::Generator)).then_some(Denotation::Generator(path))
                    }
                    _ => None,
                }
            }
            Annotation::Union(parts) => parts.iter().find_map(|part| self.declared(index, part)),
            Annotation::Subscript(..) | Annotation::Text(_) | Annotation::None | Annotation::Other => None,
        }
    }

    /// What the value of a global denotes, after the modules have run.
    fn held(&self, value: &Value) -> Option<Denotation> {
        match value.single()? {
            Val::Function(closure) => Some(Denotation::Function((closure.module, closure.function))),
            Val::Wrapped(wrapped) => self.held(wrapped.function.as_ref()?),
            Val::Partial(partial) => self.held(&partial.function),
            Val::Method(method) => self.held(&method.1),
            Val::Class(class) => Some(Denotation::Class(*class)),
            Val::Object(id) => Some(Denotation::Instance(self.run.objects[id.0 as usize].class?)),
            Val::Library(path) => Some(Denotation::Library(path.clone())),
            _ => None,
        }
    }

    /// A method of a class, or of one that it inherits from.
    fn method(&self, class: ClassHandle, name: &Name) -> Option<Callee> {
        match self.bound(class, name)? {
            Denotation::Function(function) => Some(function),
            _ => None,
        }
    }

    /// What the body of a class, or of one that it inherits from, binds a name to.
    fn bound(&self, class: ClassHandle, name: &Name) -> Option<Denotation> {
        let lineage = self.run.lineage(class);
        let value = lineage.iter().find_map(|class| self.run.classes[class.0 as usize].attributes.get(name))?;
        self.held(value)
    }

    /// What an attribute of an instance holds: a method, or what one of the methods stores there, or what a field is declared as.
    fn attribute(&self, class: ClassHandle, name: &Name, depth: u32) -> Option<Denotation> {
        if let Some(bound) = self.bound(class, name) {
            return Some(bound);
        }
        self.run.lineage(class).iter().find_map(|class| {
            let info = &self.run.classes[class.0 as usize];
            let attributes = self.attributes_of(info.module);
            let stores = attributes.get(&(info.class, name.clone())).map_or(&[][..], Vec::as_slice);
            let stored = stores.iter().find_map(|(method, value)| self.at_depth((info.module, *method), *value, depth));
            stored.or_else(|| {
                let fields = &self.run.module(info.module).classes.get(info.class.0 as usize)?.fields;
                self.declared(info.module, &fields.iter().find(|field| field.name == *name)?.annotation)
            })
        })
    }

    /// What a method gets first: the instance, the class, or an argument of its caller.
    fn receiver(&self, class: ClassHandle, name: &Name) -> Option<Denotation> {
        let value = self.run.classes[class.0 as usize].attributes.get(name);
        match value.and_then(Value::single) {
            Some(Val::Partial(partial)) if partial.kind == PartialKind::StaticMethod => None,
            Some(Val::Partial(partial)) if partial.kind == PartialKind::ClassMethod => Some(Denotation::Class(class)),
            _ => Some(Denotation::Instance(class)),
        }
    }

    fn attributes_of(&self, index: ModuleIndex) -> Rc<Attributes> {
        let mut known = self.attributes.borrow_mut();
        known.entry(index).or_insert_with(|| Rc::new(attributes(self.run.module(index)))).clone()
    }

    /// The class that a class statement made, if it made several, the first.
    fn class_of(&self, index: ModuleIndex, class: ClassId) -> Option<ClassHandle> {
        let mut made = self.run.classes_of(index).filter(|(_, info)| info.class == class);
        made.next().map(|(handle, _)| handle)
    }
}

/// What is stored in a variable of a function, where it is stored once.
pub fn stored(code: &Function, slot: u32) -> Option<Temp> {
    let mut stores = code.ops.iter().filter_map(|op| match &op.kind {
        OpKind::Store(Variable::Local(target), value) if *target == slot => Some(*value),
        _ => None,
    });
    stores.next().filter(|_| stores.next().is_none())
}

/// The attributes that the methods of a module's classes set on their receivers.
fn attributes(module: &Module) -> Attributes {
    let mut found = Attributes::default();
    for (number, code) in (0u32..).zip(&module.functions) {
        let Some(class) = code.class.filter(|_| !code.parameters.is_empty() && code.kind == FunctionKind::Def) else {
            continue;
        };
        for op in &code.ops {
            if let OpKind::StoreAttribute(object, name, value) = &op.kind
                && matches!(code.ops[*object as usize].kind, OpKind::Load(Variable::Local(0)))
            {
                found.entry((class, name.clone())).or_default().push((FunctionId(number), *value));
            }
        }
    }
    found
}
