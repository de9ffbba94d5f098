//! Calls.
//!
//! **Invariant:** a function of the program is run in place, below [`CALL_DEPTH`] activations and
//! [`RECURSION`] of itself; anything else answers with something fresh and makes what it was given unknown.

use std::rc::Rc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ClassHandle, Closure, EnvironmentId, ModuleIndex, Val, Value};
use crate::analysis::heap::{Environment, Kind, Source, Suspended};
use crate::analysis::record::Activation;
use crate::finding::Place;
use crate::ir::{Argument, EffectWord, FunctionId, Name, Op, OpKind, Temp};

use super::bind::{Arg, Args};
use super::budget::FUEL_PORTION;
use super::builtins::DISPATCHED;
use super::context::Idle;
use super::{CALL_DEPTH, Frame, Machine, RECURSION};

/// Operations of a function that is run whatever it mentions: it may hand on what it is given.
const SHORT: usize = 40;

/// Most nodes of the condition under which a call returns; where it is larger, the call is taken to return always.
const WIDE: usize = 64;

impl<'p> Machine<'p> {
    pub(super) fn call_op(
        &mut self,
        frame: &mut Frame<'p>,
        callee: Temp,
        arguments: &'p [Argument],
        op: &'p Op,
    ) -> Value {
        let function = frame.temps[callee as usize].clone();
        let args = self.arguments(frame, arguments);
        let place = self.place(frame, op.span);
        let receiver = match &Self::op(frame, callee).kind {
            OpKind::Attribute(object, name) => Some((frame.temps[*object as usize].clone(), name.clone())),
            _ => None,
        };
        let written = self.written_text(frame, callee);
        let result = self.call_written(frame, &function, args, place, receiver.as_ref(), written);
        // A decorator that nothing resolves is taken to keep what it decorates.
        if let [Argument::Positional(decorated)] = arguments
            && self.is_definition(frame, *decorated)
            && matches!(result.single(), Some(Val::Term(_)))
        {
            return frame.temps[*decorated as usize].clone();
        }
        result
    }

    /// Whether a temp is what a `def` or `class` statement made, before or between its decorators.
    fn is_definition(&self, frame: &Frame<'p>, temp: Temp) -> bool {
        match frame.code.ops.get(temp as usize).map(|op| &op.kind) {
            Some(OpKind::Function(function, _)) => {
                self.module(frame.module).function(*function).kind == crate::ir::FunctionKind::Def
            }
            Some(OpKind::Class(..)) => true,
            Some(OpKind::Call(_, arguments)) => {
                matches!(&arguments[..], [Argument::Positional(inner)] if *inner < temp && self.is_definition(frame, *inner))
            }
            _ => false,
        }
    }

    /// Calls a value that no source names.
    pub(super) fn call_value(
        &mut self,
        frame: &mut Frame<'p>,
        function: &Value,
        args: Args,
        place: Option<Place>,
    ) -> Value {
        let place = place.unwrap_or_else(|| self.place(frame, frame.code.span));
        self.call_written(frame, function, args, place, None, None)
    }

    fn call_written(
        &mut self,
        frame: &mut Frame<'p>,
        function: &Value,
        args: Args,
        place: Place,
        receiver: Option<&(Value, Name)>,
        written: Option<Name>,
    ) -> Value {
        let function = self.possible(function);
        let mut left = function.alternatives().len();
        let (mut args, mut written) = (Some(args), Some(written));
        self.on_alternatives(&function, |this, val| {
            left -= 1;
            // The last alternative takes the arguments, so that one alone copies nothing.
            let given = if left == 0 { (args.take(), written.take()) } else { (args.clone(), written.clone()) };
            this.call_val(frame, val, given.0.unwrap_or_default(), place, receiver, given.1.flatten())
        })
    }

