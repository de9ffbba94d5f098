//! Frames of a run, and the ways through and out of their blocks.
//!
//! **Invariant:** a frame keeps all of its control in `tasks`, so that a generator can be suspended and resumed. Every operation costs
//! budget, so every run ends.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::machine::Machine;
use super::symbol::Node;
use super::value::{Environment, Value};
use crate::finding::Place;
use crate::ir::{Function, FunctionId, FunctionKind, Op, OpKind, Temp, Variable};

/// Most iterations of a loop whose end is unknown.
pub(super) const ITERATIONS: u32 = 4;

/// Most iterations of a `while` loop.
pub(super) const ROUNDS: u32 = 64;

/// Identifies context managers that suppress the exception that they expect.
const EXPECTS: &str = "<expects>";

/// Why an operation did not end in a value.
pub(super) enum Signal<'p> {
    Raise(Value<'p>),
    /// The run is over.
    Stop,
}

/// What an operation ends in.
pub(super) type Eval<'p, T> = Result<T, Signal<'p>>;

/// A running or suspended function.
pub(super) struct Frame<'p> {
    pub(super) module: usize,
    pub(super) id: FunctionId,
    pub(super) code: &'p Function,
    pub(super) environment: Rc<Environment<'p>>,
    pub(super) temps: Vec<Value<'p>>,
    tasks: Vec<Task<'p>>,
    /// Exceptions that are being handled.
    handling: Vec<Value<'p>>,
    /// Identifies executions.
    pub(super) activation: u32,
    /// How often the loops that are running went round.
    rounds: FxHashMap<Temp, u32>,
    /// What was left when the loops that are running began.
    pub(super) began: FxHashMap<Temp, u32>,
}

