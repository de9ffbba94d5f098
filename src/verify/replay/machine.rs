//! One run of a program on one path: frames, and the ways through and out of their blocks.
//!
//! **Invariant:** a frame keeps all of its control in `tasks`, so that a generator can be left and entered again. Every
//! operation is paid for, so that every run ends.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use rustc_hash::FxHashMap;

use super::carry::{Answers, Asked};
use super::hints::Hints;
use super::lost::Lost;
use super::ration::Ration;
use super::symbol::{Node, Question, Symbol, Symbols};
use super::value::{Class, Closure, Environment, Instance, Value};
use super::{DrawKind, Project};
use crate::finding::Place;
use crate::ir::{Function, FunctionId, FunctionKind, Name, Op, OpKind, Temp, Variable};
use crate::text::Span;

/// Most choices of one path.
const CHOICES: usize = 256;

/// Most iterations of a loop whose end is unknown.
pub(super) const ITERATIONS: u32 = 4;

/// Most iterations of a `while` loop.
pub(super) const ROUNDS: u32 = 64;

/// What tells context managers that swallow the exception that they expect.
const EXPECTS: &str = "<expects>";

/// Why an operation did not end in a value.
pub(super) enum Signal<'p> {
    Raise(Value<'p>),
    /// The run is over.
    Stop,
}

/// What an operation ends in.
pub(super) type Ran<'p, T> = Result<T, Signal<'p>>;

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
    /// Tells executions apart.
    pub(super) activation: u32,
    /// How often the loops that are running went round.
    rounds: FxHashMap<Temp, u32>,
    /// What was left when the loops that are running began.
    pub(super) began: FxHashMap<Temp, u32>,
}

/// What is left to do, innermost last. Markers say what a way out passes.
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
    /// Marker: a `finally` runs; then this goes on.
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

/// What an operation leads to, if not to the one after it.
pub(super) enum Next<'p> {
    Exit(Exit<'p>),
    Yield(Value<'p>),
}

/// An answer to a question that the program does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) value: u8,
    pub(super) options: u8,
    /// The operation that was running when it was asked for.
    pub(super) place: Place,
}

/// What a run is told to choose.
#[derive(Clone, Copy, Default)]
pub(super) struct Script<'p> {
    /// The first choices that it makes itself, in order.
    pub(super) prefix: &'p [u8],
    /// Answers of another run, by where they were given; what they answer is no choice of this run's own.
    pub(super) answers: Option<&'p Answers>,
}

/// A key handed to something that consumes or derives.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub(super) kind: DrawKind,
    /// The calls that lead to it, and the executions that they stand in.
    pub(super) way: Vec<(Place, u32)>,
    pub(super) callee: Name,
    pub(super) keys: Vec<Vec<u32>>,
    /// Symbols that may be keys: what an unresolved call was given.
    pub(super) maybe: Vec<Symbol>,
    /// Whether nothing on the way of the keys was unknown.
    pub(super) is_known: bool,
    /// The lanes of mapped functions that it was made in.
    pub(super) lanes: Vec<u32>,
    /// The other arguments, as an expression, where the numbers can be computed.
    pub(super) numbers: Option<String>,
}

/// A run.
pub(super) struct Machine<'p> {
    pub(super) project: &'p Project<'p>,
    pub(super) hints: &'p Hints,
    pub(super) symbols: Symbols,
    pub(super) globals: FxHashMap<usize, FxHashMap<Name, Value<'p>>>,
    /// The latest value of each function.
    pub(super) made: FxHashMap<(usize, FunctionId), Rc<Closure<'p>>>,
    /// All function values of functions within others.
    pub(super) closures: Vec<Rc<Closure<'p>>>,
    /// Attributes and items that were written to symbols.
    pub(super) written: FxHashMap<Symbol, Value<'p>>,
    /// Mutable things whose contents are not known any more.
    pub(super) lost: Lost<'p>,
    pub(super) draws: Vec<Draw>,
    /// The calls that are running, and the executions that they stand in.
    pub(super) stack: Vec<(Place, u32)>,
    pub(super) lanes: Vec<u32>,
    /// Where the running operation stands, and in which execution.
    pub(super) here: (Place, u32),
    script: Script<'p>,
    /// How many of the script's answers were taken, place by place.
    answered: FxHashMap<Asked, usize>,
    /// How many of them were taken altogether.
    pub(super) taken: usize,
    pub(super) choices: Vec<Choice>,
    /// Of each choice, whether a function with a place in question, or a module's body, asked.
    pub(super) near: Vec<bool>,
    /// What the run may still cost.
    pub(super) ration: Ration,
    /// How many calls that are running stand in a `try`.
    tries: u32,
    /// Whether a bound was met.
    pub(super) is_bounded: bool,
    activations: u32,
    pub(super) numbers: u32,
    /// Above zero, what is handed keys is not logged.
    pub(super) quiet: u32,
    pub(super) nesting: u32,
    /// How many imports are being followed.
    pub(super) importing: u32,
    /// The functions that are running, innermost last.
    pub(super) running: Vec<(usize, FunctionId)>,
    pub(super) made_here: Made<'p>,
}