    fn call_val(
        &mut self,
        frame: &mut Frame<'p>,
        function: &Val,
        args: Args,
        place: Place,
        receiver: Option<&(Value, Name)>,
        written: Option<Name>,
    ) -> Value {
        self.note_asked_by(function, receiver, &args);
        self.note_taken_by(function, &args);
        match function {
            Val::Function(closure) => self.call_function(frame, closure, args, place),
            Val::Method(method) => {
                let (receiver, function) = &**method;
                if let Some(name) = self.idle_method(function)
                    && let Some(val) = receiver.single()
                {
                    return self.protocol_or_unknown(frame, val, &name, args, place, written);
                }
                let args = args.with_receiver(receiver.clone());
                self.call_value(frame, function, args, Some(place))
            }
            Val::UnknownMethod(method) => {
                let (receiver, name) = &**method;
                self.call_method(frame, receiver, name, args, place, written)
            }
            Val::Class(class) => self.construct(frame, *class, args, place),
            Val::Library(path) => {
                let path = path.clone();
                self.call_library(frame, &path, args, place, written)
            }
            Val::Wrapped(wrapped) => {
                let wrapped = wrapped.clone();
                self.call_wrapped(frame, &wrapped, args, place)
            }
            Val::Partial(partial) if partial.keywords.first().is_some_and(|(mark, _)| &**mark == "<cached>") => {
                let function = partial.function.clone();
                let mut key = vec![self.term_of(&function)];
                for value in args.values().cloned().collect::<Vec<_>>() {
                    key.push(self.term_of(&value));
                }
                if let Some((guard, known)) = self.caches.results.get(&key).cloned()
                    && self.paths.guards.without(self.paths.pc, guard).is_false()
                {
                    return known;
                }
                let result = self.call_value(frame, &function, args, Some(place));
                self.caches.results.insert(key, (self.paths.pc, result.clone()));
                result
            }
            Val::Partial(partial) if partial.keywords.first().is_some_and(|(mark, _)| &**mark == DISPATCHED) => {
                self.unresolved(frame, &args, place, None, written, Some(function))
            }
            Val::Partial(partial) if Self::is_getter(partial) => self.got(frame, &partial.clone(), &args, place),
            Val::Partial(partial) if matches!(partial.function.single(), Some(Val::Library(path)) if path.ends_with("()")) =>
            {
                let names: Vec<Name> = partial.keywords.iter().map(|(name, _)| name.clone()).collect();
                self.make_record(frame, &names, &args, place)
            }
            Val::Partial(partial) => {
                let mut merged = Args { spread: args.spread, mappings: args.mappings, ..Args::default() };
                let bound = partial.positional.iter().map(|value| Arg { value: value.clone(), written: None });
                merged.positional = bound.chain(args.positional).collect();
                for (name, value) in &partial.keywords {
                    // A keyword given at the call overrides the bound one.
                    if !args.keywords.iter().any(|(given, _)| given == name) {
                        merged.keywords.push((name.clone(), Arg { value: value.clone(), written: None }));
                    }
                }
                merged.keywords.extend(args.keywords);
                self.call_value(frame, &partial.function, merged, Some(place))
            }
            Val::Object(object) => {
                let dunder: Name = "__call__".into();
                if let Kind::Stream(path) = &self.store.objects[object.0 as usize].kind {
                    let path = path.clone();
                    return self.call_stream(&path, place);
                }
                match self.instance_method(function, &dunder) {
                    Some(method) => self.call_value(frame, &method, args, Some(place)),
                    None => self.unresolved(frame, &args, place, receiver, written, Some(function)),
                }
            }
            _ => match receiver.cloned().or_else(|| self.bound_to(function)) {
                Some((object, name)) => self.call_method(frame, &object, &name, args, place, written),
                None => self.unresolved(frame, &args, place, None, written, Some(function)),
            },
        }
    }

    /// What a method of something from outside was read from, where it was stored or transformed before it is called.
    fn bound_to(&self, function: &Val) -> Option<(Value, Name)> {
        match function {
            Val::Term(term) => match self.terms.get(*term) {
                Term::Attribute(object, name, _) => Some((Value::term(*object), name.clone())),
                _ => None,
            },
            _ => None,
        }
    }

    /// A call that nothing resolves: its result is fresh, keys given are consumed with low confidence, and mutable things
    /// that reach it may have changed.
    pub(super) fn unresolved(
        &mut self,
        frame: &mut Frame<'p>,
        args: &Args,
        place: Place,
        receiver: Option<&(Value, Name)>,
        written: Option<Name>,
        callee: Option<&Val>,
    ) -> Value {
        let text = written.unwrap_or_else(|| match receiver {
            Some((_, name)) => name.clone(),
            None => "<call>".into(),
        });
        for arg in args.positional.iter().chain(args.keywords.iter().map(|(_, arg)| arg)) {
            self.consume(frame, arg, Role::Unresolved, &text, place);
        }
        let given: Vec<Value> = args.values().cloned().collect();
        for value in &given {
            self.havoc(value);
            self.run_escaping(frame, value, place);
        }
        if let Some((receiver, _)) = receiver {
            self.havoc(&receiver.clone());
        }
        if let Some(callee @ Val::Object(_)) = callee {
            self.havoc(&Value::of(callee.clone()));
        }
        self.opaque(self.call_text(&text), Some(place))
    }

    /// Functions handed to something unknown may be run by it: they are looked at on their own later.
    pub(super) fn run_escaping(&mut self, _frame: &mut Frame<'p>, value: &Value, _place: Place) {
        for alternative in value.alternatives() {
            if let Val::Function(closure) = &alternative.val
                && let Some(idle) = self.context.pending.get_mut(&closure.identity)
            {
                idle.guard = self.paths.guards.or(idle.guard, self.paths.pc);
            }
        }
    }

