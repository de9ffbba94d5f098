//! Keys in a dict or list, in a class, or in an enclosing function, that a function consumes although nothing replaces them there.
//!
//! **Invariant:** a store that may reach the place counts as a new key, and so does every use of a container except reading and writing its
//! items. Such places may hold fixed keys on purpose, so there has to be a next key that is lost.

use crate::analysis::record::{Consumption, Recording};
use crate::finding::Place;
use crate::ir::{
    Argument, Collection, Constant, Function, FunctionId, FunctionKind, Module, Name, OpKind, Temp, Variable,
};
use crate::judge::facts::Role;
use crate::judge::stale::is_constructor;
use crate::judge::unused::dead_children;
use crate::text::Span;

/// Most functions around one that are followed to the one that owns a variable.
const AROUND: usize = 8;

/// What holds a key, or the container of a key.
enum Holder<'c> {
    /// A global of the module.
    Global(&'c Name),
    /// An attribute of the instance of a method.
    Own(&'c Name),
    /// A variable of an enclosing function.
    Captured(FunctionId, u32),
}

/// Where a key stays, if the function that consumes it leaves it in a place other than an attribute or a global.
pub fn left_in(run: &Recording<'_>, event: &Consumption) -> Option<(String, Place)> {
    let activation = &event.activation;
    let module = run.module(run.home);
    if activation.module != run.home || event.role != Role::Split || !leaves_out_the_next(run, event) {
        return None;
    }
    let code = module.function(activation.function);
    let call = run.call_at(activation, event.place)?;
    let OpKind::Call(_, arguments) = &code.ops[call as usize].kind else { return None };
    let key = arguments.first().map(Argument::value)?;
    let written = event.written.as_ref()?.to_string();
    let stored_at = match &code.ops[key as usize].kind {
        OpKind::Item(container, index) => {
            let holder = holder_of(module, activation.function, *container)?;
            let OpKind::Constant(index) = &code.ops[*index as usize].kind else { return None };
            only_container(run, module, &holder, index)
        }
        OpKind::Attribute(object, name) if is_self(code, *object) => only_in_class(module, code, name),
        OpKind::Load(Variable::Outer(..)) => {
            let Holder::Captured(owner, slot) = holder_of(module, activation.function, key)? else { return None };
            let is_left = is_returned(run, owner, activation.function);
            (is_left && !is_stored(run, owner, slot)).then(|| module.function(owner).span)
        }
        _ => None,
    }?;
    Some((written, Place { file: module.file, span: stored_at }))
}

fn is_self(code: &Function, object: Temp) -> bool {
    code.class.is_some() && matches!(code.ops[object as usize].kind, OpKind::Load(Variable::Local(0)))
}

/// What an operation of a function reads, if it is a place that outlives the function.
fn holder_of(module: &Module, id: FunctionId, read: Temp) -> Option<Holder<'_>> {
    let code = module.function(id);
    match &code.ops[read as usize].kind {
        OpKind::Load(Variable::Global(name)) => Some(Holder::Global(name)),
        OpKind::Attribute(object, name) if is_self(code, *object) => Some(Holder::Own(name)),
        OpKind::Load(Variable::Outer(out, slot)) => Some(Holder::Captured(owner(module, id, *out)?, *slot)),
        _ => None,
    }
}

/// The function that is this many levels around another one.
fn owner(module: &Module, id: FunctionId, out: u32) -> Option<FunctionId> {
    let levels = usize::try_from(out).ok().filter(|levels| *levels <= AROUND)?;
    (0..levels).try_fold(id, |inner, _| module.function(inner).parent)
}

/// The functions of a module, with their numbers.
fn functions(module: &Module) -> impl Iterator<Item = (FunctionId, &Function)> {
    (0u32..).map(FunctionId).zip(&module.functions)
}

/// Where a container is made, if it is made once, by a display, and all of the module only reads its items and writes others than this one.
fn only_container(run: &Recording<'_>, module: &Module, holder: &Holder<'_>, index: &Constant) -> Option<Span> {
    let mut made = None;
    for (id, code) in functions(module) {
        let uses = run.uses_of(run.home, id);
        for (temp, op) in (0u32..).zip(&code.ops) {
            let value = match (&op.kind, holder) {
                (OpKind::Store(Variable::Global(name), value), Holder::Global(of)) if name == *of => {
                    (code.kind == FunctionKind::Module).then_some(*value)?
                }
                (OpKind::StoreAttribute(_, name, value), Holder::Own(of)) if name == *of => {
                    is_constructor(&code.name).then_some(*value)?
                }
                (OpKind::Store(Variable::Local(slot), value), Holder::Captured(of, held))
                    if id == *of && slot == held =>
                {
                    *value
                }
                (OpKind::Store(Variable::Outer(out, slot), _), Holder::Captured(of, held))
                    if owner(module, id, *out) == Some(*of) && slot == held =>
                {
                    return None;
                }
                _ if reads(module, (id, code), temp, holder) => {
                    let is_kept = |reader: &Temp| keeps_item(code, *reader, temp, index);
                    uses.readers(temp).iter().all(is_kept).then_some(())?;
                    continue;
                }
                _ => continue,
            };
            let is_display =
                matches!(code.ops[value as usize].kind, OpKind::Build(Collection::Dict | Collection::List, _));
            if made.replace(op.span).is_some() || !is_display || uses.is_in_loop(code, temp) {
                return None;
            }
        }
    }
    made
}

