//! Which blocks of a program lead to the target places, so that likely paths are tried first.
//!
//! **Invariant:** hints order the search; they never exclude a path.

use rustc_hash::{FxHashMap, FxHashSet};

use super::project::Project;
use crate::finding::Place;
use crate::ir::{Function, FunctionId, Module, OpKind, Temp};
use crate::text::Span;

/// An operation with blocks.
type At = (usize, FunctionId, Temp);

/// Hints for one replay.
#[derive(Default)]
pub(super) struct Hints {
    sides: FxHashMap<At, (bool, bool)>,
    loops: FxHashSet<At>,
    handlers: FxHashSet<At>,
    functions: FxHashSet<(usize, FunctionId)>,
    targets: Vec<Place>,
}

impl Hints {
    /// Hints for target places, and for further places on the way to them.
    pub(super) fn new(project: &Project<'_>, targets: &[Place], all: &[Place]) -> Self {
        let mut hints = Self { targets: targets.to_vec(), ..Self::default() };
        for (index, module) in project.modules.iter().enumerate() {
            let targets: Vec<Place> = all.iter().filter(|target| target.file == module.file).copied().collect();
            if targets.is_empty() {
                continue;
            }
            for (number, code) in (0u32..).zip(&module.functions) {
                let id = FunctionId(number);
                let holds = |span: Span| {
                    targets.iter().any(|target| span.start <= target.span.start && target.span.end <= span.end)
                };
                if number == 0 || holds(code.full) {
                    let mut walk = Walk { hints: &mut hints, module: index, of: module, id, code, holds: &holds };
                    walk.block(&code.body);
                    hints.functions.insert((index, id));
                }
            }
        }
        hints
    }

    /// Whether a place is one in question.
    pub(super) fn is_target(&self, place: Place) -> bool {
        self.targets.contains(&place)
    }

    /// Whether a function holds a place in question.
    pub(super) fn holds(&self, module: usize, id: FunctionId) -> bool {
        self.functions.contains(&(module, id))
    }

    /// Whether the body of a loop leads to a target place.
    pub(super) fn leads(&self, module: usize, id: FunctionId, temp: Temp) -> bool {
        self.loops.contains(&(module, id, temp))
    }

    /// Whether a handler of a `try` leads to a target place.
    pub(super) fn handles(&self, module: usize, id: FunctionId, temp: Temp) -> bool {
        self.handlers.contains(&(module, id, temp))
    }

    /// Which side of a branch to try first: the one that leads to a target place, else the one that falls through.
    pub(super) fn side(
        &self,
        module: usize,
        id: FunctionId,
        temp: Temp,
        code: &Function,
        then: &[Temp],
        orelse: &[Temp],
    ) -> Option<bool> {
        match self.sides.get(&(module, id, temp)) {
            Some((true, false)) => return Some(true),
            Some((false, true)) => return Some(false),
            _ => {}
        }
        match (exits(code, then), exits(code, orelse)) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            _ => None,
        }
    }
}

/// Whether a block leaves instead of ending.
fn exits(code: &Function, block: &[Temp]) -> bool {
    block.iter().any(|temp| {
        let kind = code.ops.get(*temp as usize).map(|op| &op.kind);
        matches!(kind, Some(OpKind::Return(_) | OpKind::Raise(_) | OpKind::Break | OpKind::Continue))
    })
}

struct Walk<'h, 'c> {
    hints: &'h mut Hints,
    module: usize,
    of: &'c Module,
    id: FunctionId,
    code: &'c Function,
    holds: &'h dyn Fn(Span) -> bool,
}

impl Walk<'_, '_> {
    /// All of a function's source.
    fn full(&self, id: FunctionId) -> Span {
        self.of.functions.get(id.0 as usize).map(|code| code.full).unwrap_or_default()
    }

    /// Whether a block leads to a target place.
    fn block(&mut self, block: &[Temp]) -> bool {
        let mut leads = false;
        for temp in block {
            let Some(op) = self.code.ops.get(*temp as usize) else { continue };
            let at = (self.module, self.id, *temp);
            leads |= match &op.kind {
                OpKind::If { then, orelse, .. } => {
                    let sides = (self.block(then), self.block(orelse));
                    self.hints.sides.insert(at, sides);
                    sides.0 || sides.1
                }
                OpKind::Loop { head, body, orelse, .. } => {
                    let inside = self.block(head) | self.block(body);
                    if inside {
                        self.hints.loops.insert(at);
                    }
                    inside | self.block(orelse)
                }
                OpKind::Try { body, handlers, orelse, finally } => {
                    let mut caught = false;
                    for handler in handlers {
                        caught |= self.block(&handler.body);
                    }
                    if caught {
                        self.hints.handlers.insert(at);
                    }
                    self.block(body) | caught | self.block(orelse) | self.block(finally)
                }
                OpKind::Function(id, _) => (self.holds)(self.full(*id)) || (self.holds)(op.span),
                OpKind::Class(id, _) => {
                    let class = self.of.classes.get(id.0 as usize);
                    class.is_some_and(|class| (self.holds)(self.full(class.body)))
                }
                _ => (self.holds)(op.span),
            };
        }
        leads
    }
}
