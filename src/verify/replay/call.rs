//! Calls: arguments, binding them to parameters, running the callee.
//!
//! **Invariant:** an argument that cannot be bound is dropped and a parameter without an argument is a symbol, because the program is
//! assumed to work. The depth of calls is bounded.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use super::DrawKind;
use super::annotated;
use super::frame::{Eval, Frame, Halt, Signal, at};
use super::machine::Machine;
use super::step::ELEMENTS;
use super::stored;
use super::symbol::Node;
use super::value::{Args, Class, Closure, Environment, Instance, Value, set};
use crate::finding::Place;
use crate::ir::{Argument, ClassId, FunctionId, FunctionKind, ParameterKind};
use crate::models::{Construct, StreamUse};

/// Most calls below each other.
const DEPTH: usize = 40;

/// Most calls of one function below each other.
const RECURSION: usize = 4;

impl<'p> Machine<'p> {
    /// The arguments of a call, spreads expanded.
    pub(super) fn arguments(&mut self, frame: &Frame<'p>, arguments: &[Argument]) -> Eval<'p, Args<'p>> {
        let mut args = Args::default();
        for argument in arguments {
            match argument {
                Argument::Positional(temp) => args.positional.push(at(frame, *temp)),
                Argument::Keyword(name, temp) => args.keywords.push((name.clone(), at(frame, *temp))),
                Argument::Spread(temp) => match self.items_of(&at(frame, *temp))? {
                    Some(items) if items.len() <= ELEMENTS => args.positional.extend(items),
                    _ => args.is_open = true,
                },
                Argument::SpreadMapping(temp) => match at(frame, *temp) {
                    Value::Dict(pairs) => {
                        for (key, value) in pairs.borrow().iter() {
                            if let Value::Text(name) = key {
                                args.keywords.push((name.clone(), value.clone()));
                            }
                        }
                    }
                    _ => args.is_open = true,
                },
            }
        }
        Ok(args)
    }

    pub(super) fn make_function(
        &mut self,
        frame: &Frame<'p>,
        id: FunctionId,
        defaults: Vec<(u32, Value<'p>)>,
    ) -> Value<'p> {
        let Some(code) = self.project.modules[frame.module].functions.get(id.0 as usize) else { return Value::None };
        self.numbers += 1;
        let closure = Rc::new(Closure {
            module: frame.module,
            id,
            code,
            parent: Some(frame.environment.clone()),
            defaults,
            class: RefCell::new(None),
            number: self.numbers,
            is_called: Cell::new(false),
        });
        self.made.insert((frame.module, id), closure.clone());
        if self.hints.lists(frame.module, id, self.closures.len()) {
            self.closures.push(closure.clone());
        }
        Value::Function(closure)
    }

    /// Runs a class body.
    pub(super) fn make_class(&mut self, frame: &Frame<'p>, class: ClassId, mut args: Args<'p>) -> Eval<'p, Value<'p>> {
        for base in &mut args.positional {
            if let Value::Library(path) = base
                && let Some(class) = super::prelude::class_of(self, &path.clone())
            {
                *base = class;
            }
        }
        let Some(info) = self.project.modules[frame.module].classes.get(class.0 as usize) else {
            return Ok(Value::None);
        };
        self.numbers += 1;
        let number = self.numbers;
        let here = self.here;
        let inner = self.frame(frame.module, info.body, Vec::new(), Some(frame.environment.clone()));
        let Some(mut inner) = inner else { return Ok(Value::None) };
        self.nesting += 1;
        let ended = if self.nesting > 48 { Ok(Halt::Return(Value::None)) } else { self.run(&mut inner) };
        self.nesting -= 1;
        self.here = here;
        ended?;
        let attributes = {
            let slots = inner.environment.slots.borrow();
            let named = inner.code.slots.iter().zip(slots.iter()).take(inner.code.named as usize);
            named.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect::<Vec<_>>()
        };
        let is_record = args.positional.iter().any(|base| match base {
            Value::Class(base) => base.is_record.get(),
            Value::Library(path) => {
                let class = self.project.models.class(path);
                matches!(class.map(|class| &class.construct), Some(Construct::Record { .. }))
            }
            _ => false,
        });
        let class = Rc::new(Class {
            name: info.name.clone(),
            bases: args.positional,
            attributes: RefCell::new(attributes),
            fields: info.fields.iter().map(|field| field.name.clone()).collect(),
            code: Some((frame.module, info)),
            is_record: Cell::new(is_record),
            number,
            above: OnceCell::new(),
        });
        self.made_here.class(&class);
        for (_, attribute) in class.attributes.borrow().iter() {
            Self::belong(attribute, &class, 4);
        }
        Ok(Value::Class(class))
    }

