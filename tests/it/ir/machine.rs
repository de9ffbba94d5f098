//! A reference interpreter of the IR, after the semantics written down in `ir`.
//!
//! **Invariant:** a frame keeps all of its control in `tasks`, so that a generator can be suspended and resumed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use keylint::ir::{Constant, Function, FunctionId, FunctionKind, Module, Name, Op, OpKind, Temp, Variable};

use super::values::{Class, Closure, Environment, Instance, Ran, Value, get, set};

/// The maximum number of operations of one snippet.
const FUEL: u32 = 100_000;

/// A running or suspended function.
pub struct Frame<'m> {
    pub code: &'m Function,
    pub environment: Rc<Environment<'m>>,
    pub class: Option<Rc<Class<'m>>>,
    pub temps: Vec<Value<'m>>,
    tasks: Vec<Task<'m>>,
    /// Exceptions that are being handled.
    handling: Vec<Value<'m>>,
}

/// The remaining tasks, innermost last. Markers say what an exit passes.
enum Task<'m> {
    Run(&'m [Temp]),
    /// Marker: the head of a loop runs.
    Test(Temp),
    /// Marker: the body of a loop runs.
    Body(Temp),
    /// Marker: the body of a `try` runs.
    Guarded(Temp),
    /// Marker: a handler or the `else` of a `try` runs.
    Clauses(Temp),
    /// The types of this handler have been evaluated for this exception.
    Select(Temp, usize, Value<'m>),
    /// Marker: an exception is being handled, under this name.
    Handling(Option<&'m Variable>),
    /// Marker: a `finally` runs; then this continues.
    Finally(Option<Exit<'m>>),
    /// `yield from` this.
    Delegate(Temp, Value<'m>),
}

/// A way out of blocks.
enum Exit<'m> {
    Raise(Value<'m>),
    Return(Value<'m>),
    Break,
    Continue,
    /// The iterator of a loop has ended.
    Exhausted,
}

/// How a frame stops.
pub enum Stop<'m> {
    Return(Value<'m>),
    Raise(Value<'m>),
    Yield(Value<'m>),
}

pub struct Machine<'m> {
    pub module: &'m Module,
    pub globals: RefCell<Vec<(Name, Value<'m>)>>,
    pub log: RefCell<Vec<String>>,
    fuel: Cell<u32>,
}

impl<'m> Machine<'m> {
    pub fn new(module: &'m Module) -> Self {
        let machine = Self { module, globals: RefCell::default(), log: RefCell::default(), fuel: Cell::new(FUEL) };
        machine.define_exceptions();
        machine
    }

    /// Runs the module; the log.
    pub fn run_module(self) -> Vec<String> {
        let frame = self.frame(Module::BODY, Vec::new(), None, None);
        if let Stop::Raise(error) = self.run(&mut { frame }) {
            let name = if let Value::Instance(error) = error { error.class.name.to_string() } else { error.repr() };
            self.log.borrow_mut().push(name);
        }
        self.log.into_inner()
    }

    pub fn frame(
        &self,
        function: FunctionId,
        mut slots: Vec<Option<Value<'m>>>,
        parent: Option<Rc<Environment<'m>>>,
        class: Option<Rc<Class<'m>>>,
    ) -> Frame<'m> {
        let code = self.module.function(function);
        slots.resize(code.slots.len(), None);
        Frame {
            code,
            environment: Rc::new(Environment { slots: RefCell::new(slots), parent }),
            class,
            temps: vec![Value::None; code.ops.len()],
            tasks: vec![Task::Run(&code.body)],
            handling: Vec::new(),
        }
    }

    pub fn run(&self, frame: &mut Frame<'m>) -> Stop<'m> {
        loop {
            let Some(task) = frame.tasks.pop() else { return Stop::Return(Value::None) };
            let next = match task {
                Task::Run(block) => {
                    let Some((temp, rest)) = block.split_first() else { continue };
                    self.fuel.set(self.fuel.get().checked_sub(1).expect("a snippet ends"));
                    frame.tasks.push(Task::Run(rest));
                    match self.step(frame, *temp) {
                        Ok(None) => continue,
                        Ok(Some(Next::Yield(value))) => return Stop::Yield(value),
                        Ok(Some(Next::Exit(exit))) => self.unwind(frame, exit),
                        Err(error) => self.unwind(frame, Exit::Raise(error)),
                    }
                }
                Task::Delegate(temp, iterator) => match self.delegate(frame, temp, &iterator) {
                    Ok(None) => continue,
                    Ok(Some(value)) => return Stop::Yield(value),
                    Err(error) => self.unwind(frame, Exit::Raise(error)),
                },
                marker => self.pass(frame, marker),
            };
            if let Some(stop) = next {
                return stop;
            }
        }
    }

    /// Control reaches the end of the tasks above a marker.
    fn pass(&self, frame: &mut Frame<'m>, marker: Task<'m>) -> Option<Stop<'m>> {
        match marker {
            Task::Test(temp) => {
                let OpKind::Loop { test, body, orelse, .. } = kind(frame, temp) else { unreachable!() };
                if test.is_none_or(|test| frame.temps[test as usize].truth()) {
                    frame.tasks.extend([Task::Body(temp), Task::Run(body)]);
                } else {
                    frame.tasks.push(Task::Run(orelse));
                }
            }
            Task::Body(temp) => enter_loop(frame, temp),
            Task::Guarded(temp) => {
                let OpKind::Try { orelse, .. } = kind(frame, temp) else { unreachable!() };
                frame.tasks.extend([Task::Clauses(temp), Task::Run(orelse)]);
            }
            Task::Clauses(temp) => finish(frame, temp, None),
            Task::Select(temp, index, error) => {
                let OpKind::Try { handlers, .. } = kind(frame, temp) else { unreachable!() };
                let types = handlers[index].types.map(|types| frame.temps[types as usize].clone());
                if types.is_none_or(|types| error.is_a(&types)) {
                    let place = handlers[index].types.and_then(|types| position(&handlers[index].body, types));
                    self.handle(frame, temp, index, place.map_or(0, |place| place + 1), error);
                } else {
                    return self.select(frame, temp, index + 1, error);
                }
            }
            Task::Handling(name) => self.handled(frame, name),
            Task::Finally(Some(exit)) => return self.unwind(frame, exit),
            Task::Finally(None) => {}
            Task::Run(_) | Task::Delegate(..) => unreachable!(),
        }
        None
    }

    /// Leaves blocks until one handles the exit.
    fn unwind(&self, frame: &mut Frame<'m>, exit: Exit<'m>) -> Option<Stop<'m>> {
        loop {
            match (frame.tasks.pop(), &exit) {
                (None, _) => {
                    return Some(match exit {
                        Exit::Return(value) => Stop::Return(value),
                        Exit::Raise(error) => Stop::Raise(error),
                        Exit::Break | Exit::Continue | Exit::Exhausted => unreachable!("the IR was validated"),
                    });
                }
                (Some(Task::Body(_)), Exit::Break) => return None,
                (Some(Task::Body(temp)), Exit::Continue) => {
                    enter_loop(frame, temp);
                    return None;
                }
                (Some(Task::Test(temp)), Exit::Exhausted) => {
                    let OpKind::Loop { orelse, .. } = kind(frame, temp) else { unreachable!() };
                    frame.tasks.push(Task::Run(orelse));
                    return None;
                }
                (Some(Task::Guarded(temp)), Exit::Raise(error)) => {
                    frame.tasks.push(Task::Clauses(temp));
                    return self.select(frame, temp, 0, error.clone());
                }
                (Some(Task::Guarded(temp) | Task::Clauses(temp)), _) => {
                    finish(frame, temp, Some(exit));
                    return None;
                }
                (Some(Task::Handling(name)), _) => self.handled(frame, name),
                (Some(_), _) => {}
            }
        }
    }

    /// Tries the handlers, starting with this one.
    fn select(&self, frame: &mut Frame<'m>, temp: Temp, index: usize, error: Value<'m>) -> Option<Stop<'m>> {
        let OpKind::Try { handlers, .. } = kind(frame, temp) else { unreachable!() };
        let Some(handler) = handlers.get(index) else { return self.unwind(frame, Exit::Raise(error)) };
        let types = handler.types.and_then(|types| position(&handler.body, types));
        frame.tasks.push(Task::Select(temp, index, error));
        frame.tasks.push(Task::Run(&handler.body[..types.map_or(0, |place| place + 1)]));
        None
    }

    fn handle(&self, frame: &mut Frame<'m>, temp: Temp, index: usize, from: usize, error: Value<'m>) {
        let OpKind::Try { handlers, .. } = kind(frame, temp) else { unreachable!() };
        let handler = &handlers[index];
        if let Some(name) = &handler.name {
            self.store(frame, name, Some(error.clone()));
        }
        frame.handling.push(error);
        frame.tasks.extend([Task::Handling(handler.name.as_ref()), Task::Run(&handler.body[from..])]);
    }

    fn handled(&self, frame: &mut Frame<'m>, name: Option<&'m Variable>) {
        frame.handling.pop();
        if let Some(name) = name {
            self.store(frame, name, None);
        }
    }

    /// Runs one operation.
    fn step(&self, frame: &mut Frame<'m>, temp: Temp) -> Ran<'m, Option<Next<'m>>> {
        let at = |temp: &Temp| frame.temps[*temp as usize].clone();
        let value = match kind(frame, temp) {
            OpKind::If { test, then, orelse } => {
                let block = if at(test).truth() { then } else { orelse };
                frame.tasks.push(Task::Run(block));
                return Ok(None);
            }
            OpKind::Loop { .. } => {
                enter_loop(frame, temp);
                return Ok(None);
            }
            OpKind::Try { body, .. } => {
                frame.tasks.extend([Task::Guarded(temp), Task::Run(body)]);
                return Ok(None);
            }
            OpKind::Next(iterator) => match self.next(&at(iterator))? {
                Ok(value) => value,
                Err(_) => return Ok(Some(Next::Exit(Exit::Exhausted))),
            },
            OpKind::Return(value) => {
                return Ok(Some(Next::Exit(Exit::Return(value.as_ref().map_or(Value::None, at)))));
            }
            OpKind::Raise(Some(error)) => return Err(self.raised(&at(error))?),
            OpKind::Raise(None) => {
                return Err(frame.handling.last().cloned().unwrap_or_else(|| self.error("RuntimeError")));
            }
            OpKind::Break => return Ok(Some(Next::Exit(Exit::Break))),
            OpKind::Continue => return Ok(Some(Next::Exit(Exit::Continue))),
            OpKind::Yield { value, from: false } => {
                return Ok(Some(Next::Yield(value.as_ref().map_or(Value::None, at))));
            }
            OpKind::Yield { value, from: true } => {
                let iterator = self.iterate(&value.as_ref().map_or(Value::None, at))?;
                frame.tasks.push(Task::Delegate(temp, iterator));
                return Ok(None);
            }
            OpKind::Leave(entered) => {
                let OpKind::Enter(manager) = kind(frame, *entered) else { unreachable!() };
                let manager = at(manager);
                self.leave(frame, &manager)?;
                Value::None
            }
            other => self.simple(frame, other)?,
        };
        frame.temps[temp as usize] = value;
        Ok(None)
    }

    fn leave(&self, frame: &mut Frame<'m>, manager: &Value<'m>) -> Ran<'m, ()> {
        let way_out = frame.tasks.iter_mut().rev().find_map(|task| match task {
            Task::Finally(exit) => Some(exit),
            _ => None,
        });
        let mut given = vec![Value::None; 3];
        if let Some(Some(Exit::Raise(Value::Instance(error)))) = &way_out {
            given[0] = Value::Class(error.class.clone());
            given[1] = Value::Instance(error.clone());
        }
        let raised = matches!(way_out, Some(Some(Exit::Raise(_))));
        let swallows = self.manage(manager, "exit", given)?.truth();
        if let (true, Some(way_out), true) = (raised, way_out, swallows) {
            *way_out = None;
        }
        Ok(())
    }

    fn delegate(&self, frame: &mut Frame<'m>, temp: Temp, iterator: &Value<'m>) -> Ran<'m, Option<Value<'m>>> {
        match self.next(iterator)? {
            Ok(value) => {
                frame.tasks.push(Task::Delegate(temp, iterator.clone()));
                Ok(Some(value))
            }
            Err(result) => {
                frame.temps[temp as usize] = result;
                Ok(None)
            }
        }
    }

    pub fn load(&self, frame: &Frame<'m>, variable: &Variable) -> Ran<'m, Value<'m>> {
        let found = match variable {
            Variable::Local(slot) => {
                let value = frame.environment.slots.borrow()[*slot as usize].clone();
                match value {
                    None if frame.code.kind == FunctionKind::ClassBody && *slot < frame.code.named => {
                        return self.load(frame, &Variable::Global(frame.code.slots[*slot as usize].clone()));
                    }
                    value => value,
                }
            }
            Variable::Outer(depth, slot) => outer(frame, *depth).slots.borrow()[*slot as usize].clone(),
            Variable::Global(name) => {
                let global = get(&self.globals.borrow(), name).or_else(|| Self::builtin(name));
                return global.ok_or_else(|| self.error("NameError"));
            }
        };
        found.ok_or_else(|| self.error(Self::unbound(frame, variable)))
    }

    /// What Python raises for a variable without a value.
    pub fn unbound(frame: &Frame<'m>, variable: &Variable) -> &'static str {
        match variable {
            Variable::Local(_) if frame.code.kind != FunctionKind::ClassBody => "UnboundLocalError",
            Variable::Local(_) | Variable::Outer(..) | Variable::Global(_) => "NameError",
        }
    }

    /// Binds or unbinds a variable; whether it was bound.
    pub fn store(&self, frame: &Frame<'m>, variable: &Variable, value: Option<Value<'m>>) -> bool {
        let place = |environment: &Environment<'m>, slot: u32, value| {
            std::mem::replace(&mut environment.slots.borrow_mut()[slot as usize], value).is_some()
        };
        match (variable, value) {
            (Variable::Local(slot), value) => place(&frame.environment, *slot, value),
            (Variable::Outer(depth, slot), value) => place(&outer(frame, *depth), *slot, value),
            (Variable::Global(name), Some(value)) => {
                set(&mut self.globals.borrow_mut(), name, value);
                true
            }
            (Variable::Global(name), None) => {
                let mut globals = self.globals.borrow_mut();
                let before = globals.len();
                globals.retain(|(global, _)| global != name);
                globals.len() < before
            }
        }
    }

    pub fn make_function(&self, frame: &Frame<'m>, id: FunctionId, defaults: &[(u32, Temp)]) -> Value<'m> {
        let defaults = defaults.iter().map(|(index, temp)| (*index, frame.temps[*temp as usize].clone())).collect();
        Value::Function(Rc::new(Closure {
            code: self.module.function(id),
            parent: Some(frame.environment.clone()),
            defaults,
            class: RefCell::new(None),
        }))
    }

    /// Runs a class body.
    pub fn make_class(
        &self,
        frame: &Frame<'m>,
        body: FunctionId,
        name: &Name,
        bases: Vec<Rc<Class<'m>>>,
    ) -> Ran<'m, Value<'m>> {
        let mut inner = self.frame(body, Vec::new(), Some(frame.environment.clone()), None);
        if let Stop::Raise(error) = self.run(&mut inner) {
            return Err(error);
        }
        let slots = inner.environment.slots.borrow();
        let named = inner.code.slots.iter().zip(slots.iter()).take(inner.code.named as usize);
        let attributes: Vec<_> = named.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
        let class = Rc::new(Class { name: name.clone(), bases, attributes: RefCell::new(attributes) });
        for (_, attribute) in &*class.attributes.borrow() {
            if let Value::Function(function) = attribute {
                function.class.borrow_mut().get_or_insert_with(|| class.clone());
            }
        }
        Ok(Value::Class(class))
    }

    /// A fresh exception of this class.
    pub fn error(&self, name: &str) -> Value<'m> {
        match get(&self.globals.borrow(), name) {
            Some(Value::Class(class)) => Self::exception(&class, Vec::new()),
            _ => unreachable!("{name} is defined"),
        }
    }

    pub fn exception(class: &Rc<Class<'m>>, args: Vec<Value<'m>>) -> Value<'m> {
        let attributes = vec![("args".into(), Value::Tuple(Rc::new(args)))];
        Value::Instance(Rc::new(Instance { class: class.clone(), attributes: RefCell::new(attributes) }))
    }

    /// What `raise value` raises.
    fn raised(&self, value: &Value<'m>) -> Ran<'m, Value<'m>> {
        match value {
            Value::Class(_) => self.call(value, Vec::new(), Vec::new()),
            Value::Instance(_) => Ok(value.clone()),
            _ => Err(self.error("TypeError")),
        }
    }

    pub fn constant(constant: &Constant) -> Value<'m> {
        match constant {
            Constant::None => Value::None,
            Constant::Bool(value) => Value::Bool(*value),
            Constant::Int(value) => Value::Int(**value),
            Constant::Str(text) => Value::Str(text.clone()),
            Constant::Ellipsis | Constant::BigInt | Constant::Float(_) | Constant::Imaginary(_) | Constant::Other => {
                Value::Other
            }
        }
    }
}

/// How control continues after an operation, if not with the next one.
enum Next<'m> {
    Exit(Exit<'m>),
    Yield(Value<'m>),
}

fn kind<'m>(frame: &Frame<'m>, temp: Temp) -> &'m OpKind {
    let op: &'m Op = &frame.code.ops[temp as usize];
    &op.kind
}

fn position(block: &[Temp], temp: Temp) -> Option<usize> {
    block.iter().position(|other| *other == temp)
}

fn enter_loop(frame: &mut Frame<'_>, temp: Temp) {
    let OpKind::Loop { head, .. } = kind(frame, temp) else { unreachable!() };
    frame.tasks.extend([Task::Test(temp), Task::Run(head)]);
}

fn finish<'m>(frame: &mut Frame<'m>, temp: Temp, exit: Option<Exit<'m>>) {
    let OpKind::Try { finally, .. } = kind(frame, temp) else { unreachable!() };
    frame.tasks.extend([Task::Finally(exit), Task::Run(finally)]);
}

fn outer<'m>(frame: &Frame<'m>, depth: u32) -> Rc<Environment<'m>> {
    let mut environment = frame.environment.clone();
    for _ in 0..depth {
        environment = environment.parent.clone().expect("the IR was validated");
    }
    environment
}
