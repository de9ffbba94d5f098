//! Methods of an object of unknown class, by the methods of that name in the project.
//!
//! **Invariant:** a call counts as one of them only if all methods of its name, in the module and in those that it imports from, take a key
//! where the call passes its argument.

use std::sync::Arc;

use crate::analysis::domain::value::{ModuleIndex, Val, Value};
use crate::analysis::machine::Machine;
use crate::analysis::program::Program;
use crate::ir::{FunctionId, FunctionKind, Name};

/// Most methods of one name that are compared.
const METHODS: usize = 8;

/// The methods of one name, each by its module and number.
pub type MethodsByName = Arc<[(ModuleIndex, FunctionId)]>;

/// An argument of a call: its position, or its keyword.
#[derive(Clone, Copy)]
pub enum Passed<'a> {
    /// Among the positional arguments, without the receiver.
    At(usize),
    /// By name.
    As(&'a Name),
}

/// Whether the methods that a call of an unknown object may run take a key for an argument, and may draw from it.
pub fn take_key(machine: &mut Machine<'_>, module: ModuleIndex, receiver: &(Value, Name), passed: Passed<'_>) -> bool {
    let (object, name) = receiver;
    if !matches!(object.single(), Some(Val::Term(_))) {
        return false;
    }
    let program = machine.program;
    let known = machine.caches.methods_by_name.entry((module, name.clone()));
    let methods = known.or_insert_with(|| methods_named(program, module, name)).clone();
    let takes = |(module, function): &(ModuleIndex, FunctionId)| {
        let code = program.module(*module).function(*function);
        let mut parameters = code.parameters.iter().skip(1);
        let parameter = match passed {
            Passed::At(position) => parameters.nth(position),
            Passed::As(keyword) => parameters.find(|parameter| parameter.name == *keyword),
        };
        parameter.is_some_and(|parameter| program.models.words.names_a_key(&parameter.name))
            && program.relevance.of(*module, *function)
    };
    (1..=METHODS).contains(&methods.len()) && methods.iter().all(takes)
}

/// The methods of a name in a module and in those that it imports from, without those that only declare it; at most one more than is
/// compared.
fn methods_named(program: &Program<'_>, module: ModuleIndex, name: &Name) -> MethodsByName {
    let homes = std::iter::once(module).chain(program.relevance.imported_by(module).iter().copied());
    let methods = homes.flat_map(|home| {
        let module = program.module(home);
        let is_method = |parent: FunctionId| module.function(parent).kind == FunctionKind::ClassBody;
        let named = (0u32..)
            .zip(&module.functions)
            .filter(move |(_, code)| code.name == *name && !code.is_stub && code.parent.is_some_and(is_method));
        named.map(move |(number, _)| (home, FunctionId(number)))
    });
    methods.take(METHODS + 1).collect()
}