    pub(super) fn make_function(
        &mut self,
        frame: &mut Frame<'p>,
        function: FunctionId,
        defaults: &[(u32, Temp)],
    ) -> Value {
        let defaults = defaults.iter().map(|(index, temp)| (*index, frame.temps[*temp as usize].clone())).collect();
        self.store.closures += 1;
        let closure = Rc::new(Closure {
            module: frame.module,
            function,
            environment: Some(frame.environment),
            defaults,
            identity: self.store.closures,
            class: if frame.code.kind == crate::ir::FunctionKind::ClassBody { frame.class } else { None },
        });
        if matches!(frame.code.kind, crate::ir::FunctionKind::Module | crate::ir::FunctionKind::ClassBody) {
            self.store.definitions.insert((frame.module, function), closure.clone());
        }
        // Functions of a module or class body are analysed on their own; the others when nothing has run them.
        let code = self.module(frame.module).function(function);
        let nested = !matches!(frame.code.kind, crate::ir::FunctionKind::Module | crate::ir::FunctionKind::ClassBody)
            || code.kind == crate::ir::FunctionKind::Lambda;
        if nested && code.kind != crate::ir::FunctionKind::Generator {
            let guard = self.paths.pc;
            let in_call = frame.activation.depth > 0;
            let idle = Idle { closure: closure.clone(), guard, in_call, transformed: false, stored: false };
            self.context.pending.insert(self.store.closures, idle);
        }
        Value::of(Val::Function(closure))
    }

    fn call_function(&mut self, frame: &mut Frame<'p>, closure: &Rc<Closure>, args: Args, place: Place) -> Value {
        let code = self.module(closure.module).function(closure.function);
        self.context.pending.remove(&closure.identity);
        if !code.effects.is_empty() {
            return self.declared_call(frame, code, closure, &args, place);
        }
        if code.elided {
            return self.unresolved(frame, &args, place, None, Some(code.name.clone()), None);
        }
        let given: Vec<Value> = args.values().cloned().collect();
        if !self.is_worth_running(closure, code, &args) {
            return self.unknown_result(&given, code, place);
        }
        let running = self.context.stack.iter().filter(|entry| **entry == (closure.module, closure.function)).count();
        if code.is_stub || running >= RECURSION || frame.activation.depth >= CALL_DEPTH {
            if !code.is_stub && frame.activation.depth >= CALL_DEPTH {
                self.budget.exhausted.get_or_insert((place, "call depth"));
            }
            return self.unknown_result(&given, code, place);
        }
        if !code.is_generator && self.would_be_cut_off(closure, &args) {
            return self.unknown_result(&given, code, place);
        }
        let slots = self.bind(code, closure, args, Some(place));
        let environment = self.new_environment(slots, closure.environment);
        if code.is_generator {
            let suspended =
                Suspended { module: closure.module, function: closure.function, environment, class: closure.class };
            return self.new_iterator(Source::Generator(Box::new(suspended)), Some(place));
        }
        let (pc, alive) = (self.paths.pc, self.paths.alive);
        let share = self.share();
        let (paths, fuel) = (self.paths.guards.portion(), self.budget.fuel);
        self.budget.fuel = (fuel / 2).max(fuel.min(FUEL_PORTION));
        let kept = fuel - self.budget.fuel;
        let (value, _) =
            self.activate(frame, closure.module, closure.function, environment, closure.class, place, false);
        let has_too_many_paths = self.paths.guards.exhausted();
        let is_cut_off = std::mem::take(&mut self.budget.is_cut_off) || has_too_many_paths;
        self.budget.fuel += kept;
        self.paths.guards.rejoin(paths);
        if !is_cut_off {
            return value;
        }
        if has_too_many_paths {
            self.note_cut_off(closure, &share);
        }
        // The caller goes on, and knows nothing of what the callee did after it was cut off.
        self.paths.pc = pc;
        self.paths.alive = alive;
        self.unknown_result(&given, code, place)
    }

    /// Whether a function may do something to keys, or hand on what it is given: it is short, or is given a key or a function.
    fn is_worth_running(&self, closure: &Closure, code: &crate::ir::Function, args: &Args) -> bool {
        self.program.relevance.of(closure.module, closure.function)
            || code.ops.len() <= SHORT
            || args.values().any(|value| {
                value.alternatives().iter().any(|alternative| match &alternative.val {
                    Val::Key(_) | Val::Array(_) | Val::Function(_) | Val::Partial(_) | Val::Wrapped(_) => true,
                    Val::Method(_) | Val::Tuple(_) | Val::Object(_) => code.ops.len() <= 4 * SHORT,
                    Val::Term(term) => {
                        self.recorder.log.declared.contains(term) || self.recorder.log.scalar_keys.contains(term)
                    }
                    _ => false,
                })
            })
    }

