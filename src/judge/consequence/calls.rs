//! Value flow through calls: what happens to a part of an argument.
//!
//! **Invariant:** a function of the program is followed into its body; a library function counts as an observer unless its model says less.

use crate::analysis::domain::value::{ClassHandle, ModuleIndex, Val, Value};
use crate::analysis::record::{Callee, Recording};
use crate::ir::{Argument, FunctionId, Name, OpKind, Temp, Variable};
use crate::judge::consequence::body::{Body, Part, Passed, Path, Sinks, within};
use crate::models::{BuiltinOp, Callable, Effect, KeyPlace, Protocol, ProtocolEffect, Returns, Runs, TreeOp};

/// Most elements of a result that a model declares to be structure.
const PARTS: u32 = 4;

/// How the value reaches the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentRole {
    /// As an argument.
    Argument,
    /// As the receiver of the method.
    Receiver,
    /// As the callee.
    Callee,
}

/// The method that an instance runs when it is called.
const CALLED: &str = "__call__";

impl Body<'_, '_> {
    /// A call reads a part of a value.
    pub(super) fn call(&mut self, call: Temp, (callee, arguments): (Temp, &[Argument]), temp: Temp, path: &Path) {
        let is_method = matches!(self.code.ops[callee as usize].kind, OpKind::Attribute(..));
        let given = match (callee == temp, is_method) {
            (true, true) => ArgumentRole::Receiver,
            (true, false) => ArgumentRole::Callee,
            (false, _) => ArgumentRole::Argument,
        };
        let place = self.place(call);
        let run = self.flows.run;
        let is_modelled = self.flows.is_modelled(place);
        if self.only_keys && is_modelled {
            return;
        }
        let is_undrawn =
            |keys: &&[usize]| keys.iter().any(|key| arguments.get(*key).is_some_and(|key| is_of(key, temp)));
        if self.flows.undrawn.get(&place).is_some_and(is_undrawn) {
            return;
        }
        if given == ArgumentRole::Argument && self.reads_only_shapes(callee, arguments, temp, is_modelled) {
            self.add(Sinks::EXAMPLE);
            return;
        }
        if given == ArgumentRole::Argument && self.flows.constant.contains(&place) {
            self.add(Sinks::SHAPE);
            return;
        }
        let callees = run.log.callees.get(&place);
        let runs_code = callees.into_iter().flatten().any(|callee| matches!(callee, Callee::Function(..)));
        if given == ArgumentRole::Receiver && !runs_code && self.view(call, callee, path) {
            return;
        }
        if given == ArgumentRole::Argument && !runs_code && self.is_only_awaited(call) {
            self.add(Sinks::TIMED);
            return;
        }
        let Some(callees) = callees else {
            // Even a function that did not run shows which library function it calls.
            if let Some(library) = run.library_named(self.module, self.code, callee) {
                self.library(call, arguments, temp, path, &library, false);
                return;
            }
            // Nothing ran it. Reading numbers through a method is not a use of an unknown kind.
            if given != ArgumentRole::Receiver || !path.is_empty() {
                self.add(if is_modelled { Sinks::default() } else { self.by_unknown(call, given) });
            }
            self.note_taker(call, callee, given);
            self.hold(call, Path::new());
            return;
        };
        if let Some(argument) = arguments.iter().position(|argument| is_of(argument, temp))
            && run.log.choices.contains_key(&place)
        {
            self.add_side(call, argument);
        }
        let runs_others = callees.iter().filter(|callee| !matches!(callee, Callee::Unknown)).count() > 1;
        for reached in callees {
            match reached {
                Callee::Function(module, id, _) => {
                    self.function(call, arguments, temp, path, given, (*module, *id));
                }
                Callee::Library(name) => self.library(call, arguments, temp, path, name, runs_others),
                Callee::Method(name) => self.method(call, callee, path, given, (name, is_modelled, callees)),
                Callee::Class(class) => self.made(call, arguments, temp, path, (*class, callees)),
                Callee::Unknown => {
                    let is_array_method = given == ArgumentRole::Receiver && path.is_empty();
                    if !is_modelled && !is_array_method && !self.is_of_array(callee) {
                        self.add(self.by_unknown(call, given));
                    }
                    self.note_taker(call, callee, given);
                    self.hold(call, Path::new());
                }
            }
        }
    }

