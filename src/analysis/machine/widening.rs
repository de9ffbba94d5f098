//! Later iterations of a loop, as copies of its body that stand for all of them.
//!
//! In such a copy the number of the iteration is a symbol. So is each number that the copies before it changed, wherever it is stored: in a
//! variable, in an attribute or an entry of an object, or as the length of a container.
//!
//! If code after the loop may take what its last iteration took, that iteration gets a copy of its own.
//!
//! **Invariant:** at most [`SYMBOLIC_COPIES`] copies and that one run for later iterations, and at most [`WIDENED`] objects are widened; a
//! number that the last two copies before them left different is not known in them, nor after the loop, unless it is a remainder that
//! repeats within the copies.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::{Queries, Symbol, Term, TermId};
use crate::analysis::domain::value::{ObjectId, Val, Value};
use crate::analysis::store::State;
use crate::analysis::store::heap::{Object, ObjectKind};
use crate::analysis::store::items;
use crate::finding::Place;
use crate::ir::{Block, Constant, Function, Module, Name, Op, OpKind, Operator, Temp, Variable};

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
    /// Number of all iterations, where it is known.
    count: Option<u32>,
    /// Whether there may be more iterations.
    may_continue: bool,
    /// Whether the first copies query the iteration number.
    queries_number: bool,
    /// Whether the body computes a number such as `epoch * steps + step`: another iteration of the loop around it may get the same one.
    has_stride: bool,
    /// The number of the last iteration, if a copy of its own stands for it.
    last: Option<TermId>,
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

/// Values that a copy for a later iteration, or the code after the loop, finds in variables: for each store, in order.
pub type Writes<'p> = Vec<(&'p Op, TermId)>;

