//! The store: objects, variables, classes and modules, as the program has left them.
//!
//! **Invariant:** what a snapshot holds is never written to; a copy of the store shares it.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{Closure, ModuleIndex, ObjectId};
use crate::analysis::heap::{ClassInfo, Environment, Kind, Layered, ModuleState, Object, Shared};
use crate::ir::FunctionId;

use super::lengths::Lengths;

/// What the program has made.
#[derive(Clone, Default)]
pub(super) struct Store {
    /// Mutable objects, by identity.
    pub(super) objects: Shared<Object>,
    /// Objects that hold what was written to something that came from outside.
    pub(super) shadows: Layered<TermId, ObjectId>,
    /// The variables of activations.
    pub(super) environments: Shared<Environment>,
    /// Classes, as their statements made them.
    pub(super) classes: Shared<ClassInfo>,
    /// Modules that ran or are running.
    pub(super) modules: Layered<ModuleIndex, ModuleState>,
    /// The closure of each function, as last made.
    pub(super) definitions: Layered<(ModuleIndex, FunctionId), Rc<Closure>>,
    /// Number of closures made.
    pub(super) closures: u32,
    /// Number of writes.
    pub(super) mutations: u64,
    /// Contents of objects whose length was asked for, with their epochs.
    pub(super) sized: FxHashMap<ObjectId, Vec<(u32, Kind)>>,
    /// Lengths of the axes of arrays that library functions returned.
    pub(super) axis_lengths: FxHashMap<TermId, Lengths>,
}

impl Store {
    /// Makes copies of all that there is now as cheap as those of nothing.
    pub(super) fn freeze(&mut self) {
        self.objects.freeze();
        self.shadows.freeze();
        self.environments.freeze();
        self.classes.freeze();
        self.modules.freeze();
        self.definitions.freeze();
    }
}
