//! Calls of what an object stores, `y = self.layer(x)`: unlike its methods, that changes nothing in the object.
//!
//! **Invariant:** a callable counts as stored only if methods of the visible class store it, nothing in the class defines a method of that
//! name, and the class passes itself and its methods to nothing, which would give the callable a way to change the object. A call whose
//! result is not used is made for its effects.

use crate::analysis::domain::value::{ClassHandle, Val, Value};
use crate::analysis::machine::{Frame, Machine, cutoff};
use crate::finding::Place;
use crate::ir::{Function, FunctionKind, Name, OpKind, Temp, Variable};

/// Unknown code that is called through an attribute of an object may have changed the object, unless the object only stores it.
pub fn havoc_receiver<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    (receiver, name): (&Value, &Name),
    place: Place,
) {
    if !cutoff::is_used(machine, frame, place) || !is_stored(machine, receiver, name) {
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

/// Whether methods of a class and its bases store an attribute, and keep the object to themselves.
fn stores(machine: &Machine<'_>, class: ClassHandle, name: &Name) -> bool {
    let state = &machine.state;
    if state.class_attribute(class, name).is_some() {
        return false;
    }
    let is_method = |read: &Name| state.class_attribute(class, read).is_some();
    let mut is_stored = false;
    for of in state.lineage(class).iter() {
        let info = &state.store.classes[of.0 as usize];
        let is_method_code = |code: &&Function| code.kind == FunctionKind::Def && code.class == Some(info.class);
        let methods = machine.module(info.module).functions.iter().filter(is_method_code);
        for code in methods {
            if passes_receiver_on(code, &is_method) {
                return false;
            }
            is_stored |= code.ops.iter().any(|op| match &op.kind {
                OpKind::StoreAttribute(object, stored, _) => stored == name && is_receiver(code, *object),
                _ => false,
            });
        }
    }
    is_stored
}

/// Whether a temp is the object of a method.
fn is_receiver(code: &Function, temp: Temp) -> bool {
    matches!(code.ops[temp as usize].kind, OpKind::Load(Variable::Local(0)))
}

/// Whether a method gives other code its object, one of the methods of the object without calling it, or a function that may capture it.
fn passes_receiver_on(code: &Function, is_method: &dyn Fn(&Name) -> bool) -> bool {
    let is_bound = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Attribute(object, read) => is_receiver(code, *object) && is_method(read),
        OpKind::Function(..) => true,
        _ => is_receiver(code, temp),
    };
    code.ops.iter().any(|op| match &op.kind {
        OpKind::Attribute(..) | OpKind::DeleteAttribute(..) | OpKind::Return(_) => false,
        OpKind::StoreAttribute(_, _, value) => is_bound(*value),
        OpKind::Call(_, arguments) => arguments.iter().any(|argument| is_bound(argument.value())),
        kind => {
            let mut is_passed = false;
            kind.operands(&mut |operand| is_passed |= is_bound(operand));
            is_passed
        }
    })
}
