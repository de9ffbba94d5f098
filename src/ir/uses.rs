//! Definitions and uses: who reads what in a function's body.
//!
//! **Invariant:** one pass over the operations answers all queries, so that querying each of many operations stays linear.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Block, DefUses, Function, FunctionId, FunctionKind, Module, OpKind, Temp, Variable};
use crate::text::Span;

/// The definitions and uses of one function.
#[derive(Debug)]
pub struct Uses {
    /// For each temp, the operations that read it, in order.
    readers: Vec<Vec<Temp>>,
    /// The first call at each span.
    calls: FxHashMap<Span, Temp>,
    /// For each temp, the operation whose block holds it, and the number of that block; `None` in the body.
    around: Vec<Option<(Temp, usize)>>,
    /// Slots that it or a function within it reads or deletes.
    read: FxHashSet<u32>,
    /// The function's own operations that read each slot.
    loads: FxHashMap<u32, Vec<Temp>>,
    /// The operations that write each slot.
    stores: FxHashMap<u32, Vec<Temp>>,
    /// Slots that a function within it reads or writes.
    captured: FxHashSet<u32>,
    /// The operations that make the functions and classes within it which read each slot, themselves or by one within them.
    made_with: FxHashMap<u32, BTreeSet<Temp>>,
    /// The functions within it; not those in a module's body.
    inner: Vec<FunctionId>,
    /// Definitions and their uses, for the variables for which they were requested.
    reaching: RefCell<FxHashMap<Variable, Rc<DefUses>>>,
}

impl Function {
    /// The slots of enclosing functions that it reads, and those that it writes.
    pub fn outer_slots(&self) -> (BTreeSet<u32>, BTreeSet<u32>) {
        let (mut loaded, mut stored) = (BTreeSet::new(), BTreeSet::new());
        for op in &self.ops {
            match &op.kind {
                OpKind::Load(Variable::Outer(_, slot)) => loaded.insert(*slot),
                OpKind::Store(Variable::Outer(_, slot), _) => stored.insert(*slot),
                _ => continue,
            };
        }
        (loaded, stored)
    }
}

/// The slots of one of its enclosing functions that a function reads, and those that it writes.
fn slots_of(module: &Module, inner: &Function, owner: &Function) -> [BTreeSet<u32>; 2] {
    let is_owner = |levels: u32| module.enclosing(inner, levels).is_some_and(|around| around.full == owner.full);
    let mut slots = [BTreeSet::new(), BTreeSet::new()];
    for op in &inner.ops {
        let (levels, slot, set) = match &op.kind {
            OpKind::Load(Variable::Outer(levels, slot)) => (*levels, *slot, 0),
            OpKind::Store(Variable::Outer(levels, slot), _) => (*levels, *slot, 1),
            _ => continue,
        };
        if is_owner(levels) {
            slots[set].insert(slot);
        }
    }
    slots
}

impl Uses {
    /// The definitions and uses of a function of a module.
    pub fn of(module: &Module, code: &Function) -> Self {
        let mut uses = Self {
            readers: vec![Vec::new(); code.ops.len()],
            calls: FxHashMap::default(),
            around: vec![None; code.ops.len()],
            read: FxHashSet::default(),
            loads: FxHashMap::default(),
            stores: FxHashMap::default(),
            captured: FxHashSet::default(),
            made_with: FxHashMap::default(),
            inner: Vec::new(),
            reaching: RefCell::default(),
        };
        for (temp, op) in (0u32..).zip(&code.ops) {
            op.kind.operands(&mut |operand| {
                if let Some(readers) = uses.readers.get_mut(operand as usize)
                    && readers.last() != Some(&temp)
                {
                    readers.push(temp);
                }
            });
            for (number, block) in op.kind.blocks().into_iter().enumerate() {
                for inner in block {
                    if let Some(around) = uses.around.get_mut(*inner as usize) {
                        *around = Some((temp, number));
                    }
                }
            }
            match &op.kind {
                OpKind::Call(..) => {
                    uses.calls.entry(op.span).or_insert(temp);
                }
                OpKind::Load(Variable::Local(slot)) => {
                    uses.read.insert(*slot);
                    uses.loads.entry(*slot).or_default().push(temp);
                }
                OpKind::Delete(Variable::Local(slot)) => {
                    uses.read.insert(*slot);
                }
                OpKind::Store(Variable::Local(slot), _) => uses.stores.entry(*slot).or_default().push(temp),
                _ => {}
            }
        }
        let inner = |(_, inner): &(FunctionId, &Function)| inner.full != code.full && code.full.covers(inner.full);
        let within = (0u32..).map(FunctionId).zip(&module.functions).filter(inner);
        let mut add = |inner: &Function| {
            let [loaded, stored] = slots_of(module, inner, code);
            uses.read.extend(&loaded);
            uses.captured.extend(loaded.iter().chain(&stored));
        };
        if code.kind == FunctionKind::Module {
            // Of the functions in a module's body only these slots matter, so they are compared when a function is edited.
            module.unrecorded(|| within.for_each(|(_, inner)| add(inner)));
        } else {
            let within: Vec<_> = within.collect();
            for (_, inner) in &within {
                add(inner);
            }
            uses.note_makers(module, code, &within);
            uses.inner = within.into_iter().map(|(id, _)| id).collect();
        }
        uses
    }