    /// Records the class of which functions are methods.
    fn belong(value: &Value<'p>, class: &Rc<Class<'p>>, depth: u32) {
        match value {
            _ if depth == 0 => {}
            Value::Function(function) => {
                function.class.borrow_mut().get_or_insert_with(|| class.clone());
            }
            Value::Static(inner) | Value::ClassMethod(inner) => Self::belong(inner, class, depth - 1),
            Value::Property(property) => {
                for part in std::iter::once(&property.0).chain(&property.1) {
                    Self::belong(part, class, depth - 1);
                }
            }
            Value::Wrapped(wrapped) => {
                if let Some(inner) = &wrapped.function {
                    Self::belong(inner, class, depth - 1);
                }
            }
            Value::Partial(partial) => Self::belong(&partial.function, class, depth - 1),
            _ => {}
        }
    }

    /// Calls something, at a place of the running operation's function.
    pub(super) fn call_value(&mut self, function: &Value<'p>, args: Args<'p>, place: Place) -> Eval<'p, Value<'p>> {
        self.charge()?;
        self.nesting += 1;
        let result = if self.nesting > 120 {
            self.havoc_call(function, &args.values().cloned().collect::<Vec<_>>());
            Ok(self.unknown("<deep>"))
        } else {
            self.dispatch(function, args, place)
        };
        self.nesting -= 1;
        result
    }

    fn dispatch(&mut self, function: &Value<'p>, args: Args<'p>, place: Place) -> Eval<'p, Value<'p>> {
        match function {
            Value::Function(closure) => self.call_closure(closure, args, place),
            Value::Bound(bound) => {
                let (receiver, method) = &**bound;
                self.call_value(method, args.with_receiver(receiver.clone()), place)
            }
            Value::Partial(partial) => {
                let mut all = partial.args.clone();
                all.positional.extend(args.positional);
                for (name, value) in args.keywords {
                    set(&mut all.keywords, &name, value);
                }
                all.is_open |= args.is_open;
                self.call_value(&partial.function, all, place)
            }
            Value::Class(class) => self.construct(class, args, place),
            Value::Instance(instance) => match instance.class.find("__call__") {
                Some(method) => self.call_value(&method, args.with_receiver(function.clone()), place),
                None => (self.library.call_method)(self, function, &"__call__".into(), args, place),
            },
            Value::Library(path) => (self.library.call_function)(self, path, args, place),
            Value::Method(method) => (self.library.call_method)(self, &method.0, &method.1, args, place),
            Value::Wrapped(wrapped) => (self.library.call_wrapped)(self, wrapped, args, place),
            Value::Stream(stream) => {
                let given = self.project.models.stream_yield(&stream.0, StreamUse::Call);
                Ok((self.library.stream_result)(self, given, &stream.0.clone()))
            }
            Value::Static(inner) => self.call_value(inner, args, place),
            Value::Unknown(symbol) if let Some(instance) = annotated::instance(self, *symbol) => {
                self.call_value(&instance, args, place)
            }
            Value::Unknown(symbol) => match self.symbols.node(*symbol).cloned() {
                Some(Node::Attribute(of, name, _)) => {
                    (self.library.protocol_or_unknown)(self, &Value::Unknown(of), &name, &args, place)
                }
                // A parameter may hold a method of a library.
                Some(Node::Fresh(_, name))
                    if args.keywords.iter().any(|(given, _)| self.project.models.consumes_keyword(&name, given)) =>
                {
                    (self.library.protocol_or_unknown)(self, function, &name, &args, place)
                }
                _ => self.unresolved(function, &args, place),
            },
            _ => self.unresolved(function, &args, place),
        }
    }

