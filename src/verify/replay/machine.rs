//! One run of a program on one path: the state so far, and the choices for what the program does not determine.
//!
//! **Invariant:** the truth of a symbol is chosen once, and the choices in their order are the path: the same choices run the same way.

use std::rc::{Rc, Weak};

use rustc_hash::FxHashMap;

use super::DrawKind;
use super::annotated::Annotated;
use super::budget::StepBudget;
use super::constants::Constants;
use super::copy::Copier;
use super::edits::{ChoicePoint, RecordedChoices};
use super::frame::{Eval, Frame};
use super::havoc::Havocked;
use super::hints::Guide;
use super::numbers::NumericState;
use super::project::Project;
use super::symbol::{Node, Query, Symbol, Symbols};
use super::value::{Args, Class, Closure, Environment, Instance, Value, Wrapped};
use crate::finding::Place;
use crate::ir::{FunctionId, Name, Op, Temp};
use crate::models::Yield;
use crate::text::Span;

/// Most choices of one path.
const CHOICES: usize = 256;

/// A choice about something that the program does not determine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) value: u8,
    pub(super) options: u8,
    /// The operation that required the choice.
    pub(super) place: Place,
}

/// The prescribed choices of a run.
#[derive(Clone, Default)]
pub(super) struct Script {
    /// The first choices that it makes itself, in order.
    pub(super) prefix: Vec<u8>,
    /// Choices of another run, by place; they are not choices of this run's own.
    pub(super) answers: Option<Rc<RecordedChoices>>,
}

/// The result of one query for a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    place: Place,
    options: u8,
    preferred: u8,
    value: u8,
    /// Whether another run had made the choice.
    is_answered: bool,
}

impl Script {
    /// Whether a run with this script would come to these decisions.
    pub(super) fn leads_to(&self, decisions: &[Decision]) -> bool {
        let (mut own, mut answered) = (0, FxHashMap::default());
        decisions.iter().all(|made| {
            let decision = self.decide((made.place, made.options, made.preferred), own, &mut answered);
            own += usize::from(!decision.is_answered);
            decision == *made
        })
    }

    /// Makes a choice. `own` is the number of choices that the run has made itself, `answered` that of answers it has taken, by place.
    fn decide(
        &self,
        (place, options, preferred): (Place, u8, u8),
        own: usize,
        answered: &mut FxHashMap<ChoicePoint, usize>,
    ) -> Decision {
        let last = options.saturating_sub(1);
        let decision =
            |value: u8, is_answered| Decision { place, options, preferred, value: value.min(last), is_answered };
        if let Some(answers) = &self.answers {
            let point = answers.choice_point(place);
            let taken = answered.entry(point).or_insert(0);
            if let Some(answer) = answers.get(point, *taken) {
                *taken += 1;
                return decision(answer, true);
            }
        }
        decision(self.prefix.get(own).copied().unwrap_or(preferred), false)
    }
}

/// A key passed to something that consumes or derives.
#[derive(Clone)]
pub(super) struct Draw {
    pub(super) kind: DrawKind,
    /// The calls that lead to it, and the executions that contain it.
    pub(super) way: Vec<(Place, u32)>,
    pub(super) callee: Name,
    pub(super) keys: Vec<Vec<u32>>,
    /// Symbols that may be keys: the arguments of an unresolved call.
    pub(super) maybe: Vec<Symbol>,
    /// Whether nothing on the way of the keys was unknown.
    pub(super) is_known: bool,
    /// The lanes of mapped functions that it was made in.
    pub(super) lanes: Vec<u32>,
    /// The other arguments, where the numbers can be computed.
    pub(super) numbers: Option<Constants>,
}

/// The queries of the machine to the models of libraries: one of two ways to call a higher layer, where evaluation recurses.
pub(super) struct Library {
    /// A call of a library's function or class.
    pub(super) call_function: for<'p> fn(&mut Machine<'p>, &Name, Args<'p>, Place) -> Eval<'p, Value<'p>>,
    /// `receiver.name(…)` where no function of the program has that name.
    pub(super) call_method: for<'p> fn(&mut Machine<'p>, &Value<'p>, &Name, Args<'p>, Place) -> Eval<'p, Value<'p>>,
    /// A call of a method that nothing resolves: by a protocol of a library, else unknown.
    pub(super) protocol_or_unknown:
        for<'p> fn(&mut Machine<'p>, &Value<'p>, &Name, &Args<'p>, Place) -> Eval<'p, Value<'p>>,
    /// A call of the result of a transform.
    pub(super) call_wrapped: for<'p> fn(&mut Machine<'p>, &Rc<Wrapped<'p>>, Args<'p>, Place) -> Eval<'p, Value<'p>>,
    /// What a use of a stream gives.
    pub(super) stream_result: for<'p> fn(&mut Machine<'p>, Yield, &Name) -> Value<'p>,
    /// All elements of an array, each of which may be unknown.
    pub(super) whole_stack: for<'p> fn(&mut Machine<'p>, Vec<Value<'p>>) -> Value<'p>,
}

