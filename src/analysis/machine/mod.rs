//! The machine: runs lowered functions on abstract values, all paths at once.
//!
//! There is one state, and the path condition `pc` selects the paths on which the current operation runs. A write under `pc` keeps the old
//! alternative on the other paths, so branches need no copies of the state and joins need no merging: values carry their guards. Calls are
//! run inline with their actual arguments, captured variables and objects; what a callee consumes is logged with its chain of activations.
//!
//! **Invariant:** `pc` implies `live`; every loop here is bounded by copies, depth or fuel, and code that a bound cuts
//! off makes no fact.

pub mod access;
pub mod annotate;
pub mod arrays;
pub mod bind;
pub mod call;
pub mod captured;
pub mod construct;
pub mod context;
pub mod cutoff;
pub mod exec;
pub mod getters;
pub mod held_keys;
pub mod hover;
pub mod implied;
pub mod imports;
pub mod index;
pub mod instances;
pub mod iterate;
pub mod loops;
pub mod methods_by_name;
pub mod modules;
pub mod name_cache;
pub mod notes;
pub mod operate;
pub mod overrides;
pub mod prelude;
pub mod reads;
pub mod split_escape;
pub mod stored_callables;
pub mod stream_use;
pub mod suspend;
pub mod text;
pub mod widening;
pub mod writes;

use std::rc::Rc;
use std::sync::Arc;

use context::{Caches, Context, Transforms};

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::marks::RAISES;
use crate::analysis::domain::term::{Symbol, Terms};
use crate::analysis::domain::value::{EnvironmentId, ModuleIndex, Val, Value, Wrapped};
use crate::analysis::program::Program;
use crate::analysis::record::Activation;
use crate::analysis::record::recorder::Recorder;
use crate::analysis::store::State;
use crate::analysis::store::args::{Arg, Args, Call};
use crate::analysis::store::budget::Budget;
use crate::finding::Place;
use crate::ir::{Function, FunctionId, Module, Name, Op, Temp, Uses};
use crate::models::Yield;
use crate::text::Span;

/// The maximum depth of calls.
pub const CALL_DEPTH: u32 = 12;

/// Most nested activations of one function.
pub const RECURSION: usize = 2;

/// One activation that is running.
pub struct Frame<'p> {
    pub module: ModuleIndex,
    pub code: &'p Function,
    pub environment: EnvironmentId,
    /// The class whose body defines the function.
    pub class: Option<crate::analysis::domain::value::ClassHandle>,
    pub temps: Vec<Value>,
    pub returns: Vec<(Guard, Value)>,
    pub yields: Vec<(Guard, Value)>,
    pub loops: Vec<LoopState>,
    /// Paths that left the innermost `try` by `return`, `break` or `continue`.
    pub left: Guard,
    pub activation: Arc<Activation>,
    /// The call that a frame of the prelude is part of; its activation is then that of the caller.
    pub inlined: Option<prelude::Inlined>,
    /// Whether a loop in it may have continued after the last copy of its body.
    pub may_continue: bool,
}

impl<'p> Frame<'p> {
    /// A frame in which nothing has run.
    pub fn new(
        code: &'p Function,
        (module, environment): (ModuleIndex, EnvironmentId),
        class: Option<crate::analysis::domain::value::ClassHandle>,
        activation: Arc<Activation>,
    ) -> Self {
        Self {
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
            inlined: None,
            may_continue: false,
        }
    }

    /// The result of an operation.
    pub fn value(&self, temp: Temp) -> Value {
        self.temps[temp as usize].clone()
    }
}

/// Ways out of a running loop.
#[derive(Clone, Copy)]
pub struct LoopState {
    pub breaks: Guard,
    pub continues: Guard,
}

/// The interpreter: a few parts, each with its own subject.
#[derive(Clone)]
pub struct Machine<'p> {
    pub program: &'p Program<'p>,
    pub state: State,
    pub library: &'static Library,
    pub budget: Budget,
    pub recorder: Recorder,
    pub context: Context,
    pub transforms: Transforms,
    pub caches: Caches,
}

