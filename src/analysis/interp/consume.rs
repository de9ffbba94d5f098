//! Consumption: what a sink does to the keys it is given.
//!
//! **Invariant:** an event is logged under the paths on which it happens, and not at all where a transform only traces.

use crate::analysis::domain::extent::Extent;
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{KeyKind, Role};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Array, DerivationId, Elements, Key, Order, Val, Value};
use crate::analysis::heap::Kind;
use crate::analysis::names::is_named_for_a_key;
use crate::analysis::record::{Consumption, LoggedBroadcast, Target};
use crate::finding::Place;
use crate::ir::Name;

use super::bind::Arg;
use super::{Frame, Machine};

/// How deep a container is searched for keys.
const NESTING: u32 = 4;

impl<'p> Machine<'p> {
    /// Consumes the keys in an argument.
    pub(super) fn consume(&mut self, frame: &mut Frame<'p>, arg: &Arg, role: Role, callee: &Name, place: Place) {
        if self.transforms.abstract_depth > 0 {
            return;
        }
        self.consume_value(frame, &arg.value, arg.written.as_ref(), role, callee, place, NESTING);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one event")]
    fn consume_value(
        &mut self,
        frame: &mut Frame<'p>,
        value: &Value,
        written: Option<&Name>,
        role: Role,
        callee: &Name,
        place: Place,
        depth: u32,
    ) {
        let before = self.paths.pc;
        for alternative in value.alternatives() {
            let paths = self.paths.guards.and(before, alternative.guard);
            if paths.is_false() || !self.feasible(paths) {
                continue;
            }
            self.paths.pc = paths;
            self.consume_val(frame, &alternative.val.clone(), written, role, callee, place, depth);
        }
        self.paths.pc = before;
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one event")]
    fn consume_val(
        &mut self,
        frame: &mut Frame<'p>,
        val: &Val,
        written: Option<&Name>,
        role: Role,
        callee: &Name,
        place: Place,
        depth: u32,
    ) {
        let containers = matches!(role, Role::Library | Role::Protocol | Role::Unresolved) && depth > 0;
        match val {
            Val::Key(Key { term, .. }) | Val::Term(term) if self.transforms.keys.contains_key(term) => {
                for target in self.transforms.keys.get(term).cloned().unwrap_or_default() {
                    self.log_event(frame, target, role, callee, written, place);
                }
            }
            Val::Key(key) => {
                let target = self.target(key.term, key.derivation);
                self.log_event(frame, target, role, callee, written, place);
            }
            Val::Term(term) if self.may_be_key(*term) => {
                if matches!(role, Role::Sample | Role::Split | Role::Library) {
                    self.recorder.log.scalar_keys.insert(*term);
                }
                let target = self.target(*term, 0);
                self.log_event(frame, target, role, callee, written, place);
            }
            Val::Array(array) => {
                for target in self.targets_of(&array.clone()) {
                    self.log_event(frame, target, role, callee, written, place);
                }
            }
            Val::Tuple(parts) if containers => {
                for part in parts.iter() {
                    self.consume_evident(frame, part, role, callee, place, depth - 1);
                }
            }
            Val::Object(object) if containers => match self.store.objects[object.0 as usize].kind.clone() {
                Kind::Dict { entries, .. } => {
                    for entry in entries {
                        let guard = entry.guard;
                        self.under(guard, |this| {
                            this.consume_evident(frame, &entry.value, role, callee, place, depth - 1);
                        });
                    }
                }
                Kind::List { items, .. } => {
                    for item in items {
                        let guard = item.guard;
                        self.under(guard, |this| {
                            this.consume_evident(frame, &item.value, role, callee, place, depth - 1);
                        });
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Within a container only what is known to be a key is one.
    fn consume_evident(
        &mut self,
        frame: &mut Frame<'p>,
        value: &Value,
        role: Role,
        callee: &Name,
        place: Place,
        depth: u32,
    ) {
        let evident = value.alternatives().iter().any(|alternative| match &alternative.val {
            Val::Key(_) | Val::Array(_) | Val::Tuple(_) | Val::Object(_) => true,
            Val::Term(term) => {
                self.recorder.log.declared.contains(term) || self.recorder.log.scalar_keys.contains(term)
            }
            _ => false,
        });
        if evident {
            self.consume_value(frame, value, None, role, callee, place, depth);
        }
    }

    /// Runs `body` on the paths of `guard`.
    pub(super) fn under(&mut self, guard: Guard, body: impl FnOnce(&mut Self)) {
        let before = self.paths.pc;
        self.paths.pc = self.paths.guards.and(before, guard);
        if self.feasible(self.paths.pc) {
            body(self);
        }
        self.paths.pc = before;
    }

    /// Whether a term can stand for a key at all.
    pub(super) fn may_be_key(&self, term: TermId) -> bool {
        match self.terms.get(term) {
            Term::None
            | Term::Bool(_)
            | Term::Int(_)
            | Term::Float(_)
            | Term::Text(_)
            | Term::Offset(..)
            | Term::Words(..)
            | Term::Operate(..) => false,
            Term::Symbol(_)
            | Term::Choice(_)
            | Term::Seed(_)
            | Term::Children(_)
            | Term::Child(..)
            | Term::Fold(..)
            | Term::Clone(..)
            | Term::Attribute(..)
            | Term::Item(..) => true,
            Term::Apply(name, _) => !name.starts_with("jax.numpy"),
        }
    }

    /// Whether something from outside is called a key.
    pub(super) fn is_named_for_a_key(&self, term: TermId, written: Option<&str>) -> bool {
        is_named_for_a_key(&self.terms, &self.recorder.log.otherwise, term, written)
    }

    /// Which family a key belongs to, and which member of it it is.
    pub(super) fn target(&mut self, term: TermId, derivation: DerivationId) -> Target {
        let (family, extent, folded) = match self.terms.get(term).clone() {
            Term::Child(parent, index) => {
                let family = self.terms.intern(Term::Children(parent));
                (family, self.extent_of_index(index), false)
            }
            Term::Fold(parent, data) => {
                let family = self.terms.intern(Term::Children(parent));
                (family, self.extent_of_index(data), true)
            }
            Term::Item(array, index, 0) => (array, self.extent_of_index(index), false),
            _ => (term, Extent::Single, false),
        };
        Target { family, extent, term, folded, derivation }
    }

    /// A lane's index stands for all the indices that the lanes have.
    fn extent_of_index(&self, index: TermId) -> Extent {
        self.transforms.extents.get(&index).copied().unwrap_or(Extent::Index(index))
    }

    /// The targets of consuming an array of keys.
    pub(super) fn targets_of(&mut self, array: &Array) -> Vec<Target> {
        match &array.elements {
            Elements::View { family, .. } => {
                let extent = self.extent_of_view(array);
                vec![Target { family: *family, extent, term: *family, folded: false, derivation: array.derivation }]
            }
            Elements::Listed(parts) | Elements::Joined(parts) => {
                let parts = parts.clone();
                let mut targets = Vec::new();
                for part in parts.iter() {
                    for alternative in part.alternatives() {
                        match &alternative.val {
                            Val::Key(key) => targets.push(self.target(key.term, key.derivation)),
                            Val::Array(inner) => targets.extend(self.targets_of(&inner.clone())),
                            Val::Term(term) if self.may_be_key(*term) => targets.push(self.target(*term, 0)),
                            _ => {}
                        }
                    }
                }
                targets
            }
            Elements::Copies(of) => match of.single() {
                Some(Val::Key(key)) => vec![self.target(key.term, key.derivation)],
                Some(Val::Term(term)) => vec![self.target(*term, 0)],
                _ => Vec::new(),
            },
        }
    }

    /// The extent of a view within its family.
    pub(super) fn extent_of_view(&mut self, array: &Array) -> Extent {
        let Elements::View { start, step, to_end, order, .. } = &array.elements else { return Extent::Some };
        let (start, step, to_end) = (*start, *step, *to_end);
        if *order == Order::Subset {
            return Extent::Some;
        }
        let length = self.flat_length(array);
        Extent::Range { start, step, length, to_end }
    }

    /// Number of keys in an array, where its axes are known.
    pub(super) fn flat_length(&mut self, array: &Array) -> Option<TermId> {
        let dims = array.dims.clone()?;
        let mut product = self.terms.int(1);
        for dim in dims.iter() {
            product = self.terms.operate(crate::ir::Operator::Mul, &[product, (*dim)?]);
        }
        Some(product)
    }

    /// The key that a value must be, where a sink takes it for one.
    pub(super) fn as_key(&mut self, val: &Val) -> Option<Key> {
        match val {
            Val::Key(key) => Some(*key),
            Val::Term(term) if self.may_be_key(*term) => {
                Some(Key { term: *term, kind: KeyKind::Unknown, derivation: 0 })
            }
            _ => None,
        }
    }

    pub(super) fn log_event(
        &mut self,
        frame: &Frame<'p>,
        target: Target,
        role: Role,
        callee: &Name,
        written: Option<&Name>,
        place: Place,
    ) {
        if self.transforms.abstract_depth > 0 || self.paths.pc.is_false() {
            return;
        }
        self.store.mutations += 1;
        let event = Consumption {
            target,
            guard: self.paths.pc,
            role,
            callee: callee.clone(),
            written: written.cloned(),
            place,
            activation: frame.activation.clone(),
            iteration: self.context.iteration.clone(),
            lanes: u32::try_from(self.transforms.lanes.len()).unwrap_or(u32::MAX),
        };
        let index = self.recorder.log.consumptions.len();
        self.recorder.log.consumptions.push(event);
        if role != Role::Fold {
            self.check_broadcast(index);
        }
        self.recorder.log.by_family.entry(target.family).or_default().push(index);
    }

    /// A key that is the same in every lane serves them all.
    fn check_broadcast(&mut self, index: usize) {
        let event = &self.recorder.log.consumptions[index];
        if matches!(event.role, Role::Unresolved | Role::Protocol) {
            return;
        }
        let (target, guard) = (event.target, event.guard);
        for lane in self.transforms.lanes.clone().iter().rev() {
            // A view that the lanes share among them covers a range; a lane's own key mentions the lane.
            let own = self.terms.mentions(target.term, &|term| {
                lane.symbols.contains(&term) || term.0 >= lane.born.0 && self.is_symbol(term)
            });
            // The keys of an array that the lanes share out are logged one by one.
            if lane.symbols.iter().any(|symbol| {
                self.transforms
                    .keys
                    .get(symbol)
                    .is_some_and(|targets| targets.iter().any(|other| other.term == target.term))
            }) {
                continue;
            }
            // A whole array handed to one lane is what the call was given.
            let whole = target.term == target.family && !matches!(target.extent, Extent::Single);
            if own || whole {
                continue;
            }
            // The unmapped draw may happen in one lane only if the lanes decide it.
            let decided = self
                .paths
                .guards
                .support(guard)
                .iter()
                .any(|literal| self.terms.mentions(*literal, &|term| lane.symbols.contains(&term)));
            if decided {
                continue;
            }
            self.recorder.log.broadcasts.push(LoggedBroadcast {
                event: index,
                mapped_at: lane.place,
                activation: lane.activation.clone(),
                unmapped: lane.unmapped.contains(&target.term),
                symbols: lane.symbols.clone(),
                born: lane.born,
            });
            break;
        }
    }

    fn is_symbol(&self, term: TermId) -> bool {
        matches!(self.terms.get(term), Term::Symbol(_))
    }
}
