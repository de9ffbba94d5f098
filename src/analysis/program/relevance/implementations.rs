//! The classes that a class inherits from, and methods without a body that classes of other modules implement.
//!
//! **Invariant:** a class is followed to its bases by the names of imports alone, through at most [`STEPS`] names.

use super::{Project, SymbolTable, Target};
use crate::analysis::domain::value::ModuleIndex;
use crate::ir::{Argument, Function, FunctionKind, Name, OpKind, Temp, Variable};

/// Most names that are followed from a class to its bases.
const STEPS: usize = 64;

/// A base of a class as its statement names it: a global name, or a member of what a global name denotes.
#[derive(Clone)]
pub(super) struct BaseName {
    pub(super) name: Name,
    pub(super) member: Option<Name>,
}

/// A method that implements one without a body.
pub(super) struct Implementation {
    /// Its module.
    pub(super) module: ModuleIndex,
    /// Its number there.
    pub(super) function: usize,
    /// The module of a class that it inherits from, whose methods may call it.
    pub(super) base: ModuleIndex,
}

/// The bases of a class that are global names or their members, without type arguments.
pub(super) fn bases(function: &Function, arguments: &[Argument]) -> Vec<BaseName> {
    let named = arguments.iter().filter_map(|argument| match argument {
        Argument::Positional(base) => base_name(function, *base),
        _ => None,
    });
    named.collect()
}

/// Whether a method calls one of this name of its own object.
pub(super) fn calls_of_self(function: &Function, name: &Name) -> bool {
    let kind = |temp: Temp| function.ops.get(temp as usize).map(|op| &op.kind);
    let is_self = |temp: Temp| matches!(kind(temp), Some(OpKind::Load(Variable::Local(0))));
    let is_own = |op: &OpKind| match op {
        OpKind::Call(callee, _) => {
            matches!(kind(*callee), Some(OpKind::Attribute(of, method)) if method == name && is_self(*of))
        }
        _ => false,
    };
    function.class.is_some() && !function.parameters.is_empty() && function.ops.iter().any(|op| is_own(&op.kind))
}

fn base_name(function: &Function, base: Temp) -> Option<BaseName> {
    match &function.ops.get(base as usize)?.kind {
        OpKind::Load(Variable::Global(name)) => Some(BaseName { name: name.clone(), member: None }),
        OpKind::Item(of, _) if *of < base => base_name(function, *of),
        OpKind::Attribute(of, member) => match &function.ops.get(*of as usize)?.kind {
            OpKind::Load(Variable::Global(name)) => Some(BaseName { name: name.clone(), member: Some(member.clone()) }),
            _ => None,
        },
        _ => None,
    }
}

/// The methods of a module that implement one without a body of a class of another module.
pub(super) fn implementations(
    project: &Project<'_>,
    tables: &[SymbolTable],
    index: ModuleIndex,
) -> Vec<Implementation> {
    let mut found = Vec::new();
    for (body, bases) in &tables[index].bases {
        let ancestors = ancestors(project, tables, index, bases);
        if ancestors.iter().all(|(module, _)| *module == index) {
            continue;
        }
        for (number, method) in methods(project, index, *body) {
            let lacks_body = |(module, class): &(ModuleIndex, usize)| {
                methods(project, *module, *class).any(|(_, other)| other.is_stub && other.name == method.name)
            };
            if method.is_stub || !ancestors.iter().any(lacks_body) {
                continue;
            }
            let others = ancestors.iter().map(|(module, _)| *module).filter(|module| *module != index);
            found.extend(others.map(|base| Implementation { module: index, function: number, base }));
        }
    }
    found
}

/// The functions that the body of a class defines.
fn methods<'p>(
    project: &Project<'p>,
    index: ModuleIndex,
    body: usize,
) -> impl Iterator<Item = (usize, &'p Function)> + use<'p> {
    let functions = project.modules[index].functions.iter().enumerate();
    functions.filter(move |(_, function)| function.parent.is_some_and(|parent| parent.0 as usize == body))
}

/// The classes from which one with these bases inherits, each by the function that runs its body.
pub(super) fn ancestors(
    project: &Project<'_>,
    tables: &[SymbolTable],
    index: ModuleIndex,
    bases: &[BaseName],
) -> Vec<(ModuleIndex, usize)> {
    let mut found: Vec<(ModuleIndex, usize)> = Vec::new();
    let mut work: Vec<(ModuleIndex, BaseName)> = bases.iter().map(|base| (index, base.clone())).collect();
    let mut at = 0;
    while let Some((module, BaseName { name, member })) = work.get(at).cloned() {
        at += 1;
        if work.len() > STEPS {
            break;
        }
        let table = &tables[module];
        for target in table.bindings.get(&name).into_iter().flatten() {
            match (target, &member) {
                (Target::Member(other, name), _) => {
                    work.push((*other, BaseName { name: name.clone(), member: member.clone() }));
                }
                (Target::Module(other), Some(name)) => {
                    work.push((*other, BaseName { name: name.clone(), member: None }));
                }
                _ => {}
            }
        }
        if member.is_some() {
            continue;
        }
        for number in table.definitions.get(&name).into_iter().flatten() {
            let is_class = project.modules[module].functions[*number].kind == FunctionKind::ClassBody;
            if is_class && !found.contains(&(module, *number)) {
                found.push((module, *number));
                let bases = table.bases.get(number).into_iter().flatten();
                work.extend(bases.map(|base| (module, base.clone())));
            }
        }
    }
    found
}
