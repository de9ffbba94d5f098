//! Context managers that may suppress an exception, so that the code after a `with` runs although its body did not
//! finish.
//!
//! **Invariant:** a manager counts only if it is the call of a name for which the models, or a definition in this file,
//! say so. A manager that is first stored in a variable, inherited, or returned by a method is assumed to suppress
//! nothing.

use std::collections::BTreeSet;

use super::context::FixContext;
use crate::ir::{Constant, Function, Module, OpKind, Temp, Variable};
use crate::models::{Callable, ProtocolEffect};

/// The callees, as written, of the context managers of a file that may suppress exceptions.
pub(super) fn swallowing(cx: &FixContext<'_>) -> BTreeSet<String> {
    let module = cx.ir();
    let mut found: BTreeSet<String> = module.functions.iter().filter_map(|of| defined(module, of)).collect();
    for function in &module.functions {
        for op in &function.ops {
            let OpKind::Enter(manager) = op.kind else { continue };
            let Some(written) = callee(function, manager) else { continue };
            let (root, rest) = written.split_at(written.find('.').unwrap_or(written.len()));
            let path = cx.imports.meaning(&cx.names, cx.names.scope_at(op.span.start), root);
            let model = path.and_then(|path| cx.models.callable(&format!("{path}{rest}")));
            let is_raising = |method: &str| {
                let mut protocols = cx.models.protocols(method).iter();
                protocols.any(|protocol| protocol.effect == ProtocolEffect::Raises)
            };
            if model.is_some_and(Callable::swallows_exceptions) || rest.rsplit('.').next().is_some_and(is_raising) {
                found.insert(written);
            }
        }
    }
    found
}

/// The callee, as written, of an operation that is a call: `contextlib.suppress`.
pub(super) fn callee(function: &Function, call: Temp) -> Option<String> {
    let OpKind::Call(callee, _) = &function.ops.get(call as usize)?.kind else { return None };
    let mut names: Vec<&str> = Vec::new();
    let mut at = *callee;
    loop {
        match &function.ops.get(at as usize)?.kind {
            OpKind::Attribute(of, name) => {
                names.push(name);
                at = *of;
            }
            OpKind::Load(Variable::Global(name)) => {
                names.push(name);
                break;
            }
            OpKind::Load(Variable::Local(slot)) => {
                names.push(function.slots.get(*slot as usize)?);
                break;
            }
            _ => return None,
        }
    }
    names.reverse();
    Some(names.join("."))
}

/// The name of a manager that a function defines and that may suppress exceptions: a class whose `__exit__` may return
/// a true value, or a generator that yields within a `try` with handlers.
fn defined(module: &Module, function: &Function) -> Option<String> {
    let kind = |temp: Temp| &function.ops[temp as usize].kind;
    if matches!(&*function.name, "__exit__" | "__aexit__") {
        let swallows = |op: &OpKind| {
            let OpKind::Return(Some(value)) = op else { return false };
            !matches!(kind(*value), OpKind::Constant(Constant::None | Constant::Bool(false)))
        };
        let is_swallowing = function.ops.iter().any(|op| swallows(&op.kind));
        return function.class.filter(|_| is_swallowing).map(|class| module.class(class).name.to_string());
    }
    let yields_guarded = |op: &OpKind| match op {
        OpKind::Try { body, handlers, .. } if !handlers.is_empty() => {
            function.within(body).any(|temp| matches!(kind(temp), OpKind::Yield { .. }))
        }
        _ => false,
    };
    (function.is_generator && function.ops.iter().any(|op| yields_guarded(&op.kind))).then(|| function.name.to_string())
}