    /// What becomes of a value that is passed to an unknown function. One whose result is only an example of a shape computes that result:
    /// `model.init(key, env.reset(x))`.
    fn by_unknown(&self, call: Temp, given: ArgumentRole) -> Sinks {
        match given {
            ArgumentRole::Argument => self.flows.by_unknown((self.module, self.id), call),
            ArgumentRole::Receiver | ArgumentRole::Callee => Sinks::ESCAPES,
        }
    }

    /// The local object whose method a call runs, if nothing reads what that returns: `mcmc.run(key)` leaves what it draws in `mcmc`.
    pub fn absorbing(&self, call: Temp) -> Option<Temp> {
        let OpKind::Call(callee, _) = self.code.ops[call as usize].kind else { return None };
        let (object, variable) = self.object_of(callee).filter(|_| !self.is_read(call))?;
        (matches!(variable, Variable::Local(_)) && !self.names_code(object, variable)).then_some(object)
    }

    /// The variable with the object whose method a callee is.
    fn object_of(&self, callee: Temp) -> Option<(Temp, &Variable)> {
        let OpKind::Attribute(object, _) = self.code.ops[callee as usize].kind else { return None };
        let OpKind::Load(variable) = &self.code.ops[object as usize].kind else { return None };
        Some((object, variable))
    }

    /// An object absorbs the argument of its method, `store.save(x)`, if the effect is unknown. A method whose result is used,
    /// `optimizer.update(x)`, computes it.
    fn note_taker(&mut self, call: Temp, callee: Temp, given: ArgumentRole) {
        if given != ArgumentRole::Argument || self.is_read(call) {
            return;
        }
        let Some((object, variable)) = self.object_of(callee) else { return };
        if !self.names_code(object, variable) {
            self.add_taker(variable.clone());
        }
    }

    /// Whether a variable holds a module, a class or a function of a library.
    fn names_code(&self, object: Temp, variable: &Variable) -> bool {
        match variable {
            Variable::Global(_) => {
                let named = self.flows.run.named(self.module, self.code, object);
                matches!(named.as_ref().and_then(Value::single), Some(Val::Library(_) | Val::Module(_) | Val::Class(_)))
            }
            Variable::Local(_) | Variable::Outer(..) => self.code.ops.iter().any(|op| match &op.kind {
                OpKind::Store(stored, value) => {
                    let is_import = matches!(
                        self.code.ops[*value as usize].kind,
                        OpKind::Import { .. } | OpKind::ImportFrom { .. }
                    );
                    stored == variable && is_import
                }
                _ => false,
            }),
        }
    }

    /// Whether a method that a model knows reads nothing but the shape of an argument: an example input of `init`, not its key. A method
    /// that takes no key is known by its library alone.
    fn reads_only_shapes(&self, callee: Temp, arguments: &[Argument], temp: Temp, is_modelled: bool) -> bool {
        let OpKind::Attribute(_, name) = &self.code.ops[callee as usize].kind else { return false };
        let is_key = |place: &KeyPlace| {
            arguments.iter().enumerate().any(|(index, argument)| match argument {
                Argument::Positional(value) => *value == temp && place.position == Some(index),
                Argument::Keyword(keyword, value) => {
                    *value == temp && place.names.iter().any(|name| **name == **keyword)
                }
                Argument::Spread(value) | Argument::SpreadMapping(value) => *value == temp,
            })
        };
        let program = self.flows.run.program;
        let takes_no_key = |protocol: &Protocol| {
            protocol.max_positional.is_none_or(|most| arguments.len() <= most)
                && protocol.libraries.iter().any(|library| program.relevance.imports(self.module, library))
        };
        program.models.protocols(name).iter().filter(|protocol| protocol.reads_shapes).any(|protocol| {
            match protocol.effect {
                ProtocolEffect::Observe => {
                    takes_no_key(protocol) && protocol.admits(self.receiver_name(callee).map(|name| &**name))
                }
                _ => is_modelled && !is_key(&protocol.key),
            }
        })
    }

    /// The name of a method's receiver: `buffer` of `self.buffer.init`, `Checkpointer` of `Checkpointer().restore`.
    fn receiver_name(&self, callee: Temp) -> Option<&Name> {
        let OpKind::Attribute(object, _) = &self.code.ops[callee as usize].kind else { return None };
        let made_by = match &self.code.ops[*object as usize].kind {
            OpKind::Call(made_by, _) => made_by,
            _ => object,
        };
        match &self.code.ops[*made_by as usize].kind {
            OpKind::Load(Variable::Local(slot)) => self.code.slots.get(*slot as usize),
            OpKind::Load(Variable::Global(name)) | OpKind::Attribute(_, name) => Some(name),
            _ => None,
        }
    }

