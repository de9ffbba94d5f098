//! Guards: conditions on a path, as reduced ordered binary decision diagrams.
//!
//! A guard is a Boolean function of *literals*, each the truth of one symbolic value. The diagrams are hash-consed, so that two
//! guards are equivalent exactly when their handles are equal, and a guard is unsatisfiable exactly when it is
//! [`Guard::FALSE`] (up to what [`Guards::feasible`] knows about literals that exclude each other).
//!
//! Source: R. E. Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", IEEE Transactions on Computers, 1986.
//!
//! **Invariant:** levels increase along every path, no node has two equal children, and every node is interned once. When the node budget
//! is exhausted, operations return [`Guard::FALSE`] and [`Guards::exhausted`] is true: a path that cannot be distinguished yields no fact.

mod path;
mod search;

use rustc_hash::FxHashMap;

use self::path::Constraints;
use super::forget;
use super::term::TermId;
use super::visit::Visits;

/// A Boolean function of literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guard(u32);

impl Guard {
    /// Never.
    pub const FALSE: Self = Self(0);
    /// Always.
    pub const TRUE: Self = Self(1);

    /// Whether no path satisfies it.
    pub fn is_false(self) -> bool {
        self == Self::FALSE
    }

    /// Whether every path satisfies it.
    pub fn is_true(self) -> bool {
        self == Self::TRUE
    }
}

/// Largest number of nodes that one analysis of one function may make.
const NODE_BUDGET: usize = 6_000;

/// Fewest nodes that a part of an analysis may make, if that many are left.
const NODE_PORTION: usize = 250;

/// The fraction of the remaining budget that a call gets is 1 / this. Most is left to the caller's own frame, because callees are analysed
/// on their own as well.
const SHARE: usize = 8;

/// Size of the memo table of `choose`.
const MEMO: usize = 1 << 13;

/// The slot of a memo key.
fn slot_of([test, then, orelse]: [Guard; 3]) -> usize {
    let mixed =
        test.0.wrapping_mul(0x9e37_79b1) ^ then.0.wrapping_mul(0x85eb_ca77) ^ orelse.0.wrapping_mul(0xc2b2_ae3d);
    (mixed >> 16) as usize % MEMO
}

/// The place of a literal in the order of the diagrams: the most recent literal comes first.
///
/// A path condition grows by one conjunct at a time, and a join drops the newest. With the newest literal on top, each
/// adds one node to an existing diagram; at the bottom, it would copy the whole diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Level(u32);

impl Level {
    /// Below all literals.
    const LEAF: Self = Self(u32::MAX);

    /// That of the literal with this number.
    fn of(literal: usize) -> Self {
        Self(u32::try_from(literal).map_or(0, |literal| u32::MAX - 1 - literal.min(u32::MAX - 1)))
    }

    /// The number of its literal.
    fn literal(self) -> usize {
        (u32::MAX - 1 - self.0) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    level: Level,
    low: Guard,
    high: Guard,
}

/// A node budget that is set aside.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: usize,
    /// Number of nodes when it was set aside.
    made: usize,
    exhausted: bool,
}

/// The arena of guards.
#[derive(Clone, Debug)]
pub struct Guards {
    nodes: Vec<Node>,
    /// For each guard, its number of nodes if none of them is shared.
    sizes: Vec<u16>,
    /// For each guard that has a *model* (a path whose literals are consistent), the literal's value on it; the path continues with the
    /// model of the guard below.
    models: Vec<Option<bool>>,
    interned: FxHashMap<Node, Guard>,
    /// Results of `choose`, each in the slot of its hash; a later result overwrites an earlier one.
    memo: Vec<[Guard; 4]>,
    /// The slots in use; more than [`MEMO`] means all of them.
    answered: Vec<u16>,
    /// The literals, in order of first use.
    literals: Vec<TermId>,
    /// The constraints of the literals.
    constraints: Constraints,
    levels: FxHashMap<TermId, Level>,
    exhausted: bool,
    /// Number of nodes at which the budget is hit.
    limit: usize,
    visits: Visits,
}

impl Default for Guards {
    fn default() -> Self {
        let leaf = Node { level: Level::LEAF, low: Guard::FALSE, high: Guard::FALSE };
        Self {
            nodes: vec![leaf, leaf],
            sizes: vec![0; 2],
            models: vec![None; 2],
            interned: FxHashMap::default(),
            memo: Vec::new(),
            answered: Vec::new(),
            literals: Vec::new(),
            constraints: Constraints::default(),
            levels: FxHashMap::default(),
            exhausted: false,
            limit: NODE_BUDGET,
            visits: Visits::default(),
        }
    }
}

