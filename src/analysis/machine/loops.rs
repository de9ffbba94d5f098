//! Loops, as a few copies of their body.
//!
//! Copy `t` runs under "the loop has an iteration `t`"; the exits after 0, 1, 2, … copies keep their own paths.
//! Consumptions of one iteration are compared with those of a later one because every copy runs on the state that the
//! copy before it left.
//!
//! **Invariant:** at most [`UNROLLED`] copies run, fewer in nested loops, and a few for later iterations ([`super::widening`]); the paths that would
//! continue exit after the last copy.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Queries, TermId};
use crate::analysis::domain::value::{ModuleIndex, Val, Value};
use crate::analysis::machine::widening::{NESTED, SymbolicIterations, Writes};
use crate::analysis::machine::{Frame, LoopState, Machine, implied, iterate, prelude, widening};
use crate::analysis::record::Iteration;
use crate::finding::Place;
use crate::ir::{Block, Constant, Name, Op, OpKind, Temp, Variable};

/// Most copies of a body, for iterables whose few elements are known.
pub const UNROLLED: u32 = 8;

/// Copies of a body, by the number of loops around it.
pub const COPIES: [u32; 3] = [3, 2, 2];

/// One step of an iteration.
pub struct Step {
    /// On which paths there is a next element.
    pub has: Guard,
    /// On which of these the element exists (it may have been added only on some paths).
    pub present: Guard,
    /// The element.
    pub value: Value,
}