/// Whether an operation reads the container.
fn reads(module: &Module, (id, code): (FunctionId, &Function), temp: Temp, holder: &Holder<'_>) -> bool {
    match (&code.ops[temp as usize].kind, holder) {
        (OpKind::Load(Variable::Global(name)), Holder::Global(of)) | (OpKind::Attribute(_, name), Holder::Own(of)) => {
            name == *of
        }
        (OpKind::Load(Variable::Local(slot)), Holder::Captured(of, held)) => id == *of && slot == held,
        (OpKind::Load(Variable::Outer(out, slot)), Holder::Captured(of, held)) => {
            owner(module, id, *out) == Some(*of) && slot == held
        }
        _ => false,
    }
}

/// Whether an operation that reads a container leaves the item at an index as it is.
fn keeps_item(code: &Function, reader: Temp, container: Temp, index: &Constant) -> bool {
    match &code.ops[reader as usize].kind {
        OpKind::Item(of, _) => *of == container,
        OpKind::StoreItem(of, other, _) => {
            let is_other = matches!(&code.ops[*other as usize].kind, OpKind::Constant(other) if other != index);
            *of == container && is_other
        }
        _ => false,
    }
}

/// Whether a method's class has a value for a name that is no field, and nothing in the module stores one elsewhere.
fn only_in_class(module: &Module, code: &Function, name: &Name) -> Option<Span> {
    let class = module.class(code.class?);
    let body = module.function(class.body);
    let mut stored = body.ops.iter().filter(|op| match &op.kind {
        OpKind::Store(Variable::Local(slot), _) => body.slots.get(*slot as usize) == Some(name),
        _ => false,
    });
    let only = stored.next().filter(|only| stored.next().is_none() && is_made(body, &only.kind))?;
    let is_replaced = |op: &OpKind| match op {
        OpKind::StoreAttribute(_, other, _) => other == name,
        OpKind::Load(Variable::Global(function)) => matches!(&**function, "setattr" | "vars"),
        OpKind::Attribute(_, name) => matches!(&**name, "__dict__" | "__setattr__"),
        _ => false,
    };
    let is_kept = !functions(module).any(|(_, code)| code.ops.iter().any(|op| is_replaced(&op.kind)));
    (is_kept && class.fields.iter().all(|field| field.name != *name)).then_some(only.span)
}

/// Whether a statement stores what a call makes, other than a property.
fn is_made(body: &Function, store: &OpKind) -> bool {
    let OpKind::Store(_, value) = store else { return false };
    let OpKind::Call(_, arguments) = &body.ops[*value as usize].kind else { return false };
    !arguments.iter().any(|argument| matches!(body.ops[argument.value() as usize].kind, OpKind::Function(..)))
}

/// Whether a split makes the next key and one to use, and the next one is lost: nothing reads the first child, or the other is left out.
pub fn leaves_out_the_next(run: &Recording<'_>, event: &Consumption) -> bool {
    let (module, id) = (event.activation.module, event.activation.function);
    let (code, uses) = (run.module(module).function(id), run.uses_of(module, id));
    let children = || {
        let [unpack] = uses.readers(uses.call_at(event.place.span)?) else { return None };
        let OpKind::Unpack { star: None, .. } = &code.ops[*unpack as usize].kind else { return None };
        let parts = uses.readers(*unpack).iter().filter_map(|part| match uses.readers(*part) {
            [store] => match &code.ops[*store as usize].kind {
                OpKind::Store(Variable::Local(slot), _) => code.slots.get(*slot as usize),
                _ => None,
            },
            _ => None,
        });
        <[&Name; 2]>::try_from(parts.collect::<Vec<_>>()).ok()
    };
    let Some([first, second]) = children() else { return false };
    let dead = dead_children(run, event.place, &event.activation).unwrap_or_default();
    dead.iter().any(|child| child.name == *first) || [first, second].iter().any(|name| &***name == "_")
}

/// Whether a function, or one within it, stores into a variable of it; parameters get their values without.
fn is_stored(run: &Recording<'_>, owning: FunctionId, held: u32) -> bool {
    let (module, uses) = (run.module(run.home), run.uses_of(run.home, owning));
    !uses.stores_of(held).is_empty() || uses.is_written_within(module, module.function(owning), held)
}

/// Whether a function only returns another one that it defines.
fn is_returned(run: &Recording<'_>, owner: FunctionId, id: FunctionId) -> bool {
    let module = run.module(run.home);
    let (code, uses) = (module.function(owner), run.uses_of(run.home, owner));
    if module.function(id).kind != FunctionKind::Def || module.function(id).parent != Some(owner) {
        return false;
    }
    let made = (0u32..).zip(&code.ops).find(|(_, op)| matches!(&op.kind, OpKind::Function(made, _) if *made == id));
    let Some((made, _)) = made else { return false };
    let [store] = uses.readers(made) else { return false };
    let OpKind::Store(Variable::Local(slot), _) = &code.ops[*store as usize].kind else { return false };
    let is_return = |temp: &Temp| matches!(code.ops[*temp as usize].kind, OpKind::Return(_));
    let is_given_out = |load: &Temp| {
        uses.readers(*load).iter().all(|reader| match &code.ops[*reader as usize].kind {
            OpKind::Return(_) => true,
            OpKind::Build(Collection::Tuple, _) => uses.readers(*reader).iter().all(is_return),
            _ => false,
        })
    };
    let loads = uses.loads_of(*slot);
    !loads.is_empty() && loads.iter().all(is_given_out) && !uses.is_captured(*slot)
}
