//! From the log to facts.
//!
//! **Invariant:** facts about other modules are left to the analysis of those.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::facts::{
    Broadcast, BroadcastKind, BufferOp, BufferUse, CaptureKind, CapturedUse, CarriedKey, CarryKind, Exhausted, Facts,
    KeyFact, KeyKind, Role,
};
use crate::analysis::log::{Activation, Consumption};
use crate::finding::{Confidence, Place};
use crate::ir::{FunctionKind, OpKind, Variable};
use crate::text::FileId;

use super::Machine;
use super::recorder::Escape;

/// What base classes of tests are called.
const TEST_CASE: &str = "TestCase";

impl Machine<'_> {
    /// Everything that the log says of the home module.
    pub(super) fn conclude(&mut self) -> Facts {
        let mut facts = Facts { references: self.references(), ..Facts::default() };
        let file = self.module(self.context.home).file;
        for meeting in self.recorder.log.reuses.clone() {
            let meeting = self.past_measures(meeting);
            if let Some((collision, direct)) = self.collision(&meeting)
                && collision.second.place.file == file
            {
                if direct {
                    facts.collisions.push(collision);
                } else {
                    facts.indirect.push(collision);
                }
            }
        }
        self.conclude_keys(&mut facts, file);
        self.conclude_values(&mut facts, file);
        self.conclude_broadcasts(&mut facts, file);
        self.conclude_buffers(&mut facts, file);
        self.conclude_captures(&mut facts, file);
        self.conclude_exits(&mut facts, file);
        self.conclude_unused(&mut facts, file);
        if let Some((place, budget)) = self.budget.exhausted {
            facts.exhausted.push(Exhausted { place, budget, function: String::new() });
        }
        facts
    }

    /// Whether the home module defines a class that is based on a `TestCase`, of whatever library.
    pub(super) fn defines_tests(&self) -> bool {
        let is_test_case = |base: &Value| match base.single() {
            Some(Val::Library(path)) => path.rsplit('.').next() == Some(TEST_CASE),
            Some(Val::Term(term)) => {
                matches!(self.terms.get(*term), Term::Attribute(_, name, _) if &**name == TEST_CASE)
            }
            _ => false,
        };
        self.store.classes.iter().any(|class| class.module == self.context.home && class.bases.iter().any(is_test_case))
    }

    /// What is believed of every key, place by place.
    fn conclude_keys(&self, facts: &mut Facts, file: FileId) {
        for derivation in self.recorder.log.derivations.iter().filter(|derivation| derivation.place.file == file) {
            let text = format!("`{}` makes {}", derivation.callee, self.describe(derivation.term));
            facts.keys.push(KeyFact { place: derivation.place, text });
        }
        for event in self.recorder.log.consumptions.iter().filter(|event| event.place.file == file) {
            let what = match event.role {
                Role::Sample => "draws from",
                Role::Split => "splits (and so consumes)",
                Role::Fold => "derives from (and does not consume)",
                Role::Library | Role::Protocol => "is modelled to consume",
                Role::Unresolved => "is not resolved and may consume",
            };
            let key = self.describe(event.target.term);
            let written = match &event.written {
                Some(written) if **written != *key => format!(", written `{written}`"),
                _ => String::new(),
            };
            facts.keys.push(KeyFact { place: event.place, text: format!("`{}` {what} {key}{written}", event.callee) });
        }
    }

    fn conclude_broadcasts(&mut self, facts: &mut Facts, file: FileId) {
        let mut seen = BTreeSet::new();
        for broadcast in self.recorder.log.broadcasts.clone() {
            let event = self.recorder.log.consumptions[broadcast.event].clone();
            let chain = Self::chain(&event);
            // The mapped body's own frame tells it: the one right below the mapping call.
            let mapper = chain.iter().position(|(activation, _)| activation.id == broadcast.activation.id);
            let Some(mapper) = mapper else { continue };
            let own = |activation: &Activation| {
                let module = self.module(activation.module);
                activation.root || !super::entry::is_entry(module, module.function(activation.function))
            };
            if !chain[..=mapper].iter().all(|(activation, _)| own(activation)) {
                continue;
            }
            // A mapped function that stands on its own is right for its other callers: the mapping call tells it.
            let mapped = chain.get(mapper + 1).is_some_and(|(activation, _)| {
                let module = self.module(activation.module);
                super::entry::is_entry(module, module.function(activation.function))
            });
            let depth = if mapped { mapper } else { (mapper + 1).min(chain.len() - 1) };
            let used = Self::use_at(&event, &chain, depth);
            if used.place.file != file || !seen.insert((used.place, broadcast.mapped_at)) {
                continue;
            }
            // A key made because none was given serves until one is.
            if self.is_fallback(&event) || self.is_split_alike(&event, &broadcast) {
                continue;
            }
            let copied = self
                .derivation(event.target.derivation)
                .is_some_and(|derivation| derivation.place == broadcast.mapped_at);
            let kind = if copied {
                BroadcastKind::Copied
            } else if broadcast.unmapped {
                BroadcastKind::Unmapped
            } else {
                BroadcastKind::Captured
            };
            facts.broadcasts.push(Broadcast {
                kind,
                function: self.qualified(&chain[depth].0),
                used,
                mapped_at: broadcast.mapped_at,
                intent: None,
                origin: self.origin(event.target.term, event.target.derivation),
                derivation: self.describe(event.target.term),
                confidence: match event.role {
                    Role::Sample | Role::Split => Confidence::High,
                    _ => Confidence::Medium,
                },
            });
        }
    }

    fn conclude_buffers(&mut self, facts: &mut Facts, file: FileId) {
        let mut seen = BTreeSet::new();
        for used in self.recorder.log.buffers.clone() {
            if used.place.file != file || !seen.insert((used.place, used.op)) {
                continue;
            }
            let mut confidence = Confidence::High;
            if used.if_scalar {
                // Only a draw from the very same value proves that it is one key.
                let proofs: Vec<_> = self
                    .recorder
                    .log
                    .consumptions
                    .iter()
                    .filter(|event| {
                        event.target.term == used.key.term
                            && matches!(event.role, Role::Sample | Role::Split | Role::Fold)
                    })
                    .map(|event| event.guard)
                    .collect();
                let proven = proofs.into_iter().any(|guard| {
                    let both = self.paths.guards.and(guard, used.guard);
                    self.feasible(both)
                });
                if !proven {
                    continue;
                }
                let unconditional = used.guard.is_true()
                    && self
                        .recorder
                        .log
                        .consumptions
                        .iter()
                        .any(|event| event.target.term == used.key.term && event.guard.is_true());
                confidence =
                    if unconditional || used.op == BufferOp::Number { Confidence::Medium } else { Confidence::Low };
            }
            if !self.is_own(&used.activation) {
                continue;
            }
            facts.buffers.push(BufferUse {
                op: used.op,
                place: used.place,
                text: used.text,
                kind: used.key.kind,
                raises: used.raises || used.key.kind == KeyKind::Typed,
                origin: self.origin(used.key.term, used.key.derivation),
                derivation: self.describe(used.key.term),
                confidence,
                function: self.qualified(&used.activation),
            });
        }
    }

    /// Whether an activation is of a function of the home module.
    fn is_own(&self, activation: &Activation) -> bool {
        activation.module == self.context.home
    }

    /// Keys that a closure captures and consumes at every call.
    fn conclude_captures(&mut self, facts: &mut Facts, file: FileId) {
        let mut seen = BTreeSet::new();
        for event in self.recorder.log.consumptions.clone() {
            if !matches!(event.role, Role::Sample | Role::Split) || event.place.file != file {
                continue;
            }
            let chain = Self::chain(&event);
            let (root, place) = &chain[0];
            let (kind, born) = match self.recorder.escaped.get(&root.id) {
                Some((Escape::Transformed, born)) => (CaptureKind::Transformed, *born),
                Some((Escape::Stored, born)) => (CaptureKind::Stored, *born),
                Some((Escape::Passed, _)) | None => continue,
            };
            let inside = self
                .derivation(event.target.derivation)
                .is_some_and(|derivation| Self::outermost(&derivation.activation) == root.id);
            let own = inside || self.root_of(event.target.term) >= born;
            if own || event.lanes > 0 || self.stores_outside(root) || !seen.insert(*place) {
                continue;
            }
            let code = self.module(root.module).function(root.function);
            let defined_at = Place { file: self.module(root.module).file, span: code.span };
            facts.captured.push(CapturedUse {
                kind,
                callee: code.name.to_string(),
                defined_at,
                used: Self::use_at(&event, &chain, 0),
                origin: self.origin(event.target.term, event.target.derivation),
                name: event.written.as_ref().map_or_else(|| self.describe(event.target.term), ToString::to_string),
                confidence: Confidence::Medium,
                function: self.qualified(root),
            });
        }
    }

    /// Keys that are defaults of parameters: bound once, when the function is defined.
    pub(super) fn conclude_defaults(&mut self, facts: &mut Facts, id: crate::ir::FunctionId) {
        let Some(closure) = self.store.definitions.get(&(self.context.home, id)).cloned() else { return };
        let code = self.module(self.context.home).function(id);
        let environment = self.recorder.log.entered.clone();
        for (slot, default) in closure.defaults.iter() {
            if !default.alternatives().iter().any(|alternative| matches!(alternative.val, Val::Key(_))) {
                continue;
            }
            let Some((given, parameter)) = environment
                .as_ref()
                .and_then(|given| given.get(*slot as usize).cloned())
                .zip(code.parameters.get(*slot as usize))
            else {
                continue;
            };
            let given = self.term_of(&given);
            let event = self
                .recorder
                .log
                .consumptions
                .iter()
                .find(|event| event.target.term == given && matches!(event.role, Role::Sample | Role::Split));
            let Some(event) = event.cloned() else { continue };
            let chain = Self::chain(&event);
            let file = self.module(self.context.home).file;
            facts.captured.push(CapturedUse {
                kind: CaptureKind::Default,
                callee: code.name.to_string(),
                defined_at: Place { file, span: code.span },
                used: Self::use_at(&event, &chain, 0),
                origin: default.alternatives().iter().find_map(|alternative| match &alternative.val {
                    Val::Key(key) => self.origin(key.term, key.derivation),
                    _ => None,
                }),
                name: parameter.name.to_string(),
                confidence: Confidence::Medium,
                function: code.qualified.to_string(),
            });
        }
    }

    /// Whether a closure writes to what it captures: then it may keep the next key there.
    fn stores_outside(&self, activation: &Activation) -> bool {
        let code = self.module(activation.module).function(activation.function);
        code.ops.iter().any(|op| {
            matches!(
                &op.kind,
                OpKind::Store(Variable::Outer(..) | Variable::Global(_), _)
                    | OpKind::StoreAttribute(..)
                    | OpKind::StoreItem(..)
            )
        })
    }

    fn outermost(activation: &Rc<Activation>) -> u32 {
        let mut current = activation.clone();
        while let Some((caller, _)) = current.caller.clone() {
            current = caller;
        }
        current.id
    }

    /// Consumed keys that are returned or stored.
    fn conclude_exits(&mut self, facts: &mut Facts, file: FileId) {
        let (mut seen, mut records) = (BTreeSet::new(), BTreeSet::new());
        for exit in self.recorder.log.exits.clone() {
            let code = self.module(exit.activation.module).function(exit.activation.function);
            if exit.place.file != file
                || self.context.replays.contains(&(exit.activation.module, exit.activation.function))
                || code.kind == FunctionKind::Lambda
                || self.recorder.escaped.contains_key(&exit.activation.id)
            {
                continue;
            }
            let consumed = self.recorder.log.consumptions[..exit.after.min(self.recorder.log.consumptions.len())]
                .iter()
                .find(|event| {
                    event.target.term == exit.term
                        && matches!(event.role, Role::Sample | Role::Split)
                        && Self::chain(event)[0].0.id == exit.activation.id
                })
                .cloned();
            // What is told to be used again needs not be told to be carried on.
            let is_told = |event: &Consumption| {
                self.recorder
                    .log
                    .reuses
                    .iter()
                    .any(|meeting| self.recorder.log.consumptions[meeting.first].place == event.place)
            };
            let is_consequence =
                self.terms.ancestors(exit.term).iter().any(|ancestor| self.recorder.log.met.contains(ancestor));
            let Some(event) = consumed.filter(|event| !is_told(event) && !is_consequence) else { continue };
            let both = self.paths.guards.and(event.guard, exit.guard);
            // A record that is stored again is told where it is stored first.
            let is_stored_again = exit.kind == CarryKind::Stored && exit.name.is_none() && !records.insert(exit.term);
            if !self.feasible(both) || is_stored_again || !seen.insert(exit.place) {
                continue;
            }
            let chain = Self::chain(&event);
            facts.carried.push(CarriedKey {
                kind: exit.kind,
                place: exit.place,
                used: Self::use_at(&event, &chain, 0),
                derivation: self.describe(exit.term),
                name: exit.name.as_ref().or(event.written.as_ref()).map(ToString::to_string),
                confidence: Confidence::Medium,
                function: self.qualified(&exit.activation),
            });
        }
    }
}
