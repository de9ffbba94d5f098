//! Methods of an object of unknown class, by the methods of that name in the project.
//!
//! **Invariant:** a call counts as one of them only if all methods of its name, in the module and in those that it imports from, always draw
//! from the argument or split it: in their own body, outside branches and loops, before they may return. A method that folds its key, keeps
//! it, or draws only in some mode is none of these.

use std::sync::Arc;

use crate::analysis::domain::value::{ModuleIndex, Val, Value};
use crate::analysis::machine::Machine;
use crate::analysis::program::Program;
use crate::analysis::store::Store;
use crate::analysis::store::container_mutation::changes_a_container;
use crate::ir::{Argument, Function, FunctionId, FunctionKind, Name, OpKind, Temp, Variable};
use crate::models::Effect;

/// Python's method that looks something up in a dict.
const LOOKUP: &str = "get";

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

/// Whether the methods that a call of an unknown object may run draw from an argument, or split it.
pub fn consume(machine: &mut Machine<'_>, module: ModuleIndex, receiver: &(Value, Name), passed: Passed<'_>) -> bool {
    let (object, name) = receiver;
    let program = machine.program;
    // What initialises something may only need shapes, and an object of unknown class may well be a container.
    let may_draw_nothing = program.models.words.names_a_first_construction(name);
    let is_of_a_container = changes_a_container(name) || &**name == LOOKUP;
    if may_draw_nothing || is_of_a_container || !matches!(object.single(), Some(Val::Term(_))) {
        return false;
    }
    let known = machine.caches.methods_by_name.entry((module, name.clone()));
    let methods = known.or_insert_with(|| methods_named(program, module, name)).clone();
    let takes = |(module, function): &(ModuleIndex, FunctionId)| {
        let code = program.module(*module).function(*function);
        let mut parameters = (0u32..).zip(&code.parameters).skip(1);
        let parameter = match passed {
            Passed::At(position) => parameters.nth(position),
            Passed::As(keyword) => parameters.find(|(_, parameter)| parameter.name == *keyword),
        };
        parameter.is_some_and(|(slot, parameter)| {
            program.models.words.names_a_key(&parameter.name)
                && always_consumes(&machine.state.store, program, (*module, code), slot)
        })
    };
    (1..=METHODS).contains(&methods.len()) && methods.iter().all(takes)
}

/// Whether a function draws from a parameter or splits it in the statements of its body that run first.
fn always_consumes(store: &Store, program: &Program<'_>, (module, code): (ModuleIndex, &Function), slot: u32) -> bool {
    let reads_it = |temp: Temp| match code.ops[temp as usize].kind {
        OpKind::Load(Variable::Local(read)) => read == slot,
        _ => false,
    };
    for temp in &code.body {
        match &code.ops[*temp as usize].kind {
            OpKind::Call(callee, arguments) => {
                let path = library_path(store, module, code, *callee);
                let effect = path.and_then(|path| program.models.callable(&path)).map(|callable| &callable.effect);
                let takes_it = arguments.iter().map(Argument::value).any(reads_it);
                if takes_it && matches!(effect, Some(Effect::Sample { .. } | Effect::Split { .. })) {
                    return true;
                }
            }
            OpKind::If { .. } | OpKind::Loop { .. } | OpKind::Try { .. } | OpKind::Return(_) | OpKind::Raise(_) => {
                return false;
            }
            OpKind::Store(Variable::Local(stored), _) if *stored == slot => return false,
            _ => {}
        }
    }
    false
}

/// The library path that a global name of a module, or a member of one, denotes.
fn library_path(store: &Store, module: ModuleIndex, code: &Function, named: Temp) -> Option<String> {
    match &code.ops[named as usize].kind {
        OpKind::Load(Variable::Global(name)) => match store.modules.get(&module)?.globals.get(name)?.single()? {
            Val::Library(path) => Some(path.to_string()),
            _ => None,
        },
        OpKind::Attribute(of, name) if *of < named => {
            Some(format!("{}.{name}", library_path(store, module, code, *of)?))
        }
        _ => None,
    }
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