/// The queries of the machine to the models of libraries: its only way to call a higher layer.
pub struct Library {
    /// Attributes of keys: values are computed here, methods when they are called.
    pub key_attribute: for<'p> fn(&mut Machine<'p>, &mut Frame<'p>, &Val, &Name, Place) -> Value,
    /// Whether what a call with these arguments makes draws nothing when it is called.
    pub makes_quiet: for<'p> fn(&Machine<'p>, &Args) -> bool,
    /// Whether a class of a library, made with these arguments, draws nothing when it is initialised.
    pub makes_deterministic_module: for<'p> fn(&'p Program<'p>, &str, &Args) -> bool,
    /// If a method of the program implements a library method that may draw nothing according to its model, the name of that method.
    pub method_without_draws: for<'p> fn(&'p Program<'p>, &Value) -> Option<Name>,
    /// An unresolved call: by a protocol of a library, otherwise unknown.
    pub protocol_or_unknown: for<'p> fn(&mut Machine<'p>, &mut Frame<'p>, &Val, &Name, Call) -> Value,
    /// `receiver.name(…)` where no function of the program has that name.
    pub call_method: for<'p> fn(&mut Machine<'p>, &mut Frame<'p>, &Value, &Name, Call) -> Value,
    /// A call of a function of a library, by its canonical path.
    pub call_function: for<'p> fn(&mut Machine<'p>, &mut Frame<'p>, &Name, Call) -> Value,
    /// A call of the result of a transform.
    pub call_wrapped: for<'p> fn(&mut Machine<'p>, &mut Frame<'p>, &Arc<Wrapped>, Args, Place) -> Value,
    /// Consumes the keys in an argument.
    pub consume: for<'p> fn(&mut Machine<'p>, &mut Frame<'p>, &Arg, Role, &Name, Place),
    /// Entering a context manager.
    pub enter: for<'p> fn(&mut Machine<'p>, &mut Frame<'p>, &Value, &'p Op) -> Value,
    /// Leaving a context manager.
    pub leave: for<'p> fn(&mut Machine<'p>, &mut Frame<'p>, &Value, &'p Op),
    /// What a use of a stream gives.
    pub stream_result: fn(&mut Machine<'_>, Yield, &Name, Place) -> Value,
    /// A fresh key from a stateful source.
    pub supplied_key: fn(&mut Terms, Place) -> Value,
}

impl<'p> Machine<'p> {
    pub fn module(&self, index: ModuleIndex) -> &'p Module {
        self.program.module(index)
    }

    /// The definitions and uses of a function, counted once.
    pub fn uses_of(&self, module: ModuleIndex, id: FunctionId) -> Rc<Uses> {
        crate::analysis::record::uses_of(&self.caches.uses, self.module(module), (module, id))
    }

    pub fn place(&self, frame: &Frame<'p>, span: Span) -> Place {
        if let Some(inlined) = frame.inlined {
            return inlined.place;
        }
        Place { file: self.module(frame.module).file, span }
    }

    pub fn op(frame: &Frame<'p>, temp: Temp) -> &'p Op {
        &frame.code.ops[temp as usize]
    }

    /// Records that a budget was hit, and ends all paths.
    pub fn exhaust(&mut self, place: Place, budget: &'static str) {
        self.budget.exhaust(place, budget);
        self.state.paths.pc = Guard::FALSE;
    }

    /// Ends the current paths with the end of the program, which hardly any handler catches.
    pub fn exit(&mut self) {
        if self.state.paths.catching.borrow().last().is_some_and(|innermost| innermost.passes_system_exit) {
            self.state.paths.end();
        } else {
            self.raise();
        }
    }

    /// Ends the current paths with an exception.
    pub fn raise(&mut self) {
        let catching = self.state.paths.catching.clone();
        let mut catching = catching.borrow_mut();
        match catching.last_mut() {
            Some(innermost) => {
                let mut paths = self.state.paths.pc;
                if (innermost.depth as usize) + 1 < self.context.stack.len() {
                    // An exception from a callee is as uncertain as any exception from a call.
                    let literal = self.state.terms.fresh(Symbol::Path, RAISES, None);
                    let raises = self.state.paths.guards.literal(literal);
                    paths = self.state.paths.guards.and(paths, raises);
                }
                innermost.drop_unlikely(&mut self.state.paths.guards, self.state.paths.pc);
                innermost.raised = self.state.paths.guards.or(innermost.raised, paths);
            }
            None => self.state.paths.end(),
        }
        self.state.paths.pc = Guard::FALSE;
    }
}

impl AsMut<State> for Machine<'_> {
    fn as_mut(&mut self) -> &mut State {
        &mut self.state
    }
}
