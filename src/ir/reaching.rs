//! Reaching definitions: which reads of a variable may see the value that a given operation stored in it, and what the variable may
//! hold where an operation runs. That it is unbound is one of the definitions, so a variable is definitely assigned where this one does
//! not reach.
//!
//! **Invariant:** a read that is not listed for a store sees that store's value on no path. Where the nesting of loops is too deep
//! to be followed, and inside of `try`, stores overwrite nothing. A context manager swallows exceptions only if the caller says so.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Block, Constant, Function, Handler, OpKind, Temp, Variable};

/// Most definitions that may hold at one point; where there are more, every read may see every one.
const DEFINITIONS: usize = 64;

/// Most nested loops whose bodies are followed twice; in deeper ones, no store kills a definition.
const NESTED: u32 = 5;

/// Where the values of one variable of a function are read.
#[derive(Clone, Debug, Default)]
pub struct DefUses {
    stores: FxHashMap<Temp, Vec<Temp>>,
    parameter: Vec<Temp>,
    /// Every read, where every definition may reach every one.
    everywhere: Option<Vec<Temp>>,
}

impl DefUses {
    /// The reaching definitions of a variable.
    pub fn of(function: &Function, variable: &Variable) -> Self {
        let (walk, _) = Walk::through(function, variable, &[], &|_| false);
        let mut reaching = Self::default();
        if walk.is_lost {
            let loads = (0u32..).zip(&function.ops);
            let is_load = |kind: &OpKind| matches!(kind, OpKind::Load(read) if read == variable);
            reaching.everywhere = Some(loads.filter(|(_, op)| is_load(&op.kind)).map(|(temp, _)| temp).collect());
            return reaching;
        }
        for (definition, load) in walk.seen {
            match definition {
                Definition::Store(store) => reaching.stores.entry(store).or_default().push(load),
                Definition::Parameter => reaching.parameter.push(load),
                Definition::Unbound => {}
            }
        }
        for loads in reaching.stores.values_mut().chain([&mut reaching.parameter]) {
            loads.sort_unstable();
        }
        reaching
    }

    /// The operations that may read what a store stored, in order.
    pub fn loads_of(&self, store: Temp) -> &[Temp] {
        match &self.everywhere {
            Some(loads) => loads,
            None => self.stores.get(&store).map_or(&[], Vec::as_slice),
        }
    }

    /// The operations that may read the value passed for the parameter, in order.
    pub fn loads_of_parameter(&self) -> &[Temp] {
        self.everywhere.as_ref().unwrap_or(&self.parameter)
    }
}

/// What a variable may hold where some operations of its function run, and where the function's body ends.
#[derive(Clone, Debug)]
pub struct ReachingDefinitions {
    /// Absent where too many definitions reach some point.
    before: Option<FxHashMap<Temp, State>>,
    end: State,
}

impl ReachingDefinitions {
    /// What a variable may hold right before each of these operations. `swallows` says whether the context manager that an operation
    /// makes may swallow what the body of its `with` raises.
    pub fn before(function: &Function, variable: &Variable, ops: &[Temp], swallows: &dyn Fn(Temp) -> bool) -> Self {
        let (walk, end) = Walk::through(function, variable, ops, swallows);
        let mut before: FxHashMap<Temp, State> = FxHashMap::default();
        for (definition, temp) in walk.seen.iter().filter(|(_, temp)| ops.contains(temp)) {
            before.entry(*temp).or_default().push(*definition);
        }
        Self { before: Some(before).filter(|_| !walk.is_lost), end: end.unwrap_or_default() }
    }

    /// Whether the variable may be unbound right before one of the operations.
    pub fn may_be_unbound(&self, op: Temp) -> bool {
        self.before
            .as_ref()
            .is_none_or(|before| before.get(&op).is_some_and(|held| held.contains(&Definition::Unbound)))
    }

    /// Whether the variable may be unbound where the body ends.
    pub fn may_be_unbound_at_the_end(&self) -> bool {
        self.before.is_none() || self.end.contains(&Definition::Unbound)
    }