impl<'p> Machine<'p> {
    /// How many copies of a body run; `known` is the number of elements, if it is known.
    pub fn copies(&self, known: Option<u32>) -> u32 {
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
    pub fn begin_loop(&mut self) -> (u32, Option<Rc<Iteration>>) {
        self.context.loop_instances += 1;
        self.context.loop_depth += 1;
        (self.context.loop_instances, self.context.iteration.clone())
    }

    /// Begins one copy.
    pub fn begin_copy(&mut self, instance: u32, copy: u32, place: Place, outer: Option<Rc<Iteration>>) {
        self.context.iteration = Some(Rc::new(Iteration { instance, copy, place, last: None, outer }));
    }

    /// Ends a loop.
    pub fn end_loop(&mut self, outer: Option<Rc<Iteration>>) {
        self.context.loop_depth -= 1;
        self.context.iteration = outer;
    }

    pub fn run_loop(
        &mut self,
        frame: &mut Frame<'p>,
        head: &Block,
        test: Option<Temp>,
        body: &'p Block,
        orelse: &Block,
        op: &'p Op,
    ) {
        let place = self.place(frame, op.span);
        let begun = implied::begin_loop(self, frame, body);
        let left = std::mem::replace(&mut frame.left, Guard::FALSE);
        frame.loops.push(LoopState { breaks: Guard::FALSE, continues: Guard::FALSE });
        let iterator = iterated(frame, head, test);
        let known = iterator.and_then(|(_, iterator)| {
            let value = frame.value(iterator);
            prelude::begin(self, frame, &value, place);
            iterate::known_length(&mut self.state, &value)
        });
        // The loops around this one count, not this one.
        let copies = self.copies(known);
        let (instance, outer) = self.begin_loop();
        let may_continue =
            iterator.is_none() && test.is_some() || iterator.is_some() && known.is_none_or(|known| known > copies);
        let mut symbolic = self.begin_symbolic(frame, body, iterator, (copies, known), may_continue);
        let is_for = iterator.is_some() && orelse.is_empty();
        let (first_event, before) = (self.recorder.log().consumptions.len(), self.state.paths.pc);
        let (mut exit, mut none, mut counted, mut endless) = (Guard::FALSE, Guard::FALSE, None, false);
        for copy in 0..=symbolic.most() {
            if self.state.paths.pc.is_false() {
                break;
            }
            self.begin_copy(instance, copy, place, outer.clone());
            let is_symbolic = copy >= copies && !symbolic.ends(copy);
            let number = is_symbolic.then(|| self.begin_symbolic_copy(&mut symbolic, frame, (copy, place)));
            let continues = match (iterator, test) {
                (Some((temp, iterator)), _) => {
                    let value = frame.value(iterator);
                    if symbolic.ends(copy) {
                        break;
                    }
                    self.context.position = number;
                    let step = self.next_step(frame, &value, op.span);
                    self.context.position = None;
                    frame.temps[temp as usize] = step.value;
                    let over = self.state.paths.guards.without(self.state.paths.pc, step.has);
                    exit = self.state.paths.guards.or(exit, over);
                    self.state.paths.pc = self.state.paths.guards.and(self.state.paths.pc, step.has);
                    let absent = self.state.paths.guards.without(self.state.paths.pc, step.present);
                    self.state.paths.pc = self.state.paths.guards.and(self.state.paths.pc, step.present);
                    absent
                }
                (None, Some(test)) => {
                    self.block(frame, head);
                    let value = frame.value(test);
                    let holds = self.state.truth(&value);
                    let over = self.state.paths.guards.without(self.state.paths.pc, holds);
                    exit = self.state.paths.guards.or(exit, over);
                    self.state.paths.pc = self.state.paths.guards.and(self.state.paths.pc, holds);
                    endless = always_holds(&Self::op(frame, test).kind);
                    if symbolic.ends(copy) {
                        break;
                    }
                    Guard::FALSE
                }
                (None, None) => {
                    self.block(frame, head);
                    Guard::FALSE
                }
            };
            if copy == 0 {
                (none, counted) = (exit, self.state.paths.counted.take());
            }
            if !self.state.feasible(self.state.paths.pc) {
                self.state.paths.pc = Guard::FALSE;
            }
            let outside = self.state.terms.replace_queries(Queries::default());
            self.block(frame, body);
            let within = self.state.terms.replace_queries(outside);
            self.end_copy(&mut symbolic, frame, copy, within);
            let continued = frame.loops.last_mut().map(|state| std::mem::replace(&mut state.continues, Guard::FALSE));
            for paths in [continued.unwrap_or(Guard::FALSE), continues] {
                self.state.paths.pc = self.state.paths.guards.or(self.state.paths.pc, paths);
            }
        }
        // Paths that would continue exit here: a later iteration does what one of the copies did. A `while True` has no such exit.
        if !endless && (iterator.is_some() || exit.is_false()) {
            self.leave_symbolic(&mut symbolic, frame, place);
            exit = self.state.paths.guards.or(exit, self.state.paths.pc);
            frame.may_continue |= may_continue && !self.state.paths.pc.is_false();
        }
        self.end_loop(outer);
        self.recorder.note_loop(first_event, before, if is_for { none } else { Guard::FALSE });
        symbolic.end(&mut self.state);
        let breaks = self.leave_loop(frame, iterator, exit, left);
        implied::end_loop(self, frame, (begun, body), (none, counted));
        self.block(frame, orelse);
        self.state.paths.pc = self.state.paths.guards.or(self.state.paths.pc, breaks);
    }
}

impl<'p> Machine<'p> {
    /// Prepares for iterations of a loop after its first copies.
    fn begin_symbolic(
        &mut self,
        frame: &Frame<'p>,
        body: &'p Block,
        iterator: Option<(Temp, Temp)>,
        (copies, known): (u32, Option<u32>),
        may_continue: bool,
    ) -> SymbolicIterations<'p> {
        let may_continue = may_continue && self.context.loop_depth <= NESTED;
        let indexed = if may_continue { widening::last_indexed_after(frame.code, body) } else { Vec::new() };
        let last = iterator
            .filter(|_| indexed.into_iter().any(|variable| self.is_key_array(frame, variable)))
            .and_then(|(_, iterator)| iterate::last_index(&mut self.state, &frame.value(iterator)));
        SymbolicIterations::begin(&mut self.state, frame.code, body, (copies, known), (may_continue, last))
    }

