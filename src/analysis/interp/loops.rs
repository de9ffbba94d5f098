//! Loops, as a few copies of their body.
//!
//! Copy `t` runs under "the loop has an iteration `t`"; the exits after 0, 1, 2, … copies keep their own paths. What one iteration
//! consumes meets what a later one consumes because every copy runs on the state that the copy before it left.
//!
//! **Invariant:** at most [`UNROLLED`] copies run, fewer in nested loops, and [`LATER`] for later iterations; the paths that would
//! go on leave after the last copy.

use std::rc::Rc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::Asked;
use crate::analysis::domain::value::Value;
use crate::analysis::record::Iteration;
use crate::finding::Place;
use crate::ir::{Block, Constant, Op, OpKind, Temp};

#[cfg(doc)]
use super::later::LATER;
use super::{Frame, LoopState, Machine};

/// Most copies of a body, for iterables whose few elements are known.
const UNROLLED: u32 = 8;

/// Copies of a body, by the number of loops around it.
const COPIES: [u32; 3] = [3, 2, 2];

/// One step of an iteration.
pub(super) struct Step {
    /// On which paths there is a next element.
    pub has: Guard,
    /// On which of these the element takes part (an element that was added on some paths only).
    pub present: Guard,
    /// The element.
    pub value: Value,
}

impl<'p> Machine<'p> {
    /// How many copies of a body run, given the number of elements where it is known.
    pub(super) fn copies(&self, known: Option<u32>) -> u32 {
        let depth = usize::try_from(self.context.loop_depth).unwrap_or(usize::MAX);
        let copies = COPIES.get(depth).copied().unwrap_or(2);
        match known {
            Some(length) if length <= UNROLLED && depth == 0 => length,
            Some(length) if length <= 4 => length,
            Some(length) => copies.min(length),
            None => copies,
        }
    }

    /// Begins the copies of a loop: a number for its execution.
    pub(super) fn begin_loop(&mut self) -> (u32, Option<Rc<Iteration>>) {
        self.context.loop_instances += 1;
        self.context.loop_depth += 1;
        (self.context.loop_instances, self.context.iteration.clone())
    }

    /// Begins one copy.
    pub(super) fn begin_copy(&mut self, instance: u32, copy: u32, place: Place, outer: Option<Rc<Iteration>>) {
        self.context.iteration = Some(Rc::new(Iteration { instance, copy, place, outer }));
    }

    /// Ends a loop.
    pub(super) fn end_loop(&mut self, outer: Option<Rc<Iteration>>) {
        self.context.loop_depth -= 1;
        self.context.iteration = outer;
    }

    pub(super) fn run_loop(
        &mut self,
        frame: &mut Frame<'p>,
        head: &Block,
        test: Option<Temp>,
        body: &'p Block,
        orelse: &Block,
        op: &'p Op,
    ) {
        let place = self.place(frame, op.span);
        let left = std::mem::replace(&mut frame.left, Guard::FALSE);
        frame.loops.push(LoopState { breaks: Guard::FALSE, continues: Guard::FALSE });
        let iterator = match (test, head.last().map(|temp| (temp, &Self::op(frame, *temp).kind))) {
            (None, Some((temp, OpKind::Next(iterator)))) => Some((*temp, *iterator)),
            _ => None,
        };
        let known = iterator.and_then(|(_, iterator)| {
            let value = frame.temps[iterator as usize].clone();
            self.known_length(&value)
        });
        // The loops around this one count, not this one.
        let copies = self.copies(known);
        let (instance, outer) = self.begin_loop();
        let goes_on =
            iterator.is_none() && test.is_some() || iterator.is_some() && known.is_none_or(|known| known > copies);
        let mut later = self.later(frame, body, copies, goes_on);
        let mut exit = Guard::FALSE;
        let mut endless = false;
        for copy in 0..=later.most() {
            if self.paths.pc.is_false() {
                break;
            }
            self.begin_copy(instance, copy, place, outer.clone());
            let is_later = copy >= copies && !later.ends(copy);
            let number = is_later.then(|| self.begin_later(&mut later, frame, place));
            let continues = match (iterator, test) {
                (Some((temp, iterator)), _) => {
                    let value = frame.temps[iterator as usize].clone();
                    if later.ends(copy) {
                        break;
                    }
                    self.context.position = number;
                    let step = self.next_step(frame, &value, op.span);
                    self.context.position = None;
                    frame.temps[temp as usize] = step.value;
                    let over = self.paths.guards.without(self.paths.pc, step.has);
                    exit = self.paths.guards.or(exit, over);
                    self.paths.pc = self.paths.guards.and(self.paths.pc, step.has);
                    let absent = self.paths.guards.without(self.paths.pc, step.present);
                    self.paths.pc = self.paths.guards.and(self.paths.pc, step.present);
                    absent
                }
                (None, Some(test)) => {
                    self.block(frame, head);
                    let value = frame.temps[test as usize].clone();
                    let holds = self.truth(&value);
                    let over = self.paths.guards.without(self.paths.pc, holds);
                    exit = self.paths.guards.or(exit, over);
                    self.paths.pc = self.paths.guards.and(self.paths.pc, holds);
                    endless = matches!(
                        &Self::op(frame, test).kind,
                        OpKind::Constant(Constant::Bool(true) | Constant::Int(1))
                    );
                    if later.ends(copy) {
                        break;
                    }
                    Guard::FALSE
                }
                (None, None) => {
                    self.block(frame, head);
                    Guard::FALSE
                }
            };
            if !self.feasible(self.paths.pc) {
                self.paths.pc = Guard::FALSE;
            }
            let outside = self.terms.ask(Asked::default());
            self.block(frame, body);
            let within = self.terms.ask(outside);
            self.end_copy(&mut later, frame, copy, within);
            let continued = frame
                .loops
                .last_mut()
                .map_or(Guard::FALSE, |state| std::mem::replace(&mut state.continues, Guard::FALSE));
            self.paths.pc = self.paths.guards.or(self.paths.pc, continued);
            self.paths.pc = self.paths.guards.or(self.paths.pc, continues);
        }
        // Whoever would go on leaves here: a later iteration does what one of the copies did. A `while True` has no such way out.
        if !endless && (iterator.is_some() || exit.is_false()) {
            exit = self.paths.guards.or(exit, self.paths.pc);
        }
        if let Some((_, iterator)) = iterator {
            let value = frame.temps[iterator as usize].clone();
            let broke = frame.loops.last().is_some_and(|state| !state.breaks.is_false());
            self.leave_iterator(&value, broke);
        }
        self.end_loop(outer);
        let outside = self.terms.asked().then(later.asked());
        self.terms.ask(outside);
        let breaks = frame.loops.pop().map_or(Guard::FALSE, |state| state.breaks);
        // `break` and `continue` of this loop did not leave an enclosing `try`.
        frame.left = self.paths.guards.without(frame.left, breaks);
        frame.left = self.paths.guards.without(frame.left, exit);
        frame.left = self.paths.guards.or(frame.left, left);
        self.paths.pc = exit;
        self.block(frame, orelse);
        self.paths.pc = self.paths.guards.or(self.paths.pc, breaks);
    }
}
