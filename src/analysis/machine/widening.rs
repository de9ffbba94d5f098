//! Later iterations of a loop, as copies of its body that stand for all of them.
//!
//! In such a copy the number of the iteration is a symbol. So is each number that the copies before it changed, wherever it is stored: in a
//! variable, in an attribute or an entry of an object, or as the length of a container.
//!
//! **Invariant:** at most [`SYMBOLIC_COPIES`] copies run for later iterations, and at most [`WIDENED`] objects are widened; a number that the
//! last two copies before them left different is not known in them, nor after the loop.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::{Queries, Symbol, Term, TermId};
use crate::analysis::domain::value::{ModuleIndex, ObjectId, Val, Value};
use crate::analysis::machine::{Frame, Machine, iterate};
use crate::analysis::store::State;
use crate::analysis::store::heap::{Object, ObjectKind};
use crate::analysis::store::items;
use crate::finding::Place;
use crate::ir::{Block, Function, Name, Op, OpKind, Operator};

/// Copies of the body that stand for all later iterations.
pub const SYMBOLIC_COPIES: u32 = 2;

/// Most nested loops that have copies for later iterations.
pub const NESTED: u32 = 2;

/// Most objects whose numbers are compared after each copy.
pub const WIDENED: usize = 64;

/// Largest container whose length is compared after each copy.
const COUNTED: usize = 64;

/// What a loop's copies for later iterations need.
pub struct SymbolicIterations<'p> {
    /// Number of copies for the first iterations.
    first: u32,
    /// Whether there may be more iterations.
    may_continue: bool,
    /// Whether the first copies query the iteration number.
    queries_number: bool,
    queries: Queries,
    /// The stores to variables that the body runs only on some paths.
    conditional_writes: Vec<&'p Op>,
    /// The other stores to variables.
    writes: Vec<&'p Op>,
    /// Number of objects before the loop.
    older: usize,
    /// The records of writes that the loop interrupts.
    interrupted: Option<BTreeSet<usize>>,
    /// The numbers after the last copy.
    numbers: BTreeMap<Part, Value>,
    /// The numbers that differ between copies.
    changed: BTreeMap<Part, Change>,
    number: Option<TermId>,
}

/// Where a number is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// In the variable of one of the writes.
    Variable(usize),
    Attribute(ObjectId, Name),
    Entry(ObjectId, TermId),
    /// It is the number of elements of a container.
    Length(ObjectId),
}

/// How iterations change a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Each adds one; it was this after the first copies.
    Counts(i128),
    /// It grows, and was this after the first copies.
    Grows(u32),
    Unknown,
}

impl<'p> SymbolicIterations<'p> {
    /// Prepares for later iterations of a loop with this many copies for its first ones.
    pub fn begin(
        machine: &mut Machine<'p>,
        frame: &Frame<'p>,
        body: &'p Block,
        (first, may_continue): (u32, bool),
    ) -> Self {
        // The loop itself has begun.
        let may_continue = may_continue && machine.context.loop_depth <= NESTED;
        let (mut conditional_writes, mut writes) = (Vec::new(), Vec::new());
        let mut work = if may_continue { vec![(body, false)] } else { Vec::new() };
        while let Some((block, is_branch)) = work.pop() {
            for temp in block {
                let op = Machine::op(frame, *temp);
                match &op.kind {
                    OpKind::Store(..) if is_branch => conditional_writes.push(op),
                    OpKind::Store(..) => writes.push(op),
                    OpKind::Loop { .. } => work.extend(op.kind.blocks().into_iter().map(|inner| (inner, is_branch))),
                    kind => work.extend(kind.blocks().into_iter().map(|inner| (inner, true))),
                }
            }
        }
        let objects = &mut machine.state.store.objects;
        Self {
            first,
            may_continue,
            queries_number: false,
            queries: Queries::default(),
            conditional_writes,
            writes,
            older: objects.len(),
            interrupted: if may_continue { objects.watch() } else { None },
            numbers: BTreeMap::new(),
            changed: BTreeMap::new(),
            number: None,
        }
    }

    /// Most copies of the body.
    pub fn most(&self) -> u32 {
        if self.may_continue { self.first + SYMBOLIC_COPIES } else { self.first }
    }

    /// Whether nothing runs after this many copies.
    pub fn ends(&self, copy: u32) -> bool {
        copy == self.first && !(self.may_continue && self.queries_number) || copy == self.first + SYMBOLIC_COPIES
    }

    /// Forgets the changes of numbers that the program takes modulo another: they repeat, and the copies compute them.
    fn keep_cyclic(&mut self, machine: &mut Machine<'p>, frame: &Frame<'p>) {
        let writes = &self.writes;
        self.changed.retain(|part, _| match part {
            Part::Variable(index) => !writes.get(*index).is_some_and(|op| is_remainder(frame.code, op)),
            Part::Attribute(_, name) => !cyclic_attributes(machine, frame.module).contains(name),
            Part::Entry(..) | Part::Length(_) => true,
        });
    }

