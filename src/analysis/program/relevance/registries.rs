//! Containers that functions are put into after they are made: `SAMPLERS["normal"] = random.normal`, and registries, which a decorator
//! fills.
//!
//! **Invariant:** names over-approximate: code that reads a container may call each function that is put into one of its name, or given to
//! a function that puts its arguments there.

use super::{Project, REEXPORTS, Reader, SymbolTable, Target};
use crate::analysis::domain::value::ModuleIndex;
use crate::ir::{Argument, Function, FunctionKind, Name, OpKind, Temp, Variable};

/// Python's methods that put an argument into a container.
const FILLING: [&str; 4] = ["add", "append", "insert", "setdefault"];

/// Deepest nesting of calls around what a decorator is: `registry.register(name)(function)`.
const NESTED_CALLS: u32 = 3;

impl Reader<'_, '_, '_> {
    /// Reads what a function of the module puts into containers.
    pub(super) fn read_registries(&mut self, function: &Function) {
        for op in &function.ops {
            match &op.kind {
                OpKind::StoreItem(container, _, value) => self.read_filling(function, *container, &[*value]),
                OpKind::Call(callee, arguments) => {
                    let values: Vec<Temp> = arguments.iter().map(Argument::value).collect();
                    match &function.ops[*callee as usize].kind {
                        OpKind::Attribute(container, method) if FILLING.contains(&&**method) => {
                            self.read_filling(function, *container, &values);
                        }
                        _ => self.read_registration(function, *callee, &values),
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds edges from a container to the functions among the values that are put into it. What is a parameter comes from callers.
    fn read_filling(&mut self, function: &Function, container: Temp, values: &[Temp]) {
        let node = match &function.ops[container as usize].kind {
            // `np.append(array, value)`
            OpKind::Load(Variable::Global(name))
                if self.table.aliases.contains_key(name) || self.module_named(name).is_some() =>
            {
                return;
            }
            OpKind::Load(Variable::Global(name)) => self.graph.name(self.index, name),
            OpKind::Attribute(_, name) => self.graph.attribute(self.index, name),
            _ => return,
        };
        for value in values {
            if let Some(home) = self.home_of_parameter(function, *value) {
                let filled_by = self.graph.registered(self.index, &home);
                self.graph.edge(node, filled_by);
                continue;
            }
            for callee in self.graph.callable_results(self.project, self.index, (function, *value)) {
                self.graph.edge(node, callee);
            }
            self.read_function_parts(function, node, *value);
        }
    }

    /// Adds edges from the functions that a call, such as that of a decorator, may run to the functions that it gets.
    fn read_registration(&mut self, function: &Function, callee: Temp, values: &[Temp]) {
        let table = self.table;
        let is_given = |value: &&Temp| match &function.ops[**value as usize].kind {
            OpKind::Load(Variable::Global(name)) => table.definitions.contains_key(name),
            _ => Self::is_decorated(function, **value),
        };
        let given: Vec<Temp> = values.iter().filter(is_given).copied().collect();
        if given.is_empty() {
            return;
        }
        for (home, name) in registering(self.project, self.graph.tables, (self.index, function), callee) {
            let node = self.graph.registered(home, &name);
            for value in &given {
                self.read_function_parts(function, node, *value);
            }
        }
    }

    /// The function or method of the module that has a value as its parameter, perhaps around the given one.
    fn home_of_parameter(&self, function: &Function, value: Temp) -> Option<Name> {
        let module = self.project.modules[self.index];
        let (mut home, slot) = match &function.ops[value as usize].kind {
            OpKind::Load(Variable::Local(slot)) => (function, *slot),
            OpKind::Load(Variable::Outer(out, slot)) => (module.enclosing(function, *out)?, *slot),
            _ => return None,
        };
        home.parameters.get(slot as usize)?;
        while let Some(parent) = home.parent.map(|parent| module.function(parent)) {
            if matches!(parent.kind, FunctionKind::Module | FunctionKind::ClassBody) {
                break;
            }
            home = parent;
        }
        Some(home.name.clone())
    }
}

/// The functions and methods of the project that a callee may be, or may come from, each by its module and name.
fn registering(
    project: &Project<'_>,
    tables: &[SymbolTable],
    (index, function): (ModuleIndex, &Function),
    callee: Temp,
) -> Vec<(ModuleIndex, Name)> {
    let mut callee = callee;
    for _ in 0..NESTED_CALLS {
        let OpKind::Call(inner, _) = &function.ops[callee as usize].kind else { break };
        callee = *inner;
    }
    let table = &tables[index];
    match &function.ops[callee as usize].kind {
        OpKind::Load(Variable::Global(name)) => defined_as(tables, index, name),
        OpKind::Attribute(object, name) => {
            let homes = std::iter::once(&index).chain(&table.imported);
            let methods = homes.filter(|home| tables[**home].methods.contains_key(name));
            let mut found: Vec<_> = methods.map(|home| (*home, name.clone())).collect();
            if let OpKind::Load(Variable::Global(module)) = &function.ops[*object as usize].kind {
                let bound = table.bindings.get(module).into_iter().flatten();
                let modules = bound.filter_map(|target| match target {
                    Target::Module(module) => Some(*module),
                    Target::Member(..) | Target::Everything(_) => None,
                });
                let inner = modules.map(|module| project.find(module, 1, name).unwrap_or(module));
                found.extend(inner.flat_map(|module| defined_as(tables, module, name)));
            }
            found
        }
        _ => Vec::new(),
    }
}

/// The functions that a global name of a module denotes, also if it imports them.
fn defined_as(tables: &[SymbolTable], index: ModuleIndex, name: &Name) -> Vec<(ModuleIndex, Name)> {
    let (mut found, mut work) = (Vec::new(), vec![(index, name.clone(), REEXPORTS)]);
    while let Some((index, name, left)) = work.pop() {
        let Some(left) = left.checked_sub(1) else { continue };
        for target in tables[index].bindings.get(&name).into_iter().flatten() {
            if let Target::Member(other, inner) = target {
                work.push((*other, inner.clone(), left));
            }
        }
        if tables[index].definitions.contains_key(&name) {
            found.push((index, name));
        }
    }
    found
}
