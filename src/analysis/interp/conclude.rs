//! From the log to facts.
//!
//! **Invariant:** a collision is told in the lowest frame that sees both consumptions; one of two arguments that are one key is told
//! at the caller's call. Facts about other modules are left to the analysis of those.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{Elements, Val, Value};
use crate::analysis::facts::{
    Broadcast, BroadcastKind, BufferOp, BufferUse, CaptureKind, CapturedUse, CarriedKey, CarryKind, Collision,
    CollisionKind, Exhausted, Facts, KeyFact, KeyKind, Origin, Role, Use,
};
use crate::analysis::heap::Kind;
use crate::analysis::log::{Activation, Event, Iteration, Meeting};
use crate::finding::{Confidence, Place};
use crate::ir::{FunctionKind, OpKind, Temp, Variable};
use crate::text::{FileId, Span};

use super::{Escape, Interp};

/// The activations that an event happened in, outermost first, each with the place in it.
type Chain = Vec<(Rc<Activation>, Place)>;

/// What base classes of tests are called.
const TEST_CASE: &str = "TestCase";

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

impl Interp<'_> {
    /// Everything that the log says of the home module.
    pub(super) fn conclude(&mut self) -> Facts {
        let mut facts = Facts { references: self.references(), ..Facts::default() };
        let file = self.module(self.home).file;
        for meeting in self.log.meetings.clone() {
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
        if let Some((place, budget)) = self.exhausted {
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
        self.classes.iter().any(|class| class.module == self.home && class.bases.iter().any(is_test_case))
    }

    pub(super) fn chain(event: &Event) -> Chain {
        let mut chain = vec![(event.activation.clone(), event.place)];
        let mut current = event.activation.clone();
        while let Some((caller, place)) = &current.caller {
            chain.push((caller.clone(), *place));
            current = caller.clone();
        }
        chain.reverse();
        chain
    }

    pub(super) fn iterations(event: &Event) -> Vec<Rc<Iteration>> {
        std::iter::successors(event.iteration.clone(), |iteration| iteration.outer.clone()).collect()
    }

    /// The loop of which the two events happened in different iterations: the outermost.
    fn repeated_by(first: &Event, second: &Event) -> Option<Rc<Iteration>> {
        let (a, b) = (Self::iterations(first), Self::iterations(second));
        a.into_iter().rev().find(|x| b.iter().any(|y| x.instance == y.instance && x.copy != y.copy))
    }

    fn use_at(event: &Event, chain: &Chain, depth: usize) -> Use {
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
    fn placed(&self, first: &Event, second: &Event, confidence: Confidence) -> Placed {
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
                let escapes = |chain: &Chain| self.escaped.get(&chain[0].0.id).map(|(escape, _)| *escape);
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
    fn is_own_mistake(&self, frame: &Activation, second: &Event) -> bool {
        if frame.module != self.home {
            return false;
        }
        let code = self.module(frame.module).function(frame.function);
        let environment = &self.environments[frame.environment.0 as usize];
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
            Val::Object(object) => match &self.objects[object.0 as usize].kind {
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
    fn sees_itself(&self, activation: &Activation, event: &Event) -> bool {
        let module = self.module(activation.module);
        let code = module.function(activation.function);
        if super::entry::is_entry(module, code) {
            return false;
        }
        let environment = &self.environments[activation.environment.0 as usize];
        let holding = environment.slots.iter().take(code.parameters.len()).filter(|slot| {
            slot.alternatives().iter().any(|alternative| match &alternative.val {
                Val::Key(key) => key.term == event.target.term,
                Val::Term(term) => *term == event.target.term,
                _ => false,
            })
        });
        holding.count() < 2
    }

    fn collision(&mut self, meeting: &Meeting) -> Option<(Collision, bool)> {
        let first = self.log.events[meeting.first].clone();
        let second = self.log.events[meeting.second].clone();
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
                let spare = |event: &Event| self.is_fallback(event) || self.is_default(event);
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
    fn sister_unused(&self, first: &Event, second: &Event, kind: CollisionKind) -> Option<String> {
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
    fn is_known_key(&self, event: &Event) -> bool {
        !matches!(event.role, Role::Protocol | Role::Unresolved)
            || event.target.derivation != 0
            || self.log.declared.contains(&event.target.term)
            || self.log.scalar_keys.contains(&event.target.term)
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
    fn is_key_by_name(&self, event: &Event) -> bool {
        let written = event.written.as_deref();
        let name = written.and_then(|written| written.rsplit('.').next()).unwrap_or_default();
        let is_unmistakable = ["prng", "rng_key", "rngkey", "random_key"].iter().any(|part| name.contains(part));
        self.is_named_for_a_key(event.target.term, written)
            && (is_unmistakable || self.has_protocol(event.activation.module, &event.callee))
    }

    fn kind_of(&self, first: &Event, second: &Event, iterated: bool) -> CollisionKind {
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
                    && !self.objects.iter().any(|object| object.symbol == *owner && object.class.is_some())
            }
            _ => false,
        }
    }

    /// Whether the children that are used of two splits of one key are certainly different.
    fn children_are_disjoint(&mut self, first: &Event, second: &Event) -> bool {
        let used = |this: &Self, event: &Event| this.children_used(event.place, &event.activation);
        let (Some(a), Some(b)) = (used(self, first), used(self, second)) else { return false };
        !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
    }

    /// Whether a key was made only because none was given: `if key is None: key = PRNGKey(0)`.
    pub(super) fn is_fallback(&self, event: &Event) -> bool {
        let Some(derivation) = self.derivation(event.target.derivation) else { return false };
        let code = self.module(derivation.activation.module).function(derivation.activation.function);
        let made = |temp: &Temp| {
            let op = &code.ops[*temp as usize];
            op.span == derivation.place.span && matches!(op.kind, OpKind::Call(..))
        };
        code.ops.iter().any(|op| match &op.kind {
            OpKind::If { test, then, orelse } => {
                let asks = matches!(
                    code.ops[*test as usize].kind,
                    OpKind::Operate(crate::ir::Operator::Is | crate::ir::Operator::IsNot, ..)
                );
                asks && then.iter().chain(orelse).any(made)
            }
            _ => false,
        })
    }

    /// Whether a key was made as the default of a parameter, and so serves where none is given.
    pub(super) fn is_default(&self, event: &Event) -> bool {
        let Some(derivation) = self.derivation(event.target.derivation) else { return false };
        let code = self.module(derivation.activation.module).function(derivation.activation.function);
        code.ops.iter().any(|op| match &op.kind {
            OpKind::Function(_, defaults) => {
                defaults.iter().any(|(_, temp)| code.ops[*temp as usize].span.covers(derivation.place.span))
            }
            _ => false,
        })
    }

    /// Whether a consumption happens on paths only where something unknown is `None`.
    fn waits_for_none(&self, guard: Guard) -> bool {
        self.guards.support(guard).iter().any(|literal| match self.terms.get(*literal) {
            Term::Operate(crate::ir::Operator::Is, parts) => matches!(self.terms.get(parts[1]), Term::None),
            _ => false,
        })
    }

    /// Where a key came from.
    pub(super) fn origin(&self, term: TermId, derivation: u32) -> Option<Origin> {
        if let Some(derivation) = self.derivation(derivation) {
            let short = derivation.callee.as_ref();
            let text = match self.terms.get(term) {
                Term::Child(_, index) if matches!(self.terms.get(derivation.term), Term::Children(_)) => {
                    format!("element {} of what `{short}` returned", self.describe(*index))
                }
                _ => format!("created by `{short}`"),
            };
            return Some(Origin { place: derivation.place, text });
        }
        let root = self.root_of(term);
        if let Some(info) = self.terms.symbol(root)
            && let Some((file, start, end)) = info.place
        {
            let place = Place { file: FileId(file), span: Span::new(start, end) };
            let name = self.describe(term);
            let text = match info.symbol {
                Symbol::Parameter if root == term => format!("parameter `{name}`"),
                Symbol::Parameter => match self.log.origins.get(&term) {
                    Some(place) => return Some(Origin { place: *place, text: format!("`{name}` is read here") }),
                    None => format!("`{name}` comes with this parameter"),
                },
                _ => "obtained here".to_owned(),
            };
            return Some(Origin { place, text });
        }
        let place = self.log.origins.get(&term)?;
        Some(Origin { place: *place, text: format!("`{}` is read here", self.describe(term)) })
    }

    pub(super) fn root_of(&self, term: TermId) -> TermId {
        match self.terms.get(term) {
            Term::Attribute(of, ..) | Term::Item(of, ..) => self.root_of(*of),
            Term::Child(parent, _) | Term::Fold(parent, _) | Term::Children(parent) | Term::Clone(parent, _) => {
                self.root_of(*parent)
            }
            _ => term,
        }
    }

    /// What is believed of every key, place by place.
    fn conclude_keys(&self, facts: &mut Facts, file: FileId) {
        for derivation in self.log.derivations.iter().filter(|derivation| derivation.place.file == file) {
            let text = format!("`{}` makes {}", derivation.callee, self.describe(derivation.term));
            facts.keys.push(KeyFact { place: derivation.place, text });
        }
        for event in self.log.events.iter().filter(|event| event.place.file == file) {
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
        for broadcast in self.log.broadcasts.clone() {
            let event = self.log.events[broadcast.event].clone();
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
            if self.is_fallback(&event) || self.is_split_alike(&event, broadcast.born) {
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
        for used in self.log.buffers.clone() {
            if used.place.file != file || !seen.insert((used.place, used.op)) {
                continue;
            }
            let mut confidence = Confidence::High;
            if used.if_scalar {
                // Only a draw from the very same value proves that it is one key.
                let proofs: Vec<_> = self
                    .log
                    .events
                    .iter()
                    .filter(|event| {
                        event.target.term == used.key.term
                            && matches!(event.role, Role::Sample | Role::Split | Role::Fold)
                    })
                    .map(|event| event.guard)
                    .collect();
                let proven = proofs.into_iter().any(|guard| {
                    let both = self.guards.and(guard, used.guard);
                    self.feasible(both)
                });
                if !proven {
                    continue;
                }
                let unconditional = used.guard.is_true()
                    && self.log.events.iter().any(|event| event.target.term == used.key.term && event.guard.is_true());
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
        activation.module == self.home
    }

    /// Keys that a closure captures and consumes at every call.
    fn conclude_captures(&mut self, facts: &mut Facts, file: FileId) {
        let mut seen = BTreeSet::new();
        for event in self.log.events.clone() {
            if !matches!(event.role, Role::Sample | Role::Split) || event.place.file != file {
                continue;
            }
            let chain = Self::chain(&event);
            let (root, place) = &chain[0];
            let (kind, born) = match self.escaped.get(&root.id) {
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
        let Some(closure) = self.made.get(&(self.home, id)).cloned() else { return };
        let code = self.module(self.home).function(id);
        let environment = self.log.entered.clone();
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
                .log
                .events
                .iter()
                .find(|event| event.target.term == given && matches!(event.role, Role::Sample | Role::Split));
            let Some(event) = event.cloned() else { continue };
            let chain = Self::chain(&event);
            let file = self.module(self.home).file;
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
        for exit in self.log.exits.clone() {
            let code = self.module(exit.activation.module).function(exit.activation.function);
            if exit.place.file != file
                || self.replays.contains(&(exit.activation.module, exit.activation.function))
                || code.kind == FunctionKind::Lambda
                || self.escaped.contains_key(&exit.activation.id)
            {
                continue;
            }
            let consumed = self.log.events[..exit.after.min(self.log.events.len())]
                .iter()
                .find(|event| {
                    event.target.term == exit.term
                        && matches!(event.role, Role::Sample | Role::Split)
                        && Self::chain(event)[0].0.id == exit.activation.id
                })
                .cloned();
            // What is told to be used again needs not be told to be carried on.
            let is_told = |event: &Event| {
                self.log.meetings.iter().any(|meeting| self.log.events[meeting.first].place == event.place)
            };
            let is_consequence = self.terms.ancestors(exit.term).iter().any(|ancestor| self.log.met.contains(ancestor));
            let Some(event) = consumed.filter(|event| !is_told(event) && !is_consequence) else { continue };
            let both = self.guards.and(event.guard, exit.guard);
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
