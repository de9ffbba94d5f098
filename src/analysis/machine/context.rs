//! The context of a run: its position in calls, loops and transforms, and its caches.
//!
//! **Invariant:** a cached result depends on the query and on the code that has run, never on earlier queries.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::extent::Extent;
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{Array, ClassHandle, Closure, DerivationId, ModuleIndex, ObjectId, Value};
use crate::analysis::machine::methods_by_name::MethodsByName;
use crate::analysis::machine::name_cache::Memo;
use crate::analysis::machine::overrides::{ClassStatement, Descendants, OverridingMethods};
use crate::analysis::machine::suspend::Waiting;
use crate::analysis::record::{Activation, Iteration, Target, UsesOfFunctions};
use crate::analysis::store::heap::{ElementClass, InstancePositions};
use crate::finding::Place;
use crate::ir::{FunctionId, Name};

/// Modules that draw nothing when they are initialised, because of their constructor arguments.
#[derive(Clone, Debug, Default)]
pub struct DeterministicModules {
    /// Instances of library classes.
    pub terms: FxHashSet<TermId>,
    /// Instances of classes that the program holds.
    pub objects: FxHashSet<ObjectId>,
}

/// The values that a constructor stored, and the object.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The object that it constructed.
    pub object: ObjectId,
    /// The functions that make such an object.
    pub makers: Vec<FunctionId>,
    /// The functions, by attribute.
    pub functions: Vec<(Name, Value)>,
    /// The classes of instances, by attribute.
    pub instances: Vec<(Name, StoredInstances)>,
}

/// An attribute that stores instances of a class.
#[derive(Clone, Debug)]
pub enum StoredInstances {
    /// One instance, with those of its fields that are constant.
    One(ClassHandle, Arc<[(Name, TermId)]>),
    /// A container whose elements, or values, are all instances of the class.
    Each(ElementClass, InstancePositions),
}

/// The current position of the run.
#[derive(Clone)]
pub struct Context {
    /// The module whose facts are reported.
    pub home: ModuleIndex,
    /// The operation that runs.
    pub here: Place,
    /// Functions running, outermost first.
    pub stack: Vec<(ModuleIndex, FunctionId)>,
    /// The innermost iteration that runs.
    pub iteration: Option<Rc<Iteration>>,
    /// The positions of iterators, for an iteration that is not among the first of the innermost loop.
    pub position: Option<TermId>,
    /// Number of loops around the current operation.
    pub loop_depth: u32,
    /// Number of activations made.
    pub activations: u32,
    /// Number of executions of loops.
    pub loop_instances: u32,
    /// Context managers that are generators, whose blocks run.
    pub waiting: FxHashMap<ObjectId, Waiting>,
    /// Closures that were created and not run, by identity.
    pub pending: BTreeMap<u32, PendingClosure>,
    /// Functions that replay what another has drawn: rules of `custom_vjp` and the like.
    pub replays: FxHashSet<(ModuleIndex, FunctionId)>,
}

/// A closure that was never called.
#[derive(Clone)]
pub struct PendingClosure {
    pub closure: Arc<Closure>,
    pub guard: Guard,
    /// Whether a call made it, of a function that is analysed without its caller as well.
    pub in_call: bool,
    /// Whether a transform wraps it.
    pub transformed: bool,
    /// Whether it is returned or stored.
    pub stored: bool,
}

/// The transforms around the current operation, and what they created.
#[derive(Clone, Default)]
pub struct Transforms {
    /// Mapped functions that are running, outermost first.
    pub lanes: Vec<Lane>,
    /// The extent that a lane's index stands for.
    pub extents: FxHashMap<TermId, Extent>,
    /// The array of which a lane sees a row, by the index of the row's first key.
    pub rows: FxHashMap<TermId, Arc<Array>>,
    /// Keys that a lane's own key represents, if they are not a range of one family.
    pub keys: FxHashMap<TermId, Vec<Target>>,
    /// Keys that a mapped function took from a stream made outside: they are the same for all lanes.
    pub shared: FxHashSet<TermId>,
    /// How many enclosing transforms only trace.
    pub abstract_depth: u32,
}

/// A mapped function that is running.
#[derive(Clone)]
pub struct Lane {
    /// Symbols that differ between lanes.
    pub symbols: Vec<TermId>,
    /// The call that maps.
    pub place: Place,
    /// The activation that maps.
    pub activation: Arc<Activation>,
    /// Number of symbols that existed before the body ran: newer ones are made in it.
    pub born: TermId,
    /// Terms passed to every lane.
    pub unmapped: Vec<TermId>,
    /// Terms that are copied to every lane, each with the derivation of the copies.
    pub copied: Vec<(TermId, DerivationId)>,
    /// Terms that stand for keys which several lanes get, each with the derivation of the array.
    pub repeated: Vec<(TermId, DerivationId)>,
    /// Keys whose only copy goes to the only lane, which may derive others from them.
    pub only: Vec<TermId>,
    /// Whether it gets blocks of its arguments: all devices that get an undivided argument may have to treat it the
    /// same way.
    pub blocks: bool,
    /// How far its arguments may still be followed.
    pub walk: Walk,
}

/// Caches of frequent queries.
#[derive(Clone, Default)]
pub struct Caches {
    /// Caches of name queries.
    pub names: Rc<RefCell<Memo>>,
    /// Definitions and uses of functions, by module, on demand.
    pub uses: Rc<RefCell<UsesOfFunctions>>,
    /// Results of memoised functions, by function and arguments, with the paths on which they were computed, and the call.
    pub results: FxHashMap<Vec<TermId>, (Guard, Value, Place)>,
    /// The attributes to which functions of a module store remainders.
    pub cyclic: FxHashMap<ModuleIndex, Rc<FxHashSet<Name>>>,
    /// Parameters that lead to no draw.
    pub deterministic: DeterministicModules,
    /// Results of unresolved calls, and parameters in place of which only their defaults are known: calls of them show no draw.
    pub quiet: FxHashSet<TermId>,
    /// Whether functions that a library transformed request no key.
    pub keyless: FxHashMap<(ModuleIndex, FunctionId), bool>,
    /// Where methods of modules draw, by instance and method.
    pub submodules: FxHashMap<(ObjectId, Name), Option<Arc<[Name]>>>,
    /// The functions that constructors of the home module store, by class.
    pub constructors: FxHashMap<ClassHandle, Arc<Stored>>,
    /// The classes that override a method, by the class statement that has it and by name.
    pub heirs: FxHashMap<(ClassStatement, Name), OverridingMethods>,
    /// The classes that inherit from each other.
    pub descendants: Descendants,
    /// Whether the methods of a class store an attribute, and nothing else makes it.
    pub stored: FxHashMap<(ClassHandle, Name), bool>,
    /// The methods of the project by which a method of an unknown object may be named, by the module of the call and by name.
    pub methods_by_name: FxHashMap<(ModuleIndex, Name), MethodsByName>,
    /// What names that modules import from each other resolve to, on demand.
    pub imported: FxHashMap<(ModuleIndex, Name), Value>,
}