    /// Whether the variable holds what a store put there right before one of the operations, on every path.
    pub fn is_always(&self, op: Temp, store: Temp) -> bool {
        let held = self.before.as_ref().and_then(|before| before.get(&op));
        held.is_some_and(|held| held[..] == [Definition::Store(store)])
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Definition {
    Store(Temp),
    Parameter,
    /// The variable is unbound.
    Unbound,
}

/// Which definitions the variable may hold.
type State = Vec<Definition>;

fn join(into: &mut Option<State>, other: Option<State>) {
    let Some(other) = other else { return };
    let Some(state) = into else {
        *into = Some(other);
        return;
    };
    for definition in other {
        if !state.contains(&definition) {
            state.push(definition);
        }
    }
}

struct Walk<'f> {
    function: &'f Function,
    variable: &'f Variable,
    /// Operations besides the reads of the variable for which it is wanted what the variable may hold.
    wanted: &'f [Temp],
    /// Whether the context manager that an operation makes may swallow exceptions.
    swallows: &'f dyn Fn(Temp) -> bool,
    seen: FxHashSet<(Definition, Temp)>,
    /// Loops around.
    depth: u32,
    /// What holds at each `break` out of the loops around, innermost last.
    breaks: Vec<Option<State>>,
    /// The same at each `continue`.
    nexts: Vec<Option<State>>,
    /// Whether too many definitions reached some point.
    is_lost: bool,
}

impl<'f> Walk<'f> {
    /// A walk through a function, and what holds where its body ends.
    fn through(
        function: &'f Function,
        variable: &'f Variable,
        wanted: &'f [Temp],
        swallows: &'f dyn Fn(Temp) -> bool,
    ) -> (Self, Option<State>) {
        let mut walk = Self {
            function,
            variable,
            wanted,
            swallows,
            seen: FxHashSet::default(),
            depth: 0,
            breaks: Vec::new(),
            nexts: Vec::new(),
            is_lost: false,
        };
        let is_parameter = matches!(variable, Variable::Local(slot) if (*slot as usize) < function.parameters.len());
        let entry = if is_parameter { Definition::Parameter } else { Definition::Unbound };
        let end = walk.block(&function.body, Some(vec![entry]));
        (walk, end)
    }

    /// What holds after a block, given what holds before it; `None` where nothing runs.
    fn block(&mut self, block: &Block, mut state: Option<State>) -> Option<State> {
        for temp in block {
            let held = state.take()?;
            state = self.op(*temp, held);
        }
        state
    }

    fn op(&mut self, temp: Temp, state: State) -> Option<State> {
        let Some(op) = self.function.ops.get(temp as usize) else { return Some(state) };
        self.is_lost |= state.len() > DEFINITIONS;
        if self.is_lost {
            return None;
        }
        let is_read = matches!(&op.kind, OpKind::Load(variable) if variable == self.variable);
        if is_read || self.wanted.contains(&temp) {
            self.seen.extend(state.iter().map(|definition| (*definition, temp)));
        }
        match &op.kind {
            OpKind::Store(variable, _) if variable == self.variable => Some(vec![Definition::Store(temp)]),
            OpKind::Delete(variable) if variable == self.variable => Some(vec![Definition::Unbound]),
            OpKind::If { then, orelse, .. } => {
                let mut after = self.block(then, Some(state.clone()));
                let other = self.block(orelse, Some(state));
                join(&mut after, other);
                after
            }
            OpKind::Loop { head, test, body, orelse } => {
                let is_endless = test.is_some_and(|test| self.is_true(test));
                self.iterate([head, body, orelse], is_endless, state)
            }
            OpKind::Try { body, handlers, orelse, finally } => self.attempt(body, handlers, [orelse, finally], state),
            OpKind::Return(_) | OpKind::Raise(_) => None,
            OpKind::Break => {
                if let Some(breaks) = self.breaks.last_mut() {
                    join(breaks, Some(state));
                }
                None
            }
            OpKind::Continue => {
                if let Some(nexts) = self.nexts.last_mut() {
                    join(nexts, Some(state));
                }
                None
            }
            _ => Some(state),
        }
    }

