//! Later iterations of a loop: copies of its body for iterations that are not among the first.
//!
//! A body may ask for the number of its iteration: `if step % 100 == 0`, `if step > 5`. The copies that a loop has for its first
//! iterations answer for their own numbers only. Where the last two of them compare or divide other numbers, two more run: for a later
//! iteration, of which the least number is known, and for one that follows it at a distance that all divisors divide. Numbers are those
//! of `range`, `enumerate` and the like, and variables that the body counts up by one.
//!
//! **Invariant:** what the body writes on some paths only is forgotten before such a copy: iterations that are not run may have written it.
//! Paths on which such a variable decides are not claimed to be there.

use crate::analysis::domain::term::{Asked, Symbol, TermId};
use crate::analysis::domain::value::Value;
use crate::finding::Place;
use crate::ir::{Block, Op, OpKind, Operator};

use super::{Frame, Machine};

/// Copies for later iterations.
pub(super) const LATER: u32 = 2;

/// Most loops, one in the other, that have copies for later iterations.
const NESTED: u32 = 2;

/// What a loop's copies for later iterations need.
pub(super) struct Later<'p> {
    /// Number of copies for the first iterations.
    first: u32,
    /// Whether there may be more iterations.
    goes_on: bool,
    /// Whether the first copies ask for their numbers.
    asks: bool,
    asked: Asked,
    /// What the body writes on some paths only.
    perhaps: Vec<&'p Op>,
    /// What the body may count, with what it was after the last two copies.
    counted: Vec<(&'p Op, [Option<i128>; 2])>,
    number: Option<TermId>,
}

impl Later<'_> {
    /// Most copies of the body.
    pub(super) fn most(&self) -> u32 {
        if self.goes_on { self.first + LATER } else { self.first }
    }

    /// Whether nothing runs after this many copies.
    pub(super) fn ends(&self, copy: u32) -> bool {
        copy == self.first && !(self.goes_on && self.asks) || copy == self.first + LATER
    }

    /// What the copies asked of numbers.
    pub(super) fn asked(&self) -> Asked {
        self.asked
    }
}

impl<'p> Machine<'p> {
    /// Prepares for later iterations of a loop with so many copies for its first ones.
    pub(super) fn later(&self, frame: &Frame<'p>, body: &'p Block, first: u32, goes_on: bool) -> Later<'p> {
        let goes_on = goes_on && self.context.loop_depth <= NESTED;
        let (mut perhaps, mut counted) = (Vec::new(), Vec::new());
        let mut work = if goes_on { vec![(body, false)] } else { Vec::new() };
        while let Some((block, is_branch)) = work.pop() {
            for temp in block {
                let op = Self::op(frame, *temp);
                match &op.kind {
                    OpKind::Store(..) if is_branch => perhaps.push(op),
                    OpKind::Store(_, value)
                        if matches!(Self::op(frame, *value).kind, OpKind::Operate(Operator::Add, ..)) =>
                    {
                        counted.push((op, [None; 2]));
                    }
                    OpKind::Loop { .. } => work.extend(op.kind.blocks().into_iter().map(|inner| (inner, is_branch))),
                    kind => work.extend(kind.blocks().into_iter().map(|inner| (inner, true))),
                }
            }
        }
        Later { first, goes_on, asks: false, asked: Asked::default(), perhaps, counted, number: None }
    }

    /// Notes what a copy asked, and what its variables are at its end.
    pub(super) fn end_copy(&mut self, later: &mut Later<'p>, frame: &Frame<'p>, copy: u32, within: Asked) {
        if copy < later.first {
            later.asks = copy > 0 && within.questions != later.asked.questions;
            for (op, values) in &mut later.counted {
                let OpKind::Store(variable, _) = &op.kind else { continue };
                let value = self.load(frame, variable, op);
                let term = value.single().map(|_| self.term_of(&value));
                *values = [values[1], term.and_then(|term| self.terms.as_int(term))];
            }
        }
        later.asked = Asked { questions: within.questions, ..later.asked.then(within) };
    }

    /// Begins a copy for a later iteration: the number of the iteration.
    pub(super) fn begin_later(&mut self, later: &mut Later<'p>, frame: &Frame<'p>, place: Place) -> TermId {
        let number = match later.number {
            Some(number) => self.terms.offset(number, later.asked.multiple),
            None => self.terms.fresh(Symbol::Later(later.first), "<iteration>", Some(place)),
        };
        later.number = Some(number);
        for op in &later.perhaps {
            let OpKind::Store(variable, _) = &op.kind else { continue };
            let unseen = self.terms.fresh(Symbol::Unseen, "<written in a loop>", Some(self.place(frame, op.span)));
            self.store(frame, variable, &Value::term(unseen), op);
        }
        for (op, values) in &later.counted {
            if let OpKind::Store(variable, _) = &op.kind
                && let [Some(before), Some(now)] = values
                && now - before == 1
            {
                let count = self.terms.offset(number, now - i128::from(later.first));
                self.store(frame, variable, &Value::term(count), op);
            }
        }
        number
    }
}
