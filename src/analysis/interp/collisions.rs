//! What two consumptions of one key are told as: in which frame, of which kind, and how surely.
//!
//! **Invariant:** a collision is told in the lowest frame that sees both consumptions; one of two arguments that are one key is told
//! at the caller's call.

use std::rc::Rc;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Elements, Val, Value};
use crate::analysis::facts::{Collision, CollisionKind, Role, Use};
use crate::analysis::heap::Kind;
use crate::analysis::log::{Activation, Consumption, Iteration, Reuse};
use crate::finding::{Confidence, Place};

use super::Machine;
use super::recorder::Escape;

/// The activations that an event happened in, outermost first, each with the place in it.
type Chain = Vec<(Rc<Activation>, Place)>;

/// How the two consumptions of a meeting are placed.
struct Placed {
    first: Use,
    second: Use,
    /// The frame that is told.
    function: String,
    /// Whether the frame saw it itself, rather than through a call of which only a caller knows that the keys are equal.
    direct: bool,
    confidence: Confidence,
}

impl Machine<'_> {
    pub(super) fn chain(event: &Consumption) -> Chain {
        let mut chain = vec![(event.activation.clone(), event.place)];
        let mut current = event.activation.clone();
        while let Some((caller, place)) = &current.caller {
            chain.push((caller.clone(), *place));
            current = caller.clone();
        }
        chain.reverse();
        chain
    }

    pub(super) fn iterations(event: &Consumption) -> Vec<Rc<Iteration>> {
        std::iter::successors(event.iteration.clone(), |iteration| iteration.outer.clone()).collect()
    }

    /// The loop of which the two events happened in different iterations: the outermost.
    fn repeated_by(first: &Consumption, second: &Consumption) -> Option<Rc<Iteration>> {
        let (a, b) = (Self::iterations(first), Self::iterations(second));
        a.into_iter().rev().find(|x| b.iter().any(|y| x.instance == y.instance && x.copy != y.copy))
    }

    pub(super) fn use_at(event: &Consumption, chain: &Chain, depth: usize) -> Use {
        let last = chain.len() - 1;
        let depth = depth.min(last);
        Use {
            place: chain[depth].1,
            leaf: event.place,
            via: if depth < last {
                chain[depth + 1..last].iter().map(|(_, place)| *place).collect()
            } else {
                Vec::new()
            },
            callee: event.callee.to_string(),
            role: event.role,
            written: event.written.as_ref().map(ToString::to_string),
        }
    }

    /// Places two events in the lowest frame that sees both.
    fn placed(&self, first: &Consumption, second: &Consumption, confidence: Confidence) -> Placed {
        let (a, b) = (Self::chain(first), Self::chain(second));
        let loops: Vec<Place> = Self::iterations(first).iter().map(|iteration| iteration.place).collect();
        let mut depth = 0;
        let mut common = None;
        let mut direct = true;
        // The frame whose call hands the same key twice.
        let mut caller = 0;
        while depth < a.len() && depth < b.len() {
            let (x, y) = (&a[depth].0, &b[depth].0);
            if x.id == y.id {
                if depth > 0 && !x.root && !self.sees_itself(x, second) {
                    if direct {
                        caller = depth - 1;
                    }
                    direct = false;
                }
                common = Some(depth);
            } else if depth > 0
                && x.module == y.module
                && x.function == y.function
                && a[depth - 1].1 == b[depth - 1].1
                && loops.contains(&a[depth - 1].1)
            {
                // Two iterations of a body that one call runs: the body's own frame tells it.
                common = Some(depth);
            } else {
                break;
            }
            depth += 1;
        }
        match common {
            Some(depth) if direct => Placed {
                first: Self::use_at(first, &a, depth),
                second: Self::use_at(second, &b, depth),
                function: self.qualified(&a[depth].0),
                direct: true,
                confidence,
            },
            Some(depth) => {
                let told = if self.is_own_mistake(&a[depth].0, second) { depth } else { caller };
                Placed {
                    first: Self::use_at(first, &a, told),
                    second: Self::use_at(second, &b, told),
                    function: self.qualified(&a[told].0),
                    direct: false,
                    confidence,
                }
            }
            // A closure that runs later, and the function that made it.
            None => {
                let escapes = |chain: &Chain| self.recorder.escaped.get(&chain[0].0.id).map(|(escape, _)| *escape);
                let least = match (escapes(&a), escapes(&b)) {
                    (Some(_), Some(_)) | (None, Some(Escape::Passed)) | (Some(Escape::Passed), None) => Confidence::Low,
                    _ => Confidence::Medium,
                };
                Placed {
                    first: Self::use_at(first, &a, 0),
                    second: Self::use_at(second, &b, 0),
                    function: self.qualified(&b[0].0),
                    direct: true,
                    confidence: confidence.min(least),
                }
            }
        }
    }

    /// Whether the mistake is that of a frame although only a caller knows enough to see it, what a receiver is, say: not
    /// if the caller handed one key over in two places.
    fn is_own_mistake(&self, frame: &Activation, second: &Consumption) -> bool {
        if frame.module != self.context.home {
            return false;
        }
        let code = self.module(frame.module).function(frame.function);
        let environment = &self.store.environments[frame.environment.0 as usize];
        let arguments = environment.slots.iter().take(code.parameters.len());
        arguments.map(|argument| self.times_held(argument, second.target.term)).sum::<usize>() < 2
    }

    /// In how many places a value holds a key: itself, or as parts of a list, tuple, dict or array of keys.
    fn times_held(&self, value: &Value, term: TermId) -> usize {
        let is_it = |value: &&Value| {
            value.alternatives().iter().any(|alternative| match &alternative.val {
                Val::Key(key) => key.term == term,
                Val::Term(held) => *held == term,
                _ => false,
            })
        };
        if is_it(&value) {
            return 1;
        }
        let held = value.alternatives().iter().map(|alternative| match &alternative.val {
            Val::Array(array) => match &array.elements {
                Elements::Listed(keys) | Elements::Joined(keys) => keys.iter().filter(is_it).count(),
                Elements::Copies(key) => 2 * usize::from(is_it(&&**key)),
                Elements::View { .. } => 0,
            },
            Val::Tuple(values) => values.iter().filter(is_it).count(),
            Val::Object(object) => match &self.store.objects[object.0 as usize].kind {
                Kind::List { items, .. } => items.iter().map(|item| &item.value).filter(is_it).count(),
                Kind::Dict { entries, .. } => entries.iter().map(|entry| &entry.value).filter(is_it).count(),
                _ => 0,
            },
            _ => 0,
        });
        held.max().unwrap_or(0)
    }

    /// Whether a function that is only ever run from within another sees by itself that two consumptions meet: not if they
    /// are of two of its parameters, which are equal for this caller only.
    fn sees_itself(&self, activation: &Activation, event: &Consumption) -> bool {
        let module = self.module(activation.module);
        let code = module.function(activation.function);
        if super::entry::is_entry(module, code) {
            return false;
        }
        let environment = &self.store.environments[activation.environment.0 as usize];
        let holding = environment.slots.iter().take(code.parameters.len()).filter(|slot| {
            slot.alternatives().iter().any(|alternative| match &alternative.val {
                Val::Key(key) => key.term == event.target.term,
                Val::Term(term) => *term == event.target.term,
                _ => false,
            })
        });
        holding.count() < 2
    }

    pub(super) fn collision(&mut self, meeting: &Reuse) -> Option<(Collision, bool)> {
        let first = self.recorder.log.consumptions[meeting.first].clone();
        let second = self.recorder.log.consumptions[meeting.second].clone();
        if !self.is_known_key(&first) && !self.is_known_key(&second) {
            return None;
        }
        let mut placed = self.placed(&first, &second, meeting.confidence);
        let repeated_by = Self::repeated_by(&first, &second);
        let kind = self.kind_of(&first, &second, repeated_by.is_some());
        if kind == CollisionKind::FoldAndSampled {
            placed.confidence = Confidence::Low;
        }
        // Two pure functions of one state that both derive from the same attribute of it.
        if kind == CollisionKind::SplitTwice
            && matches!(self.terms.get(first.target.term), Term::Attribute(..))
            && first.activation.id != second.activation.id
            && self.owner_is_plain(first.target.term)
        {
            placed.confidence = Confidence::Low;
        }
        // A pure function of an attribute's key, asked for two things: a path at two times.
        if kind == CollisionKind::SplitTwice
            && first.place == second.place
            && self.is_held(first.target.term)
            && self.module(second.activation.module).function(second.activation.function).parameters.len() > 1
        {
            placed.confidence = Confidence::Low;
        }
        let (x, y) = (self.derivation(first.target.derivation), self.derivation(second.target.derivation));
        let derived_at = match (x, y) {
            (Some(x), Some(y)) if x.place != y.place || first.target.derivation != second.target.derivation => {
                Some((x.place, y.place))
            }
            _ => None,
        };
        let derived_at = derived_at.filter(|_| {
            let mixed = kind == CollisionKind::Iterated && first.target.folded != second.target.folded;
            mixed
                || matches!(
                    kind,
                    CollisionKind::SeededTwice | CollisionKind::FoldedTwice | CollisionKind::FoldMeetsChild
                )
        });
        // A default for a key that is not given: whether one is given is not known here.
        if kind == CollisionKind::SeededTwice
            && [&first, &second].into_iter().any(|event| self.is_fallback(event) && self.waits_for_none(event.guard))
        {
            placed.confidence = Confidence::Low;
        }
        if self.serves_no_numbers(meeting.first) || self.serves_no_numbers(meeting.second) {
            placed.confidence = Confidence::Low;
        }
        let aligned = self.keeps_rows_aligned(meeting);
        let per_configuration = repeated_by.as_ref().is_some_and(|outer| self.has_seeds_of_its_own(&second, outer));
        let is_timed =
            self.is_timed(&first, &second) || self.is_warmed_up(&first, &second) || self.are_measured(&first, &second);
        let is_paired = self.are_paired(&first, &second);
        let disjoint = kind == CollisionKind::SplitTwice && self.children_are_disjoint(&first, &second);
        let harmless = match kind {
            CollisionKind::SplitTwice => is_timed || is_paired || disjoint,
            CollisionKind::SeededTwice => {
                let spare = |event: &Consumption| self.is_fallback(event) || self.is_default(event);
                spare(&first)
                    || spare(&second)
                    || self.is_run_again(&first, &second)
                    || self.are_measured(&first, &second)
            }
            // One permutation for inputs and labels, or for all leaves of a tree.
            CollisionKind::Sampled => aligned || is_timed || is_paired,
            // Every configuration is tried with the same seeds.
            CollisionKind::Iterated => {
                aligned || per_configuration || is_timed || is_paired || self.are_stand_ins(&first, &second)
            }
            _ => false,
        };
        let collision = Collision {
            kind,
            first: placed.first,
            second: placed.second,
            derived_at,
            origin: self.origin(second.target.term, second.target.derivation),
            derivation: self.describe(second.target.term),
            name: second.written.as_ref().map(ToString::to_string),
            repeated_by: repeated_by.filter(|_| kind == CollisionKind::Iterated).map(|iteration| iteration.place),
            meant: self.sister_unused(&first, &second, kind),
            harmless,
            disjoint,
            intent: None,
            consequence: None,
            confidence: placed.confidence,
            function: placed.function,
        };
        Some((collision, placed.direct))
    }

    /// Whether a key is held in an attribute, or in a container that is.
    fn is_held(&self, term: TermId) -> bool {
        match self.terms.get(term) {
            Term::Attribute(..) => true,
            Term::Item(container, ..) => self.is_held(*container),
            _ => false,
        }
    }

    /// The one child that nothing uses of the split that was meant to serve the second consumption: the split that came before
    /// it, or the one that made the key.
    fn sister_unused(&self, first: &Consumption, second: &Consumption, kind: CollisionKind) -> Option<String> {
        let (place, activation) = match kind {
            CollisionKind::SplitAndSampled if first.role == Role::Split => (first.place, first.activation.clone()),
            CollisionKind::Sampled if matches!(self.terms.get(second.target.term), Term::Child(..)) => {
                let derivation = self.derivation(second.target.derivation)?;
                (derivation.place, derivation.activation.clone())
            }
            _ => return None,
        };
        match self.unread_children(place, &activation)?.as_slice() {
            [only] if activation.id == second.activation.id => Some(only.to_string()),
            _ => None,
        }
    }

    /// Whether something besides a protocol or an unknown call says that a value is a key: its name is enough beside a protocol.
    fn is_known_key(&self, event: &Consumption) -> bool {
        !matches!(event.role, Role::Protocol | Role::Unresolved)
            || event.target.derivation != 0
            || self.recorder.log.declared.contains(&event.target.term)
            || self.recorder.log.scalar_keys.contains(&event.target.term)
            || event.role == Role::Protocol && self.is_key_by_name(event)
            || self.terms.symbol(event.target.term).is_some_and(|info| &*info.text == super::derive::SUPPLIED)
            || matches!(self.terms.get(self.root_of(event.target.term)), Term::Seed(_))
            || matches!(
                self.terms.get(event.target.term),
                Term::Child(..) | Term::Fold(..) | Term::Children(_) | Term::Clone(..)
            )
    }

    /// Whether the name of what a method is given is evidence enough: a generator of `NumPy` is called `rng` as well, and the key of a
    /// dict `key`, so that a library in use has to know the method, unless the name is given to nothing but keys.
    fn is_key_by_name(&self, event: &Consumption) -> bool {
        let written = event.written.as_deref();
        let name = written.and_then(|written| written.rsplit('.').next()).unwrap_or_default();
        let is_unmistakable = ["prng", "rng_key", "rngkey", "random_key"].iter().any(|part| name.contains(part));
        self.is_named_for_a_key(event.target.term, written)
            && (is_unmistakable || self.has_protocol(event.activation.module, &event.callee))
    }

    fn kind_of(&self, first: &Consumption, second: &Consumption, iterated: bool) -> CollisionKind {
        let derivations = (first.target.derivation, second.target.derivation);
        if first.role == Role::Fold || second.role == Role::Fold {
            return CollisionKind::FoldAndSampled;
        }
        let made_twice = derivations.0 != derivations.1 && derivations.0 != 0 && derivations.1 != 0;
        // Elements of a list, each made in its own place: two of them are equal, and not those of all iterations.
        let made_apart = made_twice
            && matches!(self.terms.get(second.target.term), Term::Seed(_))
            && self.derivation(derivations.0).map(|made| made.place)
                != self.derivation(derivations.1).map(|made| made.place);
        if iterated && !made_apart {
            return CollisionKind::Iterated;
        }
        match self.terms.get(second.target.term) {
            Term::Seed(_) if made_twice => return CollisionKind::SeededTwice,
            Term::Fold(..) | Term::Child(..) if first.target.folded != second.target.folded => {
                return CollisionKind::FoldMeetsChild;
            }
            Term::Fold(..) if made_twice && first.target.folded && second.target.folded => {
                return CollisionKind::FoldedTwice;
            }
            _ => {}
        }
        match (first.role, second.role) {
            (Role::Split, Role::Split) => CollisionKind::SplitTwice,
            (Role::Split, _) | (_, Role::Split) => CollisionKind::SplitAndSampled,
            _ => CollisionKind::Sampled,
        }
    }

    /// Whether an attribute belongs to something from outside that is no instance of a class in sight: a state handed around.
    fn owner_is_plain(&self, term: TermId) -> bool {
        match self.terms.get(term) {
            Term::Attribute(owner, ..) => {
                self.terms.symbol(*owner).is_some()
                    && !self.store.objects.iter().any(|object| object.symbol == *owner && object.class.is_some())
            }
            _ => false,
        }
    }

    /// Whether the children that are used of two splits of one key are certainly different.
    fn children_are_disjoint(&mut self, first: &Consumption, second: &Consumption) -> bool {
        let used = |this: &Self, event: &Consumption| this.children_used(event.place, &event.activation);
        let (Some(a), Some(b)) = (used(self, first), used(self, second)) else { return false };
        !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
    }
}