    /// Begins a copy for a later iteration: the number of the iteration.
    pub fn begin_copy(&mut self, machine: &mut Machine<'p>, frame: &Frame<'p>, place: Place) -> TermId {
        self.keep_cyclic(machine, frame);
        let terms = &mut machine.state.terms;
        let number = match self.number {
            Some(number) => terms.offset(number, self.queries.multiple),
            None => terms.fresh(Symbol::Iteration(self.first), "<iteration>", Some(place)),
        };
        self.number = Some(number);
        for op in &self.conditional_writes {
            let OpKind::Store(variable, _) = &op.kind else { continue };
            let place = Some(machine.place(frame, op.span));
            let unseen = machine.state.terms.fresh(Symbol::Havoc, "<written in a loop>", place);
            machine.store(frame, variable, &Value::term(unseen), op);
        }
        for (part, change) in &self.changed {
            let terms = &mut machine.state.terms;
            let term = match change {
                Change::Counts(now) => terms.offset(number, now - i128::from(self.first)),
                change => unknown(machine, *change, place),
            };
            self.write(machine, frame, part, term);
        }
        number
    }

    /// Records the queries of a copy, and the numbers at its end.
    pub fn end_copy(&mut self, machine: &mut Machine<'p>, frame: &Frame<'p>, copy: u32, within: Queries) {
        let is_first = copy < self.first;
        if is_first {
            self.queries_number = copy > 0 && within.questions != self.queries.questions;
        }
        self.queries = Queries { questions: within.questions, ..self.queries.then(within) };
        if !self.may_continue || machine.state.paths.pc.is_false() {
            return;
        }
        let numbers = self.numbers(machine, frame);
        if is_first {
            self.changed.clear();
        }
        for (part, now) in &numbers {
            if let Some(before) = self.numbers.get(part).filter(|before| *before != now)
                && !self.changed.contains_key(part)
            {
                let change = if is_first { change(machine, before, now) } else { Change::Unknown };
                self.changed.insert(part.clone(), change);
            }
        }
        self.numbers = numbers;
    }

    /// Leaves the loop on the paths that would continue after the copies for the first iterations, if no others ran.
    pub fn leave(&mut self, machine: &mut Machine<'p>, frame: &Frame<'p>, place: Place) {
        if self.number.is_some() || machine.state.paths.pc.is_false() {
            return;
        }
        self.keep_cyclic(machine, frame);
        for (part, change) in &self.changed {
            let change = match *change {
                Change::Counts(now) => u32::try_from(now).map_or(Change::Unknown, Change::Grows),
                change => change,
            };
            let term = unknown(machine, change, place);
            self.write(machine, frame, part, term);
        }
    }

    /// Ends the loop.
    pub fn end(self, machine: &mut Machine<'p>) {
        let queries = machine.state.terms.queries().then(self.queries);
        machine.state.terms.replace_queries(queries);
        if self.may_continue {
            machine.state.store.objects.unwatch(self.interrupted);
        }
    }

    /// The numbers that the copies so far may have changed.
    fn numbers(&self, machine: &mut Machine<'p>, frame: &Frame<'p>) -> BTreeMap<Part, Value> {
        let mut found = BTreeMap::new();
        for (index, op) in self.writes.iter().enumerate() {
            let OpKind::Store(variable, _) = &op.kind else { continue };
            let value = machine.load(frame, variable, op);
            if is_number(&machine.state, &value) {
                found.insert(Part::Variable(index), value);
            }
        }
        let state = &mut machine.state;
        let written: Vec<usize> = state.store.objects.written().take_while(|id| *id < self.older).collect();
        for index in written.into_iter().take(WIDENED) {
            let Ok(id) = u32::try_from(index).map(ObjectId) else { continue };
            let object = state.store.objects[index].clone();
            for (name, value) in &object.attributes {
                let value = state.possible(value);
                if is_number(state, &value) {
                    found.insert(Part::Attribute(id, name.clone()), value);
                }
            }
            for (key, value) in entries(state, id, &object) {
                if is_number(state, &value) {
                    found.insert(Part::Entry(id, key), value);
                }
            }
            if let Some(length) = listed(state, &object) {
                found.insert(Part::Length(id), length);
            }
        }
        found
    }

    /// Replaces a number on the current paths.
    fn write(&self, machine: &mut Machine<'p>, frame: &Frame<'p>, part: &Part, number: TermId) {
        let value = Value::term(number);
        match part {
            Part::Variable(index) => {
                if let Some(op) = self.writes.get(*index)
                    && let OpKind::Store(variable, _) = &op.kind
                {
                    machine.store(frame, variable, &value, op);
                }
            }
            Part::Attribute(id, name) => {
                let state = &mut machine.state;
                let old = state.store.objects[id.0 as usize].attributes.get(name).cloned().unwrap_or_default();
                let new = state.written_within(*id, &value, &old);
                state.store.objects[id.0 as usize].attributes.insert(name.clone(), new);
            }
            Part::Entry(id, key) => {
                items::store_object_item(&mut machine.state, *id, *key, &Value::term(*key), &value);
            }
            Part::Length(id) => lengthen(&mut machine.state, *id, number),
        }
    }
}