/// What a run makes that may refer to itself: a function to the class or the variables that hold it, an object to itself.
#[derive(Default)]
pub(super) struct Made<'p> {
    environments: Vec<Weak<Environment<'p>>>,
    classes: Vec<Weak<Class<'p>>>,
    instances: Vec<Weak<Instance<'p>>>,
}

impl<'p> Made<'p> {
    pub(super) fn class(&mut self, class: &Rc<Class<'p>>) {
        self.classes.push(Rc::downgrade(class));
    }

    pub(super) fn instance(&mut self, instance: &Rc<Instance<'p>>) {
        self.instances.push(Rc::downgrade(instance));
    }

    /// Empties all of it: what refers to itself is never freed otherwise.
    fn release(&mut self) {
        for environment in self.environments.drain(..).filter_map(|one| one.upgrade()) {
            drop(environment.slots.take());
        }
        for class in self.classes.drain(..).filter_map(|one| one.upgrade()) {
            drop(class.attributes.take());
        }
        for instance in self.instances.drain(..).filter_map(|one| one.upgrade()) {
            drop(instance.attributes.take());
        }
    }
}

impl<'p> Machine<'p> {
    pub(super) fn new(project: &'p Project<'p>, hints: &'p Hints, script: Script<'p>, level: usize) -> Self {
        Self {
            project,
            hints,
            symbols: Symbols::default(),
            globals: FxHashMap::default(),
            made: FxHashMap::default(),
            closures: Vec::new(),
            written: FxHashMap::default(),
            lost: Lost::default(),
            draws: Vec::new(),
            stack: Vec::new(),
            lanes: Vec::new(),
            here: (Place { file: crate::text::FileId(0), span: Span::default() }, 0),
            script,
            answered: FxHashMap::default(),
            taken: 0,
            choices: Vec::new(),
            near: Vec::new(),
            ration: Ration::new(level),
            tries: 0,
            is_bounded: false,
            activations: 0,
            numbers: 0,
            quiet: 0,
            nesting: 0,
            importing: 0,
            running: Vec::new(),
            made_here: Made::default(),
        }
    }

    /// Frees what the run made; its draws and choices stay.
    pub(super) fn release(&mut self) {
        self.made_here.release();
    }

    /// Whether an exception would be caught by the program.
    pub(super) fn is_caught(&self) -> bool {
        self.tries > 0
    }