/// The remaining work, innermost last. Markers tell what an exit passes.
enum Task<'p> {
    Run(&'p [Temp]),
    /// Marker: the head of a loop runs.
    Test(Temp),
    /// Marker: the body of a loop runs.
    Body(Temp),
    /// Marker: the body of a `try` runs.
    Guarded(Temp),
    /// Marker: a handler or the `else` of a `try` runs.
    Clauses(Temp),
    /// The types of this handler have been evaluated for this exception.
    Select(Temp, usize, Value<'p>),
    /// Marker: an exception is being handled, under this name.
    Handling(Option<&'p Variable>),
    /// Marker: a `finally` runs; then this continues.
    Finally(Option<Exit<'p>>),
    /// `yield from` this.
    Delegate(Temp, Value<'p>),
}

/// A way out of blocks.
pub(super) enum Exit<'p> {
    Raise(Value<'p>),
    Return(Value<'p>),
    Break,
    Continue,
    /// The iterator of a loop has ended.
    Exhausted,
}

/// How a frame stops.
pub(super) enum Halt<'p> {
    Return(Value<'p>),
    Yield(Value<'p>),
}

/// Where an operation continues, if not at the next one.
pub(super) enum Next<'p> {
    Exit(Exit<'p>),
    Yield(Value<'p>),
}

impl<'p> Machine<'p> {
    pub(super) fn frame(
        &mut self,
        module: usize,
        id: FunctionId,
        mut slots: Vec<Option<Value<'p>>>,
        parent: Option<Rc<Environment<'p>>>,
    ) -> Option<Frame<'p>> {
        let code = self.project.modules.get(module)?.functions.get(id.0 as usize)?;
        slots.resize(code.slots.len(), None);
        self.activations += 1;
        let environment = Rc::new(Environment { slots: RefCell::new(slots), parent });
        self.made_here.environment(&environment);
        Some(Frame {
            module,
            id,
            code,
            environment,
            temps: vec![Value::None; code.ops.len()],
            tasks: vec![Task::Run(&code.body)],
            handling: Vec::new(),
            activation: self.activations,
            rounds: FxHashMap::default(),
            began: FxHashMap::default(),
        })
    }

    /// Runs a frame until it returns, yields or raises.
    pub(super) fn run(&mut self, frame: &mut Frame<'p>) -> Eval<'p, Halt<'p>> {
        loop {
            let Some(task) = frame.tasks.pop() else { return Ok(Halt::Return(Value::None)) };
            let halt = match task {
                Task::Run(block) => {
                    let Some((temp, rest)) = block.split_first() else { continue };
                    self.charge()?;
                    frame.tasks.push(Task::Run(rest));
                    match self.step(frame, *temp) {
                        Ok(None) => continue,
                        Ok(Some(Next::Yield(value))) => return Ok(Halt::Yield(value)),
                        Ok(Some(Next::Exit(exit))) => self.unwind(frame, exit)?,
                        Err(Signal::Raise(error)) => self.unwind(frame, Exit::Raise(error))?,
                        Err(Signal::Stop) => return Err(Signal::Stop),
                    }
                }
                Task::Delegate(temp, iterator) => {
                    self.charge()?;
                    match self.next(&iterator) {
                        Ok(Some(value)) => {
                            frame.tasks.push(Task::Delegate(temp, iterator));
                            return Ok(Halt::Yield(value));
                        }
                        Ok(None) => {
                            let result = self.unknown("<result>");
                            put(frame, temp, result);
                            continue;
                        }
                        Err(Signal::Raise(error)) => self.unwind(frame, Exit::Raise(error))?,
                        Err(Signal::Stop) => return Err(Signal::Stop),
                    }
                }
                marker => self.pass(frame, marker)?,
            };
            if let Some(halt) = halt {
                return Ok(halt);
            }
        }
    }

    /// Control reaches the end of the block above a marker.
    fn pass(&mut self, frame: &mut Frame<'p>, marker: Task<'p>) -> Eval<'p, Option<Halt<'p>>> {
        match marker {
            Task::Test(temp) => {
                let OpKind::Loop { test, body, orelse, .. } = kind(frame, temp) else { return Ok(None) };
                let goes_on = match test {
                    _ if self.is_overrun(frame, temp) => {
                        self.leave_loop(frame, temp);
                        false
                    }
                    None => true,
                    Some(test) => self.runs_again(frame, temp, *test)?,
                };
                if goes_on {
                    frame.tasks.extend([Task::Body(temp), Task::Run(body)]);
                } else {
                    frame.rounds.remove(&temp);
                    frame.tasks.push(Task::Run(orelse));
                }
            }
            Task::Body(temp) => enter_loop(frame, temp),
            Task::Guarded(temp) => {
                let OpKind::Try { orelse, .. } = kind(frame, temp) else { return Ok(None) };
                frame.tasks.extend([Task::Clauses(temp), Task::Run(orelse)]);
            }
            Task::Clauses(temp) => finish(frame, temp, None),
            Task::Select(temp, index, error) => {
                let OpKind::Try { handlers, .. } = kind(frame, temp) else { return Ok(None) };
                let Some(handler) = handlers.get(index) else { return Ok(None) };
                let types = handler.types.map(|types| at(frame, types));
                let takes = match types {
                    None => true,
                    Some(types) => Self::catches(&error, &types),
                };
                if takes {
                    let place = handler.types.and_then(|types| position(&handler.body, types));
                    let from = place.map_or(0, |place| place + 1);
                    if let Some(name) = &handler.name {
                        self.store(frame, name, Some(error.clone()));
                    }
                    frame.handling.push(error);
                    let rest = handler.body.get(from..).unwrap_or_default();
                    frame.tasks.extend([Task::Handling(handler.name.as_ref()), Task::Run(rest)]);
                } else {
                    return self.select(frame, temp, index + 1, error);
                }
            }
            Task::Handling(name) => self.handled(frame, name),
            Task::Finally(Some(exit)) => return self.unwind(frame, exit),
            Task::Finally(None) | Task::Run(_) | Task::Delegate(..) => {}
        }
        Ok(None)
    }

    /// Whether a `while` loop runs another iteration.
    fn runs_again(&mut self, frame: &mut Frame<'p>, temp: Temp, test: Temp) -> Eval<'p, bool> {
        let value = at(frame, test);
        let span = frame.code.ops.get(test as usize).map_or_else(Default::default, |op| op.span);
        if let Some(arithmetic) = self.arithmetic {
            (arithmetic.decidable)(self, &value, span)?;
        }
        let rounds = frame.rounds.entry(temp).or_insert(0);
        *rounds += 1;
        let rounds = *rounds;
        let is_unknown = value.truth().is_none();
        if rounds > ROUNDS || is_unknown && rounds > ITERATIONS {
            if let Some(arithmetic) = self.arithmetic {
                (arithmetic.left_at_bound)(self, span);
            }
            self.leave_loop(frame, temp);
            return Ok(false);
        }
        let wanted = if self.hints.leads(frame.module, frame.id, temp) { 2 } else { 1 };
        // A symbol that is tested repeatedly never changes: the bound ends the loop then.
        Ok(self.truth(&value, Some(rounds <= wanted)))
    }

    /// Leaves blocks until something takes the exit.
    fn unwind(&mut self, frame: &mut Frame<'p>, exit: Exit<'p>) -> Eval<'p, Option<Halt<'p>>> {
        loop {
            match (frame.tasks.pop(), &exit) {
                (None, _) => {
                    return match exit {
                        Exit::Return(value) => Ok(Some(Halt::Return(value))),
                        Exit::Raise(error) => Err(Signal::Raise(error)),
                        Exit::Break | Exit::Continue | Exit::Exhausted => Ok(Some(Halt::Return(Value::None))),
                    };
                }
                (Some(Task::Body(temp)), Exit::Break) => {
                    frame.rounds.remove(&temp);
                    return Ok(None);
                }
                (Some(Task::Body(temp)), Exit::Continue) => {
                    enter_loop(frame, temp);
                    return Ok(None);
                }
                (Some(Task::Test(temp)), Exit::Exhausted) => {
                    let OpKind::Loop { orelse, .. } = kind(frame, temp) else { return Ok(None) };
                    frame.tasks.push(Task::Run(orelse));
                    return Ok(None);
                }
                (Some(Task::Guarded(temp)), Exit::Raise(error)) => {
                    frame.tasks.push(Task::Clauses(temp));
                    return self.select(frame, temp, 0, error.clone());
                }
                (Some(Task::Guarded(temp) | Task::Clauses(temp)), _) => {
                    finish(frame, temp, Some(exit));
                    return Ok(None);
                }
                (Some(Task::Handling(name)), _) => self.handled(frame, name),
                (Some(_), _) => {}
            }
        }
    }

    /// Tries the handlers from this one on.
    fn select(
        &mut self,
        frame: &mut Frame<'p>,
        temp: Temp,
        index: usize,
        error: Value<'p>,
    ) -> Eval<'p, Option<Halt<'p>>> {
        let OpKind::Try { handlers, .. } = kind(frame, temp) else { return Ok(None) };
        let Some(handler) = handlers.get(index) else { return self.unwind(frame, Exit::Raise(error)) };
        let types = handler.types.and_then(|types| position(&handler.body, types));
        frame.tasks.push(Task::Select(temp, index, error));
        frame.tasks.push(Task::Run(handler.body.get(..types.map_or(0, |place| place + 1)).unwrap_or_default()));
        Ok(None)
    }

    fn handled(&mut self, frame: &mut Frame<'p>, name: Option<&'p Variable>) {
        frame.handling.pop();
        if let Some(name) = name {
            self.store(frame, name, None);
        }
    }

    /// Whether a handler of these types catches an exception. An unknown exception is caught by the first handler.
    fn catches(error: &Value<'p>, types: &Value<'p>) -> bool {
        match types {
            Value::Tuple(types) => types.iter().any(|types| Self::catches(error, types)),
            _ => Self::is_a(error, types).unwrap_or(true),
        }
    }

    /// Runs one operation.
    fn step(&mut self, frame: &mut Frame<'p>, temp: Temp) -> Eval<'p, Option<Next<'p>>> {
        let op: &'p Op = match frame.code.ops.get(temp as usize) {
            Some(op) => op,
            None => return Ok(None),
        };
        if !self.project.is_prelude(frame.module) {
            let file = self.project.modules[frame.module].file;
            self.here = (Place { file, span: op.span }, frame.activation);
        }
        let value = match &op.kind {
            OpKind::If { test, then, orelse } => {
                let preferred = self.hints.side((frame.module, frame.id, temp), frame.code, then, orelse);
                let value = at(frame, *test);
                if let Some(arithmetic) = self.arithmetic {
                    (arithmetic.decidable)(self, &value, op.span)?;
                }
                let block = if self.truth(&value, preferred) { then } else { orelse };
                frame.tasks.push(Task::Run(block));
                return Ok(None);
            }
            OpKind::Loop { .. } => {
                frame.began.insert(temp, self.left());
                enter_loop(frame, temp);
                return Ok(None);
            }
            OpKind::Try { body, .. } => {
                frame.tasks.extend([Task::Guarded(temp), Task::Run(body)]);
                return Ok(None);
            }
            OpKind::Next(iterator) => {
                let iterator = at(frame, *iterator);
                match self.next(&iterator)? {
                    Some(value) => value,
                    None => return Ok(Some(Next::Exit(Exit::Exhausted))),
                }
            }
            OpKind::Return(value) => {
                let value = value.map_or(Value::None, |value| at(frame, value));
                return Ok(Some(Next::Exit(Exit::Return(value))));
            }
            OpKind::Raise(Some(error)) => {
                let error = at(frame, *error);
                return Err(Signal::Raise(error));
            }
            OpKind::Raise(None) => {
                let error = frame.handling.last().cloned();
                return Err(Signal::Raise(error.unwrap_or_else(|| Value::Library("builtins.RuntimeError".into()))));
            }
            OpKind::Break => return Ok(Some(Next::Exit(Exit::Break))),
            OpKind::Continue => return Ok(Some(Next::Exit(Exit::Continue))),
            OpKind::Yield { value, from: false } => {
                let value = value.map_or(Value::None, |value| at(frame, value));
                let sent = self.unknown("<sent>");
                put(frame, temp, sent);
                return Ok(Some(Next::Yield(value)));
            }
            OpKind::Yield { value, from: true } => {
                let value = value.map_or(Value::None, |value| at(frame, value));
                let iterator = self.iterate(&value)?;
                frame.tasks.push(Task::Delegate(temp, iterator));
                return Ok(None);
            }
            OpKind::Leave(entered) => {
                self.leave(frame, *entered)?;
                Value::None
            }
            OpKind::Call(..) | OpKind::Item(..) | OpKind::Operate(..) => {
                self.may_fail(frame)?;
                let in_try = u32::from(frame.tasks.iter().any(|task| matches!(task, Task::Guarded(_))));
                self.try_depth += in_try;
                let value = self.within_budget(frame, op, temp);
                self.try_depth -= in_try;
                value?
            }
            _ => self.simple(frame, op, temp)?,
        };
        let value = self.havocked.current(value);
        put(frame, temp, value);
        Ok(None)
    }

    /// A call within a `try` may raise, if a handler leads to a target place.
    fn may_fail(&mut self, frame: &Frame<'p>) -> Eval<'p, ()> {
        let guarded = frame.tasks.iter().rev().find_map(|task| match task {
            Task::Guarded(temp) => Some(*temp),
            _ => None,
        });
        if let Some(temp) = guarded
            && self.hints.handles(frame.module, frame.id, temp)
            && self.choose(2, 0) == 1
        {
            let error = self.unknown("<exception>");
            return Err(Signal::Raise(error));
        }
        Ok(())
    }

    /// Leaves a context manager.
    fn leave(&mut self, frame: &mut Frame<'p>, entered: Temp) -> Eval<'p, ()> {
        let OpKind::Enter(manager) = kind(frame, entered) else { return Ok(()) };
        let manager = at(frame, *manager);
        let raised = frame.tasks.iter().rev().find_map(|task| match task {
            Task::Finally(exit) => Some(matches!(exit, Some(Exit::Raise(_)))),
            _ => None,
        });
        let swallows = self.manage(&manager, false)?;
        // What an unknown manager does with an exception is unknown; that it swallows one is rare.
        if raised == Some(true) && (swallows.truth() == Some(true) || self.is_expecting(&manager)) {
            let way_out = frame.tasks.iter_mut().rev().find_map(|task| match task {
                Task::Finally(exit) => Some(exit),
                _ => None,
            });
            if let Some(way_out) = way_out {
                *way_out = None;
            }
        }
        Ok(())
    }

    /// A context manager that expects an exception and swallows it.
    pub(super) fn expects(&mut self) -> Value<'p> {
        Value::Unknown(self.symbols.apply(EXPECTS, &[]))
    }

    fn is_expecting(&self, manager: &Value<'p>) -> bool {
        let Value::Unknown(symbol) = manager else { return false };
        matches!(self.symbols.node(*symbol), Some(Node::Apply(name, _)) if &**name == EXPECTS)
    }

    pub(super) fn load(&mut self, frame: &Frame<'p>, variable: &Variable) -> Value<'p> {
        let found = match variable {
            Variable::Local(slot) => {
                let value = slot_of(&frame.environment, *slot);
                match (value, frame.code.slots.get(*slot as usize)) {
                    (None, Some(name)) if frame.code.kind == FunctionKind::ClassBody && *slot < frame.code.named => {
                        return self.global(frame.module, &name.clone());
                    }
                    (value, _) => value,
                }
            }
            Variable::Outer(depth, slot) => outer(frame, *depth).and_then(|outer| slot_of(&outer, *slot)),
            Variable::Global(name) => return self.global(frame.module, name),
        };
        // An unbound variable raises in Python; here the run continues with a value that it might have had.
        found.unwrap_or_else(|| self.unknown("<unbound>"))
    }

    /// Binds or unbinds a variable.
    pub(super) fn store(&mut self, frame: &Frame<'p>, variable: &Variable, value: Option<Value<'p>>) {
        let place = |environment: &Environment<'p>, slot: u32, value| {
            if let Some(place) = environment.slots.borrow_mut().get_mut(slot as usize) {
                *place = value;
            }
        };
        match (variable, value) {
            (Variable::Local(slot), value) => place(&frame.environment, *slot, value),
            (Variable::Outer(depth, slot), value) => {
                if let Some(outer) = outer(frame, *depth) {
                    place(&outer, *slot, value);
                }
            }
            (Variable::Global(name), Some(value)) => {
                self.globals.entry(frame.module).or_default().insert(name.clone(), value);
            }
            (Variable::Global(name), None) => {
                self.globals.entry(frame.module).or_default().remove(name);
            }
        }
    }
}

/// The value of an operation.
pub(super) fn at<'p>(frame: &Frame<'p>, temp: Temp) -> Value<'p> {
    frame.temps.get(temp as usize).cloned().unwrap_or(Value::None)
}

pub(super) fn put<'p>(frame: &mut Frame<'p>, temp: Temp, value: Value<'p>) {
    if let Some(place) = frame.temps.get_mut(temp as usize) {
        *place = value;
    }
}

fn kind<'p>(frame: &Frame<'p>, temp: Temp) -> &'p OpKind {
    let code: &'p Function = frame.code;
    code.ops.get(temp as usize).map_or(&OpKind::Break, |op| &op.kind)
}

fn position(block: &[Temp], temp: Temp) -> Option<usize> {
    block.iter().position(|other| *other == temp)
}

fn enter_loop(frame: &mut Frame<'_>, temp: Temp) {
    if let OpKind::Loop { head, .. } = kind(frame, temp) {
        frame.tasks.extend([Task::Test(temp), Task::Run(head)]);
    }
}

fn finish<'p>(frame: &mut Frame<'p>, temp: Temp, exit: Option<Exit<'p>>) {
    if let OpKind::Try { finally, .. } = kind(frame, temp) {
        frame.tasks.extend([Task::Finally(exit), Task::Run(finally)]);
    }
}

fn slot_of<'p>(environment: &Environment<'p>, slot: u32) -> Option<Value<'p>> {
    environment.slots.borrow().get(slot as usize).cloned().flatten()
}

fn outer<'p>(frame: &Frame<'p>, depth: u32) -> Option<Rc<Environment<'p>>> {
    let mut environment = frame.environment.clone();
    for _ in 0..depth {
        environment = environment.parent.clone()?;
    }
    Some(environment)
}
