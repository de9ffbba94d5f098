//! Cross-module usage: which names each file imports from others, and which functions are traced.
//!
//! Functions are identified by name only. One may run under a trace if it is passed to a transform or decorated with one, or if a
//! function that may run under a trace calls it or passes it on.
//!
//! **Invariant:** every call of the lowered modules counts, and a name stands for everything that it may denote.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::fix::CrossModuleUsage;
use crate::ir::{Argument, Constant, Element, Function, FunctionId, Module, Name, OpKind, Temp, Variable};
use crate::models::{Callable, Class, Construct, Effect, Models, Runs};

/// How deep a value is searched for the functions that it may be or hold.
const DEPTH: usize = 4;

/// The usage within the modules of a project.
pub(super) fn cross_module_usage(modules: &[&Module], models: &Models) -> CrossModuleUsage {
    let mut usage = CrossModuleUsage::default();
    let transforms = transforms(models);
    let read_one = |module: &&Module| {
        // Most of it is read only here.
        let module = &Module::clone(module);
        let reader = Reader { module, models, transforms: &transforms };
        let mut calls = Calls::default();
        for (index, function) in module.functions.iter().enumerate() {
            let id = FunctionId(u32::try_from(index).unwrap_or(u32::MAX));
            reader.read(id, function, &mut calls);
        }
        (calls, reader.imported_names())
    };
    let read: Vec<(Calls, Imported)> = modules.par_iter().map(read_one).collect();
    let mut calls = Calls::default();
    for (module, (own, Imported { names: imported_names, older, makes_keys })) in modules.iter().zip(read) {
        calls.add(own);
        for name in imported_names {
            usage.note_use(module.file, &name);
        }
        for path in older {
            usage.note_older(&path);
        }
        if makes_keys {
            usage.note_maker(module.file);
        }
    }
    for name in calls.traced() {
        usage.note_traced(name);
    }
    usage
}

/// The names of functions that trace their arguments.
fn transforms(models: &Models) -> BTreeSet<&str> {
    let callables = models.callables().into_iter();
    callables
        .filter(|callable| match &callable.effect {
            Effect::Transform(transform) => !matches!(transform.runs, Runs::TreeMap | Runs::Reduce),
            _ => false,
        })
        .filter_map(|callable| callable.path.rsplit('.').next())
        .collect()
}

/// Who calls whom, by name, and what is passed to transforms.
#[derive(Default)]
struct Calls {
    passed: BTreeSet<Name>,
    called: BTreeMap<Name, BTreeSet<Name>>,
}

impl Calls {
    /// Adds what another module calls and passes on.
    fn add(&mut self, other: Self) {
        self.passed.extend(other.passed);
        for (caller, called) in other.called {
            self.called.entry(caller).or_default().extend(called);
        }
    }

    /// What may run under a trace.
    fn traced(self) -> BTreeSet<Name> {
        let mut traced = BTreeSet::new();
        let mut work: Vec<Name> = self.passed.into_iter().collect();
        while let Some(name) = work.pop() {
            if let Some(called) = self.called.get(&name).filter(|_| !traced.contains(&name)) {
                work.extend(called.iter().cloned());
            }
            traced.insert(name);
        }
        traced
    }
}

/// The path that an import denotes; a relative import is the project's own.
fn path_of_import(kind: &OpKind) -> Option<String> {
    match kind {
        OpKind::ImportFrom { level: 1.., name, .. } => Some(format!(".{name}")),
        _ => kind.imported().map(Cow::into_owned),
    }
}

struct Reader<'m> {
    module: &'m Module,
    models: &'m Models,
    transforms: &'m BTreeSet<&'m str>,
}

/// What a module uses from other modules.
struct Imported {
    /// The names that it imports, or reads as attributes of imported modules; after `import *`, all names that it does
    /// not bind itself. `random.split` of a library is not a variable `split` of the project.
    names: BTreeSet<Name>,
    /// A name that it mentions and that the array library removed before it had typed keys.
    older: BTreeSet<String>,
    /// Whether it mentions a function that makes keys from seeds.
    makes_keys: bool,
}