    pub(super) fn unknown(&mut self, name: &str) -> Value<'p> {
        Value::Unknown(self.symbols.fresh(name))
    }

    /// Answers a question that the program does not answer.
    pub(super) fn choose(&mut self, options: u8, preferred: u8) -> u8 {
        if self.choices.len() + self.taken >= CHOICES {
            self.is_bounded = true;
            return preferred;
        }
        let place = self.here.0;
        if let Some(answers) = self.script.answers {
            let asked = answers.asked(place);
            let taken = self.answered.entry(asked).or_insert(0);
            if let Some(answer) = answers.get(asked, *taken) {
                *taken += 1;
                self.taken += 1;
                return answer.min(options.saturating_sub(1));
            }
        }
        let given = self.script.prefix.get(self.choices.len()).copied();
        let value = given.unwrap_or(preferred).min(options.saturating_sub(1));
        self.choices.push(Choice { value, options, place });
        self.near.push(self.running.last().is_none_or(|(module, id)| self.hints.holds(*module, *id)));
        value
    }

    /// The truth of a symbol, chosen where nothing tells it.
    pub(super) fn decide(&mut self, symbol: Symbol, preferred: Option<bool>) -> bool {
        match self.symbols.ask(symbol) {
            Question::Answered(answer) => answer,
            Question::Open(symbol, turned) => {
                let is_none = matches!(self.symbols.node(symbol), Some(Node::Apply(name, _)) if &**name == "is None");
                let preferred = preferred.map_or(!is_none, |preferred| preferred != turned);
                let truth = self.choose(2, u8::from(preferred)) == 1;
                self.symbols.learn(symbol, truth);
                truth != turned
            }
        }
    }

    pub(super) fn truth(&mut self, value: &Value<'p>, preferred: Option<bool>) -> bool {
        match (value.truth(), value) {
            (Some(truth), _) => truth,
            (None, Value::Unknown(symbol)) => self.decide(*symbol, preferred),
            (None, Value::Instance(instance))
                if instance.class.find("__len__").is_none() && instance.class.find("__bool__").is_none() =>
            {
                true
            }
            (None, _) => {
                let symbol = self.symbol_of(value);
                let symbol = self.symbols.apply("bool", &[symbol]);
                self.decide(symbol, preferred)
            }
        }
    }

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
        self.made_here.environments.push(Rc::downgrade(&environment));
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
    pub(super) fn run(&mut self, frame: &mut Frame<'p>) -> Ran<'p, Halt<'p>> {
        loop {
            let Some(task) = frame.tasks.pop() else { return Ok(Halt::Return(Value::None)) };
            let halt = match task {
                Task::Run(block) => {
                    let Some((temp, rest)) = block.split_first() else { continue };
                    self.pay()?;
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
                    self.pay()?;
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

    /// Control comes to the end of what a marker stands below of.
    fn pass(&mut self, frame: &mut Frame<'p>, marker: Task<'p>) -> Ran<'p, Option<Halt<'p>>> {
        match marker {
            Task::Test(temp) => {
                let OpKind::Loop { test, body, orelse, .. } = kind(frame, temp) else { return Ok(None) };
                let goes_on = match test {
                    _ if self.is_overrun(frame, temp) => {
                        self.leave_loop(frame, temp);
                        false
                    }
                    None => true,
                    Some(test) => self.goes_round(frame, temp, *test),
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

    /// Whether a `while` loop goes round once more.
    fn goes_round(&mut self, frame: &mut Frame<'p>, temp: Temp, test: Temp) -> bool {
        let value = at(frame, test);
        let rounds = frame.rounds.entry(temp).or_insert(0);
        *rounds += 1;
        let rounds = *rounds;
        let is_unknown = value.truth().is_none();
        if rounds > ROUNDS || is_unknown && rounds > ITERATIONS {
            self.leave_loop(frame, temp);
            return false;
        }
        let wanted = if self.hints.leads(frame.module, frame.id, temp) { 2 } else { 1 };
        // One symbol asked again and again never changes: the bound ends the loop then.
        self.truth(&value, Some(rounds <= wanted))
    }

    /// Leaves blocks until something takes the exit.
    fn unwind(&mut self, frame: &mut Frame<'p>, exit: Exit<'p>) -> Ran<'p, Option<Halt<'p>>> {
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

    /// Asks the handlers from this one on.
    fn select(
        &mut self,
        frame: &mut Frame<'p>,
        temp: Temp,
        index: usize,
        error: Value<'p>,
    ) -> Ran<'p, Option<Halt<'p>>> {
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

    /// Whether a handler of these types takes an exception. Of what is unknown, the first handler does.
    fn catches(error: &Value<'p>, types: &Value<'p>) -> bool {
        match types {
            Value::Tuple(types) => types.iter().any(|types| Self::catches(error, types)),
            _ => Self::is_a(error, types).unwrap_or(true),
        }
    }

    /// Runs one operation.
    fn step(&mut self, frame: &mut Frame<'p>, temp: Temp) -> Ran<'p, Option<Next<'p>>> {
        let op: &'p Op = match frame.code.ops.get(temp as usize) {
            Some(op) => op,
            None => return Ok(None),
        };
        let file = self.project.modules[frame.module].file;
        self.here = (Place { file, span: op.span }, frame.activation);
        let value = match &op.kind {
            OpKind::If { test, then, orelse } => {
                let preferred = self.hints.side(frame.module, frame.id, temp, frame.code, then, orelse);
                let value = at(frame, *test);
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
                self.tries += in_try;
                let value = self.rationed(frame, op, temp);
                self.tries -= in_try;
                value?
            }
            _ => self.simple(frame, op, temp)?,
        };
        let value = self.lost.current(value);
        put(frame, temp, value);
        Ok(None)
    }

    /// A call within a `try` may raise, where a handler leads to a place in question.
    fn may_fail(&mut self, frame: &Frame<'p>) -> Ran<'p, ()> {
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
    fn leave(&mut self, frame: &mut Frame<'p>, entered: Temp) -> Ran<'p, ()> {
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
        // A variable that is not bound raises in Python; here the run goes on with what it might have been.
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
