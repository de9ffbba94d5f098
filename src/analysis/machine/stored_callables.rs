//! Calls of what an object stores, `self.layer(x)`: unlike its methods, that changes nothing in the object.
//!
//! **Invariant:** a callable counts as stored only if methods of the visible class store it, nothing in the class defines a method of that
//! name, and no stored value is computed from the object itself, which would give the callable a way to change it.

use crate::analysis::domain::value::{ClassHandle, Val, Value};
use crate::analysis::machine::Machine;
use crate::ir::{Function, Name, OpKind, Temp, Variable};

/// Most operations that a stored value is searched for the object.
const STEPS: usize = 64;

/// Unknown code that is called through an attribute of an object may have changed the object, unless the object only stores it.
pub fn havoc_receiver(machine: &mut Machine<'_>, receiver: &Value, name: &Name) {
    if !is_stored(machine, receiver, name) {
        machine.state.havoc(receiver);
    }
}

/// Whether an attribute of an object is a value that its methods store.
fn is_stored(machine: &mut Machine<'_>, receiver: &Value, name: &Name) -> bool {
    let id = match receiver.single() {
        Some(Val::Object(id)) => *id,
        Some(Val::Term(term)) if machine.state.terms.is_parameter(*term) => machine.state.shadow_of(*term),
        _ => return false,
    };
    let Some(class) = machine.state.store.objects[id.0 as usize].class else { return false };
    let key = (class, name.clone());
    if let Some(known) = machine.caches.stored.get(&key) {
        return *known;
    }
    let is_stored = stores(machine, class, name);
    machine.caches.stored.insert(key, is_stored);
    is_stored
}

/// Whether methods of a class and its bases store an attribute, and never something computed from the object.
fn stores(machine: &Machine<'_>, class: ClassHandle, name: &Name) -> bool {
    let state = &machine.state;
    if state.class_attribute(class, name).is_some() {
        return false;
    }
    let is_method = |read: &Name| state.class_attribute(class, read).is_some();
    let mut is_stored = false;
    for of in state.lineage(class).iter() {
        let info = &state.store.classes[of.0 as usize];
        let methods = machine.module(info.module).functions.iter().filter(|code| code.class == Some(info.class));
        for code in methods {
            for op in &code.ops {
                let OpKind::StoreAttribute(object, stored, value) = &op.kind else { continue };
                if stored != name || !is_receiver(code, *object) {
                    continue;
                }
                if involves_receiver(code, *value, &is_method) {
                    return false;
                }
                is_stored = true;
            }
        }
    }
    is_stored
}

/// Whether a value is the object of a method.
fn is_receiver(code: &Function, temp: Temp) -> bool {
    matches!(code.ops[temp as usize].kind, OpKind::Load(Variable::Local(0)))
}

/// Whether a value is computed from the object of a method itself, one of its methods or a function that may capture it, and not only from what
/// the object stores.
fn involves_receiver(code: &Function, value: Temp, is_method: &dyn Fn(&Name) -> bool) -> bool {
    let mut work = vec![value];
    for _ in 0..STEPS {
        let Some(temp) = work.pop() else { return false };
        match &code.ops[temp as usize].kind {
            OpKind::Attribute(object, read) if is_receiver(code, *object) && !is_method(read) => {}
            OpKind::Function(..) => return true,
            _ if is_receiver(code, temp) => return true,
            kind => kind.operands(&mut |operand| work.push(operand)),
        }
    }
    true
}
