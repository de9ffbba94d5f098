//! What becomes of the children of splits: which are handed to functions in sight, and which something else has in hand.
//!
//! **Invariant:** a child counts as taken once anything but a function in sight has it in hand, or once a function returns, stores,
//! captures or computes with it.

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{DerivationId, Val, Value};
use crate::analysis::heap::Kind;
use crate::ir::{Collection, FunctionKind, OpKind, Variable};
use crate::models::{BuiltinOp, Effect, Runs};

use super::bind::Args;
use super::{Frame, Machine};
use crate::analysis::record::MEASURES;

/// How deep a value is searched for children.
const NESTED: u32 = 4;

impl Machine<'_> {
    /// Notes that something unknown has the keys in a value in hand.
    pub(super) fn take(&mut self, value: &Value) {
        if self.recorder.log.derivations.is_empty() {
            return;
        }
        let mut found = Vec::new();
        self.children_in(value, NESTED, &mut found);
        for (derivation, parent) in found {
            if derivation != 0 {
                self.recorder.log.children.taken.insert(derivation);
            } else if let Some(parent) = parent {
                self.recorder.log.children.parents.insert(parent);
            }
        }
    }

    /// The keys in a value, each with the execution that derived it, and with the key that it is a child of.
    fn children_in(&self, value: &Value, depth: u32, found: &mut Vec<(DerivationId, Option<TermId>)>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for alternative in value.alternatives() {
            match &alternative.val {
                Val::Key(key) | Val::Words(key, _) => found.push((key.derivation, self.parent_of(key.term))),
                Val::Array(array) => found.push((array.derivation, None)),
                Val::Term(term) => found.extend(self.parent_of(*term).map(|parent| (0, Some(parent)))),
                Val::Tuple(parts) => parts.iter().for_each(|part| self.children_in(part, depth, found)),
                Val::Method(method) => self.children_in(&method.0, depth, found),
                Val::UnknownMethod(method) => self.children_in(&method.0, depth, found),
                Val::Partial(partial) => partial
                    .positional
                    .iter()
                    .chain(partial.keywords.iter().map(|(_, value)| value))
                    .for_each(|bound| self.children_in(bound, depth, found)),
                Val::Object(object) => match &self.store.objects[object.0 as usize].kind {
                    Kind::List { items, .. } => {
                        for item in items {
                            self.children_in(&item.value, depth, found);
                        }
                    }
                    Kind::Dict { entries, .. } => {
                        for entry in entries {
                            self.children_in(&entry.value, depth, found);
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    /// The key that a term is a child of, or holds children of.
    fn parent_of(&self, term: TermId) -> Option<TermId> {
        match self.terms.get(term) {
            Term::Child(parent, _) | Term::Children(parent) => Some(*parent),
            Term::Item(of, ..) => self.parent_of(*of),
            Term::Apply(_, parts) => parts.iter().find_map(|part| self.parent_of(*part)),
            _ => None,
        }
    }

    /// Notes what an operation, other than a call, does with children.
    pub(super) fn note_taken(&mut self, frame: &Frame<'_>, kind: &OpKind) {
        if self.recorder.log.derivations.is_empty() {
            return;
        }
        let is_body = !matches!(frame.code.kind, FunctionKind::Module | FunctionKind::ClassBody);
        match kind {
            OpKind::Store(Variable::Local(_), _) if is_body => {}
            OpKind::Attribute(_, name) if MEASURES.contains(&&**name) => {}
            OpKind::Unpack { .. }
            | OpKind::Project(..)
            | OpKind::Item(..)
            | OpKind::If { .. }
            | OpKind::Annotate(..)
            | OpKind::Build(Collection::Tuple, _)
            | OpKind::Call(..) => {}
            // Who is handed the function may run it.
            OpKind::Function(_, defaults) if is_body => {
                defaults.iter().for_each(|(_, temp)| self.take(&frame.temps[*temp as usize]));
                let uses = self.uses_of(frame.module, frame.activation.function);
                let slots = self.store.environments[frame.environment.0 as usize].slots.clone();
                for (_, held) in (0u32..).zip(&slots).filter(|(slot, _)| uses.is_captured(*slot)) {
                    self.take(held);
                }
            }
            kind => kind.operands(&mut |temp| self.take(&frame.temps[temp as usize])),
        }
    }

    /// Notes what a call does with the children that it is given.
    pub(super) fn note_taken_by(&mut self, callee: &Val, args: &Args) {
        if self.recorder.log.derivations.is_empty() {
            return;
        }
        let is_in_sight = match callee {
            Val::Function(closure) => !self.module(closure.module).function(closure.function).is_generator,
            Val::Method(_) => true,
            Val::Class(class) => self.class_attribute(*class, &"__init__".into()).is_some(),
            _ => false,
        };
        if is_in_sight {
            let mut found = Vec::new();
            args.values().for_each(|value| self.children_in(value, NESTED, &mut found));
            self.recorder.log.children.given.extend(found.into_iter().map(|(derivation, _)| derivation));
        } else if !self.hands_over(callee) {
            args.values().chain(&args.spread).chain(&args.mappings).for_each(|value| {
                // An argument may be bound to any parameter.
                self.take(value);
            });
            self.take(&Value::of(callee.clone()));
        }
    }

    /// Whether a callee of a library hands what it is given to a function, or does with it what the log tells.
    fn hands_over(&self, callee: &Val) -> bool {
        let effect = |path: &str| self.program.models.callable(path).map(|callable| &callable.effect);
        let is_plain = |runs: Runs| matches!(runs, Runs::Once | Runs::Scan | Runs::Map | Runs::Fori | Runs::Cond);
        match callee {
            Val::Library(path) => match effect(path) {
                Some(Effect::Split { .. } | Effect::Observe | Effect::ShapeOf { .. }) => true,
                Some(Effect::Builtin(builtin)) => *builtin == BuiltinOp::Isinstance,
                Some(Effect::Transform(transform)) => is_plain(transform.runs),
                _ => false,
            },
            Val::Wrapped(wrapped) => {
                wrapped.function.is_some()
                    && matches!(effect(&wrapped.transform), Some(Effect::Transform(transform)) if is_plain(transform.runs))
            }
            _ => false,
        }
    }
}
