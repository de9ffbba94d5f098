//! What the objects of a module hold when one of its functions is called: containers that are empty after the module
//! has run, and attributes that are `None` then, are filled later.
//!
//! **Invariant:** only containers and attributes that some function of the module fills become unknown; all others keep
//! the contents that the body left.

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ClassHandle, ObjectId, Val};
use crate::analysis::machine::Machine;
use crate::analysis::store::heap::ObjectKind;
use crate::ir::{FunctionKind, Module, Name, OpKind, Variable};

/// A container or attribute that a function of the module may fill before another one runs.
#[derive(Clone, Debug, PartialEq)]
pub enum LateWrite {
    /// The contents of a container.
    Contents(ObjectId),
    /// An attribute of an instance.
    Attribute(ObjectId, Name),
}

/// The containers and attributes that functions of the home module fill.
pub fn late_writes(machine: &Machine<'_>) -> Vec<LateWrite> {
    let home = machine.context.home;
    let module = machine.module(home);
    let Some(state) = machine.state.store.modules.get(&home) else { return Vec::new() };
    let mut named = None;
    let mut found = Vec::new();
    for (name, value) in state.globals.iter() {
        let Some(Val::Object(id)) = value.single() else { continue };
        let object = &machine.state.store.objects[id.0 as usize];
        let is_empty = match &object.kind {
            ObjectKind::List { items, unknown } => items.is_empty() && !unknown,
            ObjectKind::Dict { entries, unknown } => entries.is_empty() && !unknown,
            _ => false,
        };
        if is_empty && named.get_or_insert_with(|| filled_names(module)).contains(name) {
            found.push(LateWrite::Contents(*id));
        }
        let Some(class) = object.class.filter(|_| matches!(object.kind, ObjectKind::Instance)) else { continue };
        for (attribute, value) in &object.attributes {
            let is_none =
                matches!(value.single(), Some(Val::Term(term)) if matches!(machine.state.terms.get(*term), Term::None));
            if is_none && is_set_later(machine, class, attribute) {
                found.push(LateWrite::Attribute(*id, attribute.clone()));
            }
        }
    }
    found
}

/// Makes unknown what may have been filled before an entry runs.
pub fn forget(machine: &mut Machine<'_>, writes: &[LateWrite]) {
    for write in writes {
        match write {
            LateWrite::Contents(id) => machine.state.havoc_object(*id),
            LateWrite::Attribute(id, name) => {
                let object = &mut machine.state.store.objects[id.0 as usize];
                object.attributes.remove(name);
                object.open = true;
            }
        }
    }
}

/// The globals whose methods functions call, or in which they store elements.
fn filled_names(module: &Module) -> FxHashSet<&Name> {
    let mut found = FxHashSet::default();
    for code in module.functions.iter().filter(|code| code.kind != FunctionKind::Module) {
        let global = |temp: u32| match code.ops.get(temp as usize).map(|op| &op.kind) {
            Some(OpKind::Load(Variable::Global(name))) => Some(name),
            _ => None,
        };
        for op in &code.ops {
            let held = match &op.kind {
                OpKind::StoreItem(object, ..) => Some(*object),
                OpKind::Call(callee, _) => match code.ops.get(*callee as usize).map(|op| &op.kind) {
                    Some(OpKind::Attribute(object, _)) => Some(*object),
                    _ => None,
                },
                _ => None,
            };
            found.extend(held.and_then(global));
        }
    }
    found
}

/// Whether a method of a class, or of one that it inherits from, sets an attribute of its receiver after construction.
fn is_set_later(machine: &Machine<'_>, class: ClassHandle, attribute: &Name) -> bool {
    machine.state.lineage(class).iter().any(|class| {
        let info = &machine.state.store.classes[class.0 as usize];
        let methods = machine.module(info.module).functions.iter();
        let mut later = methods.filter(|code| code.class == Some(info.class) && &*code.name != "__init__");
        later.any(|code| {
            code.ops.iter().any(|op| match &op.kind {
                OpKind::StoreAttribute(object, name, _) => {
                    name == attribute && matches!(code.ops[*object as usize].kind, OpKind::Load(Variable::Local(0)))
                }
                _ => false,
            })
        })
    })
}
