//! Which calls may handle keys, by the names in them.
//!
//! **Invariant:** names over-approximate: a call that no method here admits handles no key by a protocol of a library.

use super::super::vocabulary::PathId;
use super::{Reader, name_of};
use crate::ir::{Argument, Function, OpKind, Temp, Variable};
use crate::models::{BuiltinOp, Effect, ROOT, Returns};

impl Reader<'_, '_, '_> {
    /// Whether a method call may handle keys according to a protocol of a library in use.
    pub(super) fn may_follow_protocol(&self, method: &str, arguments: &[Argument]) -> bool {
        let protocols = self.project.models.protocols(method);
        if protocols.is_empty() {
            return false;
        }
        let positional = arguments.iter().filter(|argument| matches!(argument, Argument::Positional(_))).count();
        protocols.iter().any(|protocol| {
            let named = arguments.iter().any(
                |argument| matches!(argument, Argument::Keyword(name, _) if protocol.key.names.iter().any(|k| **k == **name)),
            );
            let placed = protocol.key.position.is_some_and(|position| position < positional)
                && positional >= protocol.min_positional
                && protocol.max_positional.is_none_or(|most| positional <= most);
            // A key passed by keyword is evidence for any library, if the file can have keys at all.
            let is_in_use = protocol.libraries.iter().any(|library| self.table.libraries.contains(library.as_str()));
            (named || placed) && is_in_use || named && self.table.libraries.contains(ROOT)
        })
    }

    /// Whether a call of a variable is one of a library's method that it may hold: `apply_fn(params, x, rngs=rngs)`.
    pub(super) fn may_hold_method(&self, function: &Function, callee: Temp, arguments: &[Argument]) -> bool {
        let Some((home, slot)) = self.variable(function, callee) else { return false };
        home.slots.get(slot as usize).is_some_and(|name| {
            arguments.iter().any(|argument| match argument {
                Argument::Keyword(keyword, _) => self.project.models.consumes_keyword(name, keyword),
                _ => false,
            })
        })
    }

    /// Whether a call passes something named like a key to a parameter, its own or an enclosing function's, whose default may draw:
    /// `kernel_init(key, shape)`.
    pub(super) fn may_call_default(&self, function: &Function, callee: Temp, arguments: &[Argument]) -> bool {
        let Some((home, slot)) = self.variable(function, callee) else { return false };
        let has_default = home.parameters.get(slot as usize).is_some_and(|parameter| parameter.has_default);
        has_default && self.passes_a_key(function, arguments)
    }

    /// The variable of a function that an operation reads, with the function.
    fn variable<'f>(&'f self, function: &'f Function, read: Temp) -> Option<(&'f Function, u32)> {
        match function.ops[read as usize].kind {
            OpKind::Load(Variable::Local(slot)) => Some((function, slot)),
            OpKind::Load(Variable::Outer(out, slot)) => {
                Some((self.project.modules[self.index].enclosing(function, out)?, slot))
            }
            _ => None,
        }
    }

    /// Whether one of the arguments of a call is named like a key.
    pub(super) fn passes_a_key(&self, function: &Function, arguments: &[Argument]) -> bool {
        let words = &self.project.models.words;
        let module = self.project.modules[self.index];
        let is_named = |variable: &Variable| {
            let name = match variable {
                Variable::Outer(out, slot) => {
                    module.enclosing(function, *out).and_then(|outer| outer.slots.get(*slot as usize))
                }
                variable => name_of(function, variable),
            };
            name.is_some_and(|name| words.names_a_key(name))
        };
        arguments.iter().any(|argument| match argument {
            Argument::Keyword(name, _) => words.names_a_key(name),
            Argument::Positional(value) => match function.ops.get(*value as usize).map(|op| &op.kind) {
                Some(OpKind::Load(variable)) => is_named(variable),
                Some(OpKind::Attribute(_, name)) => words.names_a_key(name),
                _ => false,
            },
            _ => false,
        })
    }

    /// Whether a call wraps a method that handles keys according to a protocol of a library in use:
    /// `jax.jit(env.reset)`.
    pub(super) fn wraps_protocol(&self, function: &Function, callee: Option<PathId>, arguments: &[Argument]) -> bool {
        let Some(path) = callee else { return false };
        arguments.iter().any(|argument| {
            let Argument::Positional(part) = argument else { return false };
            let OpKind::Attribute(_, method) = &function.ops[*part as usize].kind else { return false };
            let in_use = |library: &String| self.table.libraries.contains(library.as_str());
            self.project.models.protocols(method).iter().any(|protocol| protocol.libraries.iter().any(in_use))
        }) && self.wraps(path)
    }

    /// Whether a function returns its function argument, wrapped.
    pub(super) fn wraps(&self, path: PathId) -> bool {
        let model = self.project.models.callable(self.vocabulary.text(path));
        model.is_some_and(|model| match &model.effect {
            Effect::Transform(transform) => transform.returns == Returns::Function,
            Effect::Builtin(op) => matches!(op, BuiltinOp::Partial),
            Effect::Factory { .. } => true,
            _ => false,
        })
    }
}
