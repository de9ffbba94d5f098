//! Calls.
//!
//! **Invariant:** a function of the program is run inline, up to [`CALL_DEPTH`] activations and [`RECURSION`] of the
//! function itself; any other call returns a fresh value and havocs its arguments.

use std::sync::Arc;

use crate::analysis::domain::constraint::LENGTH;
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{
    ClassHandle, Closure, EnvironmentId, ModuleIndex, ObjectId, PartialKind, Val, Value,
};
use crate::analysis::machine::context::PendingClosure;
use crate::analysis::machine::methods_by_name::{self, Passed};
use crate::analysis::machine::{
    CALL_DEPTH, Frame, Machine, RECURSION, bind, cutoff, getters, hover, iterate, name_cache, overrides, prelude,
    split_escape, stored_callables, stream_use, writes,
};
use crate::analysis::program::{Program, is_entry};
use crate::analysis::record::{Activation, Callee};
use crate::analysis::store::args::{Arg, Args, Call};
use crate::analysis::store::budget::FUEL_PORTION;
use crate::analysis::store::heap::{Environment, ObjectKind, Registration, Source, Suspended};
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::{Argument, EffectWord, FunctionId, Name, Op, OpKind, Temp};
use crate::models::StreamUse;

/// Size up to which a function is always run, because it may return its argument.
pub const ALWAYS_RUN_SIZE: usize = 40;

/// The maximum number of nodes of the condition under which a call returns; beyond it, the call is assumed to always return.
pub const RETURN_CONDITION_NODES: usize = 64;

/// The result of running a function.
pub struct CallOutcome {
    pub result: Value,
    /// What it yielded, on which paths.
    pub yields: Vec<(Guard, Value)>,
    /// Whether a loop in it may have continued after the last copy of its body.
    pub may_continue: bool,
}

impl<'p> Machine<'p> {
    pub fn call_op(&mut self, frame: &mut Frame<'p>, callee: Temp, arguments: &'p [Argument], op: &'p Op) -> Value {
        let function = frame.value(callee);
        let args = self.arguments(frame, arguments);
        let place = self.place(frame, op.span);
        let receiver = match &Self::op(frame, callee).kind {
            OpKind::Attribute(object, name) => Some((frame.value(*object), name.clone())),
            _ => None,
        };
        let written = name_cache::written_text(self, frame, callee);
        let result = self.call_written(frame, &function, args, place, receiver.as_ref(), written);
        // An unresolved decorator is assumed to return the decorated function.
        if let [Argument::Positional(decorated)] = arguments
            && is_definition(self.program, frame, *decorated)
            && matches!(result.single(), Some(Val::Term(_)))
        {
            let decorated = frame.value(*decorated);
            if let Some(Val::Class(class)) = decorated.single() {
                self.state.register(*class, Registration::Own);
            }
            return decorated;
        }
        result
    }

