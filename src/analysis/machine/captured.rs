//! Whether a closure can reach keys through its names and captured variables.
//!
//! A closure that was never called is analysed on its own only if its names involve keys or if it captures a value that does. A closure of
//! another module is analysed with that module, and one that a call created is analysed with the called function; here only its captured
//! values can add something new: about this module or, for a closure that a call created, a key from the caller.
//!
//! **Invariant:** the search never misses a value that is or holds a key, or leads to a function whose names involve keys (for a closure of
//! another module, a function of this module). For a closure that a call created, names do not count, and neither does what lies below the
//! search depth.

use std::cell::Cell;

use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{Closure, EnvironmentId, ModuleIndex, ObjectId, Val, Value};
use crate::analysis::machine::{Machine, notes};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{ObjectKind, Source};
use crate::ir::{Function, OpKind, Variable};
use crate::models::Effect;

/// Search depth in containers and closures; anything deeper counts as a key.
pub const DEPTH: u32 = 5;

/// Most values that one search visits; beyond that, unknown values count as keys, like those that are too deep.
const VALUES: u32 = 16_384;

/// Whether analysing a closure on its own can reveal anything about keys; for a closure that a call created, more than the analysis of the
/// called function does.
pub fn may_reach_keys(machine: &Machine<'_>, closure: &Closure, in_call: bool) -> bool {
    let (names, deeper) = match (in_call, closure.module == machine.context.home) {
        (true, _) => (NameScope::Nobody, false),
        (false, true) => (NameScope::All, true),
        (false, false) => (NameScope::Home, true),
    };
    let reach = Reach { machine, names, deeper, left: Cell::new(VALUES) };
    if in_call { reach.captures(closure, DEPTH) } else { reach.closure_reaches(closure, DEPTH) }
}

/// Whether a call passes a key to a function: as an argument, within one, or by what the function captured.
pub fn passes_keys(machine: &Machine<'_>, closure: &Closure, args: &Args) -> bool {
    let reach = Reach { machine, names: NameScope::Home, deeper: false, left: Cell::new(VALUES) };
    let code = machine.module(closure.module).function(closure.function);
    args.values().any(|value| reach.reaches(value, DEPTH))
        || closure.defaults.iter().any(|(_, value)| reach.reaches(value, DEPTH))
        || reach.code_reaches(closure.module, code, closure.environment, 1, DEPTH)
}

/// Whether one of these values is or holds a key, or a value from outside that is named like one.
pub fn hold_keys(machine: &Machine<'_>, values: &[Value]) -> bool {
    let reach = Reach { machine, names: NameScope::Home, deeper: false, left: Cell::new(VALUES) };
    let is_named_one = |value: &Value| match value.single() {
        Some(Val::Term(term)) => notes::looks_like_a_key(machine, *term, None),
        _ => false,
    };
    values.iter().any(|value| reach.holds(value, DEPTH) || is_named_one(value))
}

/// The modules whose functions count by their names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NameScope {
    All,
    Home,
    Nobody,
}

/// A search for keys.
pub struct Reach<'i, 'p> {
    machine: &'i Machine<'p>,
    names: NameScope,
    /// Whether values below the search depth count as keys.
    deeper: bool,
    /// Values that may still be visited.
    left: Cell<u32>,
}

