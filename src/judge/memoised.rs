//! Methods whose results are cached, so that they run once for each instance.
//!
//! **Invariant:** read from the code alone; a result counts as cached if the function that computes it, or the descriptor around it, sets
//! an attribute of the instance.

use crate::analysis::domain::value::{ClassHandle, PartialKind, Val, Value};
use crate::analysis::record::{Activation, Recording};
use crate::ir::{Argument, Function, Op, OpKind, Temp, Variable};

/// Whether the results of a method are cached: it runs once for each instance and arguments, or once for each missing
/// attribute.
pub fn is_memoised(run: &Recording<'_>, activation: &Activation) -> bool {
    let code = run.code(activation);
    let Some(class) = code.class else { return false };
    if &*code.name == "__getattr__" && gives_attributes(code, 0) {
        return true;
    }
    let keeps = |value: &Value| match value.single() {
        Some(Val::Partial(partial)) => matches!(partial.kind, PartialKind::Cached | PartialKind::CachedProperty),
        Some(Val::Object(id)) => is_caching_descriptor(run, run.objects[id.0 as usize].class),
        _ => false,
    };
    run.classes.own().any(|(_, info)| {
        let is_it = info.module == activation.module && info.class == class;
        is_it && info.attributes.get(&code.name).is_some_and(keeps)
    })
}

/// Whether a class is a caching descriptor: its `__get__` sets an attribute of the instance, which Python finds first.
fn is_caching_descriptor(run: &Recording<'_>, class: Option<ClassHandle>) -> bool {
    let Some(class) = class else { return false };
    run.lineage(class).iter().any(|handle| {
        let info = &run.classes[handle.0 as usize];
        let mut methods = run.module(info.module).functions.iter().filter(|code| code.class == Some(info.class));
        methods.any(|code| &*code.name == "__get__" && gives_attributes(code, 1))
    })
}

/// Whether a function sets attributes of its argument at this position: `setattr(self, name, value)`, `self.__dict__[name] = value`.
fn gives_attributes(code: &Function, slot: u32) -> bool {
    let of = |temp: Temp| &code.ops[temp as usize].kind;
    let is_it = |temp: Temp| matches!(of(temp), OpKind::Load(Variable::Local(loaded)) if *loaded == slot);
    let reads_its_dict =
        |op: &Op| matches!(&op.kind, OpKind::Attribute(owner, name) if is_it(*owner) && &**name == "__dict__");
    let has_dict = code.ops.iter().any(reads_its_dict);
    code.ops.iter().any(|op| match &op.kind {
        OpKind::StoreAttribute(owner, ..) => is_it(*owner),
        OpKind::StoreItem(..) => has_dict,
        OpKind::Call(callee, given) => {
            sets_attribute(of(*callee)) && matches!(&**given, [Argument::Positional(owner), _, _] if is_it(*owner))
        }
        _ => false,
    })
}

/// `setattr`, `object.__setattr__`
pub fn sets_attribute(callee: &OpKind) -> bool {
    match callee {
        OpKind::Load(Variable::Global(name)) => &**name == "setattr",
        OpKind::Attribute(_, name) => &**name == "__setattr__",
        _ => false,
    }
}
