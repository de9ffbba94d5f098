//! The recorder: what the program did with keys, in the order in which it did it.
//!
//! **Invariant:** it alone writes the log. A recording only grows, and an index into it is an identity.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::ReferenceKind;
use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{DerivationId, ModuleIndex, ObjectId, Value};
use crate::analysis::record::{
    Callee, Consumption, Derivation, Escape, Holder, Log, LoggedBroadcast, LoggedBuffer, LoggedConflict, LoggedExit,
    LoggedLoop, LoggedRead, LoggedReference, LoggedStore, LoggedTrace, LoggedWrapper, LoggedWrite, Observed,
    RowSelection,
};
use crate::finding::Place;
use crate::ir::{FunctionId, Name};
use crate::text::FileId;

/// How many of the last references are searched for that of a call.
const RECENT: usize = 64;

/// Most callees that are recorded for one call.
const CALLEES: usize = 8;

/// The attribute of a target: `rng` of `self.rng`.
fn last_part(name: &str) -> String {
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

/// The recorder.
#[derive(Clone, Default)]
pub struct Recorder {
    log: Log,
    /// Activations of closures that run on their own: by number, with how they left and the first term that was made in them.
    escaped: BTreeMap<u32, (Escape, TermId)>,
}

impl Recorder {
    /// A recorder that has recorded this.
    pub fn of(log: Log) -> Self {
        Self { log, ..Self::default() }
    }

    /// A recorder for another run. Keys made before it refer to their derivations by number, so it has those, which are lent until
    /// [`Recorder::adopt_derivations`] or [`Recorder::take_back`], and what annotations have declared.
    #[must_use]
    pub fn for_next_run(&mut self) -> Self {
        let (derivations, declared) = (std::mem::take(&mut self.log.derivations), self.log.declared.clone());
        Self::of(Log { derivations, declared, ..Log::default() })
    }

    /// Continues after another recorder: the derivations that it made keep their numbers here.
    pub fn adopt_derivations(&mut self, of: Self) {
        self.log.derivations = of.log.derivations;
    }

    /// Takes back the derivations that were lent to another recorder, without those that it made.
    pub fn take_back(&mut self, of: Self, lent: usize) {
        self.adopt_derivations(of);
        self.log.derivations.truncate(lent);
    }

    /// What was recorded.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Activations of closures that run on their own.
    pub fn escaped(&self) -> &BTreeMap<u32, (Escape, TermId)> {
        &self.escaped
    }

    /// An activation of a closure runs on its own.
    pub fn escape(&mut self, activation: u32, how: Escape, born: TermId) {
        self.escaped.insert(activation, (how, born));
    }

    /// Records that a key was consumed. Returns the number of the consumption.
    pub fn consume(&mut self, consumption: Consumption) -> usize {
        let index = self.log.consumptions.len();
        self.log.by_family.entry(consumption.target.family).or_default().push(index);
        self.log.consumptions.push(consumption);
        index
    }

    /// A key was made.
    pub fn derive(&mut self, derivation: Derivation) -> DerivationId {
        self.log.derivations.push(derivation);
        u32::try_from(self.log.derivations.len()).unwrap_or(u32::MAX)
    }

    /// Where a key was made.
    pub fn made_at(&self, id: DerivationId) -> Option<Place> {
        Some(self.log.derivations.get(usize::try_from(id).ok()?.checked_sub(1)?)?.place)
    }

    /// Records that a term is a key: it was annotated as one, or is part of a key array.
    pub fn declare(&mut self, term: TermId) {
        self.log.declared.insert(term);
    }

    /// Records that a key in data is read after unknown code has got the data.
    pub fn keep(&mut self, term: TermId) {
        self.log.kept.insert(term);
    }

    /// A parameter is annotated as something other than a key.
    pub fn declare_otherwise(&mut self, term: TermId) {
        self.log.otherwise.insert(term);
    }

    /// Records that a value from outside is never `None`.
    pub fn declare_given(&mut self, term: TermId) {
        self.log.given.insert(term);
    }

    /// Whether a term is known to be a key: by an annotation, or because a library function used it as one.
    pub fn is_known_key(&self, term: TermId) -> bool {
        self.log.declared.contains(&term) || self.log.scalar_keys.contains(&term)
    }

    /// A library function used a term as a scalar key.
    pub fn assume_scalar(&mut self, term: TermId) {
        self.log.scalar_keys.insert(term);
    }

    /// A library function got a key that was computed from a term.
    pub fn computed_from(&mut self, term: TermId, guard: Guard) {
        if self.log.computed_from.last() != Some(&(term, guard)) {
            self.log.computed_from.push((term, guard));
        }
    }

    /// A function of the analysed module runs.
    pub fn run(&mut self, function: FunctionId) {
        self.log.ran.insert(function);
    }

    /// Records the values of the entry's parameters.
    pub fn enter(&mut self, slots: Vec<Value>) {
        self.log.entered = Some(slots);
    }

    /// Records that all lanes of a mapped function share a key.
    pub fn broadcast(&mut self, broadcast: LoggedBroadcast) {
        self.log.broadcasts.push(broadcast);
    }

    /// An `if` statement tests these conditions.
    pub fn test(&mut self, conditions: Vec<TermId>) {
        self.log.tested.extend(conditions);
    }

    /// A `for` loop is over, whose consumptions are those since this one.
    pub fn note_loop(&mut self, first: usize, begun: Guard, empty: Guard) {
        let events = first..self.log.consumptions.len();
        if !events.is_empty() && !empty.is_false() {
            self.log.loops.push(LoggedLoop { events, begun, empty });
        }
    }

    /// A key's buffer was used.
    pub fn buffer(&mut self, buffer: LoggedBuffer) {
        self.log.buffers.push(buffer);
    }

    /// Keys of different implementations were combined.
    pub fn conflict(&mut self, conflict: LoggedConflict) {
        self.log.conflicts.push(conflict);
    }

    /// A value left the function.
    pub fn exit(&mut self, exit: LoggedExit) {
        self.log.exits.push(exit);
    }

    /// A key was stored in an attribute.
    pub fn store(&mut self, store: LoggedStore) {
        self.log.stores.push(store);
    }

    /// A key was written to an object that other functions can read.
    pub fn write(&mut self, write: LoggedWrite) {
        self.log.writes.push(write);
    }

    /// Records that a written value was overwritten, if it was on all paths of the write: `covers` decides that. Without a name, everything
    /// that was stored in the holder was removed.
    pub fn overwrite(&mut self, holder: Holder, name: Option<&str>, mut covers: impl FnMut(Guard) -> bool) {
        let name = name.map(last_part);
        let name = name.as_deref();
        let recent = self.log.writes.len().saturating_sub(RECENT);
        let mut is_gone = |write: &LoggedWrite| {
            write.holder == holder && name.is_none_or(|name| name == last_part(&write.name)) && covers(write.guard)
        };
        let kept: Vec<LoggedWrite> = self.log.writes.drain(recent..).filter(|write| !is_gone(write)).collect();
        self.log.writes.extend(kept);
    }

    /// Records that a function was passed to a transform that traces it.
    pub fn trace(&mut self, trace: LoggedTrace) {
        if !self.log.traces.contains(&trace) {
            self.log.traces.push(trace);
        }
    }

    /// Records that an object around a key was passed to a library function.
    pub fn wrap(&mut self, wrapper: LoggedWrapper) {
        self.log.wrappers.push(wrapper);
    }

    /// A name of a library was used.
    pub fn refer(&mut self, reference: LoggedReference) {
        self.log.references.push(reference);
    }

    /// The name of a library that was used last at a place, among the last few, was called.
    pub fn call(&mut self, file: FileId, start: u32) {
        let mut last = self.log.references.iter_mut().rev().take(RECENT);
        let callee = last.find(|reference| reference.place.file == file && reference.place.span.start == start);
        if let Some(reference) = callee
            && reference.kind == ReferenceKind::Value
        {
            reference.kind = ReferenceKind::Call;
        }
    }

    /// A call reached something.
    pub fn reach(&mut self, place: Place, callee: Callee) {
        let known = self.log.callees.entry(place).or_default();
        if !known.contains(&callee) && known.len() <= CALLEES {
            known.push(if known.len() < CALLEES { callee } else { Callee::Unknown });
        }
    }

    /// A function read a key from what is older than it is.
    pub fn read_key(&mut self, read: LoggedRead) {
        self.log.reads.push(read);
    }

    /// A function wrote a global.
    pub fn store_global(&mut self, name: &Name) {
        self.log.global_stores.insert(name.clone());
    }

    /// An attribute or a global was read; where it was read first counts.
    pub fn read(&mut self, term: TermId, place: Place) {
        self.log.origins.entry(term).or_insert(place);
    }

    /// A call chose between arrays.
    pub fn choose(&mut self, place: Place, path: &Name) {
        self.log.choices.insert(place, path.clone());
    }

    /// A call draws nothing from the keys at these positions among its arguments.
    pub fn leave_undrawn(&mut self, place: Place, keys: Vec<usize>) {
        self.log.undrawn.insert(place, keys);
    }

    /// A call goes through the leaves of a tree, with this function of the program, if it is one.
    pub fn map_tree(&mut self, place: Place, function: Option<(ModuleIndex, FunctionId)>) {
        self.log.trees.entry(place).or_default().extend(function);
    }

    /// The draws of consumptions reorder or select the rows of arrays.
    pub fn select_rows(&mut self, consumptions: Range<usize>, selection: &RowSelection) {
        self.log.row_selections.extend(consumptions.map(|consumption| (consumption, selection.clone())));
    }

    /// Consumptions made a stream of keys.
    pub fn make_stream(&mut self, consumptions: Range<usize>, stream: ObjectId) {
        self.log.streams.made.extend(consumptions.map(|consumption| (consumption, stream)));
    }

    /// A stream may give keys.
    pub fn use_stream(&mut self, stream: ObjectId) {
        self.log.streams.used.insert(stream);
    }

    /// Unknown code holds keys of this derivation.
    pub fn note_child_escaped(&mut self, derivation: DerivationId) {
        self.log.children.taken.insert(derivation);
    }

    /// Unknown code holds some child of this key.
    pub fn note_child_of_escaped(&mut self, parent: TermId) {
        self.log.children.parents.insert(parent);
    }

    /// Records that keys of these derivations were passed to a visible function.
    pub fn note_children_passed(&mut self, derivations: impl Iterator<Item = DerivationId>) {
        self.log.children.given.extend(derivations);
    }

    /// An expression was not a single key.
    pub fn observe_no_single(&mut self, place: Place) {
        self.log.not_single.insert(place);
    }

    /// A function of the program computes an attribute, or an item if there is no name.
    pub fn note_computed_read(&mut self, place: Place, name: Option<&Name>) {
        self.log.computed_reads.insert((place, name.cloned()));
    }

    /// An expression was a key.
    pub fn observe(&mut self, observed: Observed) {
        self.log.observed.insert(observed);
    }
}