    /// Whether a variable of a frame, or of its module, is an array of keys.
    fn is_key_array(&self, frame: &Frame<'p>, variable: &Variable) -> bool {
        let store = &self.state.store;
        let value = match variable {
            Variable::Local(slot) => store.environments[frame.environment.0 as usize].slots.get(*slot as usize),
            Variable::Global(name) => store.modules.get(&frame.module).and_then(|module| module.globals.get(name)),
            Variable::Outer(..) => None,
        };
        value.is_some_and(|value| value.alternatives().iter().any(|of| matches!(of.val, Val::Array(_))))
    }

    /// Begins a copy for a later iteration: the number of the iteration.
    fn begin_symbolic_copy(
        &mut self,
        symbolic: &mut SymbolicIterations<'p>,
        frame: &Frame<'p>,
        at: (u32, Place),
    ) -> TermId {
        let cyclic = self.cyclic_attributes(frame.module);
        let (number, writes) = symbolic.begin_copy(&mut self.state, (frame.code, &cyclic), at);
        if let Some(iteration) = self.context.iteration.as_mut().filter(|_| symbolic.is_last(at.0)) {
            *iteration = Rc::new(Iteration { last: Some(self.state.paths.pc), ..Iteration::clone(iteration) });
        }
        self.store_all(frame, writes);
        number
    }

    fn end_copy(&mut self, symbolic: &mut SymbolicIterations<'p>, frame: &Frame<'p>, copy: u32, within: Queries) {
        let mut variables = Vec::with_capacity(symbolic.writes().len());
        for op in symbolic.writes() {
            if let OpKind::Store(variable, _) = &op.kind {
                variables.push(self.load(frame, variable, op));
            }
        }
        symbolic.end_copy(&mut self.state, variables, copy, within);
    }

    /// Leaves a loop on the paths that would continue after its last copy.
    fn leave_symbolic(&mut self, symbolic: &mut SymbolicIterations<'p>, frame: &Frame<'p>, place: Place) {
        let cyclic = self.cyclic_attributes(frame.module);
        let writes = symbolic.leave(&mut self.state, (frame.code, &cyclic), place);
        self.store_all(frame, writes);
    }

    fn store_all(&mut self, frame: &Frame<'p>, writes: Writes<'p>) {
        for (op, term) in writes {
            if let OpKind::Store(variable, _) = &op.kind {
                self.store(frame, variable, &Value::term(term), op);
            }
        }
    }

    /// The attributes to which functions of a module store remainders.
    pub fn cyclic_attributes(&mut self, index: ModuleIndex) -> Rc<FxHashSet<Name>> {
        let module = self.module(index);
        let known = self.caches.cyclic.entry(index);
        known.or_insert_with(|| Rc::new(widening::cyclic_attributes(module))).clone()
    }

    /// Continues with the paths that leave a loop at its head, and with those that leave it by `break`.
    fn leave_loop(&mut self, frame: &mut Frame<'p>, iterator: Option<(Temp, Temp)>, exit: Guard, left: Guard) -> Guard {
        let breaks = frame.loops.pop().map_or(Guard::FALSE, |state| state.breaks);
        if let Some((_, iterator)) = iterator {
            let value = frame.value(iterator);
            iterate::leave_iterator(&mut self.state, &value, !breaks.is_false());
        }
        // `break` and `continue` of this loop did not leave an enclosing `try`.
        frame.left = self.state.paths.guards.without(frame.left, breaks);
        frame.left = self.state.paths.guards.without(frame.left, exit);
        frame.left = self.state.paths.guards.or(frame.left, left);
        self.state.paths.pc = exit;
        breaks
    }
}

/// The operation that requests the next element, and its iterator, if a loop has one.
fn iterated(frame: &Frame<'_>, head: &Block, test: Option<Temp>) -> Option<(Temp, Temp)> {
    let last = *head.last().filter(|_| test.is_none())?;
    match Machine::op(frame, last).kind {
        OpKind::Next(iterator) => Some((last, iterator)),
        _ => None,
    }
}

/// Whether a condition is a literal that is always true: `while True`, `while 1`.
fn always_holds(test: &OpKind) -> bool {
    match test {
        OpKind::Constant(Constant::Bool(holds)) => *holds,
        OpKind::Constant(Constant::Int(number)) => **number == 1,
        _ => false,
    }
}
