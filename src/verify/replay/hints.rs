//! Which blocks of a program lead to the target places, so that likely paths are tried first.
//!
//! **Invariant:** hints order the search; they never exclude a path. What a run depends on of its hints is what it asks its [`Guide`].

use std::cell::RefCell;
use std::rc::Rc;

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

    fn answer(&self, question: Question) -> Option<bool> {
        match question {
            Question::IsTarget(place) => Some(self.targets.contains(&place)),
            Question::Holds(module, id) => Some(self.functions.contains(&(module, id))),
            Question::Leads(at) => Some(self.loops.contains(&at)),
            Question::Handles(at) => Some(self.handlers.contains(&at)),
            Question::Side(at) => match self.sides.get(&at) {
                Some((then, orelse)) if then != orelse => Some(*then),
                _ => None,
            },
        }
    }
}

/// What a run asks its hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    /// Whether a place is one in question.
    IsTarget(Place),
    /// Whether a function holds a place in question.
    Holds(usize, FunctionId),
    /// Whether the body of a loop leads to a target place.
    Leads(At),
    /// Whether a handler of a `try` leads to a target place.
    Handles(At),
    /// Which side of a branch leads to a target place, if only one does.
    Side(At),
}

/// What a run has asked its hints. A run with other hints that give the same answers would have come to the same state.
#[derive(Default)]
pub(super) struct Asked {
    answers: FxHashMap<Question, Option<bool>>,
    /// How often the functions of a module were made before anything was listed.
    made: FxHashMap<(usize, FunctionId), usize>,
}

impl Asked {
    /// Whether a run with these hints would have got the same answers.
    pub(super) fn fits(&self, hints: &Hints) -> bool {
        self.answers.iter().all(|(question, answer)| hints.answer(*question) == *answer)
    }

    /// How many functions a run with these hints would have listed.
    pub(super) fn listed(&self, hints: &Hints) -> usize {
        let held = self.made.iter().filter(|((module, id), _)| hints.functions.contains(&(*module, *id)));
        held.map(|(_, count)| count).sum()
    }
}

/// Most functions with a target place that one run lists, to run those that nothing calls.
const LISTED: usize = 256;

/// The hints of one run, and what it has asked them since the last [`Guide::take_asked`].
pub(super) struct Guide {
    hints: Rc<Hints>,
    /// How many functions the run would have listed before it began to list them; `None` before that.
    listed: Option<usize>,
    asked: RefCell<Asked>,
}

impl Guide {
    /// The guide of a run that lists functions from the beginning.
    pub(super) fn new(hints: &Rc<Hints>) -> Self {
        Self { hints: hints.clone(), listed: Some(0), asked: RefCell::default() }
    }

    /// The guide of a run that lists no functions yet.
    pub(super) fn not_listing(hints: &Rc<Hints>) -> Self {
        Self { listed: None, ..Self::new(hints) }
    }

    /// The guide of a run that begins to list functions where a run was that had asked this.
    pub(super) fn after(asked: &Asked, hints: &Rc<Hints>) -> Self {
        Self { listed: Some(asked.listed(hints)), ..Self::new(hints) }
    }

    /// What was asked.
    pub(super) fn take_asked(&mut self) -> Asked {
        self.asked.take()
    }

    /// That of a copy of the run.
    pub(super) fn copy(&self) -> Self {
        Self { listed: self.listed, ..Self::new(&self.hints) }
    }

    fn ask(&self, question: Question) -> Option<bool> {
        *self.asked.borrow_mut().answers.entry(question).or_insert_with(|| self.hints.answer(question))
    }

    /// Whether a function that was made is listed, after `count` others since the run began to list them.
    pub(super) fn lists(&self, module: usize, id: FunctionId, count: usize) -> bool {
        let Some(listed) = self.listed else {
            *self.asked.borrow_mut().made.entry((module, id)).or_default() += 1;
            return false;
        };
        self.holds(module, id) && listed + count < LISTED
    }

    /// Whether a place is one in question.
    pub(super) fn is_target(&self, place: Place) -> bool {
        self.ask(Question::IsTarget(place)) == Some(true)
    }

    /// Whether a function holds a place in question.
    pub(super) fn holds(&self, module: usize, id: FunctionId) -> bool {
        self.ask(Question::Holds(module, id)) == Some(true)
    }

    /// Whether the body of a loop leads to a target place.
    pub(super) fn leads(&self, module: usize, id: FunctionId, temp: Temp) -> bool {
        self.ask(Question::Leads((module, id, temp))) == Some(true)
    }

    /// Whether a handler of a `try` leads to a target place.
    pub(super) fn handles(&self, module: usize, id: FunctionId, temp: Temp) -> bool {
        self.ask(Question::Handles((module, id, temp))) == Some(true)
    }

    /// Which side of a branch to try first: the one that leads to a target place, else the one that falls through.
    pub(super) fn side(&self, (module, id, temp): At, code: &Function, then: &[Temp], orelse: &[Temp]) -> Option<bool> {
        self.ask(Question::Side((module, id, temp))).or_else(|| match (exits(code, then), exits(code, orelse)) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            _ => None,
        })
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