/// The queries of the machine where numbers are computed: the other way to call a higher layer.
pub(super) struct Numbers {
    /// Runs an operation without blocks.
    pub(super) compute: for<'p> fn(&mut Machine<'p>, &mut Frame<'p>, &'p Op, Temp) -> Eval<'p, Value<'p>>,
    /// A condition has to be known.
    pub(super) decidable: for<'p> fn(&mut Machine<'p>, &Value<'p>, Span) -> Eval<'p, ()>,
    /// A `while` loop is left at its bound.
    pub(super) left_at_bound: for<'p> fn(&mut Machine<'p>, Span),
}

/// A run.
pub(super) struct Machine<'p> {
    pub(super) library: &'static Library,
    /// What computes numbers, in a run that does.
    pub(super) arithmetic: Option<&'static Numbers>,
    pub(super) project: &'p Project<'p>,
    pub(super) hints: Guide,
    pub(super) symbols: Symbols,
    pub(super) globals: FxHashMap<usize, FxHashMap<Name, Value<'p>>>,
    /// The latest value of each function.
    pub(super) made: FxHashMap<(usize, FunctionId), Rc<Closure<'p>>>,
    /// The functions with a target place that were made, to run those that nothing calls.
    pub(super) closures: Vec<Rc<Closure<'p>>>,
    /// Attributes and items that were written to symbols.
    pub(super) written: FxHashMap<Symbol, Value<'p>>,
    /// What annotations say of symbols.
    pub(super) annotated: Annotated<'p>,
    /// Mutable things whose contents are not known any more.
    pub(super) havocked: Havocked<'p>,
    pub(super) draws: Vec<Draw>,
    /// The calls that are running, and the executions that they stand in.
    pub(super) stack: Vec<(Place, u32)>,
    pub(super) lanes: Vec<u32>,
    /// The place of the running operation, and its execution.
    pub(super) here: (Place, u32),
    script: Script,
    /// The result of each query for a choice, in order.
    decisions: Vec<Decision>,
    /// How many of the script's answers were taken, place by place.
    answered: FxHashMap<ChoicePoint, usize>,
    /// How many of them were taken altogether.
    pub(super) taken: usize,
    pub(super) choices: Vec<Choice>,
    /// For each choice, whether it was made in a function with a target place, or in a module's body.
    pub(super) near: Vec<bool>,
    /// The remaining budget of the run.
    pub(super) budget: StepBudget,
    /// How many running calls are in a `try`.
    pub(super) try_depth: u32,
    /// Whether a bound was reached.
    pub(super) is_bounded: bool,
    pub(super) activations: u32,
    pub(super) numbers: u32,
    /// Above zero, consumptions are not logged.
    pub(super) suspended_logs: u32,
    pub(super) nesting: u32,
    /// How many imports are being followed.
    pub(super) import_depth: u32,
    /// The functions that are running, innermost last.
    pub(super) running: Vec<(usize, FunctionId)>,
    pub(super) made_here: CyclicValues<'p>,
    /// What a run has that computes numbers.
    pub(super) numeric: Option<Box<NumericState>>,
}

/// What a run makes that may refer to itself: a function to the class or the variables that hold it, an object to itself.
#[derive(Default)]
pub(super) struct CyclicValues<'p> {
    environments: Vec<Weak<Environment<'p>>>,
    classes: Vec<Weak<Class<'p>>>,
    instances: Vec<Weak<Instance<'p>>>,
}

impl<'p> CyclicValues<'p> {
    pub(super) fn environment(&mut self, environment: &Rc<Environment<'p>>) {
        self.environments.push(Rc::downgrade(environment));
    }

    pub(super) fn class(&mut self, class: &Rc<Class<'p>>) {
        self.classes.push(Rc::downgrade(class));
    }

    pub(super) fn instance(&mut self, instance: &Rc<Instance<'p>>) {
        self.instances.push(Rc::downgrade(instance));
    }