    /// Notes where functions and classes that read slots are made.
    fn note_makers(&mut self, module: &Module, code: &Function, within: &[(FunctionId, &Function)]) {
        for (temp, op) in (0u32..).zip(&code.ops) {
            let made = match &op.kind {
                OpKind::Function(made, _) => module.function(*made),
                OpKind::Class(made, _) => module.function(module.class(*made).body),
                _ => continue,
            };
            for (_, inner) in within.iter().filter(|(_, inner)| made.full.covers(inner.full)) {
                let [loaded, _] = slots_of(module, inner, code);
                for slot in loaded {
                    self.made_with.entry(slot).or_default().insert(temp);
                }
            }
        }
    }

    /// Records that a result depends on the operations from which they were computed.
    pub fn note_read(&self, module: &Module, code: &Function) {
        code.ops.note_read();
        self.inner.iter().for_each(|inner| module.function(*inner).ops.note_read());
    }

    /// The operations around one, innermost first, each with the number of its block that holds it.
    pub fn around(&self, temp: Temp) -> impl Iterator<Item = (Temp, usize)> + '_ {
        let outer = |temp: Temp| self.around.get(temp as usize).copied().flatten();
        std::iter::successors(outer(temp), move |(next, _)| outer(*next))
    }

    /// The blocks around an operation with the positions in them, outermost first; `None` where no block holds it.
    pub fn blocks_around<'c>(&self, code: &'c Function, temp: Temp) -> Option<Vec<(&'c Block, usize)>> {
        let mut blocks = Vec::new();
        let mut inner = temp;
        for (outer, number) in self.around(temp) {
            blocks.push((code.ops.get(outer as usize)?.kind.blocks().into_iter().nth(number)?, inner));
            inner = outer;
        }
        blocks.push((&code.body, inner));
        let placed = |(block, temp): (&'c Block, Temp)| Some((block, block.iter().position(|inner| *inner == temp)?));
        blocks.into_iter().rev().map(placed).collect()
    }

    /// Whether an operation is within this block of another one.
    pub fn is_within(&self, temp: Temp, outer: Temp, number: usize) -> bool {
        self.around(temp).any(|around| around == (outer, number))
    }

    /// The loops of the function that repeat an operation, innermost first.
    pub fn loops_around<'a>(&'a self, code: &'a Function, temp: Temp) -> impl Iterator<Item = Temp> + 'a {
        let is_loop =
            |outer: &Temp| matches!(code.ops.get(*outer as usize).map(|op| &op.kind), Some(OpKind::Loop { .. }));
        self.around(temp).map(|(outer, _)| outer).filter(is_loop)
    }

    /// Whether a loop of the function repeats an operation.
    pub fn is_in_loop(&self, code: &Function, temp: Temp) -> bool {
        self.loops_around(code, temp).next().is_some()
    }

    /// The operations that read a temp.
    pub fn readers(&self, temp: Temp) -> &[Temp] {
        self.readers.get(temp as usize).map_or(&[], Vec::as_slice)
    }

    /// The operations of the function itself that read a slot.
    pub fn loads_of(&self, slot: u32) -> &[Temp] {
        self.loads.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// The operations of the function that write a slot.
    pub fn stores_of(&self, slot: u32) -> &[Temp] {
        self.stores.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// Whether a function within it reads or writes a slot.
    pub fn is_captured(&self, slot: u32) -> bool {
        self.captured.contains(&slot)
    }

    /// Whether a function within it may read what an operation stores in a slot. It does not if another store in the same block follows, and
    /// functions that read the slot are made after that one only.
    pub fn is_captured_from(&self, module: &Module, code: &Function, (slot, store): (u32, Temp)) -> bool {
        if !self.is_captured(slot) {
            return false;
        }
        let block = self.blocks_around(code, store).and_then(|blocks| blocks.last().copied());
        let later = block.and_then(|(block, at)| {
            let stores = |temp: &&Temp| self.stores_of(slot).contains(*temp);
            block[at..].iter().skip(1).find(stores)
        });
        let makers = self.made_with.get(&slot).and_then(BTreeSet::first);
        let is_replaced = later.zip(makers).is_some_and(|(later, maker)| later < maker);
        !is_replaced || self.is_in_loop(code, store) || self.is_written_within(module, code, slot)
    }

    /// Whether a function within it writes a slot.
    pub fn is_written_within(&self, module: &Module, code: &Function, slot: u32) -> bool {
        self.inner.iter().any(|id| slots_of(module, module.function(*id), code)[1].contains(&slot))
    }

    /// The call at a span.
    pub fn call_at(&self, span: Span) -> Option<Temp> {
        self.calls.get(&span).copied()
    }

    /// Whether the function, or one within it, reads or deletes a slot of it.
    pub fn reads_slot(&self, slot: u32) -> bool {
        self.read.contains(&slot)
    }

    /// The reaching definitions of a variable of the function that these uses are of.
    pub fn reaching(&self, code: &Function, variable: &Variable) -> Rc<DefUses> {
        if let Some(known) = self.reaching.borrow().get(variable) {
            return known.clone();
        }
        let reaching = Rc::new(DefUses::of(code, variable));
        self.reaching.borrow_mut().insert(variable.clone(), reaching.clone());
        reaching
    }
}