    /// Runs a function of the program.
    pub(super) fn call_closure(
        &mut self,
        closure: &Rc<Closure<'p>>,
        args: Args<'p>,
        place: Place,
    ) -> Eval<'p, Value<'p>> {
        closure.is_called.set(true);
        let code = closure.code;
        if self.project.is_prelude(closure.module) {
            return super::prelude::run_inlined(self, closure, args, place);
        }
        let recursion = self.running.iter().filter(|running| **running == (closure.module, closure.id)).count();
        let given: Vec<Value<'p>> = args.values().cloned().collect();
        if self.numeric.is_none() && (self.stack.len() >= DEPTH || recursion >= RECURSION) {
            self.havoc_call(&Value::None, &given);
            return Ok(self.unknown_result(&code.name));
        }
        let slots = self.bind_arguments(closure, args);
        let Some(mut frame) = self.frame(closure.module, closure.id, slots, closure.parent.clone()) else {
            return Ok(self.unknown_result(&code.name));
        };
        if code.is_generator {
            return Ok(Value::Generator(Rc::new(RefCell::new(Some(Box::new(frame))))));
        }
        let here = self.here;
        self.stack.push((place, here.1));
        self.running.push((closure.module, closure.id));
        let halt = self.with_reserve(closure, |this| this.run(&mut frame));
        self.running.pop();
        self.stack.pop();
        self.here = here;
        match halt {
            Ok(Halt::Return(value)) => Ok(value),
            Ok(Halt::Yield(_)) => Ok(self.unknown_result(&code.name)),
            // The program is assumed to work: a failure far from the target places comes from missing knowledge.
            Err(Signal::Raise(_)) if !self.is_caught() && !self.hints.holds(closure.module, closure.id) => {
                self.havoc_call(&Value::None, &given);
                Ok(self.unknown_result(&code.name))
            }
            Err(signal) => Err(signal),
        }
    }

    /// Runs a function with symbols for what it is not given, to its end.
    pub(super) fn enter(&mut self, closure: &Rc<Closure<'p>>) -> Eval<'p, ()> {
        closure.is_called.set(true);
        let code = closure.code;
        let mut slots: Vec<Option<Value<'p>>> = Vec::with_capacity(code.slots.len());
        let class = closure.class.borrow().clone();
        for (index, parameter) in code.parameters.iter().enumerate() {
            let symbol = self.symbols.fresh(&parameter.name);
            let value = match (&class, parameter.kind) {
                (Some(class), ParameterKind::Normal | ParameterKind::PositionalOnly)
                    if index == 0 && code.class.is_some() =>
                {
                    let bound = class.attributes.borrow().iter().find(|(name, _)| *name == code.name).cloned();
                    match bound {
                        Some((_, Value::Static(_))) => Value::Unknown(symbol),
                        Some((_, Value::ClassMethod(_))) => Value::Class(class.clone()),
                        _ => {
                            let attributes = RefCell::default();
                            let instance = Rc::new(Instance { class: class.clone(), attributes, symbol });
                            stored::store_instances(self, &instance, closure);
                            Value::Instance(instance)
                        }
                    }
                }
                _ => Value::Unknown(symbol),
            };
            self.annotated.note(&value, closure.module, parameter.annotation.as_ref());
            slots.push(Some(value));
        }
        let Some(mut frame) = self.frame(closure.module, closure.id, slots, closure.parent.clone()) else {
            return Ok(());
        };
        self.running.push((closure.module, closure.id));
        let ended = loop {
            match self.run(&mut frame) {
                Ok(Halt::Yield(_)) => {}
                Ok(Halt::Return(_)) | Err(Signal::Raise(_)) => break Ok(()),
                Err(Signal::Stop) => break Err(Signal::Stop),
            }
        };
        self.running.pop();
        ended
    }

    pub(super) fn bind_arguments(&mut self, closure: &Closure<'p>, args: Args<'p>) -> Vec<Option<Value<'p>>> {
        let code = closure.code;
        let mut positional = args.positional.into_iter();
        let mut keywords = args.keywords;
        let mut slots: Vec<Option<Value<'p>>> = Vec::with_capacity(code.slots.len());
        for (index, parameter) in (0u32..).zip(&code.parameters) {
            let by_name = |keywords: &mut Vec<(crate::ir::Name, Value<'p>)>| {
                let at = keywords.iter().position(|(name, _)| *name == parameter.name)?;
                Some(keywords.remove(at).1)
            };
            let given = match parameter.kind {
                ParameterKind::PositionalOnly => positional.next(),
                ParameterKind::Normal => positional.next().or_else(|| by_name(&mut keywords)),
                ParameterKind::KeywordOnly => by_name(&mut keywords),
                ParameterKind::Variadic => {
                    let rest: Vec<Value<'p>> = positional.by_ref().collect();
                    Some(if args.is_open && rest.is_empty() {
                        self.unknown(&parameter.name)
                    } else {
                        Value::tuple(rest)
                    })
                }
                ParameterKind::Keywords => {
                    let later: Vec<&crate::ir::Name> =
                        code.parameters.iter().skip(index as usize + 1).map(|parameter| &parameter.name).collect();
                    let (kept, rest): (Vec<_>, Vec<_>) =
                        std::mem::take(&mut keywords).into_iter().partition(|(name, _)| later.contains(&name));
                    keywords = kept;
                    Some(Value::dict(rest.into_iter().map(|(name, value)| (Value::Text(name), value)).collect()))
                }
            };
            let default = || closure.defaults.iter().find(|(at, _)| *at == index).map(|(_, value)| value.clone());
            let value = given.or_else(|| if args.is_open { None } else { default() });
            let value = value.unwrap_or_else(|| self.unknown(&parameter.name));
            if matches!(
                parameter.kind,
                ParameterKind::Normal | ParameterKind::PositionalOnly | ParameterKind::KeywordOnly
            ) {
                self.annotated.note(&value, closure.module, parameter.annotation.as_ref());
            }
            slots.push(Some(value));
        }
        slots
    }

