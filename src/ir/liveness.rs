//! Liveness: whether the value of a variable at a point of a function may still be read.
//!
//! One query walks the blocks from the point outwards. The effect of a block on a value that is still in the variable is summarised in a
//! [`Flow`], so loops need no second pass: an iteration that leaves the value in place behaves like the first.
//!
//! **Invariant:** a value that is called dead is read on no path from the point. Exceptions count as paths; a context
//! manager is assumed to suppress none. A variable that another function mentions is always live, because that function
//! may run at any time.

use super::{FunctionId, Module, Op, OpKind, Temp, Variable};
use crate::text::Span;

/// A point of a function, given by the span of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before the statement runs.
    Before(Span),
    /// After it has run to its end.
    After(Span),
}

/// A variable of a function whose liveness is queried.
#[derive(Clone, Debug)]
pub struct Liveness<'m> {
    ops: &'m [Op],
    body: &'m [Temp],
    variable: Variable,
    is_shared: bool,
    ignored: &'m [Span],
    /// The operation with which the statement begins, if returning to it counts as a read.
    revisited: Option<Temp>,
}

impl<'m> Liveness<'m> {
    /// The function's own variable of this name; `None` if the name belongs to another scope.
    pub fn of(module: &'m Module, id: FunctionId, name: &str) -> Option<Self> {
        let function = module.functions.get(id.0 as usize)?;
        let variable = if id == Module::BODY {
            Variable::Global(name.into())
        } else {
            let slot = function.slots.iter().take(function.named as usize).position(|slot| &**slot == name)?;
            Variable::Local(u32::try_from(slot).ok()?)
        };
        let is_shared = is_mentioned_elsewhere(module, id, &variable);
        let (ops, body) = (&*function.ops, &*function.body);
        Some(Self { ops, body, variable, is_shared, ignored: &[], revisited: None })
    }

    /// Ignores the reads at these spans.
    #[must_use]
    pub fn ignoring(mut self, reads: &'m [Span]) -> Self {
        self.ignored = reads;
        self
    }

    /// Counts the value as read if control returns to this statement.
    #[must_use]
    pub fn read_on_return_to(mut self, statement: Option<Span>) -> Self {
        let first = statement.and_then(|span| self.way_to(Point::Before(span)));
        self.revisited = first.and_then(|way| way.last().and_then(|(block, at)| block.get(*at).copied()));
        self
    }

    /// Whether the value at a point may be read later; `None` where nothing runs at the point's statement.
    pub fn is_live(&self, point: Point) -> Option<bool> {
        if self.is_shared {
            return Some(true);
        }
        let mut way = self.way_to(point)?;
        let (mut block, from) = way.pop()?;
        let first = block.get(from).copied();
        // Control does not return to the point at which the walk begins.
        let start = Self { revisited: self.revisited.filter(|temp| Some(*temp) != first), ..self.clone() };
        let mut flow = start.rest(block, from);
        while let Some((outer, at)) = way.pop() {
            flow = outer.get(at).map_or(flow, |temp| self.leave(*temp, block, flow)).then(self.rest(outer, at + 1));
            block = outer;
        }
        Some(flow.has(READ))
    }

    /// The blocks around a point with the positions in them, outermost first.
    fn way_to(&self, point: Point) -> Option<Vec<(&'m [Temp], usize)>> {
        let mut way = Vec::new();
        self.find(self.body, point, &mut way).then_some(way)
    }

