//! Methods whose results are cached, so that they run once for each instance.
//!
//! **Invariant:** a result counts as cached if a decorator of Python's library keeps it.

use crate::analysis::domain::value::{PartialKind, Val, Value};
use crate::analysis::record::{Activation, Recording};
use crate::ir::{OpKind, Variable};

/// Whether the results of a method are cached: it runs once for each instance and arguments.
pub fn is_memoised(run: &Recording<'_>, activation: &Activation) -> bool {
    let code = run.code(activation);
    let Some(class) = code.class else { return false };
    let keeps = |value: &Value| match value.single() {
        Some(Val::Partial(partial)) => matches!(partial.kind, PartialKind::Cached | PartialKind::CachedProperty),
        _ => false,
    };
    run.classes.own().any(|(_, info)| {
        let is_it = info.module == activation.module && info.class == class;
        is_it && info.attributes.get(&code.name).is_some_and(keeps)
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