impl Reader<'_> {
    fn imported_names(&self) -> Imported {
        let is_older = |path: &str| self.models.is_older(path);
        let is_maker = |path: &str| {
            let is_seed = |callable: &Callable| matches!(callable.effect, Effect::Seed { .. });
            let is_stream = |class: &Class| matches!(class.construct, Construct::Stream { .. });
            self.models.callable(path).is_some_and(is_seed) || self.models.class(path).is_some_and(is_stream)
        };
        let mut makes_keys = false;
        let mut older = BTreeSet::new();
        let functions = || self.module.functions.iter().enumerate();
        let ops = || {
            functions().flat_map(|(index, function)| {
                let id = FunctionId(u32::try_from(index).unwrap_or(u32::MAX));
                function.ops.iter().map(move |op| (id, function, &op.kind))
            })
        };
        let mut imported: BTreeMap<Name, BTreeSet<String>> = BTreeMap::new();
        let mut imported_names = BTreeSet::new();
        let mut is_whole = false;
        for (id, function, kind) in ops() {
            match kind {
                OpKind::Store(variable, value) => {
                    let made = function.ops.get(*value as usize).and_then(|op| path_of_import(&op.kind));
                    if let Some(path) = made {
                        imported.entry(self.variable(function, id, variable)).or_default().insert(path);
                    }
                }
                OpKind::ImportFrom { name, .. } => {
                    is_whole |= &**name == "*";
                    imported_names.insert(name.clone());
                    makes_keys |= path_of_import(kind).is_some_and(|path| is_maker(&path));
                    older.extend(path_of_import(kind).filter(|path| is_older(path)));
                }
                OpKind::Import { .. } => older.extend(path_of_import(kind).filter(|path| is_older(path))),
                _ => {}
            }
        }
        for (id, function, kind) in ops() {
            match kind {
                OpKind::Attribute(of, name) => {
                    let paths = self.paths_of(&imported, id, function, *of).into_iter().flatten();
                    let paths: Vec<String> = paths.map(|path| format!("{path}.{name}")).collect();
                    makes_keys |= paths.iter().any(|path| is_maker(path));
                    older.extend(paths.iter().filter(|path| is_older(path)).cloned());
                    let mut paths = paths.iter().map(|path| self.models.callable(path).is_some()).peekable();
                    if paths.peek().is_some() && !paths.all(|is_theirs| is_theirs) {
                        imported_names.insert(name.clone());
                    }
                }
                OpKind::Load(Variable::Global(name)) if is_whole => {
                    imported_names.insert(name.clone());
                }
                _ => {}
            }
        }
        Imported { names: imported_names, older, makes_keys }
    }

    /// The paths that a value may denote: one of some variables, or an attribute of one.
    fn paths_of(
        &self,
        variables: &BTreeMap<Name, BTreeSet<String>>,
        id: FunctionId,
        function: &Function,
        value: Temp,
    ) -> Option<Vec<String>> {
        let mut value = value;
        let mut behind = String::new();
        loop {
            value = match function.ops.get(value as usize).map(|op| &op.kind) {
                Some(OpKind::Load(variable)) => {
                    let paths = variables.get(&self.variable(function, id, variable))?;
                    return Some(paths.iter().map(|path| format!("{path}{behind}")).collect());
                }
                Some(OpKind::Attribute(of, name)) => {
                    behind = format!(".{name}{behind}");
                    *of
                }
                _ => return None,
            };
        }
    }

    /// Records what one function calls and passes on.
    fn read(&self, id: FunctionId, function: &Function, calls: &mut Calls) {
        let name = self.called(id);
        for op in &function.ops {
            let (callee, arguments) = match &op.kind {
                OpKind::Call(callee, arguments) => (*callee, arguments),
                // A value that is assigned to a variable or attribute is also known by that name.
                OpKind::Store(variable, value) => {
                    let of = self.variable(function, id, variable);
                    calls.called.entry(of).or_default().extend(self.names(function, id, *value, DEPTH));
                    continue;
                }
                OpKind::StoreAttribute(_, of, value) => {
                    calls.called.entry(of.clone()).or_default().extend(self.names(function, id, *value, DEPTH));
                    continue;
                }
                _ => continue,
            };
            let mut named = BTreeSet::new();
            for argument in arguments {
                let (Argument::Positional(given)
                | Argument::Spread(given)
                | Argument::Keyword(_, given)
                | Argument::SpreadMapping(given)) = argument;
                named.extend(self.names(function, id, *given, DEPTH));
            }
            if self.is_transform(function, id, callee) {
                calls.passed.extend(named.iter().cloned());
            }
            named.extend(self.names(function, id, callee, DEPTH));
            calls.called.entry(name.clone()).or_default().extend(named);
        }
    }

    /// The name of a function; each lambda gets a unique one.
    fn called(&self, id: FunctionId) -> Name {
        let function = self.module.function(id);
        if function.name.starts_with('<') {
            return format!("{}:{}:{}", function.name, self.module.file.0, id.0).into();
        }
        function.name.clone()
    }

    /// The names of the functions that a value may be or hold.
    fn names(&self, function: &Function, id: FunctionId, temp: Temp, depth: usize) -> Vec<Name> {
        let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
        match function.ops.get(temp as usize).map(|op| &op.kind) {
            Some(OpKind::Load(variable)) => vec![self.variable(function, id, variable)],
            // `agent.act`, and `getattr(agent, "act")`
            Some(OpKind::Attribute(_, name) | OpKind::Constant(Constant::Str(name))) => vec![name.clone()],
            Some(OpKind::Item(of, _)) => self.names(function, id, *of, depth),
            Some(OpKind::Function(id, _)) => vec![self.called(*id)],
            Some(OpKind::Build(_, elements)) => elements
                .iter()
                .flat_map(|element| match element {
                    Element::Value(value) | Element::Spread(value) | Element::SpreadMapping(value) => vec![*value],
                    Element::Pair(key, value) => vec![*key, *value],
                })
                .flat_map(|value| self.names(function, id, value, depth))
                .collect(),
            // `partial(f, x)`, and a method of its result.
            Some(OpKind::Call(callee, arguments)) => {
                let given = arguments.iter().filter_map(|argument| match argument {
                    Argument::Positional(given) => Some(*given),
                    _ => None,
                });
                given.chain([*callee]).flat_map(|value| self.names(function, id, value, depth)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a value is a transform, or a transform with options: `jit`, `partial(jit, static_argnums=0)`.
    fn is_transform(&self, function: &Function, id: FunctionId, temp: Temp) -> bool {
        self.names(function, id, temp, DEPTH).iter().any(|name| self.transforms.contains(&**name))
    }

    fn variable(&self, function: &Function, id: FunctionId, variable: &Variable) -> Name {
        let slot = |of: &Function, slot: u32| of.slots.get(slot as usize).cloned();
        let found = match variable {
            Variable::Global(name) => Some(name.clone()),
            Variable::Local(at) => slot(function, *at),
            Variable::Outer(out, at) => {
                let owner = (0..*out).try_fold(id, |id, _| self.module.function(id).parent);
                owner.and_then(|owner| slot(self.module.function(owner), *at))
            }
        };
        found.unwrap_or_else(|| Name::from(""))
    }
}