impl<'p> SymbolicIterations<'p> {
    /// Prepares for later iterations of a loop with this many copies for its first ones, and this many iterations, where that is known.
    pub fn begin(
        state: &mut State,
        code: &'p Function,
        body: &'p Block,
        (first, count): (u32, Option<u32>),
        (may_continue, last): (bool, Option<TermId>),
    ) -> Self {
        let (mut conditional_writes, mut writes) = (Vec::new(), Vec::new());
        let (mut strided, mut may_leave) = (Vec::new(), false);
        let mut work = if may_continue { vec![(body, false)] } else { Vec::new() };
        while let Some((block, is_branch)) = work.pop() {
            for temp in block {
                let op = &code.ops[*temp as usize];
                may_leave |= matches!(op.kind, OpKind::Break | OpKind::Return(_) | OpKind::Raise(_));
                strided.extend(sum_of_product(code, op));
                match &op.kind {
                    OpKind::Store(..) if is_branch => conditional_writes.push(op),
                    OpKind::Store(..) => writes.push(op),
                    OpKind::Loop { .. } => work.extend(op.kind.blocks().into_iter().map(|inner| (inner, is_branch))),
                    kind => work.extend(kind.blocks().into_iter().map(|inner| (inner, true))),
                }
            }
        }
        let objects = &mut state.store.objects;
        Self {
            first,
            count: count.filter(|_| !may_leave),
            may_continue,
            queries_number: false,
            has_stride: is_strided(code, &strided),
            last: last.filter(|_| may_continue),
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
        let later = if self.may_continue { self.later_copies() } else { 0 };
        self.first + later + u32::from(self.last.is_some())
    }

    /// Whether all copies but that of the last iteration have run after this many.
    fn ends_before_last(&self, copy: u32) -> bool {
        copy == self.first && !(self.may_continue && (self.queries_number || self.has_stride))
            || copy == self.first + self.later_copies()
    }

    /// Whether the copy of this number is that of the last iteration.
    pub fn is_last(&self, copy: u32) -> bool {
        self.last.is_some() && self.ends_before_last(copy)
    }

    /// Whether nothing runs after this many copies.
    pub fn ends(&self, copy: u32) -> bool {
        match self.last {
            Some(_) => copy > self.first && self.ends_before_last(copy - 1),
            None => self.ends_before_last(copy),
        }
    }

    /// The stores to variables that the body runs on all paths.
    pub fn writes(&self) -> &[&'p Op] {
        &self.writes
    }

    /// Forgets the changes of numbers that the program takes modulo a small one: they repeat, and the copies compute them.
    fn keep_cyclic(&mut self, code: &Function, cyclic: &FxHashSet<Name>) {
        let writes = &self.writes;
        self.changed.retain(|part, _| match part {
            Part::Variable(index) => !writes.get(*index).is_some_and(|op| is_remainder(code, op)),
            Part::Attribute(_, name) => !cyclic.contains(name),
            Part::Entry(..) | Part::Length(_) => true,
        });
    }

    /// Begins a copy for a later iteration: the number of the iteration, and what the variables hold in it.
    pub fn begin_copy(
        &mut self,
        state: &mut State,
        (code, cyclic): (&Function, &FxHashSet<Name>),
        (copy, place): (u32, Place),
    ) -> (TermId, Writes<'p>) {
        self.keep_cyclic(code, cyclic);
        let number = match (self.last.filter(|_| self.is_last(copy)), self.number) {
            (Some(last), _) => last,
            (None, Some(number)) => state.terms.offset(number, self.queries.multiple),
            (None, None) => {
                let symbol = Symbol::Iteration { first: self.first, count: self.count_of_number() };
                state.terms.fresh(symbol, "<iteration>", Some(place))
            }
        };
        self.number = Some(number);
        let mut writes = Vec::new();
        for op in &self.conditional_writes {
            let unseen = state.terms.fresh(Symbol::Havoc, "<written in a loop>", Some(place));
            writes.push((*op, unseen));
        }
        for (part, change) in &self.changed {
            let term = match change {
                Change::Counts(now) => state.terms.offset(number, now - i128::from(self.first)),
                change => unknown(state, *change, place),
            };
            self.write(state, part, term, &mut writes);
        }
        (number, writes)
    }

    /// The numbers below this one are those of iterations before the last ones, which the second copy stands for.
    fn count_of_number(&self) -> Option<u32> {
        let later = u32::try_from(self.queries.multiple).ok()?;
        self.count?.checked_sub(later).filter(|count| *count > self.first)
    }

    /// How many copies stand for later iterations: the second one, only if the loop has iterations so far apart.
    fn later_copies(&self) -> u32 {
        if self.count.is_some() && self.count_of_number().is_none() { 1 } else { SYMBOLIC_COPIES }
    }

    /// Records the queries of a copy, and the numbers at its end; `variables` are what the variables of the stores hold.
    pub fn end_copy(&mut self, state: &mut State, variables: Vec<Value>, copy: u32, within: Queries) {
        let is_first = copy < self.first;
        if is_first {
            self.queries_number = copy > 0 && within.questions != self.queries.questions;
        }
        self.queries = Queries { questions: within.questions, ..self.queries.then(within) };
        if !self.may_continue || state.paths.pc.is_false() {
            return;
        }
        let numbers = self.numbers(state, variables);
        if is_first {
            self.changed.clear();
        }
        for (part, now) in &numbers {
            if let Some(before) = self.numbers.get(part).filter(|before| *before != now)
                && !self.changed.contains_key(part)
            {
                let change = if is_first { change(state, before, now) } else { Change::Unknown };
                self.changed.insert(part.clone(), change);
            }
        }
        self.numbers = numbers;
    }

    /// Leaves the loop on the paths that would continue after the copies for the first iterations, if no others ran.
    pub fn leave(
        &mut self,
        state: &mut State,
        (code, cyclic): (&Function, &FxHashSet<Name>),
        place: Place,
    ) -> Writes<'p> {
        let mut writes = Vec::new();
        if self.number.is_some() || state.paths.pc.is_false() {
            return writes;
        }
        self.keep_cyclic(code, cyclic);
        for (part, change) in &self.changed {
            let change = match *change {
                Change::Counts(now) => u32::try_from(now).map_or(Change::Unknown, Change::Grows),
                change => change,
            };
            let term = unknown(state, change, place);
            self.write(state, part, term, &mut writes);
        }
        writes
    }