    fn is_of_array(&self, callee: Temp) -> bool {
        match &self.code.ops[callee as usize].kind {
            OpKind::Attribute(_, name) => self.flows.run.program.models.of_array(name).is_some(),
            _ => false,
        }
    }

    /// An instance stores its constructor arguments: a record in its fields, and other classes where `__init__` puts them.
    fn made(
        &mut self,
        call: Temp,
        arguments: &[Argument],
        temp: Temp,
        path: &Path,
        (class, callees): (ClassHandle, &[Callee]),
    ) {
        let run = self.flows.run;
        let (is_record, is_closed) = kind_of(run, class);
        let is_sequence = run.lineage(class).iter().any(|class| run.classes[class.0 as usize].sequence);
        let runs_code = callees.iter().any(|callee| matches!(callee, Callee::Function(..)));
        if is_closed && runs_code && !is_record {
            return;
        }
        let (fields, placed) = if is_record && !runs_code { fields_of(run, class) } else { (Vec::new(), 0) };
        let mut position = 0;
        for argument in arguments {
            let field = match argument {
                Argument::Positional(_) if position < placed => position,
                Argument::Keyword(name, _) => fields.iter().position(|field| field == name).unwrap_or(usize::MAX),
                Argument::Positional(_) | Argument::Spread(_) | Argument::SpreadMapping(_) => usize::MAX,
            };
            position = if field == usize::MAX { usize::MAX } else { position.saturating_add(1) };
            if is_of(argument, temp) {
                let part = fields.get(field).zip(u32::try_from(field).ok());
                let part =
                    part.map(
                        |(name, index)| {
                            if is_sequence { Part::Member(name.clone(), index) } else { Part::Field(name.clone()) }
                        },
                    );
                let held = part.map(|part| within(part, path));
                self.hold(call, held.unwrap_or_default());
            }
        }
    }

    fn function(
        &mut self,
        call: Temp,
        arguments: &[Argument],
        temp: Temp,
        path: &Path,
        given: ArgumentRole,
        (module, id): (ModuleIndex, FunctionId),
    ) {
        let callee = self.flows.run.module(module).function(id);
        let (prebound, keeps) = self.flows.prebound(self.place(call), (module, id));
        let slots = match (prebound, given) {
            // An instance that is called, or a bound method.
            (Some(1), ArgumentRole::Callee) if callee.class.is_some() => Some(vec![0]),
            (Some(1), ArgumentRole::Argument) if self.receiver(call) == Some(temp) => Some(vec![0]),
            // Values that the function captured were followed where it was created.
            (_, ArgumentRole::Callee) => {
                self.hold(call, Path::new());
                return;
            }
            (Some(1..), ArgumentRole::Receiver) => Some(vec![0]),
            (Some(count), ArgumentRole::Argument) => Self::argument_slots(callee, count, arguments, temp),
            _ => None,
        };
        let is_placed = slots.is_some();
        let maps_leaves = self.flows.runs_as(self.place(call), |runs| *runs == Runs::TreeMap).is_some();
        let every = || (0u32..).take(callee.parameters.len()).collect();
        let part = if is_placed { path.clone() } else { Path::new() };
        for slot in slots.unwrap_or_else(every) {
            let Some(effects) = self.flows.of_parameter((module, id), slot, &part, self.depth) else {
                self.add(Sinks::ESCAPES);
                self.hold(call, Path::new());
                continue;
            };
            self.add(effects.sinks);
            self.add_passed(Passed { call, to: (module, id), slot, part: part.clone() });
            let is_awaited = given == ArgumentRole::Argument && self.is_only_awaited(call);
            if is_awaited {
                self.add(Sinks::TIMED);
            }
            for returned in effects.returned.iter().filter(|_| !is_awaited) {
                let held = match () {
                    () if keeps && is_placed && !callee.is_generator => returned.clone(),
                    // Each leaf gives one.
                    () if maps_leaves && given == ArgumentRole::Argument => path.clone(),
                    () => Path::new(),
                };
                self.hold(call, held);
            }
            for (changed, path) in &effects.mutated {
                self.change(call, arguments, (prebound, *changed), path);
            }
        }
    }