    /// Calls a value that no source names.
    pub fn call_value(&mut self, frame: &mut Frame<'p>, function: &Value, args: Args, place: Option<Place>) -> Value {
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
        let function = self.state.possible(function);
        let mut left = function.alternatives().len();
        let (mut args, mut written) = (Some(args), Some(written));
        paths::on_alternatives(self, &function, |this, val| {
            left -= 1;
            // The last alternative takes ownership of the arguments, so that a single one copies nothing.
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
        stream_use::note_call(self, function, receiver, &args);
        split_escape::note_call(self, function, &args);
        match function {
            Val::Function(closure) => self.call_function(frame, closure, args, place),
            Val::Method(method) => {
                let (receiver, function) = &**method;
                if let Some(name) = (self.library.method_without_draws)(self.program, function)
                    && let Some(val) = receiver.single()
                {
                    self.recorder.reach(place, Callee::Method(name.clone()));
                    return (self.library.protocol_or_unknown)(self, frame, val, &name, Call { args, place, written });
                }
                // `grid.reset` is a method of `grid`.
                let owner = written.as_deref().and_then(|written| written.rsplit_once('.'));
                let args = args.with_receiver(receiver.clone(), owner.map(|(owner, _)| owner.into()));
                let possible = overrides::possible(self, receiver, function);
                self.call_value(frame, possible.as_ref().unwrap_or(function), args, Some(place))
            }
            Val::UnknownMethod(method) => {
                let (receiver, name) = &**method;
                self.recorder.reach(place, Callee::Method(name.clone()));
                (self.library.call_method)(self, frame, receiver, name, Call { args, place, written })
            }
            Val::Class(class) => {
                self.recorder.reach(place, Callee::Class(*class));
                self.construct(frame, *class, args, place)
            }
            Val::Library(path) => {
                let path = path.clone();
                self.recorder.reach(place, Callee::Library(path.clone()));
                (self.library.call_function)(self, frame, &path, Call { args, place, written })
            }
            Val::Wrapped(wrapped) => {
                let wrapped = wrapped.clone();
                self.recorder.reach(place, Callee::Library(wrapped.transform.clone()));
                (self.library.call_wrapped)(self, frame, &wrapped, args, place)
            }
            Val::Partial(partial) if partial.kind == PartialKind::Cached => {
                self.call_cached(frame, &partial.function.clone(), args, place)
            }
            // Which of the functions runs is unknown, and some may ignore the key: no argument is known to be a key by its name.
            Val::Partial(partial) if partial.kind == PartialKind::Dispatched => {
                self.unresolved(frame, &args.without_names(), place, None, written, Some(function))
            }
            Val::Partial(partial) if matches!(partial.kind, PartialKind::Items | PartialKind::Attributes) => {
                getters::got(self, frame, &partial.clone(), &args, place)
            }
            Val::Partial(partial) if partial.kind == PartialKind::Record => {
                let names: Vec<Name> = partial.keywords.iter().map(|(name, _)| name.clone()).collect();
                self.make_record(frame, &names, &args, place)
            }
            Val::Partial(partial) if partial.kind == PartialKind::Super && self.is_stub(&partial.function) => {
                self.state.terms.none()
            }
            Val::Partial(partial) => {
                let prebound = args.prebound.map(|count| count + partial.positional.len());
                let placed = args.placed.map(|count| count + partial.positional.len());
                let Args { spread, mappings, .. } = args;
                let mut merged = Args { spread, placed, mappings, prebound, ..Args::default() };
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
            Val::Object(object) => self.call_object(frame, *object, args, place, receiver, written),
            _ => {
                let receiver = receiver.cloned().or_else(|| bound_to(&self.state.terms, function));
                self.call_unknown(frame, function, receiver, Call { args, place, written })
            }
        }
    }

    /// Calls a function that nothing defines: a method of `receiver`, or a variable, which may hold a method of a library:
    /// `apply_fn(params, x, rngs=rngs)`.
    fn call_unknown(
        &mut self,
        frame: &mut Frame<'p>,
        function: &Val,
        receiver: Option<(Value, Name)>,
        call: Call,
    ) -> Value {
        if let Some((object, name)) = receiver {
            self.recorder.reach(call.place, Callee::Method(name.clone()));
            return (self.library.call_method)(self, frame, &object, &name, call);
        }
        let models = self.program.models;
        let takes = |name: &Name| call.args.keywords.iter().any(|(keyword, _)| models.consumes_keyword(name, keyword));
        let is_unknown = matches!(function, Val::Term(_));
        if let Some(name) = call.written.clone().filter(|name| is_unknown && takes(name)) {
            return (self.library.protocol_or_unknown)(self, frame, function, &name, call);
        }
        self.unresolved(frame, &call.args, call.place, None, call.written, Some(function))
    }

    /// Calls an object: a stream, or an instance with a `__call__`.
    fn call_object(
        &mut self,
        frame: &mut Frame<'p>,
        object: ObjectId,
        args: Args,
        place: Place,
        receiver: Option<&(Value, Name)>,
        written: Option<Name>,
    ) -> Value {
        let function = Val::Object(object);
        if let ObjectKind::Stream(path) = &self.state.store.objects[object.0 as usize].kind {
            let path = path.clone();
            self.recorder.reach(place, Callee::Library(path.clone()));
            let given = self.program.models.stream_yield(&path, StreamUse::Call);
            let result = (self.library.stream_result)(self, given, &path, place);
            writes::note_advance(self, frame, &result, (object, &written.unwrap_or_default()), place);
            return result;
        }
        match self.state.instance_method(&function, &"__call__".into()) {
            Some(method) => {
                let written = written.map(|object| format!("{object}.__call__").into());
                self.call_written(frame, &method, args, place, None, written)
            }
            None => self.unresolved(frame, &args, place, receiver, written, Some(&function)),
        }
    }

    /// Calls a function that remembers what it returned.
    fn call_cached(&mut self, frame: &mut Frame<'p>, function: &Value, args: Args, place: Place) -> Value {
        let mut key = vec![self.state.term_of(function)];
        for value in args.values().cloned().collect::<Vec<_>>() {
            key.push(self.state.term_of(&value));
        }
        // Lengths that may be equal count as equal: what a loop changes mostly keeps its shape.
        let is_of_shape = |term: TermId, terms: &Terms| {
            terms.mentions(term, &|part| match terms.get(part) {
                Term::Attribute(_, name, _) => matches!(&**name, "shape" | "ndim" | "size"),
                Term::Apply(name, _) => &**name == LENGTH,
                _ => false,
            })
        };
        let is_alike = |known: &[TermId], terms: &Terms| {
            let may_equal = |one: TermId, other: TermId| {
                is_of_shape(one, terms) && is_of_shape(other, terms) && !terms.distinct(one, other)
            };
            known.len() == key.len()
                && known.first() == key.first()
                && known.iter().zip(&key).all(|(one, other)| one == other || may_equal(*one, *other))
        };
        let found = self.caches.results.iter().filter(|(known, _)| is_alike(known, &self.state.terms));
        let found = found.min_by_key(|(known, _)| (**known != key, (*known).clone())).map(|(_, found)| found.clone());
        if let Some((guard, known, at)) = found
            && (at == place || self.caches.results.contains_key(&key))
            && self.state.paths.guards.without(self.state.paths.pc, guard).is_false()
        {
            return known;
        }
        let result = self.call_value(frame, function, args, Some(place));
        self.caches.results.insert(key, (self.state.paths.pc, result.clone(), place));
        result
    }

    /// The name of a function that a library calls, if it is a parameter: `model` in `vmap(model)(xs)`.
    fn parameter_name(&self, callee: Option<&Val>) -> Option<Name> {
        match callee? {
            Val::Term(term) if self.state.terms.is_parameter(*term) => {
                Some((*self.state.terms.symbol(*term)?.text).into())
            }
            _ => None,
        }
    }

    /// An unresolved call: its result is fresh, keys passed to it are consumed with low confidence, and mutable objects
    /// that reach it may have changed.
    pub fn unresolved(
        &mut self,
        frame: &mut Frame<'p>,
        args: &Args,
        place: Place,
        receiver: Option<&(Value, Name)>,
        written: Option<Name>,
        callee: Option<&Val>,
    ) -> Value {
        self.recorder.reach(place, Callee::Unknown);
        let text = written.unwrap_or_else(|| match receiver {
            Some((_, name)) => name.clone(),
            None => self.parameter_name(callee).unwrap_or_else(|| "<call>".into()),
        });
        let quiet = match callee {
            Some(Val::Term(term)) => Some(*term).filter(|term| self.caches.quiet.contains(term)),
            _ => None,
        };
        if let Some(callee) = quiet {
            // In place of a parameter, its default may draw.
            if !self.state.terms.is_parameter(callee) {
                self.leave_undrawn(args, place);
            }
        } else {
            let positional = args.positional.iter().enumerate().map(|(at, arg)| (Passed::At(at), arg));
            for (passed, arg) in positional.chain(args.keywords.iter().map(|(name, arg)| (Passed::As(name), arg))) {
                let consumes = |receiver| methods_by_name::consume(self, frame.module, receiver, passed);
                let role = if receiver.is_some_and(consumes) { Role::Protocol } else { Role::Unresolved };
                (self.library.consume)(self, frame, arg, role, &text, place);
            }
        }
        for value in args.values() {
            cutoff::change(self, frame, value, place);
        }
        self.escape_arguments(args);
        if let Some((receiver, name)) = receiver {
            stored_callables::havoc_receiver(self, frame, (receiver, name), place);
        }
        // A method that nothing defines is called through its receiver.
        let is_receiver = |callee: &Val| receiver.is_some_and(|(of, _)| of.single() == Some(callee));
        if let Some(callee @ Val::Object(_)) = callee.filter(|callee| !is_receiver(callee)) {
            self.state.havoc(&Value::of(callee.clone()));
        }
        let result = name_cache::unknown_result(self, &text, place);
        if (self.library.makes_quiet)(self, args)
            && let Some(Val::Term(made)) = result.single()
        {
            self.caches.quiet.insert(*made);
        }
        result
    }

    /// A call draws nothing from the keys that it gets.
    pub fn leave_undrawn(&mut self, args: &Args, place: Place) {
        let given = args.positional.iter().chain(args.keywords.iter().map(|(_, arg)| arg));
        let is_key = |arg: &Arg| matches!(arg.value.single(), Some(Val::Key(_) | Val::Array(_)));
        let keys = (0..).zip(given).filter(|(_, arg)| is_key(arg)).map(|(position, _)| position);
        self.recorder.leave_undrawn(place, keys.collect());
    }

    /// Functions that are passed to unknown code may be called by it: they are analysed on their own later.
    pub fn escape_arguments(&mut self, args: &Args) {
        for alternative in args.values().flat_map(Value::alternatives) {
            if let Val::Function(closure) = &alternative.val
                && let Some(pending) = self.context.pending.get_mut(&closure.identity)
            {
                pending.guard = self.state.paths.guards.or(pending.guard, self.state.paths.pc);
            }
        }
    }

    pub fn make_function(&mut self, frame: &mut Frame<'p>, function: FunctionId, defaults: &[(u32, Temp)]) -> Value {
        let defaults = defaults.iter().map(|(index, temp)| (*index, frame.value(*temp))).collect();
        self.state.store.closures += 1;
        let closure = Arc::new(Closure {
            module: frame.module,
            function,
            environment: Some(frame.environment),
            defaults,
            identity: self.state.store.closures,
            class: if frame.code.kind == crate::ir::FunctionKind::ClassBody { frame.class } else { None },
        });
        if matches!(frame.code.kind, crate::ir::FunctionKind::Module | crate::ir::FunctionKind::ClassBody) {
            self.state.store.definitions.insert((frame.module, function), closure.clone());
        }
        // Functions of a module and methods of its classes are analysed on their own; the others only if nothing has run them.
        let module = self.module(frame.module);
        let code = module.function(function);
        let nested = !matches!(frame.code.kind, crate::ir::FunctionKind::Module | crate::ir::FunctionKind::ClassBody)
            || code.kind == crate::ir::FunctionKind::Lambda
            || code.kind == crate::ir::FunctionKind::Def && !code.is_stub && !is_entry(module, code);
        if nested && code.kind != crate::ir::FunctionKind::Generator && frame.inlined.is_none() {
            let guard = self.state.paths.pc;
            // The body of a class runs as if the code around it called it.
            let outwards = std::iter::successors(Some(frame.code), |code| code.parent.map(|id| module.function(id)));
            let bodies = outwards.take_while(|code| code.kind == crate::ir::FunctionKind::ClassBody).count();
            let in_call = frame.activation.depth as usize > bodies;
            let pending =
                PendingClosure { closure: closure.clone(), guard, in_call, transformed: false, stored: false };
            self.context.pending.insert(self.state.store.closures, pending);
        }
        Value::of(Val::Function(closure))
    }

    /// Whether a value is a function without a body.
    fn is_stub(&self, function: &Value) -> bool {
        matches!(function.single(), Some(Val::Function(closure)) if self.module(closure.module).function(closure.function).is_stub)
    }

    fn call_function(&mut self, frame: &mut Frame<'p>, closure: &Arc<Closure>, args: Args, place: Place) -> Value {
        let code = self.module(closure.module).function(closure.function);
        self.context.pending.remove(&closure.identity);
        if self.program.is_prelude(closure.module) {
            return prelude::run_inlined(self, frame, closure, args, place);
        }
        if !code.effects.is_empty() {
            self.recorder.reach(place, Callee::Unknown);
            return self.declared_call(frame, code, closure, &args, place);
        }
        if bind::does_not_fit(code, closure, &args) {
            return self.unresolved(frame, &args, place, None, Some(code.name.clone()), None);
        }
        let reached = Callee::Function(closure.module, closure.function, args.prebound);
        self.recorder.reach(place, if code.is_stub { Callee::Unknown } else { reached });
        let given: Vec<Value> = args.values().cloned().collect();
        if !self.is_relevant_call(closure, code, &args) {
            return cutoff::unknown_result(self, frame, &given, code, place);
        }
        let running = self.context.stack.iter().filter(|entry| **entry == (closure.module, closure.function)).count();
        if code.is_stub {
            cutoff::unknown_result(self, frame, &given, code, place);
            if closure.class.is_some()
                && let (Some(receiver), args) = args.without_receiver()
                && let Some(val) = receiver.value.single().cloned()
            {
                let written = receiver.written.map(|of| format!("{of}.{}", code.name).into());
                let call = Call { args, place, written };
                return (self.library.protocol_or_unknown)(self, frame, &val, &code.name, call);
            }
            return self.unresolved(frame, &args, place, None, Some(code.name.clone()), None);
        }
        if running >= RECURSION || frame.activation.depth >= CALL_DEPTH {
            if frame.activation.depth >= CALL_DEPTH {
                self.budget.exhausted.get_or_insert((place, "nested calls"));
                cutoff::note_limited(self, &given, (place, "nested calls"));
            }
            return cutoff::unknown_result(self, frame, &given, code, place);
        }
        if !code.is_generator && cutoff::would_be_cut_off(self, closure, &args) {
            return cutoff::unknown_result(self, frame, &given, code, place);
        }
        let environment = self.entered(code, closure, args, place);
        if code.is_generator {
            let suspended =
                Suspended { module: closure.module, function: closure.function, environment, class: closure.class };
            return iterate::new_iterator(&mut self.state, Source::Generator(Box::new(suspended)), Some(place));
        }
        let running = self.state.paths.running();
        let share = cutoff::share(self);
        let (paths, fuel) = (self.state.paths.guards.portion(), self.budget.fuel);
        let kept = self.budget.portion((fuel / 2).max(FUEL_PORTION));
        let ended = self.activate(frame, (closure.module, closure.function), environment, closure.class, place, false);
        let has_too_many_paths = self.state.paths.guards.exhausted();
        let cut_off = self.budget.take_cut_off().or(has_too_many_paths.then_some((place, "paths")));
        self.budget.rejoin(kept);
        self.state.paths.guards.rejoin(paths);
        let Some(bound) = cut_off else { return ended.result };
        cutoff::note_limited(self, &given, bound);
        if has_too_many_paths {
            cutoff::note_cut_off(self, closure, &share);
        }
        // The caller continues, and knows nothing of what the callee did after it was cut off.
        self.state.paths.run(running);
        cutoff::unknown_result(self, frame, &given, code, place)
    }

    /// Whether a function may affect keys, or return its arguments: it is short, or a key or a function is passed to it.
    fn is_relevant_call(&self, closure: &Closure, code: &crate::ir::Function, args: &Args) -> bool {
        self.program.relevance.of(closure.module, closure.function)
            || code.ops.len() <= ALWAYS_RUN_SIZE
            || args.values().any(|value| {
                value.alternatives().iter().any(|alternative| match &alternative.val {
                    Val::Key(_) | Val::Array(_) | Val::Function(_) | Val::Partial(_) | Val::Wrapped(_) => true,
                    Val::Method(_) | Val::Tuple(_) | Val::Object(_) => code.ops.len() <= 4 * ALWAYS_RUN_SIZE,
                    Val::Term(term) => self.recorder.is_known_key(*term),
                    _ => false,
                })
            })
    }

    /// Runs the body of a function below `frame`.
    pub fn activate(
        &mut self,
        frame: &Frame<'p>,
        (module, function): (ModuleIndex, FunctionId),
        environment: EnvironmentId,
        class: Option<ClassHandle>,
        place: Place,
        root: bool,
    ) -> CallOutcome {
        if let Some(inlined) = prelude::inlined(self, frame, module, place) {
            let activation = frame.activation.clone();
            return prelude::with_budget_share(self, place, |machine| {
                machine.run_body((module, function), environment, class, activation, Some(inlined))
            });
        }
        self.context.activations += 1;
        let activation = Arc::new(Activation {
            id: self.context.activations,
            caller: Some((frame.activation.clone(), place)),
            module,
            function,
            depth: frame.activation.depth + 1,
            environment,
            root,
            born: self.state.terms.next(),
        });
        self.run_frame(module, function, environment, class, activation)
    }

    /// The activation of a function that no call of the program runs.
    pub fn root_activation(
        &mut self,
        module: ModuleIndex,
        function: FunctionId,
        environment: EnvironmentId,
    ) -> Arc<Activation> {
        self.context.activations += 1;
        Arc::new(Activation {
            id: self.context.activations,
            caller: None,
            module,
            function,
            depth: 0,
            environment,
            root: true,
            born: self.state.terms.next(),
        })
    }

    pub fn run_frame(
        &mut self,
        module: ModuleIndex,
        function: FunctionId,
        environment: EnvironmentId,
        class: Option<ClassHandle>,
        activation: Arc<Activation>,
    ) -> CallOutcome {
        self.run_body((module, function), environment, class, activation, None)
    }

    fn run_body(
        &mut self,
        (module, function): (ModuleIndex, FunctionId),
        environment: EnvironmentId,
        class: Option<ClassHandle>,
        activation: Arc<Activation>,
        inlined: Option<prelude::Inlined>,
    ) -> CallOutcome {
        let code = self.module(module).function(function);
        let mut frame = Frame { inlined, ..Frame::new(code, (module, environment), class, activation) };
        if inlined.is_none() {
            self.context.stack.push((module, function));
        }
        let entered = self.state.paths.pc;
        let before = self.state.paths.running();
        self.state.paths.frame_live = entered;
        if inlined.is_none() {
            if module == self.context.home {
                self.recorder.run(function);
            }
            if self.program.observes {
                hover::observe_parameters(self, &frame);
            }
        }
        let here = self.context.here;
        self.block(&mut frame, &code.body);
        self.context.here = here;
        if inlined.is_none() {
            self.context.stack.pop();
        }
        let mut after = self.state.paths.pc;
        let mut result = Value::unbound();
        for (guard, value) in &frame.returns {
            after = self.state.paths.guards.or(after, *guard);
            for alternative in value.alternatives() {
                let both = self.state.paths.guards.and(*guard, alternative.guard);
                result.push(&mut self.state.paths.guards, both, alternative.val.clone());
            }
        }
        if !self.state.paths.pc.is_false() || frame.returns.is_empty() {
            let none = self.state.terms.none();
            let fell_through = self.state.paths.pc;
            for alternative in none.alternatives() {
                result.push(&mut self.state.paths.guards, fell_through, alternative.val.clone());
            }
        }
        if result.is_too_various() {
            result = self.state.terms.opaque(name_cache::call_text(self, &code.name), None);
        }
        if let [only] = result.alternatives() {
            result = Value::of(only.val.clone());
        }
        let is_caught = !self.state.paths.catching.borrow().is_empty();
        if after != entered
            && !after.is_false()
            && !is_caught
            && self.state.paths.guards.is_larger(after, RETURN_CONDITION_NODES)
        {
            // Widening: the condition under which many calls return is dropped.
            after = entered;
        }
        // Paths that a raise ended in the callee also end for the caller, unless a `try` catches the exception.
        let paths = &mut self.state.paths;
        paths.run(before);
        if !is_caught {
            paths.pc = paths.guards.without(entered, after);
            paths.end();
        }
        paths.pc = after;
        CallOutcome { result, yields: frame.yields, may_continue: frame.may_continue }
    }

    pub fn run_generator(&mut self, frame: &mut Frame<'p>, suspended: &Suspended, place: Place) -> CallOutcome {
        let iteration = self.context.iteration.clone();
        let depth = std::mem::replace(&mut self.context.loop_depth, 0);
        // A generator that never ends does not end its caller.
        let Suspended { module, function, environment, class } = *suspended;
        let ended =
            paths::preserving(self, |this| this.activate(frame, (module, function), environment, class, place, false));
        self.context.loop_depth = depth;
        self.context.iteration = iteration;
        ended
    }

    /// A call of a function whose comment declares what it does with its keys.
    fn declared_call(
        &mut self,
        frame: &mut Frame<'p>,
        code: &'p crate::ir::Function,
        closure: &Arc<Closure>,
        args: &Args,
        place: Place,
    ) -> Value {
        let slots = self.bind(code, closure, args.clone(), Some(place));
        let name = code.name.clone();
        for declared in &code.effects {
            let Some(slot) = code.parameters.iter().position(|p| p.name == declared.parameter) else { continue };
            let value = slots.get(slot).cloned().unwrap_or_default();
            if declared.effect == EffectWord::Consumes {
                (self.library.consume)(self, frame, &Arg { value, written: None }, Role::Library, &name, place);
            }
        }
        name_cache::unknown_result(self, &name, place)
    }
}

/// Whether a temp is the result of a `def` or `class` statement, before or between its decorators.
fn is_definition<'p>(program: &'p Program<'p>, frame: &Frame<'p>, temp: Temp) -> bool {
    match frame.code.ops.get(temp as usize).map(|op| &op.kind) {
        Some(OpKind::Function(function, _)) => {
            program.module(frame.module).function(*function).kind == crate::ir::FunctionKind::Def
        }
        Some(OpKind::Class(..)) => true,
        Some(OpKind::Call(_, arguments)) => {
            matches!(&arguments[..], [Argument::Positional(inner)] if *inner < temp && is_definition(program, frame, *inner))
        }
        _ => false,
    }
}

/// The object from which a method of a value from outside was read, if the method was stored or transformed before the
/// call.
fn bound_to(terms: &Terms, function: &Val) -> Option<(Value, Name)> {
    match function {
        Val::Term(term) => match terms.get(*term) {
            Term::Attribute(object, name, _) => Some((Value::term(*object), name.clone())),
            _ => None,
        },
        _ => None,
    }
}

pub fn new_environment(state: &mut State, slots: Vec<Value>, parent: Option<EnvironmentId>) -> EnvironmentId {
    let id = EnvironmentId(u32::try_from(state.store.environments.len()).unwrap_or(u32::MAX));
    let is_object = |value: &Value| value.alternatives().iter().any(|part| matches!(part.val, Val::Object(_)));
    let objects = (0..).zip(&slots).filter(|(_, value)| is_object(value));
    let passed = objects.map(|(slot, value)| (slot, value.clone())).collect();
    state.store.environments.push(Environment { slots, parent, given: None, passed, unbound: Vec::new() });
    id
}