    /// Ends the loop.
    pub fn end(self, state: &mut State) {
        let queries = state.terms.queries().then(self.queries);
        state.terms.replace_queries(queries);
        if self.may_continue {
            state.store.objects.unwatch(self.interrupted);
        }
    }

    /// The numbers that the copies so far may have changed.
    fn numbers(&self, state: &mut State, variables: Vec<Value>) -> BTreeMap<Part, Value> {
        let variables = variables.into_iter().enumerate().filter(|(_, value)| is_number(state, value));
        let mut found: BTreeMap<Part, Value> = variables.map(|(index, value)| (Part::Variable(index), value)).collect();
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

    /// Replaces a number on the current paths; that of a variable is added to `writes`.
    fn write(&self, state: &mut State, part: &Part, number: TermId, writes: &mut Writes<'p>) {
        let value = Value::term(number);
        match part {
            Part::Variable(index) => writes.extend(self.writes.get(*index).map(|op| (*op, number))),
            Part::Attribute(id, name) => {
                let old = state.store.objects[id.0 as usize].attributes.get(name).cloned().unwrap_or_default();
                let new = state.written_within(*id, &value, &old);
                state.store.objects[id.0 as usize].attributes.insert(name.clone(), new);
            }
            Part::Entry(id, key) => items::store_object_item(state, *id, *key, &Value::term(*key), &value),
            Part::Length(id) => lengthen(state, *id, number),
        }
    }
}

/// The variables of which code after a loop takes an element by an index from the end, or by a number of elements, which its last iteration
/// may have taken: `keys[-1]`, `keys[n - 1]`, and `keys[n]`, which is beyond the last.
pub fn last_indexed_after<'c>(code: &'c Function, body: &Block) -> Vec<&'c Variable> {
    let (Some(start), Some(end)) = (body.iter().min().copied(), body.iter().max().copied()) else { return Vec::new() };
    let kind = |temp: Temp| &code.ops[temp as usize].kind;
    let indexed = |op: &'c Op| match op.kind {
        OpKind::Item(object, index) => match kind(object) {
            OpKind::Load(variable) => Some((variable, index)),
            _ => None,
        },
        _ => None,
    };
    let within = code.ops.get(start as usize..=end as usize).unwrap_or_default();
    let within: FxHashSet<&Variable> = within.iter().filter_map(indexed).map(|(variable, _)| variable).collect();
    let is_call_of = |callee: Temp, builtin: &str| matches!(kind(callee), OpKind::Load(Variable::Global(name)) if &**name == builtin);
    let ranges = LazyCell::new(|| {
        let number = |op: &'c Op| match &op.kind {
            OpKind::Call(callee, given) if is_call_of(*callee, "range") => match &**given {
                [end] => match kind(end.value()) {
                    OpKind::Load(number) => Some(number),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        code.ops.iter().filter_map(number).collect::<FxHashSet<&Variable>>()
    });
    let is_from_end = |variable: &Variable, index: Temp| match kind(index) {
        OpKind::Constant(Constant::Int(index)) => **index < 0,
        OpKind::Operate(Operator::Sub, ..) => true,
        OpKind::Load(number) => within.contains(variable) && ranges.contains(number),
        OpKind::Call(callee, _) => is_call_of(*callee, "len"),
        _ => false,
    };
    let after = code.ops.get(end as usize + 1..).unwrap_or_default().iter().filter_map(indexed);
    after.filter(|(variable, index)| is_from_end(variable, *index)).map(|(variable, _)| variable).collect()
}

/// Longest cycle that the copies of a body go through.
const CYCLE: i128 = 4;

/// Whether an operation stores a remainder that repeats within the copies: `index = (index + 1) % 4`.
fn is_remainder(code: &Function, op: &Op) -> bool {
    let stored = match &op.kind {
        OpKind::Store(_, value) | OpKind::StoreAttribute(_, _, value) => *value,
        _ => return false,
    };
    let OpKind::Operate(Operator::Mod, [_, Some(divisor)], _) = &code.ops[stored as usize].kind else { return false };
    matches!(&code.ops[*divisor as usize].kind, OpKind::Constant(Constant::Int(number)) if **number <= CYCLE)
}

/// The attributes to which functions of a module store remainders.
pub fn cyclic_attributes(module: &Module) -> FxHashSet<Name> {
    let stored = module.functions.iter().flat_map(|code| code.ops.iter().map(move |op| (code, op)));
    let found = stored.filter_map(|(code, op)| match &op.kind {
        OpKind::StoreAttribute(_, name, _) if is_remainder(code, op) => Some(name.clone()),
        _ => None,
    });
    found.collect()
}

/// The variables that an operation adds to a multiple of others: in `epoch * steps + step`, the first two, and the third.
fn sum_of_product<'p>(code: &'p Function, op: &Op) -> Option<([Option<&'p Variable>; 2], &'p Variable)> {
    let OpKind::Operate(Operator::Add, [Some(a), Some(b)], _) = &op.kind else { return None };
    let kind = |temp: Temp| &code.ops[temp as usize].kind;
    let variable = |temp: Temp| match kind(temp) {
        OpKind::Load(variable) => Some(variable),
        _ => None,
    };
    [(*a, *b), (*b, *a)].into_iter().find_map(|(product, added)| match kind(product) {
        OpKind::Operate(Operator::Mul, [Some(one), Some(other)], _) => {
            Some(([variable(*one), variable(*other)], variable(added)?))
        }
        _ => None,
    })
}

/// Whether one of these sums adds the element of one loop to a multiple of that of another.
fn is_strided(code: &Function, sums: &[([Option<&Variable>; 2], &Variable)]) -> bool {
    if sums.is_empty() {
        return false;
    }
    let elements = elements(code);
    sums.iter().any(|(factors, added)| {
        let mut factors = factors.iter().flatten();
        elements.contains(added) && factors.any(|factor| factor != added && elements.contains(factor))
    })
}

/// The variables that loops bind to their elements, or to a part of each.
fn elements(code: &Function) -> FxHashSet<&Variable> {
    let is_next = |temp: Temp| matches!(code.ops[temp as usize].kind, OpKind::Next(_));
    let bound = code.ops.iter().filter_map(|op| match &op.kind {
        OpKind::Store(variable, value) => {
            let is_element = match &code.ops[*value as usize].kind {
                OpKind::Project(of, _) => match code.ops[*of as usize].kind {
                    OpKind::Unpack { value, .. } => is_next(value),
                    _ => is_next(*of),
                },
                _ => is_next(*value),
            };
            is_element.then_some(variable)
        }
        _ => None,
    });
    bound.collect()
}

/// A number that is known only by how iterations change it.
fn unknown(state: &mut State, change: Change, place: Place) -> TermId {
    let symbol = match change {
        Change::Grows(first) => Symbol::Iteration { first, count: None },
        Change::Counts(_) | Change::Unknown => Symbol::Havoc,
    };
    state.terms.fresh(symbol, "<changed in a loop>", Some(place))
}

/// How a number changed from one copy to the next.
fn change(state: &State, before: &Value, now: &Value) -> Change {
    let integer = |value: &Value| match value.single() {
        Some(Val::Term(term)) => state.terms.as_exact_int(*term),
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
        ObjectKind::Dict { entries, unknown: false } => items::keys_of(&mut state.paths.guards, entries),
        _ => return None,
    };
    let count = if items.len() <= COUNTED { state.count(&items)? } else { return None };
    Some(state.possible(&count))
}

/// Gives a container so many elements on the current paths, of which those that are not listed are unknown.
fn lengthen(state: &mut State, id: ObjectId, length: TermId) {
    let object = state.store.objects[id.0 as usize].clone();
    let Some(listed) = listed(state, &object) else { return };
    let more = if let Some(listed) = state.int_of(&listed) {
        state.terms.offset(length, -listed)
    } else {
        let symbol = Symbol::Iteration { first: 0, count: None };
        state.terms.fresh(symbol, "<changed in a loop>", None)
    };
    let none = Value::term(state.terms.int(0));
    let old = if object.further.is_unbound() { none } else { object.further };
    let new = state.written_within(id, &Value::term(more), &old);
    state.store.objects[id.0 as usize].further = new;
}