    fn attempt(
        &mut self,
        body: &Block,
        handlers: &[Handler],
        [orelse, finally]: [&Block; 2],
        state: State,
    ) -> Option<State> {
        // Any operation of the body may raise: a handler sees every store of it.
        let mut raised = Some(state.clone());
        let mut after = self.block(body, Some(state));
        self.add_stores(body, &mut raised);
        join(&mut raised, after.clone());
        after = self.block(orelse, after);
        let mut left = raised.clone();
        for handler in handlers {
            // The name of a handler holds the exception, which no store made, and is unbound however the handler ends: by its last
            // operation, or by a jump.
            let is_named = handler.name.as_ref() == Some(self.variable);
            let caught = if is_named { Some(vec![Definition::Unbound]) } else { raised.clone() };
            let handled = self.block(&handler.body, caught);
            self.add_stores(&handler.body, &mut left);
            if is_named {
                join(&mut left, Some(vec![Definition::Unbound]));
            }
            join(&mut after, if is_named { handled.map(|_| vec![Definition::Unbound]) } else { handled });
        }
        self.add_stores(orelse, &mut left);
        if self.leaves_swallowing(finally) {
            join(&mut after, left.clone());
        }
        // `finally` runs on every way out; what follows it follows a normal one.
        let _ = self.block(finally, left);
        self.block(finally, after)
    }

    /// Whether a `finally` block leaves a context manager that may swallow exceptions.
    fn leaves_swallowing(&self, finally: &Block) -> bool {
        let kind = |temp: Temp| self.function.ops.get(temp as usize).map(|op| &op.kind);
        let entered = finally.last().and_then(|leave| match kind(*leave) {
            Some(OpKind::Leave(entered)) => kind(*entered),
            _ => None,
        });
        matches!(entered, Some(OpKind::Enter(manager)) if (self.swallows)(*manager))
    }

    /// Whether an operation is a constant that is true.
    fn is_true(&self, temp: Temp) -> bool {
        let constant = self.function.ops.get(temp as usize).map(|op| &op.kind);
        matches!(constant, Some(OpKind::Constant(Constant::Bool(true))))
            || matches!(constant, Some(OpKind::Constant(Constant::Int(number))) if **number != 0)
    }

    fn iterate(&mut self, [head, body, orelse]: [&Block; 3], is_endless: bool, state: State) -> Option<State> {
        self.depth += 1;
        let mut before = Some(state);
        if self.depth > NESTED {
            for block in [head, body] {
                self.add_stores(block, &mut before);
            }
        }
        let rounds = if self.depth > NESTED { 1 } else { 2 };
        let (mut done, mut left) = (None, None);
        for _ in 0..rounds {
            self.breaks.push(None);
            self.nexts.push(None);
            let tested = self.block(head, before.clone());
            join(&mut done, tested.clone());
            let mut after = self.block(body, tested);
            join(&mut after, self.nexts.pop().flatten());
            join(&mut left, self.breaks.pop().flatten());
            join(&mut before, after);
        }
        // The test may see what the last iteration left once more.
        let tested = self.block(head, before);
        join(&mut done, tested);
        self.depth -= 1;
        let mut after = self.block(orelse, done.filter(|_| !is_endless));
        join(&mut after, left);
        after
    }

    /// Adds every store of a block to what may hold, and that nothing is bound where the block deletes the variable.
    fn add_stores(&self, block: &Block, state: &mut Option<State>) {
        let Some(state) = state else { return };
        let mut work: Vec<&Block> = vec![block];
        while let Some(block) = work.pop() {
            for temp in block {
                let Some(op) = self.function.ops.get(*temp as usize) else { continue };
                let definition = match &op.kind {
                    OpKind::Store(variable, _) if variable == self.variable => Some(Definition::Store(*temp)),
                    OpKind::Delete(variable) if variable == self.variable => Some(Definition::Unbound),
                    _ => None,
                };
                let is_new = |one: &Definition| state.len() <= DEFINITIONS && !state.contains(one);
                if let Some(definition) = definition.filter(is_new) {
                    state.push(definition);
                }
                work.extend(op.kind.blocks());
            }
        }
    }
}