    fn find(&self, block: &'m [Temp], point: Point, way: &mut Vec<(&'m [Temp], usize)>) -> bool {
        let (Point::Before(statement) | Point::After(statement)) = point;
        let ops: &'m [Op] = self.ops;
        let op = |temp: &Temp| ops.get(*temp as usize);
        let is_its = |temp: &Temp| op(temp).is_some_and(|op| statement.covers(op.span));
        for (at, temp) in block.iter().enumerate() {
            if is_its(temp) {
                let count = block.iter().skip(at).take_while(|temp| is_its(temp)).count();
                way.push((block, if matches!(point, Point::Before(_)) { at } else { at + count }));
                return true;
            }
            way.push((block, at));
            for inner in op(temp).map(|op| op.kind.blocks()).unwrap_or_default() {
                if self.find(inner, point, way) {
                    return true;
                }
            }
            way.pop();
        }
        false
    }

    /// The flow of the value in a block.
    fn block(&self, block: &[Temp]) -> Flow {
        self.rest(block, 0)
    }

    fn rest(&self, block: &[Temp], from: usize) -> Flow {
        let mut flow = Flow(FALLS);
        for temp in block.iter().skip(from) {
            if !flow.has(FALLS) || flow.has(READ) {
                break;
            }
            let is_revisited = self.revisited == Some(*temp);
            flow = flow.then(if is_revisited { Flow(READ) } else { self.op(*temp) });
        }
        flow
    }

    fn op(&self, temp: Temp) -> Flow {
        let Some(op) = self.ops.get(temp as usize) else { return Flow(FALLS) };
        let flow = match &op.kind {
            OpKind::Load(variable) if *variable == self.variable && !self.ignored.contains(&op.span) => Flow(READ),
            OpKind::Store(variable, _) | OpKind::Delete(variable) if *variable == self.variable => Flow(0),
            OpKind::If { then, orelse, .. } => self.block(then).or(self.block(orelse)),
            OpKind::Loop { head, body, orelse, .. } => self.block(head).then(self.iteration(body, orelse)),
            OpKind::Try { body, finally, .. } => self.finally(self.handled(temp, self.block(body)), finally),
            OpKind::Return(_) => Flow(RETURNS),
            OpKind::Raise(_) => Flow(RAISES),
            OpKind::Break => Flow(BREAKS),
            OpKind::Continue => Flow(CONTINUES),
            _ => Flow(FALLS),
        };
        if op.kind.may_raise() { flow.or(Flow(RAISES)) } else { flow }
    }

    /// The flow of the value after the head of a loop.
    fn iteration(&self, body: &[Temp], orelse: &[Temp]) -> Flow {
        let body = self.block(body);
        let left = if body.has(BREAKS) { Flow(FALLS) } else { Flow(0) };
        body.without(FALLS | CONTINUES | BREAKS).or(left).or(self.block(orelse))
    }

    /// The flow of a value after the body of a `try`, given its flow in the body; without `finally`.
    fn handled(&self, attempt: Temp, body: Flow) -> Flow {
        let Some(OpKind::Try { handlers, orelse, .. }) = self.ops.get(attempt as usize).map(|op| &op.kind) else {
            return body;
        };
        let caught = handlers.iter().filter(|_| body.has(RAISES));
        let caught = caught.fold(Flow(0), |flow, handler| flow.or(self.block(&handler.body)));
        body.then(self.block(orelse)).or(caught)
    }

    /// Every exit leads through `finally`.
    fn finally(&self, flow: Flow, finally: &[Temp]) -> Flow {
        let finally = self.block(finally);
        let ways = if finally.has(FALLS) { flow.without(READ) } else { Flow(0) };
        let own = if flow.without(READ).0 == 0 { Flow(0) } else { finally.without(FALLS) };
        Flow(flow.0 & READ).or(ways).or(own)
    }

    /// The flow of the value after an operation, given its flow from the point to the end of one of the operation's blocks.
    fn leave(&self, temp: Temp, inner: &[Temp], flow: Flow) -> Flow {
        let is = |block: &[Temp]| std::ptr::eq(block, inner);
        match self.ops.get(temp as usize).map(|op| &op.kind) {
            Some(OpKind::Loop { head, body, orelse, .. }) if is(head) => flow.then(self.iteration(body, orelse)),
            Some(OpKind::Loop { head, body, orelse, .. }) if is(body) => {
                let again = if flow.has(FALLS) || flow.has(CONTINUES) {
                    self.block(head).then(self.iteration(body, orelse))
                } else {
                    Flow(0)
                };
                let left = if flow.has(BREAKS) { Flow(FALLS) } else { Flow(0) };
                flow.without(FALLS | CONTINUES | BREAKS).or(left).or(again)
            }
            Some(OpKind::Try { body, finally, .. }) if is(body) => self.finally(self.handled(temp, flow), finally),
            // A pending exit continues afterwards.
            Some(OpKind::Try { finally, .. }) if is(finally) => {
                if flow.has(FALLS) {
                    flow.or(Flow(RAISES | RETURNS | BREAKS | CONTINUES))
                } else {
                    flow
                }
            }
            Some(OpKind::Try { finally, .. }) => self.finally(flow, finally),
            _ => flow,
        }
    }
}

/// Something reads the value.
const READ: u8 = 1;
/// It may reach the end of the block.
const FALLS: u8 = 2;
/// It may reach a `break`.
const BREAKS: u8 = 4;
/// It may reach a `continue`.
const CONTINUES: u8 = 8;
/// It may reach a `return`.
const RETURNS: u8 = 16;
/// It may reach an operation that raises.
const RAISES: u8 = 32;

/// What happens to a value that the variable holds at the start of a piece of code: a set of the above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flow(u8);

impl Flow {
    fn has(self, way: u8) -> bool {
        self.0 & way != 0
    }

    fn without(self, ways: u8) -> Self {
        Self(self.0 & !ways)
    }

    /// One or the other.
    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// One after the other.
    fn then(self, next: Self) -> Self {
        if self.has(FALLS) { self.without(FALLS).or(next) } else { self }
    }
}

/// Whether a function other than its own reads or writes a variable.
fn is_mentioned_elsewhere(module: &Module, id: FunctionId, variable: &Variable) -> bool {
    let functions = (0u32..).map(FunctionId).zip(&module.functions).filter(|(other, _)| *other != id);
    functions.into_iter().any(|(other, function)| {
        let is_it = |used: &Variable| match (used, variable) {
            (Variable::Outer(depth, slot), Variable::Local(own)) => {
                let owner = (0..*depth).try_fold(other, |at, _| module.functions.get(at.0 as usize)?.parent);
                slot == own && owner == Some(id)
            }
            (Variable::Global(name), Variable::Global(own)) => name == own,
            _ => false,
        };
        function.ops.iter().any(|op| match &op.kind {
            OpKind::Load(used) | OpKind::Store(used, _) | OpKind::Delete(used) => is_it(used),
            OpKind::Unsupported(written) => written.iter().any(is_it),
            _ => false,
        })
    })
}