    /// A function changed the argument of a parameter.
    pub(super) fn change(
        &mut self,
        call: Temp,
        arguments: &[Argument],
        (prebound, slot): (Option<usize>, u32),
        path: &Path,
    ) {
        let place = self.place(call);
        let callees = self.flows.run.log.callees.get(&place);
        // A constructor changes what its call makes.
        if slot == 0 && callees.is_some_and(|callees| callees.iter().any(|callee| matches!(callee, Callee::Class(_)))) {
            self.hold(call, path.clone());
            return;
        }
        let Some(count) = prebound else {
            self.add(Sinks::STORED);
            return;
        };
        let object = match (slot as usize).checked_sub(count) {
            None if count == 1 => self.receiver(call),
            None => None,
            Some(position) => match arguments.get(position) {
                Some(Argument::Positional(value)) => Some(*value),
                _ => None,
            },
        };
        match object {
            Some(object) => self.put_into(object, path),
            None => self.add(Sinks::STORED),
        }
    }

    /// The receiver of the method that a call runs: `stream` in `stream.ask()`, `next(stream)` and `stream()`.
    fn receiver(&self, call: Temp) -> Option<Temp> {
        let OpKind::Call(callee, arguments) = &self.code.ops[call as usize].kind else { return None };
        let callees = self.flows.run.log.callees.get(&self.place(call))?;
        let is_builtin = |callee: &Callee| match callee {
            Callee::Library(name) => {
                let callable = self.flows.run.program.models.callable(name);
                callable.is_some_and(|callable| matches!(callable.effect, Effect::Builtin(_)))
            }
            _ => false,
        };
        if callees.iter().any(is_builtin) {
            return match arguments.first() {
                Some(Argument::Positional(value)) => Some(*value),
                _ => None,
            };
        }
        let runs = |name: &str| {
            callees.iter().any(|callee| match callee {
                Callee::Function(module, id, _) => &*self.flows.run.module(*module).function(*id).name == name,
                _ => false,
            })
        };
        match self.code.ops[*callee as usize].kind {
            _ if runs(CALLED) => Some(*callee),
            OpKind::Attribute(object, _) => Some(object),
            _ => None,
        }
    }

    fn library(&mut self, call: Temp, arguments: &[Argument], temp: Temp, path: &Path, name: &str, runs_others: bool) {
        let Some(callable) = self.flows.run.program.models.callable(name) else {
            self.add(Sinks::ESCAPES);
            self.hold(call, Path::new());
            return;
        };
        if callable.writes {
            self.add(Sinks::PRINTED);
            return;
        }
        if is_pattern(callable, arguments, temp) {
            self.add(Sinks::SHAPE);
            return;
        }
        if !callable.structure.is_empty() {
            for index in (0..PARTS).filter(|index| !callable.structure.contains(index)) {
                self.hold(call, vec![Part::Index(index)]);
            }
            return;
        }
        if self.ignores_position(callable, arguments, temp) {
            return;
        }
        match &callable.effect {
            // Only the pattern is measured; `full_like(pattern, value)` holds the value.
            Effect::ShapeOf { .. } | Effect::Fabricate { .. } => {
                if matches!(arguments.first(), Some(first) if is_of(first, temp)) {
                    self.add(Sinks::SHAPE);
                } else {
                    self.hold(call, Path::new());
                }
            }
            Effect::Tree { op: TreeOp::Structure, .. }
            | Effect::Builtin(BuiltinOp::Len | BuiltinOp::Isinstance | BuiltinOp::Type) => self.add(Sinks::SHAPE),
            Effect::Tree { op: TreeOp::Flatten | TreeOp::FlattenWithPath, .. } => {
                self.hold(call, vec![Part::Index(0)]);
            }
            // The iterator determines what `next` yields.
            Effect::Builtin(BuiltinOp::Next) if runs_others => {}
            Effect::Builtin(BuiltinOp::Dict) => {
                for argument in arguments.iter().filter(|argument| is_of(argument, temp)) {
                    let held = match argument {
                        Argument::Keyword(name, _) => within(Part::Key(name.clone()), path),
                        _ => Path::new(),
                    };
                    self.hold(call, held);
                }
            }
            // The function that it runs determines what happens to its arguments.
            Effect::Transform(transform)
                if runs_others && (transform.runs == Runs::TreeMap || transform.returns == Returns::Function) => {}
            Effect::Observe => {
                self.add(Sinks::ESCAPES);
                self.hold(call, Path::new());
            }
            Effect::Builtin(BuiltinOp::Print) => self.add(Sinks::PRINTED),
            Effect::Forward { .. } => self.hold(call, path.clone()),
            // The object holds it under a name that is computed.
            Effect::Builtin(BuiltinOp::Setattr) => match arguments.first() {
                Some(Argument::Positional(object)) if *object != temp => self.put_into(*object, &Path::new()),
                _ => self.add(Sinks::STORED),
            },
            _ => self.hold(call, Path::new()),
        }
    }