impl Guards {
    /// Whether the node budget was hit.
    pub fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// The guard that holds where the value `literal` is true.
    pub fn literal(&mut self, literal: TermId) -> Guard {
        let next = Level::of(self.literals.len());
        let level = *self.levels.entry(literal).or_insert(next);
        if level == next {
            self.literals.push(literal);
            self.constraints.push();
        }
        self.node(Node { level, low: Guard::FALSE, high: Guard::TRUE })
    }

    /// Conjunction.
    pub fn and(&mut self, a: Guard, b: Guard) -> Guard {
        self.choose(a, b, Guard::FALSE)
    }

    /// Disjunction.
    pub fn or(&mut self, a: Guard, b: Guard) -> Guard {
        self.choose(a, Guard::TRUE, b)
    }

    /// Negation.
    pub fn not(&mut self, a: Guard) -> Guard {
        self.choose(a, Guard::FALSE, Guard::TRUE)
    }

    /// `a` without `b`.
    pub fn without(&mut self, a: Guard, b: Guard) -> Guard {
        self.choose(b, Guard::FALSE, a)
    }

    /// `if test { then } else { orelse }`.
    pub fn choose(&mut self, test: Guard, then: Guard, orelse: Guard) -> Guard {
        if test.is_true() || then == orelse {
            return then;
        }
        if test.is_false() {
            return orelse;
        }
        if then.is_true() && orelse.is_false() {
            return test;
        }
        // A branch that is the test itself can be replaced by a constant.
        let then = if then == test { Guard::TRUE } else { then };
        let orelse = if orelse == test { Guard::FALSE } else { orelse };
        if then == orelse || then.is_true() && orelse.is_false() {
            return if then == orelse { then } else { test };
        }
        if self.exhausted {
            return Guard::FALSE;
        }
        let question = [test, then, orelse];
        if self.memo.is_empty() {
            self.memo.resize(MEMO, [Guard::FALSE; 4]);
        }
        let slot = slot_of(question);
        if let [known @ .., answer] = self.memo[slot]
            && known == question
        {
            return answer;
        }
        let [a, b, c] = question.map(|g| self.nodes[g.0 as usize].level);
        let level = a.min(b).min(c);
        let split = |g: Guard, nodes: &[Node]| {
            let node = nodes[g.0 as usize];
            if node.level == level { (node.low, node.high) } else { (g, g) }
        };
        let (test_low, test_high) = split(test, &self.nodes);
        let (then_low, then_high) = split(then, &self.nodes);
        let (else_low, else_high) = split(orelse, &self.nodes);
        let low = self.choose(test_low, then_low, else_low);
        let high = self.choose(test_high, then_high, else_high);
        let result = self.node(Node { level, low, high });
        self.memo[slot] = [test, then, orelse, result];
        if self.answered.len() <= MEMO {
            self.answered.push(u16::try_from(slot).unwrap_or(u16::MAX));
        }
        result
    }

    /// The guard with every literal in `fixed` replaced by its value.
    pub fn assume(&mut self, guard: Guard, fixed: &dyn Fn(TermId) -> Option<bool>) -> Guard {
        let mut memo = FxHashMap::default();
        self.assume_memo(guard, fixed, &mut memo)
    }

    fn assume_memo(
        &mut self,
        guard: Guard,
        fixed: &dyn Fn(TermId) -> Option<bool>,
        memo: &mut FxHashMap<Guard, Guard>,
    ) -> Guard {
        if guard.is_true() || guard.is_false() {
            return guard;
        }
        if let Some(known) = memo.get(&guard) {
            return *known;
        }
        let node = self.nodes[guard.0 as usize];
        let low = self.assume_memo(node.low, fixed, memo);
        let high = self.assume_memo(node.high, fixed, memo);
        let result = match fixed(self.literals[node.level.literal()]) {
            Some(true) => high,
            Some(false) => low,
            None => self.node(Node { level: node.level, low, high }),
        };
        memo.insert(guard, result);
        result
    }