    /// `Class(…)`
    fn construct(&mut self, class: &Rc<Class<'p>>, args: Args<'p>, place: Place) -> Eval<'p, Value<'p>> {
        let symbol = self.symbols.fresh(&class.name);
        let instance = Rc::new(Instance { class: class.clone(), attributes: RefCell::default(), symbol });
        self.made_here.instance(&instance);
        let value = Value::Instance(instance.clone());
        if let Some(constructor) = class.find("__init__") {
            self.call_value(&constructor, args.with_receiver(value.clone()), place)?;
            return Ok(value);
        }
        if !class.lineage().iter().any(|class| class.is_record.get()) {
            let is_open = class.lineage().iter().flat_map(|class| class.bases.iter()).any(|base| {
                !matches!(base, Value::Class(_))
                    && !matches!(base, Value::Library(path) if &**path == "builtins.object")
            });
            if is_open {
                let held = self.held_by(&args);
                self.log(DrawKind::Unresolved, &class.name.clone(), place, held);
            }
            return Ok(value);
        }
        let mut fields = Vec::new();
        for class in class.lineage().into_iter().rev() {
            for field in &class.fields {
                if !fields.contains(field) {
                    fields.push(field.clone());
                }
            }
        }
        let mut positional = args.positional.into_iter();
        for field in &fields {
            let given = match args.keywords.iter().find(|(name, _)| name == field) {
                Some((_, value)) => Some(value.clone()),
                None => positional.next(),
            };
            let value = match given {
                Some(value) => Some(value),
                None => match class.find(field) {
                    Some(Value::Partial(partial)) => {
                        // `field(default_factory=f)`, `field(default=x)`
                        match (partial.args.keyword("default_factory"), partial.args.keyword("default")) {
                            (Some(factory), _) => Some(self.call_value(&factory.clone(), Args::default(), place)?),
                            (None, Some(default)) => Some(default.clone()),
                            (None, None) => None,
                        }
                    }
                    default => default,
                },
            };
            if let Some(value) = value {
                set(&mut instance.attributes.borrow_mut(), field, value);
            }
        }
        for (name, given) in args.keywords {
            set(&mut instance.attributes.borrow_mut(), &name, given);
        }
        if let Some(hook) = class.find("__post_init__") {
            self.call_value(&hook, Args::of(vec![value.clone()]), place)?;
        }
        Ok(value)
    }

