//! The abstract state: what is known of values, on which paths, and what holds them.
//!
//! **Invariant:** what a snapshot holds is never written to; a copy of the store shares it.

pub mod args;
pub mod budget;
pub mod classes;
pub mod container_mutation;
pub mod evidence;
pub mod heap;
pub mod lengths;
pub mod objects;
pub mod paths;
pub mod values;

use std::rc::Rc;

use heap::{ClassInfo, Environment, Kind, Layered, ModuleState, Object, Shared};
use lengths::Lengths;
use paths::Paths;
use rustc_hash::FxHashMap;

use crate::analysis::domain::term::{TermId, Terms};
use crate::analysis::domain::value::{Closure, ModuleIndex, ObjectId};
use crate::ir::FunctionId;

/// What the program has made.
#[derive(Clone, Default)]
pub struct Store {
    /// Mutable objects, by identity.
    pub objects: Shared<Object>,
    /// Objects that hold what was written to something that came from outside.
    pub shadows: Layered<TermId, ObjectId>,
    /// The variables of activations.
    pub environments: Shared<Environment>,
    /// Classes, as their statements made them.
    pub classes: Shared<ClassInfo>,
    /// Modules that ran or are running.
    pub modules: Layered<ModuleIndex, ModuleState>,
    /// The closure of each function, as last made.
    pub definitions: Layered<(ModuleIndex, FunctionId), Rc<Closure>>,
    /// Number of closures made.
    pub closures: u32,
    /// Number of writes.
    pub mutations: u64,
    /// Contents of objects whose length was asked for, with their epochs.
    pub sized: FxHashMap<ObjectId, Vec<(u32, Kind)>>,
    /// Lengths of the axes of arrays that library functions returned.
    pub axis_lengths: FxHashMap<TermId, Lengths>,
}

impl Store {
    /// Makes copies of all that there is now as cheap as those of nothing.
    pub fn freeze(&mut self) {
        self.objects.freeze();
        self.shadows.freeze();
        self.environments.freeze();
        self.classes.freeze();
        self.modules.freeze();
        self.definitions.freeze();
    }
}

/// The abstract state: what is known of values, on which paths, and where they are held.
#[derive(Clone, Default)]
pub struct State {
    /// How values were derived.
    pub terms: Terms,
    /// Which paths run.
    pub paths: Paths,
    /// What the program has made.
    pub store: Store,
}

impl AsMut<Self> for State {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}
