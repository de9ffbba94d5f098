//! What a constructor stores, for a method that is run on its own: `machine.net = Net(size)`.
//!
//! **Invariant:** the draws of the constructor do not count; of what it stores only instances, and containers of several, are used, and
//! only if no other method of the class stores them. The `setup` of a library's module counts as its constructor, and so do methods that only
//! constructors call.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::annotated;
use super::machine::Machine;
use super::value::{Args, Class, Closure, Instance, Value, contents, get};
use crate::finding::Place;
use crate::ir::{Function, Name, OpKind, Variable};

/// Most elements of a container that is taken.
const ELEMENTS: usize = 64;

/// Most functions that make one instance.
const MAKERS: usize = 8;

/// Gives an instance, whose `method` is about to run on its own, the instances that its constructor stores.
pub(super) fn store_instances<'p>(machine: &mut Machine<'p>, instance: &Rc<Instance<'p>>, method: &Closure<'p>) {
    let Some(constructor) = constructor(machine, &instance.class) else { return };
    let makers = makers(machine, &instance.class, &constructor);
    if makers.iter().any(|maker| maker.code.span == method.code.span) {
        return;
    }
    let wanted = stored_only_by(machine, &makers);
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

/// The `__init__` of a class, or the method that makes the submodules of a library's module.
fn constructor<'p>(machine: &Machine<'p>, class: &Rc<Class<'p>>) -> Option<Rc<Closure<'p>>> {
    let found = class.find("__init__").or_else(|| {
        let models = machine.project.models;
        let bases = class.library_bases();
        class.find(bases.iter().find_map(|base| models.submodules_made_in(base))?)
    });
    match found? {
        Value::Function(constructor) => Some(constructor),
        _ => None,
    }
}

/// The constructor, those of bases that it calls, and the methods that it calls.
fn makers<'p>(machine: &Machine<'p>, class: &Rc<Class<'p>>, constructor: &Rc<Closure<'p>>) -> Vec<Rc<Closure<'p>>> {
    let mut makers = vec![constructor.clone()];
    let mut at = 0;
    while let Some(maker) = makers.get(at).cloned() {
        at += 1;
        let ops = &maker.code.ops;
        for op in ops {
            let OpKind::Call(callee, _) = &op.kind else { continue };
            let OpKind::Attribute(object, name) = &ops[*callee as usize].kind else { continue };
            let from = match &ops[*object as usize].kind {
                OpKind::Load(Variable::Local(0)) => 0,
                OpKind::Call(made_by, _) if is_super(&ops[*made_by as usize].kind) => {
                    let is_its =
                        |of: &Rc<Class<'p>>| maker.class.borrow().as_ref().is_some_and(|class| Rc::ptr_eq(of, class));
                    class.lineage().iter().position(is_its).map_or(usize::MAX, |at| at + 1)
                }
                _ => continue,
            };
            let lineage = class.lineage();
            let mut found = lineage.iter().skip(from).filter_map(|class| get(&class.attributes.borrow(), name));
            if let Some(Value::Function(method)) = found.next()
                && method.module == constructor.module
                && makers.len() < MAKERS
                && makers.iter().all(|maker| maker.code.span != method.code.span)
                && (*name == constructor.code.name || is_called_only_by(machine, &makers, name))
            {
                makers.push(method);
            }
        }
    }
    makers
}

fn is_super(callee: &OpKind) -> bool {
    matches!(callee, OpKind::Load(Variable::Global(name)) if &**name == "super")
}

/// Whether no other method of the classes of some functions reads an attribute.
fn is_called_only_by<'p>(machine: &Machine<'p>, makers: &[Rc<Closure<'p>>], name: &Name) -> bool {
    let mut readers = others(machine, makers).flat_map(|code| &code.ops);
    !readers.any(|op| matches!(&op.kind, OpKind::Attribute(_, read) if read == name))
}

/// The other methods of the classes of some functions of one module.
fn others<'a, 'p>(machine: &'a Machine<'p>, makers: &'a [Rc<Closure<'p>>]) -> impl Iterator<Item = &'p Function> {
    let module = makers.first().map(|first| machine.project.modules[first.module]);
    let functions = module.into_iter().flat_map(|module| &module.functions);
    functions.filter(|code| {
        makers.iter().any(|maker| maker.code.class == code.class)
            && makers.iter().all(|maker| maker.code.span != code.span)
    })
}

/// The attributes that other methods of the classes read, and that only these functions store.
fn stored_only_by<'p>(machine: &Machine<'p>, makers: &[Rc<Closure<'p>>]) -> Vec<Name> {
    let (mut read, mut elsewhere) = (FxHashSet::default(), FxHashSet::default());
    for op in others(machine, makers).flat_map(|code| &code.ops) {
        match &op.kind {
            OpKind::Attribute(_, name) => _ = read.insert(name),
            OpKind::StoreAttribute(_, name, _) => _ = elsewhere.insert(name),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for code in makers.iter().map(|maker| maker.code) {
        for op in &code.ops {
            let OpKind::StoreAttribute(object, name, _) = &op.kind else { continue };
            if !matches!(code.ops[*object as usize].kind, OpKind::Load(Variable::Local(0))) {
                elsewhere.insert(name);
            } else if read.contains(name) && !found.contains(name) {
                found.push(name.clone());
            }
        }
    }
    found.retain(|name| !elsewhere.contains(name));
    found
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
