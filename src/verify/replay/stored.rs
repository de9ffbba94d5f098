//! What a constructor stores, for a method that is run on its own: `machine.net = Net(size)`.
//!
//! **Invariant:** the draws of the constructor do not count; of what it stores only instances, and containers of several, are used, and
//! only if no other method of the class stores them.

use std::cell::RefCell;
use std::rc::Rc;

use super::annotated;
use super::machine::Machine;
use super::value::{Args, Closure, Instance, Value, contents, get};
use crate::finding::Place;
use crate::ir::{Name, OpKind, Variable};

/// Most elements of a container that is taken.
const ELEMENTS: usize = 64;

/// Gives an instance, whose `method` is about to run on its own, the instances that its constructor stores.
pub(super) fn store_instances<'p>(machine: &mut Machine<'p>, instance: &Rc<Instance<'p>>, method: &Closure<'p>) {
    let Some(Value::Function(constructor)) = instance.class.find("__init__") else { return };
    if constructor.code.span == method.code.span {
        return;
    }
    let wanted = stored_once(machine, &constructor);
    if wanted.is_empty() {
        return;
    }
    let made = Rc::new(Instance {
        class: instance.class.clone(),
        attributes: RefCell::default(),
        symbol: machine.symbols.fresh(&instance.class.name),
    });
    machine.made_here.instance(&made);
    let args = Args { positional: vec![Value::Instance(made.clone())], keywords: Vec::new(), is_open: true };
    let place = Place { file: machine.project.modules[constructor.module].file, span: constructor.code.span };
    machine.suspended_logs += 1;
    // An exception, or another early end, does not affect what it stored before.
    let _ = machine.with_module_budget(|this| this.call_value(&Value::Function(constructor.clone()), args, place));
    machine.suspended_logs -= 1;
    for name in wanted {
        let stored = get(&made.attributes.borrow(), &name);
        if let Some(value) = stored
            && (holds_instances(&value) || annotated::holds_instances(machine, &value))
        {
            instance.attributes.borrow_mut().push((name, value));
        }
    }
}

/// The attributes that other methods of the class read, and that only the constructor stores, at one place.
fn stored_once(machine: &Machine<'_>, constructor: &Closure<'_>) -> Vec<Name> {
    let functions = &machine.project.modules[constructor.module].functions;
    let of_class = || functions.iter().filter(|code| code.class == constructor.code.class);
    let reads = |name: &Name| {
        let mut others = of_class().filter(|code| code.span != constructor.code.span).flat_map(|code| &code.ops);
        others.any(|op| matches!(&op.kind, OpKind::Attribute(_, read) if read == name))
    };
    let stores = |name: &Name| {
        let stored = of_class().flat_map(|code| &code.ops);
        stored.filter(|op| matches!(&op.kind, OpKind::StoreAttribute(_, stored, _) if *stored == *name)).count()
    };
    let of_self = constructor.code.ops.iter().filter_map(|op| match &op.kind {
        OpKind::StoreAttribute(object, name, _) => match constructor.code.ops[*object as usize].kind {
            OpKind::Load(Variable::Local(0)) => Some(name),
            _ => None,
        },
        _ => None,
    });
    of_self.filter(|name| reads(name) && stores(name) == 1).cloned().collect()
}

/// Whether a value is an instance, or a container of several.
fn holds_instances(value: &Value<'_>) -> bool {
    let is_one = |value: &Value<'_>| matches!(value, Value::Instance(_));
    let are_several = |values: &[Value<'_>]| (2..=ELEMENTS).contains(&values.len()) && values.iter().all(is_one);
    match value {
        Value::List(_) | Value::Tuple(_) | Value::Dict(_) => contents(value).is_some_and(|values| are_several(&values)),
        _ => is_one(value),
    }
}