    pub(super) fn new_environment(&mut self, slots: Vec<Value>, parent: Option<EnvironmentId>) -> EnvironmentId {
        let id = EnvironmentId(u32::try_from(self.store.environments.len()).unwrap_or(u32::MAX));
        self.store.environments.push(Environment { slots, parent });
        id
    }

    /// Runs the body of a function below `frame`; the result and what it yields.
    #[expect(clippy::too_many_arguments, reason = "an activation is just these parts")]
    pub(super) fn activate(
        &mut self,
        frame: &Frame<'p>,
        module: ModuleIndex,
        function: FunctionId,
        environment: EnvironmentId,
        class: Option<ClassHandle>,
        place: Place,
        root: bool,
    ) -> (Value, Vec<(Guard, Value)>) {
        self.context.activations += 1;
        let activation = Rc::new(Activation {
            id: self.context.activations,
            caller: Some((frame.activation.clone(), place)),
            module,
            function,
            depth: frame.activation.depth + 1,
            environment,
            root,
        });
        self.run_frame(module, function, environment, class, activation)
    }

    pub(super) fn run_frame(
        &mut self,
        module: ModuleIndex,
        function: FunctionId,
        environment: EnvironmentId,
        class: Option<ClassHandle>,
        activation: Rc<Activation>,
    ) -> (Value, Vec<(Guard, Value)>) {
        let code = self.module(module).function(function);
        let mut frame = Frame {
            module,
            code,
            environment,
            class,
            temps: Value::places(code.ops.len()),
            returns: Vec::new(),
            yields: Vec::new(),
            loops: Vec::new(),
            left: Guard::FALSE,
            activation,
        };
        self.context.stack.push((module, function));
        let (entered, alive) = (self.paths.pc, self.paths.alive);
        self.paths.alive = entered;
        if self.program.observes {
            self.observe_parameters(&frame);
        }
        self.block(&mut frame, &code.body);
        self.context.stack.pop();
        let mut after = self.paths.pc;
        let mut result = Value::unbound();
        for (guard, value) in &frame.returns {
            after = self.paths.guards.or(after, *guard);
            for alternative in value.alternatives() {
                let both = self.paths.guards.and(*guard, alternative.guard);
                result.push(&mut self.paths.guards, both, alternative.val.clone());
            }
        }
        if !self.paths.pc.is_false() || frame.returns.is_empty() {
            let none = self.none();
            let fell_through = self.paths.pc;
            for alternative in none.alternatives() {
                result.push(&mut self.paths.guards, fell_through, alternative.val.clone());
            }
        }
        if result.is_too_various() {
            result = self.opaque(self.call_text(&code.name), None);
        }
        if let [only] = result.alternatives() {
            result = Value::of(only.val.clone());
        }
        let is_caught = !self.paths.catching.borrow().is_empty();
        if after != entered && !after.is_false() && !is_caught && self.paths.guards.is_larger(after, WIDE) {
            // Widening: what many calls take for granted is no longer told apart from what they are given.
            after = entered;
        }
        // Paths that a raise ended in the callee are over for the caller, unless a `try` waits for them.
        self.paths.alive = if is_caught {
            alive
        } else {
            let dead = self.paths.guards.without(entered, after);
            self.paths.guards.without(alive, dead)
        };
        self.paths.pc = after;
        (result, frame.yields)
    }

    pub(super) fn run_generator(
        &mut self,
        frame: &mut Frame<'p>,
        suspended: &Suspended,
        place: Place,
    ) -> Vec<(Guard, Value)> {
        let iteration = self.context.iteration.clone();
        let depth = std::mem::replace(&mut self.context.loop_depth, 0);
        let (before, alive) = (self.paths.pc, self.paths.alive);
        let (_, yields) = self.activate(
            frame,
            suspended.module,
            suspended.function,
            suspended.environment,
            suspended.class,
            place,
            false,
        );
        // A generator that never ends does not end its caller.
        (self.paths.pc, self.paths.alive) = (before, alive);
        self.context.loop_depth = depth;
        self.context.iteration = iteration;
        yields
    }

    /// A call of a function whose comment declares what it does with its keys.
    fn declared_call(
        &mut self,
        frame: &mut Frame<'p>,
        code: &'p crate::ir::Function,
        closure: &Rc<Closure>,
        args: &Args,
        place: Place,
    ) -> Value {
        let slots = self.bind(code, closure, args.clone(), Some(place));
        let name = code.name.clone();
        for declared in &code.effects {
            let Some(slot) = code.parameters.iter().position(|p| p.name == declared.parameter) else { continue };
            let value = slots.get(slot).cloned().unwrap_or_default();
            if declared.effect == EffectWord::Consumes {
                self.consume(frame, &Arg { value, written: None }, Role::Library, &name, place);
            }
        }
        self.opaque(self.call_text(&name), Some(place))
    }
}