/// Whether an operation stores a remainder: `index = (index + 1) % 4`.
fn is_remainder(code: &Function, op: &Op) -> bool {
    let stored = match &op.kind {
        OpKind::Store(_, value) | OpKind::StoreAttribute(_, _, value) => *value,
        _ => return false,
    };
    matches!(code.ops[stored as usize].kind, OpKind::Operate(Operator::Mod, ..))
}

/// The attributes to which functions of a module store remainders.
fn cyclic_attributes(machine: &mut Machine<'_>, module: ModuleIndex) -> Rc<FxHashSet<Name>> {
    if let Some(known) = machine.caches.cyclic.get(&module) {
        return known.clone();
    }
    let functions = &machine.module(module).functions;
    let stored = functions.iter().flat_map(|code| code.ops.iter().map(move |op| (code, op)));
    let found = stored.filter_map(|(code, op)| match &op.kind {
        OpKind::StoreAttribute(_, name, _) if is_remainder(code, op) => Some(name.clone()),
        _ => None,
    });
    let found: Rc<FxHashSet<Name>> = Rc::new(found.collect());
    machine.caches.cyclic.insert(module, found.clone());
    found
}

/// A number that is known only by how iterations change it.
fn unknown(machine: &mut Machine<'_>, change: Change, place: Place) -> TermId {
    let symbol = match change {
        Change::Grows(least) => Symbol::Iteration(least),
        Change::Counts(_) | Change::Unknown => Symbol::Havoc,
    };
    machine.state.terms.fresh(symbol, "<changed in a loop>", Some(place))
}

/// How a number changed from one copy to the next.
fn change(machine: &Machine<'_>, before: &Value, now: &Value) -> Change {
    let integer = |value: &Value| match value.single() {
        Some(Val::Term(term)) => machine.state.terms.as_exact_int(*term),
        _ => None,
    };
    let (Some(before), Some(now)) = (integer(before), integer(now)) else { return Change::Unknown };
    match u32::try_from(now) {
        _ if now - before == 1 => Change::Counts(now),
        Ok(least) if now > before => Change::Grows(least),
        _ => Change::Unknown,
    }
}

/// Whether a value may be a known number.
fn is_number(state: &State, value: &Value) -> bool {
    value.alternatives().iter().any(|alternative| match alternative.val {
        Val::Term(term) => matches!(state.terms.get(term), Term::Int(_) | Term::Float(_) | Term::Bool(_)),
        _ => false,
    })
}

/// The entries of a small dict, or the elements of a small list by their index.
fn entries(state: &mut State, id: ObjectId, object: &Object) -> Vec<(TermId, Value)> {
    let found: Vec<(TermId, Value)> = match &object.kind {
        ObjectKind::Dict { entries, unknown } if entries.len() <= COUNTED => {
            let keys: BTreeSet<TermId> = entries.iter().map(|entry| entry.key).collect();
            keys.into_iter().map(|key| (key, items::dict_item(state, id, entries, *unknown, key))).collect()
        }
        ObjectKind::List { items, unknown: false } if items.len() <= COUNTED => {
            (0..).zip(items).map(|(index, item)| (state.terms.int(index), item.value.clone())).collect()
        }
        _ => Vec::new(),
    };
    found.into_iter().map(|(key, value)| (key, state.possible(&value))).collect()
}

/// The number of listed elements of a container.
fn listed(state: &mut State, object: &Object) -> Option<Value> {
    let items = match &object.kind {
        ObjectKind::List { items, unknown: false } | ObjectKind::Set(items) => items.clone(),
        ObjectKind::Dict { entries, unknown: false } => iterate::keys_of(&mut state.paths.guards, entries),
        _ => return None,
    };
    let count = if items.len() <= COUNTED { state.count(&items)? } else { return None };
    Some(state.possible(&count))
}

/// Gives a container so many elements on the current paths, of which those that are not listed are unknown.
fn lengthen(state: &mut State, id: ObjectId, length: TermId) {
    let object = state.store.objects[id.0 as usize].clone();
    let Some(listed) = listed(state, &object) else { return };
    let more = match state.int_of(&listed) {
        Some(listed) => state.terms.offset(length, -listed),
        None => state.terms.fresh(Symbol::Iteration(0), "<changed in a loop>", None),
    };
    let none = Value::term(state.terms.int(0));
    let old = if object.further.is_unbound() { none } else { object.further };
    let new = state.written_within(id, &Value::term(more), &old);
    state.store.objects[id.0 as usize].further = new;
}