    /// Empties all of it: what refers to itself is never freed otherwise.
    pub(super) fn release(&mut self) {
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
    pub(super) fn new(
        (project, library): (&'p Project<'p>, &'static Library),
        hints: Guide,
        script: Script,
        level: usize,
    ) -> Self {
        Self {
            library,
            arithmetic: None,
            project,
            hints,
            symbols: Symbols::default(),
            globals: FxHashMap::default(),
            made: FxHashMap::default(),
            closures: Vec::new(),
            written: FxHashMap::default(),
            annotated: Annotated::default(),
            havocked: Havocked::default(),
            draws: Vec::new(),
            stack: Vec::new(),
            lanes: Vec::new(),
            here: (Place { file: crate::text::FileId(0), span: Span::default() }, 0),
            script,
            decisions: Vec::new(),
            answered: FxHashMap::default(),
            taken: 0,
            choices: Vec::new(),
            near: Vec::new(),
            budget: StepBudget::new(level),
            try_depth: 0,
            is_bounded: false,
            activations: 0,
            numbers: 0,
            suspended_logs: 0,
            nesting: 0,
            import_depth: 0,
            running: Vec::new(),
            made_here: CyclicValues::default(),
            numeric: None,
        }
    }

    /// Whether a run with this script would have made the same choices so far, and so be in the same state.
    pub(super) fn makes_same_choices(&self, script: &Script) -> bool {
        script.leads_to(&self.decisions)
    }

    /// The result of each query for a choice, in order.
    pub(super) fn take_decisions(&mut self) -> Vec<Decision> {
        std::mem::take(&mut self.decisions)
    }

    /// A copy of the run that continues with another script, which has to make the same choices so far; `None` if the state cannot be copied.
    pub(super) fn fork(&self, script: Script) -> Option<Self> {
        // A frame cannot be copied.
        if self.numeric.is_some() || !self.running.is_empty() {
            return None;
        }
        let mut copier = Copier::default();
        let mut globals = self.globals.clone();
        for value in globals.values_mut().flat_map(FxHashMap::values_mut) {
            *value = copier.value(value);
        }
        let made = self.made.iter().map(|(function, closure)| (*function, copier.closure(closure))).collect();
        let closures = self.closures.iter().map(|closure| copier.closure(closure)).collect();
        let written = self.written.iter().map(|(symbol, value)| (*symbol, copier.value(value))).collect();
        let annotated = self.annotated.copied(&mut copier);
        let havocked = self.havocked.copied(&mut copier);
        let made_here = copier.finish()?;
        Some(Self {
            library: self.library,
            arithmetic: self.arithmetic,
            project: self.project,
            hints: self.hints.copy(),
            symbols: self.symbols.clone(),
            globals,
            made,
            closures,
            written,
            annotated,
            havocked,
            draws: self.draws.clone(),
            stack: self.stack.clone(),
            lanes: self.lanes.clone(),
            here: self.here,
            script,
            decisions: self.decisions.clone(),
            answered: self.answered.clone(),
            taken: self.taken,
            choices: self.choices.clone(),
            near: self.near.clone(),
            budget: self.budget.clone(),
            try_depth: self.try_depth,
            is_bounded: self.is_bounded,
            activations: self.activations,
            numbers: self.numbers,
            suspended_logs: self.suspended_logs,
            nesting: self.nesting,
            import_depth: self.import_depth,
            running: Vec::new(),
            made_here,
            numeric: None,
        })
    }

    /// Frees what the run made; its draws and choices stay.
    pub(super) fn release(&mut self) {
        self.made_here.release();
    }

    /// Whether an exception would be caught by the program.
    pub(super) fn is_caught(&self) -> bool {
        self.try_depth > 0
    }

    pub(super) fn unknown(&mut self, name: &str) -> Value<'p> {
        Value::Unknown(self.symbols.fresh(name))
    }

    /// The unknown result of a call.
    pub(super) fn unknown_result(&mut self, callee: &str) -> Value<'p> {
        Value::Unknown(self.symbols.result(callee))
    }

    /// A symbol for any value: equal for equal values.
    pub(super) fn symbol_of(&mut self, value: &Value<'p>) -> Symbol {
        self.symbols.of(value)
    }

    /// Makes a choice about something that the program does not determine.
    pub(super) fn choose(&mut self, options: u8, preferred: u8) -> u8 {
        if self.choices.len() + self.taken >= CHOICES {
            self.is_bounded = true;
            return preferred;
        }
        let query = (self.here.0, options, preferred);
        let decision = self.script.decide(query, self.choices.len(), &mut self.answered);
        self.decisions.push(decision);
        let Decision { place, value, is_answered, .. } = decision;
        if is_answered {
            self.taken += 1;
            return value;
        }
        self.choices.push(Choice { value, options, place });
        self.near.push(self.running.last().is_none_or(|(module, id)| self.hints.holds(*module, *id)));
        value
    }

    /// The truth of a symbol, chosen where nothing decides it.
    pub(super) fn decide(&mut self, symbol: Symbol, preferred: Option<bool>) -> bool {
        match self.symbols.query(symbol) {
            Query::Answered(answer) => answer,
            Query::Open(symbol, turned) => {
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
}
