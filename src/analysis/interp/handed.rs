//! Splits whose children are handed on to those who never draw from them.
//!
//! A function may split the key that it is given for helpers of which, as they are called here, none reads its key: `del rng`, or
//! `if batch_size != -1` with the default. Nothing is drawn then, and so nothing twice.
//!
//! **Invariant:** a child counts as drawn from once anything but a function in sight has it in hand, or once a function returns,
//! stores, captures or computes with it. A split whose children are merely not read is no such split: that may be the mistake.

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{DerivationId, Val, Value};
use crate::analysis::facts::Role;
use crate::analysis::heap::Kind;
use crate::analysis::log::Consumption;
use crate::ir::{Collection, FunctionKind, OpKind, Variable};
use crate::models::{BuiltinOp, Effect, Runs};

use super::bind::Args;
use super::measured::MEASURES;
use super::notes::LoggedBroadcast;
use super::{Frame, Machine};

/// How deep a value is searched for children.
const NESTED: u32 = 4;

/// What became of the children of splits.
#[derive(Clone, Debug, Default)]
pub(super) struct Children {
    /// Splits of which a function in sight was given a child.
    given: FxHashSet<DerivationId>,
    /// Splits of which something else may have drawn from a child.
    taken: FxHashSet<DerivationId>,
    /// Keys of which the same holds for children that do not tell their split.
    parents: FxHashSet<TermId>,
}

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

    /// Whether an event is a split whose children go to functions that draw from none of them.
    pub(super) fn is_split_for_nothing(&self, event: &Consumption) -> bool {
        if event.role != Role::Split || self.recorder.log.children.given.is_empty() {
            return false;
        }
        let instances: Vec<u32> = Self::iterations(event).iter().map(|iteration| iteration.instance).collect();
        // What an iteration makes may serve the next one, and not all are run.
        let is_alike = |other: &Consumption| {
            other.activation.id == event.activation.id
                || Self::iterations(other).iter().any(|iteration| instances.contains(&iteration.instance))
        };
        let alike = self
            .recorder
            .log
            .consumptions
            .iter()
            .filter(|other| other.role == Role::Split && other.place == event.place && is_alike(other));
        let activations: FxHashSet<u32> = alike.map(|other| other.activation.id).collect();
        let made = (1u32..).zip(&self.recorder.log.derivations).filter(|(_, derivation)| {
            derivation.place == event.place && activations.contains(&derivation.activation.id)
        });
        let mut made = made.peekable();
        made.peek().is_some()
            && made.all(|(id, derivation)| {
                let parent = match self.terms.get(derivation.term) {
                    Term::Children(parent) => *parent,
                    _ => return false,
                };
                let children = &self.recorder.log.children;
                children.given.contains(&id)
                    && !children.taken.contains(&id)
                    && !children.parents.contains(&parent)
                    && !self.recorder.log.consumptions.iter().any(|other| self.is_of_child(other, id, parent))
            })
    }

    /// Whether an event is a split that all lanes do alike, since they carry one key on, and every draw is from a key into which
    /// something of their own was folded: `_, new_rng = split(rng)` beside `fold_in(rng, axis_index("batch"))`.
    ///
    /// What the body knows nothing of may be a lane's own.
    pub(super) fn is_split_alike(&self, event: &Consumption, broadcast: &LoggedBroadcast) -> bool {
        let parent = event.target.term;
        let is_parent = |part| part == parent;
        let is_unknown =
            |part| self.terms.symbol(part).is_some_and(|info| matches!(info.symbol, Symbol::Opaque | Symbol::Deleted));
        let is_own = |part: TermId| broadcast.symbols.contains(&part) || part.0 >= broadcast.born.0 && is_unknown(part);
        let (mut is_folded, mut is_drawn_alike) = (false, false);
        for other in &self.recorder.log.consumptions {
            let term = other.target.term;
            if !self.terms.mentions(term, &is_parent) {
                continue;
            }
            is_folded |= other.role == Role::Fold;
            is_drawn_alike |= !matches!(other.role, Role::Split | Role::Fold) && !self.terms.mentions(term, &is_own);
        }
        event.role == Role::Split && is_folded && !is_drawn_alike
    }

    /// Whether an event may be a use of a child that a split made.
    fn is_of_child(&self, event: &Consumption, split: DerivationId, parent: TermId) -> bool {
        let term = event.target.term;
        match event.target.derivation {
            0 => term != parent && self.terms.mentions(term, &|part| part == parent),
            derivation => derivation == split,
        }
    }
}