    /// A view of a mapping: its keys are names and hold nothing of its values.
    fn view(&mut self, call: Temp, callee: Temp, path: &Path) -> bool {
        let OpKind::Attribute(_, name) = &self.code.ops[callee as usize].kind else { return false };
        // A mapping whose keys are drawn is held as a whole.
        let Some((_, rest)) = path.split_first() else { return false };
        let held = match &**name {
            "items" => [Part::Any, Part::Index(1)].iter().chain(rest).cloned().collect(),
            "values" => std::iter::once(&Part::Any).chain(rest).cloned().collect(),
            "keys" => {
                self.add(Sinks::SHAPE);
                return true;
            }
            _ => return false,
        };
        self.hold(call, held);
        true
    }

    /// A method of a value that is not an instance of a class of the program: of an array, a container, or an unknown
    /// value.
    fn method(
        &mut self,
        call: Temp,
        callee: Temp,
        path: &Path,
        given: ArgumentRole,
        (name, is_modelled, callees): (&str, bool, &[Callee]),
    ) {
        let models = self.flows.run.program.models;
        match models.of_array(name).map(|callable| &callable.effect) {
            Some(Effect::Forward { .. }) if given == ArgumentRole::Receiver => self.hold(call, path.clone()),
            None if given == ArgumentRole::Argument && !is_modelled && !callees.contains(&Callee::Unknown) => {
                // A container stores it, as far as is known.
                if let OpKind::Attribute(container, _) = self.code.ops[callee as usize].kind {
                    let held = std::iter::once(Part::Any).chain(path.iter().cloned()).collect();
                    self.put_into(container, &held);
                }
                self.hold(call, Path::new());
            }
            _ => self.hold(call, Path::new()),
        }
    }
}

/// Whether a class is a record, and all its bases are visible.
fn kind_of(run: &Recording<'_>, class: ClassHandle) -> (bool, bool) {
    let lineage = run.lineage(class);
    let infos: Vec<_> = lineage.iter().map(|class| &run.classes[class.0 as usize]).collect();
    let is_record = infos.iter().any(|info| info.record);
    let is_closed = infos.iter().flat_map(|info| &info.bases).all(|base| match base.single() {
        Some(Val::Class(_)) => true,
        Some(Val::Library(path)) => &**path == "builtins.object",
        _ => false,
    });
    (is_record, is_closed)
}

/// The fields of a record, those of its bases first, and how many of them are certainly positional parameters in this order: a field with a
/// value in the class body may be a class variable, or one that the constructor omits.
fn fields_of(run: &Recording<'_>, class: ClassHandle) -> (Vec<Name>, usize) {
    let mut fields: Vec<Name> = Vec::new();
    let mut placed = None;
    for class in run.lineage(class).iter().rev() {
        let info = &run.classes[class.0 as usize];
        for field in &run.module(info.module).class(info.class).fields {
            if field.has_default {
                placed = placed.or(Some(fields.len()));
            }
            if !fields.contains(&field.name) {
                fields.push(field.name.clone());
            }
        }
    }
    let placed = placed.unwrap_or(fields.len());
    (fields, placed)
}

fn is_of(argument: &Argument, temp: Temp) -> bool {
    match argument {
        Argument::Positional(value)
        | Argument::Keyword(_, value)
        | Argument::Spread(value)
        | Argument::SpreadMapping(value) => *value == temp,
    }
}

/// Whether a call uses only the structure of a value: it is bound to no parameter of which more is used.
fn is_pattern(callable: &Callable, arguments: &[Argument], temp: Temp) -> bool {
    let is_listed = |(index, argument): (usize, &Argument)| {
        let is_it = |name: &String| match argument {
            Argument::Positional(_) => callable.position(name) == Some(index),
            Argument::Keyword(keyword, _) => **keyword == **name,
            Argument::Spread(_) | Argument::SpreadMapping(_) => false,
        };
        callable.patterns.iter().any(is_it)
    };
    let mut given = arguments.iter().enumerate().filter(|(_, argument)| is_of(argument, temp)).peekable();
    !callable.patterns.is_empty() && given.peek().is_some() && given.all(is_listed)
}