    /// Enters or leaves a context manager.
    pub(super) fn manage(&mut self, manager: &Value<'p>, enters: bool) -> Eval<'p, Value<'p>> {
        match manager {
            Value::Generator(_) => Ok(self.next(manager)?.unwrap_or(Value::None)),
            Value::Instance(instance) => {
                let name = if enters { "__enter__" } else { "__exit__" };
                match instance.class.find(name) {
                    Some(method) => {
                        let given = if enters { Vec::new() } else { vec![Value::None; 3] };
                        let place = self.here.0;
                        self.call_value(&method, Args::of(given).with_receiver(manager.clone()), place)
                    }
                    None => Ok(if enters { manager.clone() } else { Value::None }),
                }
            }
            _ if !enters => Ok(Value::None),
            Value::Unknown(symbol) => Ok(Value::Unknown(self.symbols.apply("enter", &[*symbol]))),
            other => Ok(other.clone()),
        }
    }

    /// A call of something unknown.
    pub(super) fn unresolved(&mut self, function: &Value<'p>, args: &Args<'p>, place: Place) -> Eval<'p, Value<'p>> {
        let name: crate::ir::Name = match function {
            Value::Unknown(symbol) => self.symbols.name(*symbol),
            Value::Library(path) => Some(path.clone()),
            _ => None,
        }
        .unwrap_or_else(|| "<call>".into());
        let held = self.held_by(args);
        let maybe: Vec<_> = args
            .values()
            .filter_map(|value| if let Value::Unknown(symbol) = value { Some(*symbol) } else { None })
            .collect();
        self.log_with(DrawKind::Unresolved, &name, place, held, None, maybe);
        self.escape(args, place)?;
        for value in args.values() {
            self.havoc(value);
        }
        Ok(self.unknown_result(&name))
    }

    /// Keys among arguments that are keys by now.
    pub(super) fn held_by(&mut self, args: &Args<'p>) -> super::keys::ExpandedKeys {
        let all = Value::tuple(args.values().cloned().collect());
        self.held(&all)
    }

    /// Functions that are passed to something unknown may be run by it; those that hold a place in question are.
    pub(super) fn escape(&mut self, args: &Args<'p>, place: Place) -> Eval<'p, ()> {
        let functions: Vec<Rc<Closure<'p>>> = args
            .values()
            .filter_map(|value| match value {
                Value::Function(closure) if self.hints.holds(closure.module, closure.id) => Some(closure.clone()),
                _ => None,
            })
            .collect();
        for closure in functions {
            let count = closure.code.parameters.iter().filter(|parameter| !parameter.has_default).count();
            let mut given = Vec::new();
            for parameter in closure.code.parameters.iter().take(count) {
                if matches!(parameter.kind, ParameterKind::Normal | ParameterKind::PositionalOnly) {
                    given.push(self.unknown(&parameter.name));
                }
            }
            self.call_value(&Value::Function(closure), Args::of(given), place)?;
        }
        Ok(())
    }

    /// A function value for code that no operation made: its module's body ended early.
    pub(super) fn detached_closure(&mut self, module: usize, id: FunctionId) -> Option<Rc<Closure<'p>>> {
        let code = self.project.modules.get(module)?.functions.get(id.0 as usize)?;
        if !matches!(code.kind, FunctionKind::Def | FunctionKind::Lambda) {
            return None;
        }
        self.numbers += 1;
        let mut parent: Option<Rc<Environment<'p>>> = None;
        let mut outer = code.parent;
        let mut depth = 0;
        while let Some(id) = outer.filter(|_| depth < 16) {
            let code = self.project.modules.get(module)?.functions.get(id.0 as usize)?;
            parent = Some(Rc::new(Environment { slots: RefCell::new(vec![None; code.slots.len()]), parent }));
            outer = code.parent;
            depth += 1;
        }
        Some(Rc::new(Closure {
            module,
            id,
            code,
            parent,
            defaults: Vec::new(),
            class: RefCell::new(None),
            number: self.numbers,
            is_called: Cell::new(false),
        }))
    }
}
