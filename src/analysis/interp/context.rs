//! The context: where the run stands, in calls, loops and transforms, and what it remembers of questions asked before.
//!
//! **Invariant:** what a cache answers depends on the question and on what has run; nothing is decided by whether it was asked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::extent::Extent;
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{ClassHandle, Closure, ModuleIndex, Value};
use crate::analysis::record::{Activation, Iteration, Target, UsesOfFunctions};
use crate::finding::Place;
use crate::ir::{FunctionId, Name};

use super::memo::Memo;
use super::parameters::Drawless;
use super::stored::Stored;

/// Where the run stands.
#[derive(Clone)]
pub(super) struct Context {
    /// The module whose facts are wanted.
    pub(super) home: ModuleIndex,
    /// The operation that runs.
    pub(super) here: Place,
    /// Functions running, outermost first.
    pub(super) stack: Vec<(ModuleIndex, FunctionId)>,
    /// The innermost iteration that runs.
    pub(super) iteration: Option<Rc<Iteration>>,
    /// Where iterators stand, for an iteration that is not among the first of the innermost loop.
    pub(super) position: Option<TermId>,
    /// Number of loops around the current operation.
    pub(super) loop_depth: u32,
    /// Number of activations made.
    pub(super) activations: u32,
    /// Number of executions of loops.
    pub(super) loop_instances: u32,
    /// Closures made and not run, by identity.
    pub(super) pending: BTreeMap<u32, Idle>,
    /// Functions that replay what another has drawn: rules of `custom_vjp` and the like.
    pub(super) replays: FxHashSet<(ModuleIndex, FunctionId)>,
}

/// A closure that nothing has run yet.
#[derive(Clone)]
pub(super) struct Idle {
    pub(super) closure: Rc<Closure>,
    pub(super) guard: Guard,
    /// Whether a call made it, of a function that is analysed without its caller as well.
    pub(super) in_call: bool,
    /// Whether a transform wraps it.
    pub(super) transformed: bool,
    /// Whether it is returned or stored.
    pub(super) stored: bool,
}

/// The transforms around the current operation, and what they have made.
#[derive(Clone, Default)]
pub(super) struct Transforms {
    /// Mapped functions that are running, outermost first.
    pub(super) lanes: Vec<Lane>,
    /// Extent that a lane's index stands for.
    pub(super) extents: FxHashMap<TermId, Extent>,
    /// Keys that a lane's own key stands for, where they are no range of one family.
    pub(super) keys: FxHashMap<TermId, Vec<Target>>,
    /// How many transforms that only trace are around.
    pub(super) abstract_depth: u32,
}

/// A mapped function that is running.
#[derive(Clone)]
pub(super) struct Lane {
    /// Symbols that differ between lanes.
    pub(super) symbols: Vec<TermId>,
    /// The call that maps.
    pub(super) place: Place,
    /// The activation that maps.
    pub(super) activation: Rc<Activation>,
    /// Number of symbols that existed before the body ran: younger ones are made in it.
    pub(super) born: TermId,
    /// Terms handed to every lane.
    pub(super) unmapped: Vec<TermId>,
}

/// Answers to questions that are asked again and again.
#[derive(Clone, Default)]
pub(super) struct Caches {
    /// Answers about names.
    pub(super) names: Rc<RefCell<Memo>>,
    /// Definitions and uses of the functions that were asked about, by module.
    pub(super) uses: Rc<RefCell<UsesOfFunctions>>,
    /// Results of memoised functions, by function and arguments, with the paths on which they were computed.
    pub(super) results: FxHashMap<Vec<TermId>, (Guard, Value)>,
    /// Parameters that lead to no draw.
    pub(super) drawless: Drawless,
    /// The functions that constructors of the home module store, by class.
    pub(super) constructors: FxHashMap<ClassHandle, Rc<Stored>>,
    /// What the names that modules import from each other stand for, where that was asked.
    pub(super) imported: FxHashMap<(ModuleIndex, Name), Value>,
}
