//! The abstract state: what is known about values, on which paths, and what holds them.
//!
//! **Invariant:** the contents of a snapshot are never written; a copy of the store shares them.

pub mod args;
pub mod budget;
pub mod classes;
pub mod container_mutation;
pub mod evidence;
pub mod heap;
pub mod items;
pub mod lengths;
pub mod objects;
pub mod paths;
pub mod values;

use std::sync::Arc;

use heap::{
    ClassInfo, ElementClass, Environment, InstancePositions, Layered, ModuleState, Object, ObjectKind, Shared, Source,
};
use lengths::Lengths;
use paths::Paths;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::size;
use crate::analysis::domain::term::{TermId, Terms};
use crate::analysis::domain::value::{ClassHandle, Closure, ModuleIndex, ObjectId, Value};
use crate::ir::FunctionId;

/// The classes that modules made, in order.
pub type ClassesByModule = FxHashMap<ModuleIndex, Vec<ClassHandle>>;

/// The objects that the program has created.
#[derive(Clone, Default)]
pub struct Store {
    /// Mutable objects, by identity.
    pub objects: Shared<Object>,
    /// Objects that hold what was written to values from outside.
    pub shadows: Layered<TermId, ObjectId>,
    /// The classes of all elements, or all values, of containers from outside.
    pub element_classes: Layered<TermId, (ElementClass, InstancePositions)>,
    /// The variables of activations.
    pub environments: Shared<Environment>,
    /// Classes, as their statements made them.
    pub classes: Shared<ClassInfo>,
    /// Those of them that are frozen, by module.
    pub frozen_classes: Arc<ClassesByModule>,
    /// Modules that ran or are running.
    pub modules: Layered<ModuleIndex, ModuleState>,
    /// The closure of each function, as last made.
    pub definitions: Layered<(ModuleIndex, FunctionId), Arc<Closure>>,
    /// The functions of the program from which a library made something: `hk.transform(forward)`.
    pub transformed: Layered<TermId, (ModuleIndex, FunctionId)>,
    /// The libraries that models describe.
    pub libraries: Arc<[String]>,
    /// The modules, functions and classes that models describe. None of them is a flag.
    pub named: Arc<FxHashSet<String>>,
    /// Number of closures made.
    pub closures: u32,
    /// Number of writes.
    pub mutations: u64,
    /// Contents of objects whose length was queried, with their epochs.
    pub sized: FxHashMap<ObjectId, Vec<(u32, ObjectKind)>>,
    /// Lengths of the axes of arrays that library functions returned.
    pub axis_lengths: FxHashMap<TermId, Lengths>,
    /// Parts of values and elements of containers that were made.
    pub parts: usize,
    /// Whether a container has exceeded the size bound since the last check.
    pub overflow: bool,
}

/// Most elements of a container.
pub const ELEMENTS: usize = 4_096;

/// Most parts of values and elements of containers that the analysis of one function makes.
pub const ALL_PARTS: usize = 1_000_000;

/// This many are always made: the arguments of a call, the pair that a function returns.
const FEW: usize = 16;

impl Store {
    /// Whether the size budget has room for so many more parts; a few always fit.
    pub fn has_room(&mut self, parts: usize) -> bool {
        if parts <= FEW {
            return true;
        }
        let has_room = self.parts + parts <= ALL_PARTS;
        self.parts += if has_room { parts } else { 0 };
        has_room
    }

    /// Contents of a container within the size bound: larger contents are unknown.
    pub fn bounded(&mut self, kind: ObjectKind) -> ObjectKind {
        let count = match &kind {
            ObjectKind::List { items, .. }
            | ObjectKind::Set(items)
            | ObjectKind::Iterator(Source::Items(items) | Source::Cycle(items), _) => items.len(),
            ObjectKind::Dict { entries, .. } => entries.len(),
            ObjectKind::Iterator(..) | ObjectKind::Instance | ObjectKind::Stream(_) => 0,
        };
        let is_small = |value: &Value| size::parts(value).is_some();
        let are_small = || match &kind {
            ObjectKind::Set(items) | ObjectKind::Iterator(Source::Items(items) | Source::Cycle(items), _) => {
                items.iter().all(|item| is_small(&item.value))
            }
            _ => kind.held().all(|(_, value)| is_small(value)),
        };
        self.parts += 1;
        if count <= ELEMENTS && are_small() && self.has_room(count) {
            return kind;
        }
        self.overflow = true;
        match kind {
            ObjectKind::Dict { .. } => ObjectKind::Dict { entries: Vec::new(), unknown: true },
            _ => ObjectKind::List { items: Vec::new(), unknown: true },
        }
    }

    /// Whether a container has exceeded the size bound since the last check.
    pub fn take_overflow(&mut self) -> bool {
        std::mem::take(&mut self.overflow)
    }

    /// Freezes the current contents, so that copying them costs nothing.
    pub fn freeze(&mut self) {
        self.objects.freeze();
        self.shadows.freeze();
        self.element_classes.freeze();
        self.environments.freeze();
        self.classes.freeze();
        let mut by_module = ClassesByModule::default();
        for (number, info) in (0u32..).zip(self.classes.iter()) {
            by_module.entry(info.module).or_default().push(ClassHandle(number));
        }
        self.frozen_classes = Arc::new(by_module);
        self.modules.freeze();
        self.definitions.freeze();
        self.transformed.freeze();
    }
}

/// The abstract state: the values, on which paths they hold, and where they are stored.
#[derive(Clone, Default)]
pub struct State {
    /// How values were derived.
    pub terms: Terms,
    /// Which paths run.
    pub paths: Paths,
    /// The objects that the program has created.
    pub store: Store,
}

impl AsMut<Self> for State {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}
