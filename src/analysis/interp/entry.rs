//! What is analysed: the module's body, then every function and method on its own, with symbols for what it is given.
//!
//! **Invariant:** every function of a module that may have to do with keys is run at least once: from its module, as an entry, or
//! (closures that nothing ran) on its own at the end of the function that made it.

use std::rc::Rc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::Symbol;
use crate::analysis::domain::value::{ClassHandle, Closure, ModuleIndex, Val, Value};
use crate::analysis::heap::Kind;
use crate::analysis::program::{Program, is_entry};
use crate::analysis::record::{Activation, Escape, Reader, Recording, Stage};
use crate::finding::Place;
use crate::ir::{Function, FunctionId, ParameterKind};

use super::budget::FUEL;
use super::context::Idle;
use super::paths::Paths;
use super::{Frame, Machine, World};
use crate::analysis::names::is_of_another_kind;

/// Most closures that are run on their own after one entry.
const CLOSURES: usize = 64;

/// Runs one module of a program, and each of its functions that may have to do with keys, in a world of that program, or of one that
/// differs in the text of this module only and has the same functions in it. The reader is shown what each run recorded.
pub fn run(world: &mut World, program: &Program<'_>, index: ModuleIndex, reader: &mut Reader<'_>) {
    if !program.relevance.any(index) {
        return;
    }
    let marks = world.marks();
    let mut base = Machine::within(world, program, index);
    base.run_module(index);
    base.run_idle();
    base.note_annotations();
    base.show(Stage::Body, reader);
    base.run_constructors();
    let module = program.module(index);
    for (number, function) in (0u32..).zip(&module.functions) {
        let id = FunctionId(number);
        if !is_entry(module, function) || !program.relevance.is_entry(index, id) {
            continue;
        }
        let marks = (base.terms.mark(), base.paths.guards.mark());
        let mut entry = base.for_entry();
        entry.run_entry(id);
        entry.run_idle();
        entry.show(Stage::Entry(id), reader);
        base.take_back(entry, marks);
    }
    base.show(Stage::End, reader);
    world.take_back(base, marks);
}

impl<'p> Machine<'p> {
    /// Shows a reader what was recorded so far. Its questions have a budget of their own.
    fn show(&mut self, stage: Stage, reader: &mut Reader<'_>) {
        self.paths.guards.renew();
        let recording = Recording {
            stage,
            program: self.program,
            home: self.context.home,
            log: &self.recorder.log,
            terms: &self.terms,
            objects: &self.store.objects,
            environments: &self.store.environments,
            classes: &self.store.classes,
            modules: &self.store.modules,
            followed: &self.caches.imported,
            made: &self.store.definitions,
            escaped: &self.recorder.escaped,
            replays: &self.context.replays,
            exhausted: self.budget.exhausted,
            uses: &self.caches.uses,
        };
        reader(&recording, &mut self.paths.guards);
    }

    /// The state after the module's body, with an empty log. Terms and guards are lent, for [`Machine::take_back`].
    fn for_entry(&mut self) -> Self {
        let log = std::mem::take(&mut self.recorder.log);
        let (terms, mut guards) = (std::mem::take(&mut self.terms), std::mem::take(&mut self.paths.guards));
        let (feasibility, compatible) =
            (std::mem::take(&mut self.paths.feasibility), std::mem::take(&mut self.paths.compatible));
        guards.renew();
        let mut run = self.clone();
        run.terms = terms;
        run.paths = Paths { feasibility, compatible, ..Paths::of(guards) };
        run.recorder.log.declared.clone_from(&log.declared);
        // Derivations keep their numbers: keys made by the module's body name them.
        run.recorder.log.derivations.clone_from(&log.derivations);
        self.recorder.log = log;
        run.budget.renew();
        run.context.pending.clear();
        run.recorder.escaped.clear();
        run
    }

    /// Takes back what was lent to an entry, without what it added.
    fn take_back(&mut self, run: Self, (terms, guards): ((usize, usize), (usize, usize))) {
        self.terms = run.terms;
        self.paths.guards = run.paths.guards;
        self.terms.truncate(terms);
        self.paths.guards.truncate(guards);
        (self.paths.feasibility, self.paths.compatible) = (run.paths.feasibility, run.paths.compatible);
        self.paths.feasibility.clear();
        self.paths.compatible.clear();
    }

    /// The class that a method belongs to.
    fn class_of(&self, function: &Function) -> Option<ClassHandle> {
        let class = function.class?;
        let mut own = self.store.classes.own().rev();
        let (found, _) = own.find(|(_, info)| info.module == self.context.home && info.class == class)?;
        Some(ClassHandle(u32::try_from(found).unwrap_or(u32::MAX)))
    }

    fn run_entry(&mut self, id: FunctionId) {
        let code = self.module(self.context.home).function(id);
        let class = self.class_of(code);
        let closure = self.store.definitions.get(&(self.context.home, id)).cloned();
        let slots = self.symbolic_parameters(self.context.home, code, class);
        if let (Some(class), Some(instance)) = (class, slots.first())
            && &*code.name != "__init__"
        {
            self.give_stored(class, instance);
        }
        self.recorder.log.entered = Some(slots.clone());
        let environment = self.new_environment(slots, closure.as_ref().and_then(|closure| closure.environment));
        self.context.activations += 1;
        let activation = Rc::new(Activation {
            id: self.context.activations,
            caller: None,
            module: self.context.home,
            function: id,
            depth: 0,
            environment,
            root: true,
        });
        self.run_frame(self.context.home, id, environment, class, activation);
    }