impl<'p> Reach<'_, 'p> {
    fn names_involve_keys(&self, closure: &Closure) -> bool {
        let counts = match self.names {
            NameScope::All => true,
            NameScope::Home => closure.module == self.machine.context.home,
            NameScope::Nobody => false,
        };
        counts && self.machine.program.relevance.mentions_keys(closure.module, closure.function)
    }

    fn closure_reaches(&self, closure: &Closure, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return self.deeper };
        self.names_involve_keys(closure) || self.captures(closure, depth)
    }

    /// Whether what a closure holds, or sees from around it, reaches keys.
    fn captures(&self, closure: &Closure, depth: u32) -> bool {
        let code = self.machine.module(closure.module).function(closure.function);
        closure.defaults.iter().any(|(_, value)| self.reaches(value, depth))
            || self.code_reaches(closure.module, code, closure.environment, 1, depth)
    }

    /// Whether a variable from an enclosing function reaches keys. `outside` is the environment `level` levels above that of the function.
    fn code_reaches(
        &self,
        module: ModuleIndex,
        code: &'p Function,
        outside: Option<EnvironmentId>,
        level: u32,
        depth: u32,
    ) -> bool {
        code.ops.iter().any(|op| match &op.kind {
            OpKind::Load(Variable::Outer(up, slot)) => {
                let mut environment = outside;
                let Some(further) = up.checked_sub(level) else { return false };
                for _ in 0..further {
                    environment =
                        environment.and_then(|id| self.machine.state.store.environments[id.0 as usize].parent);
                }
                let slots = environment.map(|id| &self.machine.state.store.environments[id.0 as usize].slots);
                slots.and_then(|slots| slots.get(*slot as usize)).is_some_and(|value| self.reaches(value, depth))
            }
            // What calling a global leads to is known from its name.
            OpKind::Load(Variable::Global(name)) => {
                let value = self.machine.state.store.modules.get(&module).and_then(|state| state.globals.get(name));
                value.is_some_and(|value| self.holds(value, depth))
            }
            OpKind::Function(inner, _) => {
                let inner = self.machine.module(module).function(*inner);
                self.code_reaches(module, inner, outside, level + 1, depth)
            }
            OpKind::Class(class, _) => {
                let module_of = self.machine.module(module);
                let body = module_of.function(module_of.class(*class).body);
                self.code_reaches(module, body, outside, level + 1, depth)
            }
            _ => false,
        })
    }

    /// Whether a value is or holds a key, or leads to a function that involves keys.
    fn reaches(&self, value: &Value, depth: u32) -> bool {
        if !self.may_visit() {
            return self.deeper;
        }
        value.alternatives().iter().any(|alternative| match &alternative.val {
            Val::Function(closure) => self.closure_reaches(closure, depth),
            Val::Method(method) => {
                self.descend(depth, |inner| self.reaches(&method.0, inner) || self.reaches(&method.1, inner))
            }
            Val::Partial(partial) => self.descend(depth, |inner| {
                self.reaches(&partial.function, inner) || partial.bound().any(|value| self.reaches(value, inner))
            }),
            Val::Wrapped(wrapped) => self.descend(depth, |inner| {
                wrapped.function.as_ref().is_none_or(|function| self.reaches(function, inner))
                    || wrapped.options.iter().any(|(_, value)| self.reaches(value, inner))
            }),
            Val::Class(class) => self.descend(depth, |inner| {
                let info = &self.machine.state.store.classes[class.0 as usize];
                info.bases.iter().chain(info.attributes.values()).any(|value| self.reaches(value, inner))
            }),
            Val::Library(path) => match self.names {
                NameScope::All => self.machine.program.models.mentions(path, self.machine.program.roots),
                // If it is called through a local name, it still draws.
                NameScope::Home | NameScope::Nobody => {
                    let callable = self.machine.program.models.callable(path);
                    callable.is_some_and(|callable| {
                        matches!(callable.effect, Effect::Sample { .. } | Effect::Consume { .. })
                    })
                }
            },
            Val::Module(_) => self.names == NameScope::All,
            _ => self.val_holds(&alternative.val, depth),
        })
    }

    /// Whether a value is or holds a key.
    fn holds(&self, value: &Value, depth: u32) -> bool {
        value.alternatives().iter().any(|alternative| self.val_holds(&alternative.val, depth))
    }

    fn val_holds(&self, val: &Val, depth: u32) -> bool {
        if !self.may_visit() {
            return self.deeper;
        }
        match val {
            Val::Key(_) | Val::Array(_) | Val::Words(..) => true,
            Val::Term(term) => self.is_used_as_key(*term) || self.shadow_holds(*term, depth),
            Val::Tuple(parts) | Val::Slice(parts) => {
                self.descend(depth, |inner| parts.iter().any(|part| self.reaches(part, inner)))
            }
            Val::Object(object) => self.descend(depth, |inner| self.object_holds(*object, inner)),
            Val::UnknownMethod(method) => self.descend(depth, |inner| self.reaches(&method.0, inner)),
            Val::Function(_)
            | Val::Method(_)
            | Val::Class(_)
            | Val::Module(_)
            | Val::Library(_)
            | Val::Import(_)
            | Val::Wrapped(_)
            | Val::Partial(_) => false,
        }
    }

    fn object_holds(&self, object: ObjectId, depth: u32) -> bool {
        let object = &self.machine.state.store.objects[object.0 as usize];
        let contents = match &object.kind {
            ObjectKind::List { .. } | ObjectKind::Dict { .. } => {
                object.kind.held().any(|(_, value)| self.reaches(value, depth))
            }
            ObjectKind::Set(items) => items.iter().any(|item| self.reaches(&item.value, depth)),
            ObjectKind::Instance | ObjectKind::Iterator(Source::Range(..), _) => false,
            ObjectKind::Iterator(..) | ObjectKind::Stream(_) => true,
        };
        contents || object.attributes.values().any(|value| self.reaches(value, depth))
    }

    fn shadow_holds(&self, term: TermId, depth: u32) -> bool {
        self.machine
            .state
            .store
            .shadows
            .get(&term)
            .is_some_and(|shadow| self.descend(depth, |inner| self.object_holds(*shadow, inner)))
    }

    /// Whether another value may be visited.
    fn may_visit(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }

    /// Searches one level deeper, if that is not too deep.
    fn descend(&self, depth: u32, look: impl FnOnce(u32) -> bool) -> bool {
        depth.checked_sub(1).map_or(self.deeper, look)
    }

    /// Whether a function that only accepts keys has taken a term for one.
    fn is_used_as_key(&self, term: TermId) -> bool {
        let events = self.machine.recorder.log().by_family.get(&term).map_or(&[][..], Vec::as_slice);
        self.machine.recorder.is_known_key(term)
            || events.iter().any(|event| self.machine.recorder.log().consumptions[*event].role != Role::Unresolved)
    }
}