    /// The literals that a guard depends on, in order of first use.
    pub fn support(&self, guard: Guard) -> Vec<TermId> {
        if guard.is_true() || guard.is_false() {
            return Vec::new();
        }
        let top = self.nodes[guard.0 as usize];
        if [top.low, top.high].iter().all(|below| below.is_true() || below.is_false()) {
            return vec![self.literals[top.level.literal()]];
        }
        let mut levels = Vec::new();
        self.visit(guard, |node| {
            levels.push(node.level);
            true
        });
        levels.sort_unstable();
        levels.dedup();
        levels.into_iter().rev().map(|level| self.literals[level.literal()]).collect()
    }

    /// Whether a guard depends on a literal.
    pub fn depends_on(&self, guard: Guard, literal: TermId) -> bool {
        let Some(level) = self.levels.get(&literal) else { return false };
        let mut is_found = false;
        self.visit(guard, |node| {
            is_found |= node.level == *level;
            !is_found
        });
        is_found
    }

    /// Whether a guard has more than this many nodes.
    pub fn is_larger(&self, guard: Guard, nodes: usize) -> bool {
        if usize::from(self.sizes[guard.0 as usize]) <= nodes {
            return false;
        }
        let mut met = 0;
        self.visit(guard, |_| {
            met += 1;
            met <= nodes
        });
        met > nodes
    }

    /// Calls `visit_node` with every node of a guard once, as long as it returns true.
    fn visit(&self, guard: Guard, mut visit_node: impl FnMut(Node) -> bool) {
        self.visits.each(guard.0, |handle, work| {
            if Guard(handle).is_true() || Guard(handle).is_false() {
                return true;
            }
            let node = self.nodes[handle as usize];
            work.extend([node.low.0, node.high.0]);
            visit_node(node)
        });
    }

    /// The current size of the arena.
    pub fn mark(&self) -> (usize, usize) {
        (self.nodes.len(), self.literals.len())
    }

    /// Drops the guards that were made since a mark. Their handles must not be used again.
    pub fn truncate(&mut self, mark: (usize, usize)) {
        self.sizes.truncate(mark.0);
        self.models.truncate(mark.0);
        let kept = u32::try_from(mark.0).unwrap_or(u32::MAX);
        forget(&mut self.interned, self.nodes.drain(mark.0..), |guard| guard.0 < kept);
        self.constraints.truncate(mark.1);
        let kept = Level::of(mark.1);
        forget(&mut self.levels, self.literals.drain(mark.1..), |level| level > kept);
        let none = [Guard::FALSE; 4];
        if self.answered.len() > MEMO {
            self.memo.fill(none);
        }
        for slot in self.answered.drain(..) {
            self.memo[usize::from(slot)] = none;
        }
        self.renew();
    }

    /// Starts a new budget. [`Guards::resume`] takes the returned old one.
    pub fn renew(&mut self) -> Budget {
        let budget = self.budget();
        self.exhausted = false;
        self.limit = self.nodes.len() + NODE_BUDGET;
        budget
    }

    /// Restores the old budget, as if nothing had been spent since.
    pub fn resume(&mut self, budget: Budget) {
        self.exhausted = budget.exhausted;
        self.limit = budget.limit + self.nodes.len().saturating_sub(budget.made);
    }

    /// Gives a part of the analysis a portion of the remaining budget. Returns the old budget for [`Guards::rejoin`].
    pub fn portion(&mut self) -> Budget {
        let budget = self.budget();
        self.limit = budget.made + self.share();
        budget
    }

    /// Nodes that a portion would have.
    pub fn share(&self) -> usize {
        let left = self.limit.saturating_sub(self.nodes.len());
        (left / SHARE).max(left.min(NODE_PORTION))
    }

    /// Returns to the old budget, minus what the portion has spent.
    pub fn rejoin(&mut self, budget: Budget) {
        self.limit = budget.limit;
        self.exhausted = budget.exhausted || self.nodes.len() >= self.limit;
    }

    fn budget(&self) -> Budget {
        Budget { limit: self.limit, made: self.nodes.len(), exhausted: self.exhausted }
    }

    fn node(&mut self, node: Node) -> Guard {
        if node.low == node.high {
            return node.low;
        }
        if let Some(known) = self.interned.get(&node) {
            return *known;
        }
        if self.nodes.len() >= self.limit {
            self.exhausted = true;
            return Guard::FALSE;
        }
        let guard = Guard(u32::try_from(self.nodes.len()).unwrap_or(0));
        let [low, high] = [node.low, node.high].map(|part| self.sizes[part.0 as usize]);
        self.sizes.push(low.saturating_add(high).saturating_add(1));
        self.models.push(None);
        self.nodes.push(node);
        self.interned.insert(node, guard);
        guard
    }
}