    /// Symbols for what a function is given.
    pub(super) fn symbolic_parameters(
        &mut self,
        module: ModuleIndex,
        code: &'p Function,
        class: Option<ClassHandle>,
    ) -> Vec<Value> {
        let mut slots = Value::places(code.slots.len());
        let file = self.module(module).file;
        let lookup = class.and_then(|class| self.class_attribute(class, &code.name));
        let mark = match lookup.as_ref().and_then(Value::single) {
            Some(Val::Partial(partial)) => partial.keywords.first().map(|(mark, _)| mark.clone()),
            _ => None,
        };
        for (index, parameter) in code.parameters.iter().enumerate() {
            let place = Place { file, span: parameter.span };
            let receiver = index == 0 && Self::takes_self(code) && mark.as_deref() != Some("<static>");
            let value = match (receiver, class) {
                (true, Some(class)) if mark.as_deref() == Some("<class>") => Value::of(Val::Class(class)),
                (true, Some(class)) => {
                    let symbol = self.terms.fresh(Symbol::Parameter, parameter.name.clone(), Some(place));
                    let object = self.allocate_with(Kind::Instance, symbol, Some(class), true);
                    Value::of(Val::Object(object))
                }
                _ => {
                    let symbol = self.terms.fresh(Symbol::Parameter, parameter.name.clone(), Some(place));
                    let value = Value::term(symbol);
                    if parameter.annotation.as_ref().is_some_and(is_of_another_kind) {
                        self.recorder.log.otherwise.insert(symbol);
                    }
                    match &parameter.annotation {
                        Some(annotation)
                            if !matches!(parameter.kind, ParameterKind::Variadic | ParameterKind::Keywords) =>
                        {
                            self.annotated_in(module, &value, annotation)
                        }
                        _ => value,
                    }
                }
            };
            if let Some(slot) = slots.get_mut(index) {
                *slot = value;
            }
        }
        slots
    }

    /// Runs the closures that nothing has run.
    fn run_idle(&mut self) {
        for _ in 0..CLOSURES {
            let Some((_, idle)) = self.context.pending.pop_first() else { break };
            let closure = idle.closure.clone();
            let escape = match (idle.stored, idle.transformed) {
                (true, true) => Escape::Transformed,
                (true, false) => Escape::Stored,
                (false, _) => Escape::Passed,
            };
            self.run_alone(&closure, &idle, escape);
        }
        self.context.pending.clear();
    }

    fn run_alone(&mut self, closure: &Rc<Closure>, idle: &Idle, escape: Escape) {
        let code = self.module(closure.module).function(closure.function);
        let guard = idle.guard;
        if code.is_stub || !self.may_reach_keys(closure, idle.in_call) || !self.feasible(guard) {
            return;
        }
        self.paths.pc = guard;
        self.paths.alive = guard;
        let born = self.terms.fresh(Symbol::Opaque, "<entry>", None);
        let slots = self.symbolic_parameters(closure.module, code, None);
        let environment = self.new_environment(slots, closure.environment);
        self.context.activations += 1;
        let activation = Rc::new(Activation {
            id: self.context.activations,
            caller: None,
            module: closure.module,
            function: closure.function,
            depth: 0,
            environment,
            root: true,
        });
        self.recorder.escaped.insert(self.context.activations, (escape, born));
        let fuel = self.budget.fuel.max(FUEL / 4);
        self.budget.fuel = fuel;
        self.run_frame(closure.module, closure.function, environment, closure.class, activation);
    }

    /// Notes the library names in the annotations of the module.
    fn note_annotations(&mut self) {
        let module = self.module(self.context.home);
        for (number, function) in (0u32..).zip(&module.functions) {
            let annotations: Vec<_> = function
                .parameters
                .iter()
                .filter_map(|parameter| parameter.annotation.as_ref())
                .chain(function.returns.as_ref())
                .collect();
            if annotations.is_empty() {
                continue;
            }
            let frame = self.bare_frame(FunctionId(number), function);
            for annotation in annotations {
                self.note_annotation(&frame, annotation);
            }
        }
        for class in &module.classes {
            let function = module.function(class.body);
            let frame = self.bare_frame(class.body, function);
            for field in &class.fields {
                self.note_annotation(&frame, &field.annotation);
            }
        }
    }

    /// A frame that runs nothing: a place to note things for.
    fn bare_frame(&self, id: FunctionId, code: &'p Function) -> Frame<'p> {
        Frame {
            module: self.context.home,
            code,
            environment: crate::analysis::domain::value::EnvironmentId(0),
            class: None,
            temps: Vec::new(),
            returns: Vec::new(),
            yields: Vec::new(),
            loops: Vec::new(),
            left: Guard::FALSE,
            activation: Rc::new(Activation {
                id: 0,
                caller: None,
                module: self.context.home,
                function: id,
                depth: 0,
                environment: crate::analysis::domain::value::EnvironmentId(0),
                root: true,
            }),
        }
    }
}
